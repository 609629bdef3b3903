"""Table 3: the measured cost of a training step as dimensions and labels grow, next to the paper's O()."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import linregress
from scipy.stats import t as student_t

from benchmarks.paper.equivalence import sampler_config
from benchmarks.paper.stand_ins import Shape, stand_in
from benchmarks.paper.training import paper_config
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.experiments.compare.run import warm_up
from vse_ens.kernels.arrays import DRAWS, TRIES
from vse_ens.presets import preset
from vse_ens.streams import Streams
from vse_ens.train.engines import RoundStats
from vse_ens.train.engines.serial import refresh_period
from vse_ens.train.trainer import Trainer

# The configuration of each sampler and the maximum number of draws per measurement; expensive draws need fewer.
_SAMPLERS = {
    "opt-auc": (paper_config("opt-auc"), 60_000),
    "vse-ens": (paper_config("vse-ens"), 60_000),
    "warp": (paper_config("warp"), 4_000),
    "naive": (sampler_config("naive"), 400),
}
# All samplers start from the same partly trained model, because the length of WARP's search depends on the model.
_START = preset("opt-auc").override(label_bias=False)
_REPEATS = 5
_LABELS_PER_IMAGE = 6


@dataclass(frozen=True)
class Grid:
    """Where the cost is measured: several k at a fixed |A|, and several |A| at a fixed k."""

    dimensions: Sequence[int]
    labels: Sequence[int]
    at_dimensions: int = 100
    at_labels: int = 1_000
    pairs: Sequence[int] = ()
    """Numbers of pairs over which an iteration of VSE-ens is timed, at the fixed k and |A|."""

    def points(self) -> list[tuple[int, int]]:
        """Return the distinct (k, |A|) pairs."""
        both = [(k, self.at_labels) for k in self.dimensions] + [(self.at_dimensions, a) for a in self.labels]
        return sorted(set(both))


def measure_costs(grid: Grid, on_step: Callable[[str], None]) -> list[dict[str, Any]]:
    """Measure nanoseconds per step on one core, including refreshes, for every sampler at every grid point."""
    costs = []
    for dimensions, labels in grid.points():
        on_step(f"k = {dimensions}, |A| = {labels:,}")
        data = _data(labels)
        start = _start_arrays(data, dimensions)
        for sampler, (config, max_draws) in _SAMPLERS.items():
            sized = config.override(dimensions=dimensions, epochs=1)
            cost = _cost(sized, _sample_images(data, max_draws), start)
            costs.append({"sampler": sampler, "dimensions": dimensions, "labels": labels, **cost})
    for pairs in grid.pairs:
        on_step(f"{pairs:,} pairs")
        images = pairs // _LABELS_PER_IMAGE
        data = stand_in(Shape(images, grid.at_labels, (_LABELS_PER_IMAGE - 1) * images, images))
        sized = paper_config("vse-ens").override(dimensions=grid.at_dimensions, epochs=1)
        cost = _cost(sized, data, _start_arrays(data, grid.at_dimensions, epochs=2))
        costs.append({"sampler": "vse-ens", "pairs": data.pairs, **cost})
    return costs


class Exponent(NamedTuple):
    """e of cost ~ x^e: the slope of a line fitted to the logarithms, with its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def fitted(cls, points: Sequence[tuple[float, float]]) -> Exponent:
        """Fit a line; with fewer than three points the interval is unbounded."""
        if len(points) < 2:
            return cls(math.nan, -math.inf, math.inf)
        xs, ys = (np.log([point[axis] for point in points]) for axis in (0, 1))
        line = linregress(xs, ys)
        if len(points) == 2:
            return cls(float(line.slope), -math.inf, math.inf)
        half = float(student_t.ppf(0.975, len(points) - 2) * line.stderr)
        return cls(float(line.slope), float(line.slope) - half, float(line.slope) + half)


def growth(costs: Sequence[dict[str, Any]], sampler: str, of: str, grid: Grid) -> Exponent:
    """Return the exponent of a sampler's cost in ``dimensions`` or ``labels``."""
    return Exponent.fitted(series(costs, sampler, of, grid))


