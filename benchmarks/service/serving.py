"""The HTTP service under load: latency of single images at a steady rate, also while the model is replaced."""

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

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.data_sets import zipf
from benchmarks.core.models import random_context_model, save_random_model
from benchmarks.core.process import call, cpu_seconds
from benchmarks.service.load_client import run_load
from vse_ens.model.calibration import LABELS, Calibration, Curve, Temperature

_DIMENSIONS = 128
_TOP = 5
_ASKED = 3_000  # number of different images


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    images: int = 112_000
    labels: int = 6_000
    connections: int = 16
    warm_seconds: float = 2.0
    saturated_seconds: float = 6.0
    steady_seconds: float = 9.0


def measure(sizes: Sizes) -> Raw:
    """Measure at the highest rate, at half of it, and at half of it while the model is replaced twice."""
    raw: Raw = {**asdict(sizes), "skipped": []}
    with tempfile.TemporaryDirectory() as folder:
        path = _model(Path(folder) / "model", sizes)
        bodies = Path(folder) / "bodies.jsonl"
        bodies.write_text("".join(_bodies(sizes)), encoding="utf-8")
        with _serving(path) as (process, address):

            def load(**how: float) -> dict[str, Any]:
                before = cpu_seconds(process.pid)
                found: dict[str, Any] = call(run_load, f"{address}api/annotate", str(bodies), how)
                return {**found, "server_cpu": cpu_seconds(process.pid) - before}

            load(connections=sizes.connections, seconds=sizes.warm_seconds)
            log("at the highest rate")
            raw["saturated"] = load(connections=sizes.connections, seconds=sizes.saturated_seconds)
            raw["rate"] = _rate(raw["saturated"]) / 2
            log(f"at half of it, {raw['rate']:.0f} per second")
            raw["steady"] = load(rate=raw["rate"], seconds=sizes.steady_seconds)
            log("the same while the model is replaced twice, by a signal and by a request")
            swaps = threading.Thread(target=_swap, args=(process, address, sizes.steady_seconds / 3))
            swaps.start()
            raw["swapped"] = load(rate=raw["rate"], seconds=sizes.steady_seconds)
            swaps.join()
            raw["swaps"] = _metric(address, "vse_model_swaps_total")
    return raw


def _model(path: Path, sizes: Sizes) -> Path:
    """Save a random model of the default preset with calibrated confidences."""
    data = zipf(sizes.images, sizes.labels)
    knots = np.linspace(0.0, 1.0, 32, dtype=np.float32)
    calibration = Calibration({LABELS: Curve(Temperature(1.0, 0.0), knots, knots)})
    return save_random_model(path, random_context_model(data, _DIMENSIONS), data, calibration.arrays())


def _bodies(sizes: Sizes) -> Iterator[str]:
    for image in range(0, sizes.images, max(1, sizes.images // _ASKED)):
        name = str(image).zfill(len(str(sizes.images)))
        yield json.dumps({"images": [name], "top": _TOP}) + "\n"


@contextmanager
def _serving(model: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run ``vse serve`` with default settings, without its log."""
    command = [sys.executable, "-m", "vse_ens", "serve", str(model), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            printed = ""
            while not printed.endswith("}\n") and (line := process.stdout.readline() if process.stdout else ""):
                printed += line
            yield process, json.loads(printed)["address"]
        finally:
            process.terminate()


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


def _cpu(found: dict[str, Any], which: str) -> float:
    """Return milliseconds of processor time per request."""
    return float(1e3 * found[which] / found["milliseconds"]["count"])


def _lost(found: dict[str, Any]) -> int:
    return int(sum(count for status, count in found["statuses"].items() if status != "200"))


def score(raw: Raw) -> Score:
    """Return the 99th percentile at half the rate, and the requests lost while the model was replaced."""
    steady, swapped = raw["steady"], raw["swapped"]
    checks = [
        Check(
            "requests per second, client and service on the same cores",
            _rate(raw["saturated"]),
            "at least",
            1_200,
            digits=0,
        ),
        Check(
            "one image at the highest rate, 99th percentile",
            _percentile(raw["saturated"], "99"),
            "at most",
            25.0,
            unit=" ms",
            digits=1,
        ),
        Check(
            "one image at half the highest rate, 99th percentile",
            _percentile(steady, "99"),
            "at most",
            25.0,
            unit=" ms",
            digits=1,
        ),
        Check(
            "the same while the model is replaced, 99th percentile",
            _percentile(swapped, "99"),
            "at most",
            60.0,
            unit=" ms",
            digits=1,
        ),
        Check(
            f"requests lost in {raw['swaps']:.0f} model replacements",
            _lost(swapped),
            "at most",
            0,
            digits=0,
        ),
        Check("model replacements", raw["swaps"], "at least", 2, digits=0),
    ]
    rows = [
        (
            title,
            f"{_rate(found):.0f} per second",
            *(f"{_percentile(found, share):.1f} ms" for share in ("50", "99", "99.9")),
            *(f"{_cpu(found, which):.2f} ms" for which in ("server_cpu", "client_cpu")),
            f"{_lost(found)}",
        )
        for title, found in (
            (f"highest rate, {raw['connections']} connections", raw["saturated"]),
            ("half of that rate", steady),
            ("the same, model replaced twice", swapped),
        )
    ]
    note = (
        f"`POST /api/annotate` for one image of {raw['images']:,}, top {_TOP} of {raw['labels']:,} labels with "
        f"confidences; context tower with label pairs and label weights, k = {_DIMENSIONS}, random numbers. "
        "`vse serve` with default settings; the client (`benchmarks/service/load_client.py`) is another process on the "
        "same two cores, with HTTP/1.1 keep-alive connections. At a given rate, requests arrive at random times, and "
        "latency counts from the time a request is due. CPU is the processor time per request, which for the service "
        "includes replacing the model."
    )
    return Score(
        checks,
        [Table(("", "answered", "median", "99 %", "99.9 %", "CPU, service", "CPU, client", "lost"), rows)],
        [note],
    )


def _percentile(found: dict[str, Any], share: str) -> float:
    return float(found["milliseconds"]["percentiles"][share])


SERVING = Benchmark(
    "serving",
    "One process answers more than a thousand single-image requests per second, also while the model is replaced.",
    Sizes(),
    Sizes(2_000, 300, 4, 0.5, 1.0, 2.0),
    measure,
    score,
    measures=("curate", "kernels", "model", "service"),
)
