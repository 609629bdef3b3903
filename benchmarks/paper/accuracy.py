"""Table 2: means over seeds with intervals, and paired differences between models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.judge import Estimate
from benchmarks.paper.training import METRICS

Floats = NDArray[np.float64]


def image_values(metric: str, ranks: NDArray[np.int64], labels: int) -> Floats:
    """Return a metric for images with one held-out label each, by its rank from 1."""
    if metric.startswith(("precision@", "recall@")):
        name, top = metric.split("@")
        hit = (ranks <= int(top)).astype(np.float64)
        return hit / int(top) if name == "precision" else hit
    if metric == "map":
        return 1.0 / ranks
    area = 1.0 - (ranks - 1.0) / max(labels - 1, 1)
    return np.where(ranks <= 10, area, 0.5) if metric == "auc@10" else area


def accuracy(runs: Sequence[dict[str, Any]], labels: int) -> dict[str, Estimate]:
    """Return the mean of every metric over the seeds of a model."""
    return {metric: _estimate([_Seed.of(run, metric, labels) for run in runs]) for metric in METRICS}


def differences(
    runs: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]], labels: int
) -> dict[str, Estimate] | None:
    """Return how much better a model is than another, metric by metric, on the same images with the same seeds.

    A seed also draws the split, which both models share. None if one of the trainings has diverged.
    """
    if not all(run["ranks"] for run in (*runs, *others)):
        return None
    both = list(zip(runs, others, strict=True))
    return {
        metric: _estimate([_Seed.of(a, metric, labels).minus(_Seed.of(b, metric, labels)) for a, b in both])
        for metric in METRICS
    }


class _Seed(NamedTuple):
    """The exact mean of a metric, and its values per image, which are used for the standard error only."""

    mean: float
    values: Floats

    @classmethod
    def of(cls, run: dict[str, Any], metric: str, labels: int) -> _Seed:
        return cls(run["metrics"][metric], image_values(metric, np.array(run["ranks"], np.int64), labels))

    def minus(self, other: _Seed) -> _Seed:
        return _Seed(self.mean - other.mean, self.values - other.values)


def _estimate(seeds: Sequence[_Seed]) -> Estimate:
    """Return the mean over seeds; the standard error has a part of the images and a part of the seeds."""
    means = [seed.mean for seed in seeds]
    if not all(len(seed.values) > 1 for seed in seeds):
        return Estimate(float(np.mean(means)), float(np.mean(means)), float(np.mean(means)))
    # Every split holds out a label of the same images: the mean over seeds of an image leaves the choice of images.
    per_image = np.mean([seed.values for seed in seeds], axis=0)
    variance = float(per_image.var(ddof=1)) / len(per_image)
    return Estimate.of_sample(means, [variance] * len(seeds), [len(per_image)] * len(seeds))
