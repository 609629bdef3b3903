"""The service under load on this machine: single images against thousands of labels, and a swap of models meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from signal import SIGHUP
from typing import Any
from urllib.request import Request, urlopen

import numpy as np

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, say
from benchmarks.core.data_sets import zipf
from benchmarks.service.inference import context_model
from vse_ens.config import configure
from vse_ens.evaluate.calibration import Calibration, Temperature
from vse_ens.model.store import StoredModel, save_model

_DIMENSIONS = 128
_TOP = 5
_ASKED = 3_000  # different images, in turn


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    images: int = 112_000
    labels: int = 6_000
    connections: int = 16
    warm_seconds: float = 3.0
    saturated_seconds: float = 15.0
    steady_seconds: float = 30.0


def measure(sizes: Sizes) -> Raw:
    """As fast as it goes; at half of that; and at half of that with two swaps."""
    raw: Raw = {**asdict(sizes), "skipped": []}
    with tempfile.TemporaryDirectory() as folder:
        path = _model(Path(folder) / "model", sizes)
        bodies = Path(folder) / "bodies.jsonl"
        bodies.write_text("".join(_bodies(sizes)), encoding="utf-8")
        with _serving(path) as (process, address):

            def load(**how: float) -> dict[str, Any]:
                return _load(f"{address}api/annotate", bodies, how)

            load(connections=sizes.connections, seconds=sizes.warm_seconds)
            say("as fast as answers come")
            raw["saturated"] = load(connections=sizes.connections, seconds=sizes.saturated_seconds)
            raw["rate"] = _rate(raw["saturated"]) / 2
            say(f"at half of it, {raw['rate']:.0f} a second")
            raw["steady"] = load(rate=raw["rate"], seconds=sizes.steady_seconds)
            say("the same with a model swapped in twice: by a signal, and by a call")
            swaps = threading.Thread(target=_swap, args=(process, address, sizes.steady_seconds / 3))
            swaps.start()
            raw["swapped"] = load(rate=raw["rate"], seconds=sizes.steady_seconds)
            swaps.join()
            raw["swaps"] = _metric(address, "vse_model_swaps_total")
    return raw


def _model(path: Path, sizes: Sizes) -> Path:
    """Random numbers in the shape of a trained model of the default preset, confidences included."""
    data = zipf(sizes.images, sizes.labels)
    model = context_model(data, _DIMENSIONS)
    knots = np.linspace(0.0, 1.0, 32, dtype=np.float32)
    calibration = Calibration(Temperature(1.0, 0.0), knots, knots)
    settings = {
        "config": configure("context", dimensions=_DIMENSIONS).to_dict(),
        "preset": "context",
        "training": {"memory_weight": model.memory_weight, "memory_regularization": None, "generations": 0},
        "validation": None,
    }
    save_model(path, StoredModel(settings, {**model.arrays(), **calibration.arrays()}, data, "made up"))
    return path


def _bodies(sizes: Sizes) -> Iterator[str]:
    for image in range(0, sizes.images, max(1, sizes.images // _ASKED)):
        name = str(image).zfill(len(str(sizes.images)))
        yield json.dumps({"images": [name], "top": _TOP}) + "\n"


@contextmanager
def _serving(model: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """``vse serve`` as a user starts it, its log thrown away."""
    command = [sys.executable, "-m", "vse_ens", "serve", str(model), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            told = ""
            while not told.endswith("}\n") and (line := process.stdout.readline() if process.stdout else ""):
                told += line
            yield process, json.loads(told)["address"]
        finally:
            process.terminate()


def _load(url: str, bodies: Path, how: dict[str, float]) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.service.load_client", url, str(bodies), json.dumps(how)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _swap(process: subprocess.Popen[str], address: str, seconds: float) -> None:
    time.sleep(seconds)
    process.send_signal(SIGHUP)
    time.sleep(seconds)
    urlopen(Request(f"{address}api/reload", method="POST", headers={"X-VSE-Reload": "yes"})).close()


def _metric(address: str, name: str) -> float:
    with urlopen(f"{address}metrics") as answer:
        lines = answer.read().decode().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(f"{name} ")))


def _rate(found: dict[str, Any]) -> float:
    return float(found["statuses"].get("200", 0) / found["elapsed"])


def _lost(found: dict[str, Any]) -> int:
    return int(sum(count for status, count in found["statuses"].items() if status != "200"))


def score(raw: Raw) -> Score:
    """The 99th percentile at half the rate, and what a swap lost."""
    steady, swapped = raw["steady"], raw["swapped"]
    checks = [
        Check(
            "one image at half the highest rate, the 99th percentile",
            _percentile(steady, 99),
            "at most",
            25.0,
            unit=" ms",
            digits=1,
        ),
        Check(f"requests lost in {raw['swaps']:.0f} swaps of the model", _lost(swapped), "at most", 0, digits=0),
        Check("swaps", raw["swaps"], "at least", 2, digits=0),
    ]
    rows = [
        (
            title,
            f"{_rate(found):.0f} a second",
            *(f"{_percentile(found, share):.1f} ms" for share in (50, 99, 99.9)),
            f"{_lost(found)}",
        )
        for title, found in (
            (f"as fast as answers come, {raw['connections']} connections", raw["saturated"]),
            ("at half that rate", steady),
            ("the same, with two swaps", swapped),
        )
    ]
    note = (
        f"`POST /api/annotate` for one image of {raw['images']:,}, the best {_TOP} of {raw['labels']:,} labels with "
        f"confidences; context tower with combinations and memory, k = {_DIMENSIONS}, made-up numbers. `vse serve` as "
        "it comes, and on the same two cores the client, `benchmarks/load.py`: a process of its own, HTTP/1.1 by hand "
        "on kept connections. At a rate requests arrive at random, and a time counts from the moment a request was due."
    )
    return Score(checks, [Table(("", "answered", "median", "99 %", "99.9 %", "lost"), rows)], [note])


def _percentile(found: dict[str, Any], share: float) -> float:
    return float(np.percentile(found["milliseconds"], share))


SERVING = Benchmark(
    "serving",
    "One process answers hundreds of single images a second, in milliseconds, also while the model is swapped.",
    Sizes(),
    Sizes(2_000, 300, 4, 0.5, 1.0, 2.0),
    measure,
    score,
)
