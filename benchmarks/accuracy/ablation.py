"""Ablation of tower, sampler, loss and label weights, with all other settings equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from typing import Any

from benchmarks.accuracy.fitting import fit_and_rank
from benchmarks.accuracy.label_weights import weights_scorer
from benchmarks.core.benchmark import Benchmark, Raw, Score, Table, log
from benchmarks.core.data_sets import REAL, real
from vse_ens.config import Config
from vse_ens.data.annotations import Split
from vse_ens.errors import TrainingError
from vse_ens.evaluate.rank import mean_metrics
from vse_ens.label_weights.learn import learn_label_weights
from vse_ens.presets import configure
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers
from vse_ens.train.validation import Validator, hold_out

_METRICS = ("recall@10", "mrr")
_ID, _WEIGHTS = "id", "label weights alone"
# The context towers as changes to the preset, which is the last.
_CONTEXT: dict[str, dict[str, Any]] = {
    "context": {"label_pairs": 0, "label_weights": False},
    "context + label pairs": {"label_weights": False},
    "context + label pairs + label weights": {},
}
_TOWERS = (_ID, *_CONTEXT)
# The warp loss requires its own sampler. Softmax with popularity is left out: it unlearns common labels.
_PAIRS = (
    ("warp", "warp"),
    ("uniform", "hinge"),
    ("vse-ens", "hinge"),
    ("uniform", "logistic"),
    ("popularity", "logistic"),
    ("dns", "logistic"),
    ("vse-ens", "logistic"),
    ("uniform", "softmax"),
    ("dns", "softmax"),
    ("vse-ens", "softmax"),
)
# Early stopping as in the preset, with more patience: without AdaGrad training starts slowly.
_EARLY_STOPPING: dict[str, Any] = {"validate": True, "refit": True, "metric": "overall", "patience": 10}


@dataclass(frozen=True)
class Cell:
    """One model of the table."""

    tower: str
    sampler: str = ""
    loss: str = ""

    def config(self) -> Config:
        """Return the default settings for tower and loss, with the dimensions of the preset `context`."""
        parts = {"sampler": self.sampler, "loss": self.loss}
        if self.tower in _CONTEXT:
            return configure("context", **parts, **_CONTEXT[self.tower])
        return configure("vse-ens", **parts, **_EARLY_STOPPING, dimensions=configure("context").dimensions)


# Additions to the context tower are measured with softmax, its best loss.
GRID = (
    *(Cell(tower, *parts) for tower in (_ID, "context") for parts in _PAIRS),
    *(Cell(tower, sampler, "softmax") for tower in _TOWERS[2:] for sampler in ("uniform", "vse-ens")),
    Cell(_WEIGHTS),
)


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    real: tuple[str, ...] = REAL
    cells: tuple[Cell, ...] = GRID
    epochs: int | None = None


def measure(sizes: Sizes) -> Raw:
    """Train and rank every cell on every data set."""
    found, skipped = real(sizes.real)
    sets: Raw = {}
    for name, data in found.items():
        split = data.leave_one_out(seed=0)
        cells = []
        for cell in sizes.cells:
            title = f"{', '.join(filter(None, astuple(cell)))} on {name}"
            log(title)
            try:
                cells.append({**asdict(cell), **_rank(cell, split, sizes)})
            except TrainingError as error:
                skipped.append(f"{title}: {error}.")
        sets[name] = {"labels": len(data.labels), "cells": cells}
    return {"sets": sets, "skipped": skipped}


def _rank(cell: Cell, split: Split, sizes: Sizes) -> dict[str, float]:
    if cell.tower == _WEIGHTS:
        return _rank_by_weights(split)
    found = fit_and_rank(cell.config().override(epochs=sizes.epochs), split)
    return {name: found[name] for name in (*_METRICS, "seconds", "epochs")}


def _rank_by_weights(split: Split) -> dict[str, float]:
    """Rank by the label weights that the preset learns, without a tower."""
    with Workers() as workers:
        pool = LocalPool(workers)
        config = configure("context")
        train, held_out = hold_out(config, split.train)
        validator = Validator(config, held_out, lambda value: learn_label_weights(train, value, pool), None)
        weights = learn_label_weights(split.train, validator.regularization, pool)
    found = mean_metrics(weights_scorer(weights, split.train).scores, *split)
    return {name: found[name] for name in _METRICS}


def score(raw: Raw) -> Score:
    """Return the table, and the gain of the paper's sampler over uniform negatives."""
    sets = {
        name: {Cell(cell["tower"], cell["sampler"], cell["loss"]): cell for cell in facts["cells"]}
        for name, facts in raw["sets"].items()
    }
    titles = tuple(f"{name} ({facts['labels']:,})" for name, facts in raw["sets"].items())
    note = (
        "recall@10 / mrr on the five data sets, number of labels in brackets: leave-one-out, seed 0, model seed 0; "
        "all labels except the known ones of an image are ranked. Every model has the dimensions of the preset "
        "`context` and its early stopping, on labels held out of the training part. The id tower has the default "
        "optimisation settings of each loss, the context tower those of the preset, which were chosen with softmax. "
        "The best of each column is bold; `-` was not measured. `context + label pairs + label weights` with `vse- "
        "ens` and `softmax` is the preset. The second table shows the gain of `vse-ens` over `uniform`."
    )
    tables = [
        Table(("tower", "loss", "sampler", *titles), list(_rows(sets))),
        Table(("tower", "loss", *titles), list(_gains(sets))),
    ]
    return Score(tables=tables, notes=[note])


Found = dict[str, dict[Cell, dict[str, float]]]


def _rows(sets: Found) -> Iterator[tuple[str, ...]]:
    bests = {
        name: {metric: max(found[metric] for found in cells.values()) for metric in _METRICS}
        for name, cells in sets.items()
    }
    last = Cell("")
    for cell in dict.fromkeys(cell for cells in sets.values() for cell in cells):
        shown = [
            " / ".join(_figure(cells[cell][metric], bests[name][metric]) for metric in _METRICS)
            if cell in cells
            else "-"
            for name, cells in sets.items()
        ]
        # Repeated values are left blank.
        tower = cell.tower if cell.tower != last.tower else ""
        yield tower, cell.loss if tower or cell.loss != last.loss else "", cell.sampler, *shown
        last = cell


def _figure(value: float, best: float) -> str:
    return f"**{value:.3f}**" if value == best else f"{value:.3f}"


def _gains(sets: Found) -> Iterator[tuple[str, ...]]:
    for tower in _TOWERS:
        for loss in ("hinge", "logistic", "softmax"):
            plain, adaptive = Cell(tower, "uniform", loss), Cell(tower, "vse-ens", loss)
            shown = [
                " / ".join(f"{cells[adaptive][metric] - cells[plain][metric]:+.3f}" for metric in _METRICS)
                if plain in cells and adaptive in cells
                else "-"
                for cells in sets.values()
            ]
            if set(shown) != {"-"}:
                yield tower, loss, *shown


ABLATION = Benchmark(
    "ablation",
    "The effect of tower, sampler, loss and label weights on accuracy.",
    Sizes(),
    Sizes(
        ("corel5k",),
        cells=(
            Cell(_ID, "vse-ens", "hinge"),
            Cell("context", "uniform", "softmax"),
            Cell("context", "vse-ens", "softmax"),
            Cell(_WEIGHTS),
        ),
        epochs=2,
    ),
    measure,
    score,
    measures=("kernels", "label_weights", "presets", "train"),
    timed=False,
)
