"""Tower x sampler x loss: what each part of the default is worth, all else the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from typing import Any

from benchmarks.accuracy.fitting import attempt
from benchmarks.accuracy.label_weights import memory_scorer
from benchmarks.core.benchmark import Benchmark, Raw, Score, Table, say
from benchmarks.core.data_sets import REAL, real
from vse_ens.config import Config, configure
from vse_ens.data.annotations import Split
from vse_ens.errors import TrainingError
from vse_ens.evaluate.means import mean_metrics
from vse_ens.memory.learn import learn_memory
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers
from vse_ens.train.judge import Judge
from vse_ens.train.material import InMemory

_METRICS = ("recall@10", "mrr")
_ID, _MEMORY = "id", "memory alone"
# The context towers, and what makes them of the preset, which is the last.
_CONTEXT: dict[str, dict[str, Any]] = {
    "context": {"combinations": 0, "label_memory": False},
    "context + combinations": {"label_memory": False},
    "context + combinations + memory": {},
}
_TOWERS = (_ID, *_CONTEXT)
# The warp loss takes no other sampler, and popularity no softmax that is worth it: it unlearns what is common.
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
# How the preset finds its number of epochs. Without AdaGrad's steps a start is slow: more patience.
_JUDGED: dict[str, Any] = {"validate": True, "refit": True, "metric": "overall", "patience": 10}


@dataclass(frozen=True)
class Cell:
    """One model of the table."""

    tower: str
    sampler: str = ""
    loss: str = ""

    def config(self) -> Config:
        """Its settings: the steps that suit tower and loss, the dimensions of the preset `context`."""
        parts = {"sampler": self.sampler, "loss": self.loss}
        if self.tower in _CONTEXT:
            return configure("context", **parts, **_CONTEXT[self.tower])
        return configure("vse-ens", **parts, **_JUDGED, dimensions=configure("context").dimensions)


# What is added to the context tower is measured with the loss that is best for it.
GRID = (
    *(Cell(tower, *parts) for tower in (_ID, "context") for parts in _PAIRS),
    *(Cell(tower, sampler, "softmax") for tower in _TOWERS[2:] for sampler in ("uniform", "vse-ens")),
    Cell(_MEMORY),
)


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    real: tuple[str, ...] = REAL
    cells: tuple[Cell, ...] = GRID
    epochs: int | None = None


def measure(sizes: Sizes) -> Raw:
    """Every cell on every data set."""
    found, skipped = real(sizes.real)
    sets: Raw = {}
    for name, data in found.items():
        split = data.leave_one_out(seed=0)
        cells = []
        for cell in sizes.cells:
            title = f"{', '.join(filter(None, astuple(cell)))} on {name}"
            say(title)
            try:
                cells.append({**asdict(cell), **_rank(cell, split, sizes)})
            except TrainingError as error:
                skipped.append(f"{title}: {error}.")
        sets[name] = {"labels": len(data.labels), "cells": cells}
    return {"sets": sets, "skipped": skipped}


def _rank(cell: Cell, split: Split, sizes: Sizes) -> dict[str, float]:
    if cell.tower == _MEMORY:
        return _rank_by_memory(split)
    found = attempt(cell.config().override(epochs=sizes.epochs), split)
    return {name: found[name] for name in (*_METRICS, "seconds", "epochs")}


def _rank_by_memory(split: Split) -> dict[str, float]:
    """The memory as the preset learns it, with nothing beside it."""
    with Workers() as workers:
        pool = LocalPool(workers)
        config = configure("context")
        part, trial = InMemory(split.train).hold_out(config)
        judge = Judge(config, trial, lambda regularization: part.memory(regularization, pool), None)
        memory = learn_memory(split.train, judge.regularization, pool)
    found = mean_metrics(memory_scorer(memory, split.train).scores, *split)
    return {name: found[name] for name in _METRICS}


def score(raw: Raw) -> Score:
    """The table, and what the paper's sampler adds in it."""
    sets = {
        name: {Cell(cell["tower"], cell["sampler"], cell["loss"]): cell for cell in facts["cells"]}
        for name, facts in raw["sets"].items()
    }
    titles = tuple(f"{name} ({facts['labels']:,})" for name, facts in raw["sets"].items())
    note = (
        "recall@10 / mrr on the five data sets, the number of labels in brackets: leave-one-out, seed 0, model seed 0, "
        "every label the image is not known to have is ranked. Every model has the dimensions of the preset `context`, "
        "and its number of epochs is found as that of the preset, on labels held out of the training part. The id "
        "tower has the steps that suit each loss, the context tower those of the preset, which were chosen with "
        "softmax. The best of each column is in bold; `-` was not measured. "
        "`context + combinations + memory` with `vse-ens` and `softmax` is the preset. "
        "The second table is what `vse-ens` adds to `uniform`."
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
        # What is as in the row above is not said again.
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
    "What the tower, the sampler, the loss and the memory are each worth.",
    Sizes(),
    Sizes(
        ("corel5k",),
        cells=(
            Cell(_ID, "vse-ens", "hinge"),
            Cell("context", "uniform", "softmax"),
            Cell("context", "vse-ens", "softmax"),
            Cell(_MEMORY),
        ),
        epochs=2,
    ),
    measure,
    score,
)
