"""Evaluation beside the bare matrix products it cannot do without."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, say
from benchmarks.core.data_sets import zipf
from benchmarks.speed.labels import random_embeddings
from vse_ens.evaluate.evaluator import DEFAULT_MEMORY, evaluate
from vse_ens.evaluate.report import summarise
from vse_ens.evaluate.scorer import FunctionScorer


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    images: int = 112_000
    labels: int = 6_000
    dimensions: int = 100
    turns: int = 3


def measure(sizes: Sizes) -> Raw:
    """In a process of its own, so that its peak memory is that of evaluation."""
    say(f"{sizes.images:,} images against {sizes.labels:,} labels, {sizes.turns} turns")
    command = [sys.executable, "-m", "benchmarks.speed.evaluation", json.dumps(asdict(sizes))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return {**asdict(sizes), **json.loads(done.stdout), "skipped": []}


def take_turns(sizes: Sizes) -> dict[str, object]:
    """Products, evaluation, products, evaluation ...: seconds of each, and bytes at the peak."""
    data = zipf(sizes.images, sizes.labels)
    known, held_out = data.leave_one_out()
    model = random_embeddings(data, sizes.dimensions)
    scorer = FunctionScorer(data.images, data.labels, lambda images: model.scores(model.image_vectors[images]))
    rows = DEFAULT_MEMORY // (4 * len(data.labels))
    out = np.empty((rows, len(data.labels)), np.float32)
    images = np.flatnonzero(held_out.labels_per_image)
    # Compiled before: a first call is not what is measured.
    summarise(evaluate(scorer, known, held_out.with_pairs(np.arange(held_out.pairs) < 2)))

    seconds: dict[str, list[float]] = {"products": [], "ranking": [], "metrics": []}
    for _ in range(sizes.turns):
        start = time.perf_counter()
        for first in range(0, len(images), rows):
            block = images[first : first + rows]
            np.matmul(model.image_vectors[block], model.label_vectors.T, out=out[: len(block)])
        multiplied = time.perf_counter()
        rankings = evaluate(scorer, known, held_out)
        ranked = time.perf_counter()
        summarise(rankings)
        ended = time.perf_counter()
        seconds["products"].append(multiplied - start)
        seconds["ranking"].append(ranked - multiplied)
        seconds["metrics"].append(ended - ranked)
    return {"seconds": seconds, "peak_bytes": _peak_memory()}


def _peak_memory() -> int:
    """Of this process alone; `getrusage` would count the peak of the process that started it."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


def score(raw: Raw) -> Score:
    """The best turn of each."""
    seconds = raw["seconds"]
    products = min(seconds["products"])
    whole = min(ranking + metrics for ranking, metrics in zip(seconds["ranking"], seconds["metrics"], strict=True))
    checks = [
        Check("evaluation, with all metrics and intervals, over the bare products", whole / products, "at most", 3.0),
        Check(
            "peak memory of the process, data and model included", raw["peak_bytes"] / 1e9, "at most", 2.0, unit=" GB"
        ),
    ]
    rows = [
        ("bare products", f"{products:.2f} s"),
        ("products and ranking", f"{min(seconds['ranking']):.2f} s"),
        ("all metrics and their intervals", f"{min(seconds['metrics']):.2f} s"),
    ]
    size = f"{raw['images']:,} images against {raw['labels']:,} labels, k = {raw['dimensions']}"
    note = f"{size}; the best of {raw['turns']} turns. The bare products are of the same blocks, into ready memory."
    return Score(checks, [Table(("", "time"), rows)], [note])


EVALUATION = Benchmark(
    "evaluation",
    "Ranking everything costs little more than the matrix products it cannot do without.",
    Sizes(),
    Sizes(images=2_000, labels=300, dimensions=20, turns=1),
    measure,
    score,
)


if __name__ == "__main__":
    print(json.dumps(take_turns(Sizes(**json.loads(sys.argv[1])))))
