"""The per-factor rankings and spreads that `vse-ens` draws from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Floats, Sampling, SharedTables
from vse_ens.kernels.jit import inline, kernel

# Factors are taken out of the row-major table sixteen at a time: one cache line of every row.
BLOCK = 16
# A factor's range is cut into equal steps, several a label up to this many. Labels inside one step keep the order of
# their numbers: at the ends of the range, where ranks are drawn from most, steps hold one label or none. The counters
# of the steps stay in the first-level cache.
MAX_STEPS = 4096
_SMALLEST_RANGE = np.float32(1e-30)
_SIGN_PLACE = np.int32(31)
_ALL_BUT_SIGN = np.int32(0x7FFFFFFF)


class RankScratch(NamedTuple):
    """Buffers of one worker for `rank_factors`."""

    columns: Floats  # BLOCK x |A|
    keys: NDArray[np.uint16]  # |A|
    places: NDArray[np.int32]  # steps
    ends: NDArray[np.int32]  # 2: the bits of a factor's highest and lowest value

    @classmethod
    def allocate(cls, labels: int) -> RankScratch:
        """Buffers for so many labels."""
        return cls(
            np.empty((BLOCK, labels), np.float32),
            np.empty(labels, np.uint16),
            np.empty(min(MAX_STEPS, 8 * labels), np.int32),
            np.empty(2, np.int32),
        )


@inline
def standard_deviation(column: Floats) -> np.float32:
    """sigma_f: the standard deviation (not the variance) of a factor over labels."""
    labels = column.shape[0]
    total, squares = np.float32(0.0), np.float32(0.0)
    for a in range(labels):
        total += column[a]
    mean = total / np.float32(labels)
    for a in range(labels):
        squares += (column[a] - mean) * (column[a] - mean)
    return np.sqrt(squares / np.float32(labels))


@inline
def sortable_bits(bits: np.int32) -> np.int32:
    """A float's bits as a whole number of the same order, and back: loops of whole numbers find extremes faster."""
    return bits ^ ((bits >> _SIGN_PLACE) & _ALL_BUT_SIGN)


@inline
def argsort_descending(column: Floats, scratch: RankScratch, order: NDArray[np.int32]) -> None:
    """Labels by falling value into ``order``: one counting pass over equal steps of the factor's range."""
    keys, places = scratch.keys, scratch.places
    labels, steps = column.shape[0], places.shape[0]
    bits = column.view(np.int32)
    highest, lowest = sortable_bits(bits[0]), sortable_bits(bits[0])
    for a in range(labels):
        highest = max(highest, sortable_bits(bits[a]))
        lowest = min(lowest, sortable_bits(bits[a]))
    scratch.ends[0], scratch.ends[1] = sortable_bits(highest), sortable_bits(lowest)
    top, bottom = scratch.ends.view(np.float32)
    # A range so small that the steps would overflow has a spread of 0, and is not drawn from.
    scale = np.float32(steps - 1) / (top - bottom) if top - bottom > _SMALLEST_RANGE else np.float32(0.0)
    for a in range(labels):
        keys[a] = np.uint16(np.int32((top - column[a]) * scale))
    places[:] = 0
    for a in range(labels):
        places[keys[a]] += 1
    start = np.int32(0)
    for step in range(steps):
        count = places[step]
        places[step] = start
        start += count
    for a in range(labels):
        key = keys[a]
        order[places[key]] = a
        places[key] += 1


@kernel
def rank_factors(tables: SharedTables, sampling: Sampling, first: int, last: int, scratch: RankScratch) -> None:
    """Rankings and spreads of factors ``first`` to ``last - 1`` into ``sampling``; factor k is the label bias."""
    labels, factors = tables.labels.shape
    for start in range(first, last, BLOCK):
        width = min(BLOCK, last - start)
        vectors = min(width, factors - start)
        for a in range(labels):
            for f in range(vectors):
                scratch.columns[f, a] = tables.labels[a, start + f]
        if vectors < width:
            scratch.columns[vectors, :] = tables.bias
        for f in range(width):
            sampling.spread[start + f] = standard_deviation(scratch.columns[f])
            # Not a number anywhere: the order stays as it was, and the trainer stops the run after the round.
            if np.isfinite(sampling.spread[start + f]):
                argsort_descending(scratch.columns[f], scratch, sampling.rankings[start + f])
