"""Table 3: what a training step costs as vectors get longer and labels more, measured beside the paper's O()."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.experiments.compare.fit import warm_up
from vse_ens.experiments.paper.stand_ins import Shape, stand_in
from vse_ens.kernels.arrays import DRAWS, TRIES
from vse_ens.presets import preset
from vse_ens.streams import Streams
from vse_ens.train.trainer import Trainer

# What is timed, and how many draws a turn has at most: dear draws need no crowd to be timed.
_CONTESTANTS = {
    "uniform": (preset("paper-opt-auc"), 200_000),
    "vse-ens": (preset("paper-vse-ens"), 200_000),
    "warp": (preset("paper-warp"), 4_000),
    "naive": (preset("paper-vse-ens").override(sampler="naive"), 400),
}
# All start from one model that has learnt something: how long WARP searches depends on that.
_START = preset("opt-auc").override(epochs=20, label_bias=False)
_TURNS = 3
_LABELS_PER_IMAGE = 6


@dataclass(frozen=True)
class Grid:
    """Where the cost is measured: several k at one |A|, and several |A| at one k."""

    dimensions: Sequence[int]
    labels: Sequence[int]
    at_dimensions: int = 100
    at_labels: int = 1_000

    def places(self) -> list[tuple[int, int]]:
        """Every (k, |A|) once."""
        both = [(k, self.at_labels) for k in self.dimensions] + [(self.at_dimensions, a) for a in self.labels]
        return sorted(set(both))


def measure(grid: Grid, seed: int, tell: Callable[[str], None]) -> list[dict[str, Any]]:
    """Nanoseconds a step on one core, refreshes included, for every sampler and place."""
    found = []
    for dimensions, labels in grid.places():
        tell(f"k = {dimensions}, |A| = {labels:,}")
        data = _data(labels, seed)
        start = _start(data, dimensions, seed)
        for sampler, (config, most_draws) in _CONTESTANTS.items():
            chosen = config.override(dimensions=dimensions, seed=seed)
            cost = _cost(chosen, _some_images(data, most_draws, seed), start)
            found.append({"sampler": sampler, "dimensions": dimensions, "labels": labels, **cost})
    return found


def _data(labels: int, seed: int) -> Annotations:
    """Enough images for a whole round of |A| ln |A| draws."""
    images = max(600, math.ceil(1.2 * labels * math.log(labels) / _LABELS_PER_IMAGE))
    shape = Shape(images, labels, (_LABELS_PER_IMAGE - 1) * images, images)
    return stand_in(shape, seed)


def _start(data: Annotations, dimensions: int, seed: int) -> Mapping[str, NDArray[Any]]:
    """The arrays of a model that has learnt something."""
    trainer = Trainer(_START.override(dimensions=dimensions, seed=seed), data)
    for _ in trainer.epochs():
        pass
    arrays, _ = trainer.state()
    return arrays


def _some_images(data: Annotations, most_draws: int, seed: int) -> Annotations:
    """The pairs of images in a random order, as many as fit."""
    order = np.argsort(Streams(seed).child("draws").words(len(data.images)), kind="stable")
    chosen = np.zeros(len(data.images), dtype=bool)
    chosen[order[np.cumsum(data.labels_per_image[order]) <= most_draws]] = True
    return data.with_pairs(chosen[data.image_numbers()])


def _cost(config: Config, data: Annotations, start: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """The first round from a trained model, on one core."""
    warm_up(config, workers=1)
    turns = []
    for _ in range(_TURNS):
        trainer = Trainer(config, data, workers=1)
        _, beginning = trainer.state()
        trainer.restore(start, beginning)
        work = next(trainer.rounds()).stats
        draws = int(work.counts[DRAWS])
        turns.append((work.seconds / draws * 1e9, int(work.counts[TRIES]) / draws))
    # What disturbs a turn can only make it slower.
    nanoseconds, tries = min(turns)
    return {"nanoseconds": nanoseconds, "tries": tries}


def growth(found: Sequence[dict[str, Any]], sampler: str, of: str, grid: Grid) -> float:
    """The exponent e of cost ~ x^e, x being ``dimensions`` or ``labels``: a straight line through the logarithms."""
    points = series(found, sampler, of, grid)
    xs, ys = (np.log([point[place] for point in points]) for place in (0, 1))
    return float(np.polyfit(xs, ys, 1)[0]) if len(points) > 1 else 0.0


def series(found: Sequence[dict[str, Any]], sampler: str, of: str, grid: Grid) -> list[tuple[int, float]]:
    """Cost against ``dimensions`` at the grid's number of labels, or against ``labels`` at its k."""
    other, value = ("labels", grid.at_labels) if of == "dimensions" else ("dimensions", grid.at_dimensions)
    wanted = grid.dimensions if of == "dimensions" else grid.labels
    return sorted(
        (one[of], one["nanoseconds"])
        for one in found
        if one["sampler"] == sampler and one[other] == value and one[of] in wanted
    )
