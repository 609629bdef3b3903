"""Tune baselines on labels held out of the training data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vse_ens.baselines.base import Baseline, FittedBaseline
from vse_ens.baselines.ease import Ease
from vse_ens.baselines.image_knn import ImageKnn
from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.splits import leave_one_out
from vse_ens.errors import ConfigError

EASE_GRID = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
IMAGE_KNN_GRID = (6.0, 4.0, 8.0, 3.0, 10.0, 16.0, 2.0)
"""Powers, the likeliest first: a budget of time may end a search."""
# Enough images for a standard error of half a percentage point.
_MAX_IMAGES = 5_000
_BLOCK_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Tuning:
    """Settings that were tried, with the mean reciprocal rank of each on held-out pairs."""

    tried: tuple[Baseline, ...]
    reciprocal_ranks: tuple[float, ...]

    @property
    def best(self) -> Baseline:
        """The settings with the highest mean reciprocal rank; the first of equals."""
        return self.tried[int(np.argmax(self.reciprocal_ranks))]


def tune(tried: Sequence[Baseline], data: Annotations, seed: int = 0) -> Tuning:
    """Fit each of ``tried`` to ``data`` without one label of some images, and measure the rank of that label."""
    if not tried:
        raise ConfigError("tuning needs at least one setting to try, got none")
    split = leave_one_out(data, seed, name="tune-baseline", max_images=_MAX_IMAGES)
    return Tuning(tuple(tried), tuple(_reciprocal_rank(one.fit(split.train), split) for one in tried))


def tune_ease(data: Annotations, grid: Sequence[float] = EASE_GRID, seed: int = 0) -> Tuning:
    """Tune the regularization of `Ease`."""
    return tune([Ease(regularization=value) for value in grid], data, seed)


def tune_image_knn(data: Annotations, grid: Sequence[float] = IMAGE_KNN_GRID, seed: int = 0) -> Tuning:
    """Tune the power of `ImageKnn`."""
    return tune([ImageKnn(power=value) for value in grid], data, seed)


def _reciprocal_rank(fitted: FittedBaseline, split: Split) -> float:
    """Return the mean over images of 1 / rank of the held-out label among labels not known; ties share ranks."""
    images = np.flatnonzero(split.test.labels_per_image)
    size = max(1, _BLOCK_BYTES // (4 * len(split.test.labels)))
    ranks = [_ranks(fitted, split, images[start : start + size]) for start in range(0, len(images), size)]
    return float((1.0 / np.concatenate(ranks)).mean())


def _ranks(fitted: FittedBaseline, split: Split, images: NDArray[np.int64]) -> NDArray[np.float64]:
    scores = fitted.scores(images)
    for row, image in zip(scores, images, strict=True):
        row[split.train.label_numbers(image)] = -np.inf
    own = scores[np.arange(len(images)), split.test.indices[split.test.indptr[images]]][:, None]
    above, equal = (scores > own).sum(axis=1), (scores == own).sum(axis=1)
    return np.asarray(above + (equal + 1) / 2.0)
