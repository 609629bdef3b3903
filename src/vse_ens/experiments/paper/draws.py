"""Table 3: the measured cost of a training step as dimensions and labels grow, beside the paper's O()."""

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

# The configuration of each sampler and the maximum number of draws per measurement; expensive draws need fewer.
_SAMPLERS = {
    "uniform": (preset("paper-opt-auc"), 200_000),
    "vse-ens": (preset("paper-vse-ens"), 200_000),
    "warp": (preset("paper-warp"), 4_000),
    "naive": (preset("paper-vse-ens").override(sampler="naive"), 400),
}
# All samplers start from the same partly trained model, because the length of WARP's search depends on the model.
_START = preset("opt-auc").override(epochs=20, label_bias=False)
_REPEATS = 3
_LABELS_PER_IMAGE = 6


@dataclass(frozen=True)
class Grid:
    """Where the cost is measured: several k at a fixed |A|, and several |A| at a fixed k."""

    dimensions: Sequence[int]
    labels: Sequence[int]
    at_dimensions: int = 100
    at_labels: int = 1_000

    def points(self) -> list[tuple[int, int]]:
        """Return the distinct (k, |A|) pairs."""
        both = [(k, self.at_labels) for k in self.dimensions] + [(self.at_dimensions, a) for a in self.labels]
        return sorted(set(both))


def measure_costs(grid: Grid, seed: int, on_step: Callable[[str], None]) -> list[dict[str, Any]]:
    """Measure nanoseconds per step on one core, including refreshes, for every sampler at every grid point."""
    costs = []
    for dimensions, labels in grid.points():
        on_step(f"k = {dimensions}, |A| = {labels:,}")
        data = _data(labels, seed)
        start = _start_arrays(data, dimensions, seed)
        for sampler, (config, max_draws) in _SAMPLERS.items():
            sized = config.override(dimensions=dimensions, seed=seed)
            cost = _cost(sized, _sample_images(data, max_draws, seed), start)
            costs.append({"sampler": sampler, "dimensions": dimensions, "labels": labels, **cost})
    return costs


def growth(costs: Sequence[dict[str, Any]], sampler: str, of: str, grid: Grid) -> float:
    """Return e of cost ~ x^e for x = ``dimensions`` or ``labels``: the slope of a line fitted to the logarithms."""
    points = series(costs, sampler, of, grid)
    xs, ys = (np.log([point[axis] for point in points]) for axis in (0, 1))
    return float(np.polyfit(xs, ys, 1)[0]) if len(points) > 1 else 0.0


def series(costs: Sequence[dict[str, Any]], sampler: str, of: str, grid: Grid) -> list[tuple[int, float]]:
    """Return cost over ``dimensions`` at the grid's fixed |A|, or over ``labels`` at its fixed k."""
    other, value = ("labels", grid.at_labels) if of == "dimensions" else ("dimensions", grid.at_dimensions)
    axis = grid.dimensions if of == "dimensions" else grid.labels
    return sorted(
        (one[of], one["nanoseconds"])
        for one in costs
        if one["sampler"] == sampler and one[other] == value and one[of] in axis
    )


def _data(labels: int, seed: int) -> Annotations:
    """Generate enough images for a full round of |A| ln |A| draws."""
    images = max(600, math.ceil(1.2 * labels * math.log(labels) / _LABELS_PER_IMAGE))
    shape = Shape(images, labels, (_LABELS_PER_IMAGE - 1) * images, images)
    return stand_in(shape, seed)


def _start_arrays(data: Annotations, dimensions: int, seed: int) -> Mapping[str, NDArray[Any]]:
    """Return the arrays of a partly trained model."""
    trainer = Trainer(_START.override(dimensions=dimensions, seed=seed), data)
    for _ in trainer.epochs():
        pass
    arrays, _ = trainer.state()
    return arrays


def _sample_images(data: Annotations, max_draws: int, seed: int) -> Annotations:
    """Keep the pairs of random images, ``max_draws`` pairs at most."""
    order = np.argsort(Streams(seed).child("draws").words(len(data.images)), kind="stable")
    chosen = np.zeros(len(data.images), dtype=bool)
    chosen[order[np.cumsum(data.labels_per_image[order]) <= max_draws]] = True
    return data.with_pairs(chosen[data.image_numbers()])


def _cost(config: Config, data: Annotations, start: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Time the first round from the start model on one core."""
    warm_up(config, workers=1)
    results = []
    for _ in range(_REPEATS):
        trainer = Trainer(config, data, workers=1)
        _, state = trainer.state()
        trainer.restore(start, state)
        stats = next(trainer.rounds()).stats
        draws = int(stats.counts[DRAWS])
        results.append((stats.seconds / draws * 1e9, int(stats.counts[TRIES]) / draws))
    # Other load on the machine can only make a repeat slower.
    nanoseconds, tries = min(results)
    return {"nanoseconds": nanoseconds, "tries": tries}
