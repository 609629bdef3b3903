"""How far a mean over images could be off: 95 % bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from vse_ens.run.threads import Workers
from vse_ens.streams import Streams

RESAMPLES = 1000
_LEVEL = 0.95
_LOTS = 1 << 16
# Weights held at a time; a resample of many images may need more.
_MOST_WEIGHTS = 1 << 23


@dataclass(frozen=True, eq=False)
class Sample:
    """Values of some of the images, a column a metric."""

    rows: NDArray[np.int64]
    """Which of the images."""
    values: NDArray[np.float64]


def intervals(
    images: int, samples: Sequence[Sample], streams: Streams, workers: int | None = None
) -> list[NDArray[np.float64]]:
    """For every sample and column the two ends between which 95 % of the resampled means lie.

    Poisson bootstrap: in each resample every image counts a Poisson(1) number of times, which for more than a few
    images is the same as drawing as many images as there are, with replacement, and needs no scattered access. All
    samples are resampled together.
    """
    centres = [sample.values.mean(axis=0) for sample in samples]
    # float32 is exact enough for what is left when the mean is taken off.
    table = np.zeros((images, sum(1 + sample.values.shape[1] for sample in samples)), np.float32)
    columns: list[slice] = []
    for sample, centre in zip(samples, centres, strict=True):
        start = columns[-1].stop if columns else 0
        columns.append(slice(start + 1, start + 1 + len(centre)))
        table[sample.rows, start] = 1.0
        table[sample.rows, columns[-1]] = sample.values - centre

    sums = np.empty((RESAMPLES, table.shape[1]), np.float32)
    weights = np.empty((max(1, min(RESAMPLES, _MOST_WEIGHTS // images)), images), np.float32)
    with Workers(workers) as team:
        for first in range(0, RESAMPLES, len(weights)):
            some = weights[: RESAMPLES - first]
            team.run([partial(_draw, streams.child(first + row), weight) for row, weight in enumerate(some)])
            np.matmul(some, table, out=sums[first : first + len(some)])

    tail = (1.0 - _LEVEL) / 2.0
    result = []
    for centre, of_sample in zip(centres, columns, strict=True):
        # A resample without any image, as of one or two they may happen, is the sample itself: no deviation.
        size = np.maximum(sums[:, of_sample.start - 1, None].astype(np.float64), 1.0)
        result.append((centre + np.quantile(sums[:, of_sample] / size, (tail, 1.0 - tail), axis=0)).T)
    return result


def _draw(streams: Streams, weights: NDArray[np.float32], _worker: int) -> None:
    """Fill in the weights of one resample: sixteen bits of the stream are a lot."""
    words = streams.words(-(-len(weights) // 4)).astype("<u8", copy=False)
    np.take(_poisson_table(), words.view("<u2")[: len(weights)], out=weights, mode="clip")


@cache
def _poisson_table() -> NDArray[np.float32]:
    """The Poisson(1) number of each of 65,536 equally likely lots."""
    shares = np.cumsum([math.exp(-1.0) / math.factorial(number) for number in range(12)])
    return np.searchsorted(shares, (np.arange(_LOTS) + 0.5) / _LOTS).astype(np.float32)