def relative_growth(costs: Sequence[dict[str, Any]], sampler: str, to: str, of: str, grid: Grid) -> Exponent:
    """Return the exponent of the ratio of two samplers' costs, in which what both share, such as caches, cancels."""
    both = zip(series(costs, sampler, of, grid), series(costs, to, of, grid), strict=True)
    return Exponent.fitted([(x, first / second) for (x, first), (_, second) in both])


def growth_in_pairs(costs: Sequence[dict[str, Any]]) -> Exponent:
    """Return the exponent of the CPU time of an iteration of VSE-ens, which has as many steps as there are pairs."""
    return Exponent.fitted([(one["pairs"], one["nanoseconds"] * one["pairs"]) for one in costs if "pairs" in one])


def warp_growth(costs: Sequence[dict[str, Any]]) -> tuple[Exponent, list[float]]:
    """Return the exponent of WARP's cost in tries times dimensions, and its nanoseconds per try and dimension."""
    work = [
        (one["tries"] * one["dimensions"], one["nanoseconds"])
        for one in costs
        if one["sampler"] == "warp" and "pairs" not in one
    ]
    return Exponent.fitted(work), [nanoseconds / product for product, nanoseconds in work]


def series(costs: Sequence[dict[str, Any]], sampler: str, of: str, grid: Grid) -> list[tuple[float, float]]:
    """Return cost over ``dimensions`` at the grid's fixed |A|, or over ``labels`` at its fixed k."""
    other, value = ("labels", grid.at_labels) if of == "dimensions" else ("dimensions", grid.at_dimensions)
    axis = grid.dimensions if of == "dimensions" else grid.labels
    return sorted(
        (one[of], one["nanoseconds"])
        for one in costs
        if "pairs" not in one and one["sampler"] == sampler and one[other] == value and one[of] in axis
    )


def _data(labels: int) -> Annotations:
    """Generate enough images for a full round of |A| ln |A| draws."""
    images = max(600, math.ceil(1.2 * labels * math.log(labels) / _LABELS_PER_IMAGE))
    shape = Shape(images, labels, (_LABELS_PER_IMAGE - 1) * images, images)
    return stand_in(shape)


def _start_arrays(data: Annotations, dimensions: int, epochs: int = 20) -> Mapping[str, NDArray[Any]]:
    """Return the arrays of a partly trained model."""
    trainer = Trainer(_START.override(dimensions=dimensions, epochs=epochs), data)
    for _ in trainer.epochs():
        pass
    arrays, _ = trainer.state()
    return arrays


def _sample_images(data: Annotations, max_draws: int) -> Annotations:
    """Keep the pairs of random images, ``max_draws`` pairs at most."""
    order = np.argsort(Streams(0).child("draws").words(len(data.images)), kind="stable")
    chosen = np.zeros(len(data.images), dtype=bool)
    chosen[order[np.cumsum(data.labels_per_image[order]) <= max_draws]] = True
    return data.with_pairs(chosen[data.image_numbers()])


def _cost(config: Config, data: Annotations, start: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Time an epoch from the start model on one core; every draw bears its share of a refresh."""
    warm_up(config, workers=1)
    results = []
    for _ in range(_REPEATS):
        trainer = Trainer(config, data, workers=1)
        _, state = trainer.state()
        trainer.restore(start, state)
        stats = RoundStats()
        started = time.thread_time()
        for progress in trainer.rounds():
            stats = progress.stats
        # CPU time: the clock also runs while other processes have the core.
        seconds = time.thread_time() - started
        draws = int(stats.counts[DRAWS])
        refreshes = seconds * stats.refresh_seconds / stats.seconds
        step = (seconds - refreshes) / draws
        # The rankings are computed before the first draw, then once per period.
        period = refresh_period(config, len(data.labels))
        refresh = refreshes / (1 + draws // period) / period
        results.append(((step + refresh) * 1e9, int(stats.counts[TRIES]) / draws))
    # Other load on the machine can only make a repeat slower.
    nanoseconds, tries = min(results)
    return {"nanoseconds": nanoseconds, "tries": tries}
