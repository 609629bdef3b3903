"""95 % bootstrap confidence intervals of means over images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from vse_ens.model.blas import one_thread
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams

RESAMPLES = 1000
_LEVEL = 0.95
# Size of the table that maps 16 random bits to a Poisson number.
_TABLE_SIZE = 1 << 16
# Maximum number of weights in RAM, except where a single resample has more.
_MAX_WEIGHTS = 1 << 23


@dataclass(frozen=True, eq=False)
class Sample:
    """Metric values of some of the images."""

    rows: NDArray[np.int64]
    """Image numbers."""
    values: NDArray[np.float64]
    """One row per image, one column per metric."""


def intervals(
    images: int, samples: Sequence[Sample], streams: Streams, workers: int | None = None
) -> list[NDArray[np.float64]]:
    """Return, per sample and column, the lower and upper end of the interval that holds 95 % of resampled means.

    Uses the Poisson bootstrap: each resample weights every image by a Poisson(1) number. For more than a few images
    this equals drawing with replacement, and needs no random access. All samples share the resamples.
    """
    centers = [sample.values.mean(axis=0) for sample in samples]
    # float32 is precise enough for deviations from the mean.
    table = np.zeros((images, sum(1 + sample.values.shape[1] for sample in samples)), np.float32)
    columns: list[slice] = []
    for sample, center in zip(samples, centers, strict=True):
        start = columns[-1].stop if columns else 0
        columns.append(slice(start + 1, start + 1 + len(center)))
        table[sample.rows, start] = 1.0
        table[sample.rows, columns[-1]] = sample.values - center

    sums = np.empty((RESAMPLES, table.shape[1]), np.float32)
    weights = np.empty((max(1, min(RESAMPLES, _MAX_WEIGHTS // images)), images), np.float32)
    with Workers(workers) as pool:
        for first in range(0, RESAMPLES, len(weights)):
            batch = weights[: RESAMPLES - first]
            pool.run([partial(_draw, streams.child(first + row), weight) for row, weight in enumerate(batch)])
            with one_thread():  # one shape, one thread: the same bits on any number of cores
                np.matmul(batch, table, out=sums[first : first + len(batch)])

    tail = (1.0 - _LEVEL) / 2.0
    result = []
    for center, own_columns in zip(centers, columns, strict=True):
        # A resample of one or two images may be empty; its deviation counts as 0.
        size = np.maximum(sums[:, own_columns.start - 1, None].astype(np.float64), 1.0)
        result.append((center + np.quantile(sums[:, own_columns] / size, (tail, 1.0 - tail), axis=0)).T)
    return result


def _draw(streams: Streams, weights: NDArray[np.float32], _worker: int) -> None:
    """Fill in the weights of one resample, from 16 random bits each."""
    words = streams.words(-(-len(weights) // 4)).astype("<u8", copy=False)
    np.take(_poisson_table(), words.view("<u2")[: len(weights)], out=weights, mode="clip")


@cache
def _poisson_table() -> NDArray[np.float32]:
    """Return the Poisson(1) number of each of 65,536 equally likely values."""
    cumulated = np.cumsum([math.exp(-1.0) / math.factorial(number) for number in range(12)])
    return np.searchsorted(cumulated, (np.arange(_TABLE_SIZE) + 0.5) / _TABLE_SIZE).astype(np.float32)
