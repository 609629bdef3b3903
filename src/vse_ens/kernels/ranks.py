"""Where held-out labels stand in a full ranking, and which labels lead it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr, Floats
from vse_ens.kernels.jit import inline, kernel

Keys = NDArray[np.int32]

# The best label is looked for in the best chunk only: long enough for the vector unit, short enough to search.
CHUNK = 128
# What `Found.above` holds where there is no such count.
IS_KNOWN, IS_NAN = -1, -2

_SIGN_PLACE = np.int32(31)
_ALL_BUT_SIGN = np.int32(0x7FFFFFFF)
_INFINITY = np.int32(0x7F800000)
EXCLUDED = np.int32(-(2**31))  # below the key of any score


class RankResults(NamedTuple):
    """What `rank_rows` fills in."""

    above: NDArray[np.int32]  # for every held-out pair: candidates with a higher score
    tied: NDArray[np.int32]  # candidates with the same score, itself included; 0 where it is not ranked
    top: NDArray[np.int32]  # rows x N: the best candidates, best first, equal scores in the order of numbers; then -1


@inline
def write_sort_keys(bits: Keys, keys: Keys) -> bool:
    """The bits of floats as whole numbers of the same order, in which both zeros are 0; whether all are numbers."""
    largest = np.int32(0)
    for a in range(bits.shape[0]):
        sign, size = np.int32(bits[a] >> _SIGN_PLACE), np.int32(bits[a] & _ALL_BUT_SIGN)
        keys[a] = np.int32(np.int32(size ^ sign) - sign)
        largest = max(largest, size)
    return largest <= _INFINITY


@inline
def count_above(keys: Keys, own: np.int32) -> tuple[np.int32, np.int32]:
    """How many keys are higher than ``own``, and how many the same."""
    above, tied = np.int32(0), np.int32(0)
    for a in range(keys.shape[0]):
        above = np.int32(above + (keys[a] > own))
        tied = np.int32(tied + (keys[a] == own))
    return above, tied


@inline
def chunk_max(keys: Keys, chunk: int) -> np.int32:
    """The highest key of a chunk."""
    part_of_keys = keys[chunk * CHUNK : chunk * CHUNK + CHUNK]
    found = EXCLUDED
    for a in range(CHUNK):
        found = max(found, part_of_keys[a])
    return found


@inline
def chunk_maxima(keys: Keys, peaks: Keys) -> None:
    """The highest key of every chunk, for `find_best`."""
    for chunk in range(peaks.shape[0]):
        peaks[chunk] = chunk_max(keys, chunk)


@inline
def argmax_key(keys: Keys, peaks: Keys) -> int:
    """The label with the highest key, of equals the lowest number; -1 if there is none left."""
    best = EXCLUDED
    for chunk in range(peaks.shape[0]):
        best = max(best, peaks[chunk])
    if best <= -_INFINITY:
        return -1
    chunk = 0
    while peaks[chunk] != best:
        chunk += 1
    label = chunk * CHUNK
    while keys[label] != best:
        label += 1
    return label


@inline
def exclude_label(keys: Keys, peaks: Keys, label: int) -> None:
    """Let a label be found no more."""
    keys[label] = EXCLUDED
    peaks[label // CHUNK] = chunk_max(keys, label // CHUNK)


@inline
def top_n(keys: Keys, peaks: Keys, top: NDArray[np.int32]) -> None:
    """The labels with the highest keys into ``top``; they are taken out of ``keys``."""
    chunk_maxima(keys, peaks)
    top[:] = -1
    for place in range(top.shape[0]):
        label = argmax_key(keys, peaks)
        if label < 0:
            return
        top[place] = label
        exclude_label(keys, peaks, label)


@kernel
def rank_rows(
    scores: Floats,
    rows: NDArray[np.int64],
    images: NDArray[np.int64],
    first: int,
    last: int,
    known: Csr,
    held_out: Csr,
    found: RankResults,
) -> None:
    """Rank lines ``first`` to ``last - 1`` of ``scores``: line n is that of image ``images[n]``, and row ``rows[n]`` of
    ``held_out`` and ``found``.
    """
    labels = scores.shape[1]
    peaks = np.empty((labels + CHUNK - 1) // CHUNK, np.int32)
    keys = np.full(peaks.shape[0] * CHUNK, EXCLUDED, np.int32)
    bits = scores.view(np.int32)
    for n in range(first, last):
        row, image = rows[n], images[n]
        all_numbers = write_sort_keys(bits[n], keys)
        known_labels = known.indices[known.indptr[image] : known.indptr[image + 1]]
        for place in range(known_labels.shape[0]):
            keys[known_labels[place]] = EXCLUDED
        for pair in range(held_out.indptr[row], held_out.indptr[row + 1]):
            label = held_out.indices[pair]
            found.tied[pair] = 0
            if not all_numbers:
                found.above[pair] = IS_NAN
            elif label < 0:
                found.above[pair] = labels - known_labels.shape[0]
            elif keys[label] == EXCLUDED:
                found.above[pair] = IS_KNOWN
            else:
                found.above[pair], found.tied[pair] = count_above(keys, keys[label])
        top_n(keys, peaks, found.top[row])
