"""Latency of short answers: one image with `Annotator.annotate`, and ``vse --help`` and ``vse annotate``."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.data_sets import zipf
from benchmarks.core.models import random_context_model, random_embeddings, save_random_model
from benchmarks.core.process import call
from vse_ens.annotator import Annotator
from vse_ens.data.datasets.scenes import scenes
from vse_ens.model.model import Model

_TOP = 5
_TOWERS = {"context": "context tower with label weights, k = 128", "ids": "id tower, k = 100"}
_COMMANDS = {"--help": ("vse --help", 0.15), "annotate": ("vse annotate MODEL IMAGE", 0.6)}


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    images: int = 20_000
    labels: int = 6_000
    singles: int = 300
    turns: int = 10
    scenes: int = 2_000
    commands: int = 10


def measure(sizes: Sizes) -> Raw:
    """Measure both towers in child processes, then the commands with a model of `scenes`."""
    raw: Raw = {**asdict(sizes), "one": {}, "commands": {}, "skipped": []}
    for tower in _TOWERS:
        log(f"one image, {_TOWERS[tower]}")
        raw["one"][tower] = call(measure_singles, tower, asdict(sizes))
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model")
        Annotator(epochs=1).fit(scenes(images=sizes.scenes)).save(model)
        for words in (("--help",), ("annotate", model, "img_0000001")):
            log(f"vse {words[0]}")
            _command(*words)  # compiles
            raw["commands"][words[0]] = [_command(*words) for _ in range(sizes.commands)]
    return raw


def measure_singles(tower: str, settings: dict[str, Any]) -> list[dict[str, float]]:
    """Return the median of some images, each alone, and the processor time per image, in every turn."""
    sizes = Sizes(**settings)
    data = zipf(sizes.images, sizes.labels)
    model = random_context_model(data, 128) if tower == "context" else Model(random_embeddings(data, 100))
    with tempfile.TemporaryDirectory() as folder:
        annotator = Annotator.load(save_random_model(Path(folder) / "model", model, data))
        step = max(1, len(data.images) // sizes.singles)
        images = data.images.ids(np.arange(0, len(data.images), step)[: sizes.singles])
        annotator.annotate(images[0], top=_TOP)
        return [_turn(annotator, images) for _ in range(sizes.turns)]


def _turn(annotator: Annotator, images: list[str]) -> dict[str, float]:
    seconds = []
    processor = time.process_time()
    for image in images:
        start = time.perf_counter()
        annotator.annotate(image, top=_TOP)
        seconds.append(time.perf_counter() - start)
    return {"median": float(np.median(seconds)), "cpu": (time.process_time() - processor) / len(images)}


def _command(*words: str) -> dict[str, float]:
    """Return the seconds of a command by the clock and of the processor."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "vse_ens", *words], check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"seconds": seconds, "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def score(raw: Raw) -> Score:
    """Return the best turn and the best process of each."""
    checks, rows = [], []
    for tower, title in _TOWERS.items():
        median, cpu = (1e3 * min(turn[kind] for turn in raw["one"][tower]) for kind in ("median", "cpu"))
        checks.append(Check(f"one image, {title}, median", median, "at most", 0.4, unit=" ms"))
        rows.append((f"one image, {title}", f"{median:.2f} ms", f"{cpu:.2f} ms"))
    for name, (title, limit) in _COMMANDS.items():
        seconds, cpu = (min(one[kind] for one in raw["commands"][name]) for kind in ("seconds", "cpu"))
        checks.append(Check(f"`{title}`", seconds, "at most", limit, unit=" s"))
        rows.append((f"`{title}`", f"{seconds:.2f} s", f"{cpu:.2f} s"))
    note = (
        f"One image of {raw['images']:,}, top {_TOP} of {raw['labels']:,} labels, random numbers: the best median of "
        f"{raw['turns']} turns of {raw['singles']} images. Commands: the best of {len(raw['commands']['--help'])} "
        f"processes, compiled kernels, a model of `scenes` with {raw['scenes']:,} images."
    )
    return Score(checks, [Table(("", "by the clock", "processor"), rows)], [note])


LATENCY = Benchmark(
    "latency",
    "Suggestions for one image and short commands are quick.",
    Sizes(),
    Sizes(500, 100, 20, 1, 200, 1),
    measure,
    score,
    measures=("annotator", "cli", "curate", "kernels", "model"),
    repetitions=lambda sizes: sizes.turns,
)
