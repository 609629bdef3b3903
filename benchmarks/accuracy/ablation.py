"""Ablation of tower, sampler, loss and label weights, with all other settings equal.

Every model trains to convergence: all epochs of its preset, of which the best on held-out labels is kept. Early
stopping would end the slow starters, such as uniform negatives without AdaGrad, before they have learned anything.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.fitting import fit_and_rank
from benchmarks.accuracy.label_weights import weights_scorer
from benchmarks.core.benchmark import Benchmark, Raw, Score, Table, log
from benchmarks.core.data_sets import REAL, real
from benchmarks.core.report import stale_note
from benchmarks.core.results import Result
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations, Split
from vse_ens.errors import TrainingError
from vse_ens.evaluate.rank import mean_metrics
from vse_ens.label_weights.learn import learn_label_weights
from vse_ens.presets import configure
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.sharded.sources import InMemorySource
from vse_ens.train.validation import Validator, choose_held_out, make_validation_set

DOCUMENT = Path(__file__).parents[2] / "docs" / "context.md"
_METRICS = ("recall@10", "mrr")
_ID, _WEIGHTS = "id", "label weights alone"
# The context towers as changes to the preset. `components` measures neighbors.
_CONTEXT: dict[str, dict[str, Any]] = {
    "context": {"label_pairs": 0, "label_weights": False, "neighbors": False},
    "context + label pairs": {"label_weights": False, "neighbors": False},
    "context + label pairs + label weights": {"neighbors": False},
}
_BOTH = "context + label pairs + label weights"
_SAMPLERS = ("uniform", "vse-ens")


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
            config = configure("context", **parts, **_CONTEXT[self.tower])
        else:
            chosen = {"validate": True, "refit": True, "metric": "overall"}
            config = configure("vse-ens", **parts, **chosen, dimensions=configure("context").dimensions)
        return config.override(patience=config.epochs)

    def __str__(self) -> str:
        return ", ".join(filter(None, astuple(self)))


# Additions to the context tower are measured with softmax, its best loss. The softmax loss of the id tower is left out:
# it takes ten times as long as the others.
GRID = (
    *(Cell(_ID, sampler, loss) for loss in ("hinge", "logistic") for sampler in _SAMPLERS),
    *(Cell("context", sampler, loss) for loss in ("hinge", "logistic", "softmax") for sampler in _SAMPLERS),
    Cell("context", "dns", "softmax"),
    *(Cell(tower, sampler, "softmax") for tower in list(_CONTEXT)[1:] for sampler in _SAMPLERS),
    Cell(_WEIGHTS),
)

# What is compared with what.
_STEPS = (
    *(
        (f"`vse-ens` for `uniform`: {tower}, {loss}", Cell(tower, "uniform", loss), Cell(tower, "vse-ens", loss))
        for tower in (_ID, *_CONTEXT)
        for loss in ("hinge", "logistic", "softmax")
    ),
    ("`dns` for `vse-ens`: context, softmax", Cell("context", "vse-ens", "softmax"), Cell("context", "dns", "softmax")),
    *(
        (f"context tower for id: {sampler}, {loss}", Cell(_ID, sampler, loss), Cell("context", sampler, loss))
        for loss in ("hinge", "logistic")
        for sampler in _SAMPLERS
    ),
    *(
        (
            f"{title}: {sampler}, softmax",
            Cell(before, sampler, "softmax"),
            Cell(after, sampler, "softmax"),
        )
        for title, before, after in (
            ("label pairs added", "context", "context + label pairs"),
            ("label weights added", "context + label pairs", _BOTH),
        )
        for sampler in _SAMPLERS
    ),
    ("both for label weights alone", Cell(_WEIGHTS), Cell(_BOTH, "vse-ens", "softmax")),
)


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    real: tuple[str, ...] = REAL
    cells: tuple[Cell, ...] = GRID
    images: int = 10_000
    """At most this many images of each data set, chosen at random, to keep the run to minutes."""
    seeds: int = 3
    epochs: int | None = None


def measure(sizes: Sizes) -> Raw:
    """Train and rank every cell on every data set with every seed, which chooses the held-out labels too."""
    found, skipped = real(sizes.real)
    sets: Raw = {}
    for name, whole in found.items():
        data = _some_images(whole, sizes.images)
        cells: dict[Cell, list[dict[str, float]]] = {cell: [] for cell in sizes.cells}
        for seed in range(sizes.seeds):
            split = data.leave_one_out(seed=seed)
            for cell in sizes.cells:
                log(f"{cell}, seed {seed}, on {name}")
                try:
                    cells[cell].append(_rank(cell, split, seed, sizes.epochs))
                except TrainingError as error:
                    skipped.append(f"{cell}, seed {seed}, on {name}: {error}.")
        sets[name] = {
            "images": len(data.images),
            "labels": len(data.labels),
            "cells": [{**asdict(cell), "seeds": runs} for cell, runs in cells.items() if len(runs) == sizes.seeds],
        }
    return {"sets": sets, "seeds": sizes.seeds, "skipped": skipped}


def _some_images(data: Annotations, count: int) -> Annotations:
    """Return at most ``count`` images, chosen at random, with the labels that they have."""
    order = Streams(0).child("ablation").uniforms(len(data.images)).argsort()
    chosen = np.zeros(len(data.images), bool)
    chosen[order[:count]] = True
    images, labels = data.images.ids(range(len(data.images))), data.labels.ids(range(len(data.labels)))
    rows = np.flatnonzero(chosen)
    return Annotations.from_pairs(
        (images[row], labels[label])
        for row in rows.tolist()
        for label in data.indices[data.indptr[row] : data.indptr[row + 1]].tolist()
    )


def _rank(cell: Cell, split: Split, seed: int, epochs: int | None) -> dict[str, float]:
    if cell.tower == _WEIGHTS:
        return rank_by_weights(split, seed)
    config = cell.config().override(seed=seed)
    if epochs is not None:
        config = config.override(epochs=epochs, patience=epochs)
    found = fit_and_rank(config, split)
    return {name: found[name] for name in (*_METRICS, "seconds", "epochs")}


def rank_by_weights(split: Split, seed: int) -> dict[str, float]:
    """Rank by the label weights that the preset learns, without a tower."""
    with Workers() as workers:
        pool = LocalPool(workers)
        config = configure("context", seed=seed)
        chosen = choose_held_out(config, split.train)
        train = InMemorySource(split.train).without(chosen).known
        held_out = make_validation_set(split.train, train, chosen)
        validator = Validator(config, held_out, train, lambda value: learn_label_weights(train, value, pool), None)
        weights = learn_label_weights(split.train, validator.regularization, pool)
    found = mean_metrics(weights_scorer(weights, split.train).scores, *split)
    return {name: found[name] for name in _METRICS}


Found = dict[str, dict[Cell, NDArray[np.float64]]]
"""By data set and cell: one row per seed, one column per metric."""


def _found(raw: Raw) -> Found:
    return {
        name: {
            Cell(cell["tower"], cell["sampler"], cell["loss"]): np.array(
                [[run[metric] for metric in _METRICS] for run in cell["seeds"]]
            )
            for cell in facts["cells"]
        }
        for name, facts in raw["sets"].items()
    }


def score(raw: Raw) -> Score:
    """Return the means, and the differences that exceed two standard errors."""
    sets = _found(raw)
    titles = tuple(f"{name} ({facts['labels']:,})" for name, facts in raw["sets"].items())
    sizes = {facts["images"] for facts in raw["sets"].values()}
    note = (
        f"recall@10 / mrr, means of {raw['seeds']} seeds, each with a leave-one-out split of its own, on at most "
        f"{max(sizes, default=0):,} images of each data set; number of labels in brackets. All labels except the known "
        "ones of an image are ranked. Every model has the dimensions of the preset `context` and trains all epochs of "
        "its preset; the best one on labels held out of the training part is kept. The id tower has the default "
        "optimization settings of each loss, the context tower those of the preset, which were chosen with softmax. "
        "The best of each column is bold; `-` was not measured."
    )
    rule = (
        "The second table has differences of recall@10 with their standard errors over the seeds. Only those beyond "
        "two standard errors are shown as figures; for the others, `=`, the seeds do not tell which is better."
    )
    tables = [
        Table(("tower", "loss", "sampler", *titles), list(_rows(sets))),
        Table(("change", *titles), list(_differences(sets))),
    ]
    return Score(tables=tables, notes=[note, rule])


def _rows(sets: Found) -> Iterator[tuple[str, ...]]:
    bests = {name: np.max([runs.mean(axis=0) for runs in cells.values()], axis=0) for name, cells in sets.items()}
    last = Cell("")
    for cell in dict.fromkeys(cell for cells in sets.values() for cell in cells):
        shown = [
            " / ".join(map(_figure, cells[cell].mean(axis=0), bests[name])) if cell in cells else "-"
            for name, cells in sets.items()
        ]
        # Repeated values are left blank.
        tower = cell.tower if cell.tower != last.tower else ""
        yield tower, cell.loss if tower or cell.loss != last.loss else "", cell.sampler, *shown
        last = cell


def _figure(value: float, best: float) -> str:
    return f"**{value:.3f}**" if value == best else f"{value:.3f}"


def _differences(sets: Found) -> Iterator[tuple[str, ...]]:
    for title, before, after in _STEPS:
        shown = [
            difference(cells[before][:, 0], cells[after][:, 0]) if before in cells and after in cells else "-"
            for cells in sets.values()
        ]
        if set(shown) - {"-"}:
            yield title, *shown


def summary(result: Result | None) -> str:
    """Return, for docs/context.md, on which data sets each change helps, harms or does neither."""
    if result is None:
        return "Not measured yet: `python -m benchmarks ablation`."
    sets = _found(result.raw)
    lines = [_summary_line(title, dict(zip(sets, shown, strict=True))) for title, *shown in _differences(sets)]
    stale = stale_note([result])
    return "\n".join([*([stale, ""] if stale else []), *lines])


def _summary_line(title: str, shown: dict[str, str]) -> str:
    groups = {
        "better on": [f"{name} ({gain})" for name, gain in shown.items() if gain.startswith("+")],
        "worse on": [f"{name} ({gain})" for name, gain in shown.items() if gain.startswith("-0")],
        "no difference on": [name for name, gain in shown.items() if gain == "="],
    }
    parts = [f"{how} {', '.join(names)}" for how, names in groups.items() if names]
    text = f"- {title}: {'; '.join(parts)}."
    return textwrap.fill(text, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def difference(before: NDArray[np.float64], after: NDArray[np.float64]) -> str:
    """Return the mean difference with its standard error, or "=" within two standard errors; the seeds are paired."""
    gains = after - before
    if len(gains) < 2:  # no standard error
        return "="
    error = float(gains.std(ddof=1) / np.sqrt(len(gains)))
    mean = float(gains.mean())
    return f"{mean:+.3f} ± {error:.3f}" if abs(mean) > 2 * error else "="


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
        images=500,
        seeds=2,
        epochs=2,
    ),
    measure,
    score,
    measures=("kernels", "label_weights", "presets", "train"),
    repetitions=lambda sizes: sizes.seeds,
    timed=False,
)
