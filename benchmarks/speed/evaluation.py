"""Time of an evaluation relative to the matrix products it needs."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.data_sets import zipf
from benchmarks.core.models import random_embeddings
from benchmarks.core.process import call, peak_bytes
from vse_ens.evaluate.rank import DEFAULT_MEMORY, FunctionScorer, evaluate
from vse_ens.evaluate.report import summarize


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    images: int = 112_000
    labels: int = 6_000
    dimensions: int = 100
    turns: int = 3


def measure(sizes: Sizes) -> Raw:
    """Return the times, measured in a child process so that its peak RAM is the evaluation's."""
    log(f"{sizes.images:,} images against {sizes.labels:,} labels, {sizes.turns} turns")
    return {**asdict(sizes), **call(take_turns, asdict(sizes)), "skipped": []}


def take_turns(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the seconds of matrix products and evaluations, measured alternately, and the peak RAM."""
    sizes = Sizes(**settings)
    data = zipf(sizes.images, sizes.labels)
    known, held_out = data.leave_one_out()
    model = random_embeddings(data, sizes.dimensions)
    scorer = FunctionScorer(data.images, data.labels, lambda images: model.scores(model.image_vectors[images]))
    rows = DEFAULT_MEMORY // (4 * len(data.labels))
    out = np.empty((rows, len(data.labels)), np.float32)
    images = np.flatnonzero(held_out.labels_per_image)
    # Compile first: compilation is not measured.
    summarize(evaluate(scorer, known, held_out.with_pairs(np.arange(held_out.pairs) < 2)))

    seconds: dict[str, list[float]] = {"products": [], "ranking": [], "metrics": []}
    for _ in range(sizes.turns):
        start = time.perf_counter()
        for first in range(0, len(images), rows):
            block = images[first : first + rows]
            np.matmul(model.image_vectors[block], model.label_vectors.T, out=out[: len(block)])
        multiplied = time.perf_counter()
        rankings = evaluate(scorer, known, held_out)
        ranked = time.perf_counter()
        summarize(rankings)
        ended = time.perf_counter()
        seconds["products"].append(multiplied - start)
        seconds["ranking"].append(ranked - multiplied)
        seconds["metrics"].append(ended - ranked)
    return {"seconds": seconds, "peak_bytes": peak_bytes()}


def score(raw: Raw) -> Score:
    """Return the best turn of each."""
    seconds = raw["seconds"]
    products = min(seconds["products"])
    total = min(ranking + metrics for ranking, metrics in zip(seconds["ranking"], seconds["metrics"], strict=True))
    peak = raw["peak_bytes"] / 1e9
    checks = [
        Check("evaluation with all metrics and intervals / matrix products", total / products, "at most", 3.0),
        Check("peak RAM of the process, data and model included", peak, "at most", 2.0, unit=" GB"),
    ]
    rows = [
        ("matrix products", f"{products:.2f} s"),
        ("matrix products and ranking", f"{min(seconds['ranking']):.2f} s"),
        ("all metrics and their intervals", f"{min(seconds['metrics']):.2f} s"),
    ]
    size = f"{raw['images']:,} images against {raw['labels']:,} labels, k = {raw['dimensions']}"
    note = (
        f"{size}; best of {raw['turns']} turns. The matrix products use the same blocks and write to allocated arrays."
    )
    return Score(checks, [Table(("", "time"), rows)], [note])


EVALUATION = Benchmark(
    "evaluation",
    "A full ranking costs little more than the matrix products it needs.",
    Sizes(),
    Sizes(images=2_000, labels=300, dimensions=20, turns=1),
    measure,
    score,
    measures=("evaluate", "kernels"),
    repetitions=lambda sizes: sizes.turns,
)
