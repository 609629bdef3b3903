"""The per-factor rankings and standard deviations that the `vse-ens` sampler uses (sigma_f, eq. 8)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Floats, Sampling, SharedTables
from vse_ens.kernels.jit import inline, inline_once, kernel

# Factors are copied from the row-major table sixteen at a time: one cache line of every row.
BLOCK = 16
# The range of a factor is divided into equal steps: eight per label, up to this many. Labels within one step are in the
# order of their numbers. At the ends of the range, which most ranks are drawn from, a step has at most one label. The
# counters of the steps fit into the L1 cache.
MAX_STEPS = 4096
_SMALLEST_RANGE = np.float32(1e-30)
_SIGN_SHIFT = np.int32(31)
_MAGNITUDE_MASK = np.int32(0x7FFFFFFF)


class RankScratch(NamedTuple):
    """Buffers of one worker."""

    columns: Floats  # BLOCK x |A|
    keys: NDArray[np.uint16]  # |A|
    positions: NDArray[np.int32]  # steps

    @classmethod
    def allocate(cls, labels: int) -> RankScratch:
        """Return buffers for this number of labels."""
        return cls(
            np.empty((BLOCK, labels), np.float32),
            np.empty(labels, np.uint16),
            np.empty(min(MAX_STEPS, 8 * labels), np.int32),
        )


@inline
def standard_deviation(column: Floats) -> np.float32:
    """Return sigma_f of eq. 8: the standard deviation (not the variance) of a factor over all labels."""
    labels = column.shape[0]
    total, squares = np.float32(0.0), np.float32(0.0)
    for a in range(labels):
        total += column[a]
    mean = total / np.float32(labels)
    for a in range(labels):
        squares += (column[a] - mean) * (column[a] - mean)
    return np.sqrt(squares / np.float32(labels))


@inline
def sortable_bits(value: np.float32) -> np.int32:
    """Return the bits of a float as an integer of the same order: integer loops find extremes faster."""
    bits = np.float32(value).view(np.int32)
    return bits ^ ((bits >> _SIGN_SHIFT) & _MAGNITUDE_MASK)


@inline
def _float_of(key: np.int32) -> np.float32:
    """Return the float of `sortable_bits`."""
    return np.int32(key ^ ((key >> _SIGN_SHIFT) & _MAGNITUDE_MASK)).view(np.float32)


@inline_once
def argsort_descending(column: Floats, scratch: RankScratch, order: NDArray[np.int32]) -> None:
    """Write the labels by descending value to ``order``: one counting sort over equal steps of the range."""
    keys, positions = scratch.keys, scratch.positions
    labels, steps = column.shape[0], positions.shape[0]
    highest = lowest = sortable_bits(column[0])
    for a in range(labels):
        highest = max(highest, sortable_bits(column[a]))
        lowest = min(lowest, sortable_bits(column[a]))
    top, bottom = _float_of(highest), _float_of(lowest)
    # A range so small that the scale would overflow has a standard deviation of 0: the factor is never drawn.
    scale = np.float32(steps - 1) / (top - bottom) if top - bottom > _SMALLEST_RANGE else np.float32(0.0)
    for a in range(labels):
        keys[a] = np.uint16(np.int32((top - column[a]) * scale))
    positions[:] = 0
    for a in range(labels):
        positions[keys[a]] += 1
    start = np.int32(0)
    for step in range(steps):
        count = positions[step]
        positions[step] = start
        start += count
    for a in range(labels):
        key = keys[a]
        order[positions[key]] = a
        positions[key] += 1


@kernel
def rank_factors(tables: SharedTables, sampling: Sampling, chosen: NDArray[np.int64], scratch: RankScratch) -> None:
    """Write the rankings and standard deviations of the chosen factors; factor k is the label bias."""
    labels, factors = tables.labels.shape
    for start in range(0, chosen.shape[0], BLOCK):
        block = chosen[start : start + BLOCK]
        for a in range(labels):
            for n in range(block.shape[0]):
                # The bias is copied below.
                scratch.columns[n, a] = tables.labels[a, min(block[n], factors - 1)]
        for n in range(block.shape[0]):
            factor = block[n]
            if factor == factors:
                # A loop, because assigning an array to a slice takes the compiler a second: it prepares an error
                # message.
                for a in range(labels):
                    scratch.columns[n, a] = tables.bias[a]
            sampling.spread[factor] = standard_deviation(scratch.columns[n])
            # If a value is NaN, the old order is kept; the trainer stops the run after the round.
            if np.isfinite(sampling.spread[factor]):
                argsort_descending(scratch.columns[n], scratch, sampling.rankings[factor])


class Probes(NamedTuple):
    """Pairs of ranks, from the top and the bottom, at which a ranking is compared with the present values."""

    ranks: NDArray[np.int64]  # the first rank of each pair, spread as the sampler draws them
    gap: int  # from there to the second
    tolerated: int  # pairs that may be out of order


@kernel
def find_moved_factors(tables: SharedTables, sampling: Sampling, probes: Probes, moved: NDArray[np.int64]) -> int:
    """Write to ``moved`` the factors whose ranking no longer holds, and return their number.

    Labels move a little with every step. A ranking holds as long as few pairs of labels that were ``gap`` ranks apart
    have changed places.
    """
    labels, factors = tables.labels.shape
    found = 0
    for f in range(factors + 1):
        swapped = 0
        for n in range(probes.ranks.shape[0]):
            first = probes.ranks[n]
            for upper in (first, labels - 1 - first - probes.gap):
                high, low = sampling.rankings[f, upper], sampling.rankings[f, upper + probes.gap]
                if f < factors:
                    swapped += tables.labels[high, f] < tables.labels[low, f]
                else:
                    swapped += tables.bias[high] < tables.bias[low]
        moved[found] = f
        found += swapped > probes.tolerated
    return found
