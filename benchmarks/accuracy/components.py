"""The parts of the default's score alone and together: context tower, label weights, neighbors.

A part of this benchmark is one data set with one seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.ablation import rank_by_weights
from benchmarks.accuracy.fitting import fit_and_rank
from benchmarks.core.benchmark import Benchmark, Parts, Raw, Score, Table
from benchmarks.core.data_sets import real
from benchmarks.core.parts import measure_parts
from benchmarks.core.process import call
from benchmarks.core.report import markdown_table, stale_note
from benchmarks.core.results import Result
from benchmarks.peers.race import ONE_THREAD
from benchmarks.rivals.figures import part_name, split_name
from benchmarks.speed.default import EVEN, ODD
from vse_ens.data.annotations import Annotations, Split
from vse_ens.evaluate.rank import mean_metrics
from vse_ens.kernels.arrays import Csr
from vse_ens.model.neighbors import ImageNeighbors
from vse_ens.presets import configure

DOCUMENT = Path(__file__).parents[2] / "docs" / "context.md"
_METRICS = ("recall@10", "mrr")
_NEIGHBORS, _WEIGHTS = "neighbors alone", "label weights alone"
# What is trained, as changes of the preset.
_TRAINED: dict[str, dict[str, Any]] = {
    "context tower alone": {"label_weights": False, "neighbors": False},
    "context tower and label weights": {"neighbors": False},
    "context tower and neighbors": {"label_weights": False},
    "all three: the preset": {},
}
_SHOWN = ("context tower alone", _WEIGHTS, _NEIGHBORS, *list(_TRAINED)[1:])


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    data_sets: tuple[str, ...] = (*ODD, *EVEN)
    seeds: int = 3
    epochs: int | None = None


def parts(sizes: Sizes) -> list[str]:
    """Return the names of all parts, by seed."""
    return [part_name(f"seed {seed}", name) for seed in range(sizes.seeds) for name in sizes.data_sets]


def measure_part(sizes: Sizes, part: str) -> Raw:
    """Measure one part in a process of its own; ``skipped`` is a sentence if the data set is missing."""
    seed, data_set = split_name(part)
    if skipped := real((data_set,))[1]:
        return {"skipped": skipped[0]}
    found: Raw = call(run, data_set, int(seed.split()[1]), sizes.epochs, **ONE_THREAD)
    return found


def run(data_set: str, seed: int, epochs: int | None) -> Raw:
    """Rank labels held out of the training part; the test labels stay unseen."""
    return rank_all(validation_split(real((data_set,))[0][data_set], seed), seed, epochs)


def validation_split(data: Annotations, seed: int) -> Split:
    """Hold labels out of the training part of the leave-one-out split, others with each seed."""
    return data.leave_one_out(seed=0).train.leave_one_out(seed=100 + seed)


def rank_all(split: Split, seed: int, epochs: int | None = None) -> Raw:
    """Return the metrics of each combination on the held-out labels."""
    found = {_WEIGHTS: rank_by_weights(split, seed), _NEIGHBORS: rank_by_neighbors(split)}
    shorter = {} if epochs is None else {"epochs": epochs}
    for name, changes in _TRAINED.items():
        found[name] = fit_and_rank(configure("context", seed=seed, **shorter, **changes), split)
    return {name: {metric: metrics[metric] for metric in _METRICS} for name, metrics in found.items()}


def rank_by_neighbors(split: Split) -> dict[str, float]:
    """Rank by the neighbors of images, and by the frequency of labels where no neighbor has them."""
    neighbors, frequencies = ImageNeighbors(split.train, 1.0), split.train.images_per_label
    smallest = 1e-9 / max(int(frequencies.max()), 1)

    def scores(known: Annotations, images: NDArray[np.int64]) -> NDArray[np.float32]:
        found = np.tile((frequencies * smallest).astype(np.float32), (len(images), 1))
        neighbors.add_scores(Csr(*known.rows(images)), images, found)
        return found

    return mean_metrics(partial(scores, split.train), *split)


def measure(sizes: Sizes) -> Raw:
    """Measure all parts without storing them."""
    return measure_parts(PARTS, sizes).raw


def score(raw: Raw) -> Score:
    """Return a table per metric."""
    note = (
        "Labels held out of the training part of the leave-one-out split, others with each seed; test labels are not "
        "used. Means and standard errors over seeds. Every combination is trained and validated anew. Neighbors alone "
        "rank labels that no neighbor has by their frequency."
    )
    return Score(tables=list(_tables(raw)), notes=[note])


def _tables(raw: Raw) -> Iterator[Table]:
    found: dict[str, list[Raw]] = {}
    for part, stored in raw["parts"].items():
        if "skipped" not in stored["raw"]:
            found.setdefault(split_name(part)[1], []).append(stored["raw"])
    for metric in _METRICS if found else ():
        columns = {name: [[one[shown][metric] for one in runs] for shown in _SHOWN] for name, runs in found.items()}
        bests = {name: max(map(fmean, column)) for name, column in columns.items()}
        rows = [
            (shown, *(_figure(column[row], bests[name]) for name, column in columns.items()))
            for row, shown in enumerate(_SHOWN)
        ]
        yield Table((metric, *found), rows)


def _figure(values: list[float], best: float) -> str:
    mean = f"**{fmean(values):.4f}**" if fmean(values) == best else f"{fmean(values):.4f}"
    return f"{mean} ± {stdev(values) / len(values) ** 0.5:.4f}" if len(values) > 1 else mean


def tables(result: Result | None) -> str:
    """Return the tables for docs/context.md."""
    if result is None:
        return "Not measured yet: `python -m benchmarks components`."
    stale = stale_note([result])
    return "\n\n".join([*([stale] if stale else []), *map(markdown_table, _tables(result.raw))])


PARTS = Parts(parts, measure_part, lambda _: ("kernels", "label_weights", "model", "presets", "train"))
COMPONENTS = Benchmark(
    "components",
    "The context tower, label weights and neighbors rank better together than alone.",
    Sizes(),
    Sizes(("corel5k",), seeds=1, epochs=2),
    measure,
    score,
    measures=("kernels", "label_weights", "model", "presets", "train"),
    repetitions=lambda sizes: sizes.seeds,
    timed=False,
    parts=PARTS,
)
