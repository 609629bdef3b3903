"""Time of the import, of the first training call including compilation, and of compiling for the first demo."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, log

_IMPORT = "import time; start = time.perf_counter(); import vse_ens; print(time.perf_counter() - start)"
# Includes what `fit` imports on first use.
_TRAIN = """
import sys, time
from vse_ens.data.datasets.scenes import scenes
data = scenes(images=int(sys.argv[1]))
start = time.perf_counter()
from vse_ens.annotator import Annotator
Annotator(preset="vse-ens", epochs=1).fit(data)
print(time.perf_counter() - start)
"""


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    imports: int = 5
    trainings: int = 3
    images: int = 2_000


def measure(sizes: Sizes) -> Raw:
    """Return the seconds of every process."""
    names = ("import", "cold", "warm", "demo_cold", "demo_warm")
    raw: Raw = {"images": sizes.images, **{name: [] for name in names}, "skipped": []}
    log(f"import, {sizes.imports} times")
    for _ in range(sizes.imports):
        raw["import"].append(_seconds(_IMPORT))
    for number in range(sizes.trainings):
        log(f"first training call, {number + 1} of {sizes.trainings}")
        with tempfile.TemporaryDirectory() as cache:
            for state in ("cold", "warm"):
                raw[state].append(_seconds(_TRAIN, str(sizes.images), NUMBA_CACHE_DIR=cache))
        log(f"vse demo, {number + 1} of {sizes.trainings}")
        with tempfile.TemporaryDirectory() as cache:
            for state in ("demo_cold", "demo_warm"):
                raw[state].append(_cpu_seconds("demo", "--images", str(sizes.images), NUMBA_CACHE_DIR=cache))
    return raw


def _seconds(code: str, *arguments: str, **environment: str) -> float:
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | environment)
    return float(done.stdout)


def _cpu_seconds(*arguments: str, **environment: str) -> float:
    """Return the CPU seconds of a command of ``vse``, of all its threads."""
    command = [sys.executable, "-m", "vse_ens", *arguments]
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | environment)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def score(raw: Raw) -> Score:
    """Return the best time of each."""
    checks = [
        Check("`import vse_ens`", min(raw["import"]), "at most", 0.3, unit=" s"),
        Check("first training call, no compiled kernels", min(raw["cold"]), "at most", 15.0, unit=" s"),
        Check("first training call of a process, compiled kernels", min(raw["warm"]), "at most", 2.0, unit=" s"),
        Check("compiling in the first `vse demo`, CPU time", _compiling(raw), "at most", 8.0, unit=" s"),
    ]
    note = (
        f"Best of {len(raw['import'])} and {len(raw['cold'])} processes; one epoch of the `vse-ens` preset on "
        f"`scenes` with {raw['images']:,} images. Compiling: the first `vse demo` with as many, less the second."
    )
    return Score(checks, notes=[note])


def _compiling(raw: Raw) -> float:
    return float(min(raw["demo_cold"]) - min(raw["demo_warm"]))


START = Benchmark(
    "start",
    "The import, the first training call and the first demo are fast.",
    Sizes(),
    Sizes(imports=1, trainings=1, images=200),
    measure,
    score,
    measures=("kernels", "train"),
    repetitions=lambda sizes: sizes.trainings,
)
