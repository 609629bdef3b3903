"""Training speed of two workers relative to one, on idle cores and beside a busy process; all give the same model."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.models import trained_embeddings
from benchmarks.speed.interleaved import (
    CONTEXT_START,
    Candidate,
    TrainingTurns,
    Turn,
    best,
    cost,
    interleave,
    thousands,
)
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.model.embeddings import Embeddings
from vse_ens.presets import configure
from vse_ens.run.threads import Workers
from vse_ens.system import available_cores

# Configuration and rounds per turn: an epoch, except with the softmax loss, which does 33 times the work per draw.
# `context` is the engine of that preset.
_KINDS: dict[str, tuple[Config, int | None]] = {
    "uniform": (Config(sampler="uniform", loss="logistic"), None),
    "vse-ens": (Config(sampler="vse-ens", loss="logistic"), None),
    "softmax": (Config(sampler="uniform", loss="softmax"), 4),
    "context": (configure("context").without_validation(), 4),
}


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    images: int
    labels: int
    dimensions: int = 100
    start_epochs: int = 10
    turns: int = 10
    kinds: tuple[str, ...] = tuple(_KINDS)


class SideBySide:
    """Two independent trainings on two threads: an upper bound on the speed of two cores of this machine."""

    def __init__(self, config: Config, data: Annotations, start: Embeddings, worker: Workers) -> None:
        self._pair = [TrainingTurns(config, data, start, worker) for _ in range(2)]
        self._pool = ThreadPoolExecutor(2)

    def __call__(self) -> Turn:
        """Take one turn."""
        started = time.perf_counter()
        turns = list(self._pool.map(TrainingTurns.__call__, self._pair))
        return Turn(sum(turn.draws for turn in turns), time.perf_counter() - started)


@contextmanager
def busy_process() -> Iterator[None]:
    """Run a process that uses a core all the time, within a block."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def measure(sizes: Sizes) -> Raw:
    """Return turns of every kind with one worker and with two, which start from the same trained vectors."""
    if available_cores() < 2:
        return {"skipped": ["Everything: this process may use only one core."]}
    data = scenes(sizes.images, sizes.labels)
    log(f"{data!r}, k = {sizes.dimensions}: training {sizes.start_epochs} epochs to start from")
    uniform = _KINDS["uniform"][0].override(dimensions=sizes.dimensions)
    start = trained_embeddings(data, uniform, sizes.start_epochs)
    with Workers(1) as one, Workers(2) as two:
        candidates: dict[str, Candidate] = {
            "alone": TrainingTurns(uniform, data, start, one),
            "side by side": SideBySide(uniform, data, start, one),
        }
        for name in sizes.kinds:
            config, rounds = _KINDS[name]
            config = config.override(dimensions=sizes.dimensions)
            begin = trained_embeddings(data, config, CONTEXT_START) if config.has_context else start
            for workers in (one, two):
                candidates[f"{name} {workers.count}"] = TrainingTurns(config, data, begin, workers, rounds)
        turns = interleave(candidates, sizes.turns)
        with busy_process():
            beside = interleave({name: candidates[f"{name} 2"] for name in sizes.kinds}, sizes.turns)
    return {
        "images": len(data.images),
        "labels": len(data.labels),
        "pairs": data.pairs,
        "dimensions": sizes.dimensions,
        "kinds": list(sizes.kinds),
        "turns": turns,
        "beside_busy": beside,
        "skipped": [],
    }


def score(raw: Raw) -> Score:
    """Return the speed of two workers relative to one, by best turns."""
    if "turns" not in raw:
        return Score()
    turns = raw["turns"]

    def speedup(one: str, two: str) -> float:
        return cost(best(turns[one])) / cost(best(turns[two]))

    limit = speedup("alone", "side by side")
    checks, shares, rows = (
        [],
        [],
        [
            (
                "two independent trainings",
                thousands(turns["alone"]),
                thousands(turns["side by side"]),
                f"{limit:.2f}",
            )
        ],
    )
    for name in raw["kinds"]:
        ratio = speedup(f"{name} 1", f"{name} 2")
        checks.append(Check(f"`{name}`: two workers / one", ratio, "at least", 1.6, 1.85))
        share = _median_cost(raw["beside_busy"][name]) / _median_cost(turns[f"{name} 1"])
        shares.append(Check(f"`{name}`: time beside a busy process / fair share", share, "at most", 1.3))
        rows.append((name, thousands(turns[f"{name} 1"]), thousands(turns[f"{name} 2"]), f"{ratio:.2f}"))
    size = f"{raw['images']:,} images, {raw['labels']:,} labels, {raw['pairs']:,} pairs, k = {raw['dimensions']}"
    note = (
        f"{size}; best of {len(turns['alone'])} turns each. In the same run, two independent trainings were "
        f"{limit:.2f} times as fast as one: the most that two cores could give. It is 2.00 only if both are idle. "
        "A busy process beside the training leaves it one of the two cores, so that its fair share is the time of one "
        "worker alone. Median turns are compared for this."
    )
    return Score(
        checks + shares, [Table(("thousand draws per second", "one worker", "two workers", "ratio"), rows)], [note]
    )


def _median_cost(turns: list[Raw]) -> float:
    return statistics.median(cost(turn) for turn in turns)


WORKERS = Benchmark(
    "workers",
    "Two workers train at least 1.6 times as fast as one on two idle cores, and take at most 1.3 times as long as one "
    "worker alone if another process keeps a core busy.",
    Sizes(112_000, 6_000),
    Sizes(2_000, 1_000, start_epochs=2, turns=2),
    measure,
    score,
    measures=("kernels", "run", "train"),
    repetitions=lambda sizes: sizes.turns,
)
