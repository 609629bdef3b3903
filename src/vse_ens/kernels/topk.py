"""The k highest-scored labels of each row of scores.

Scores are compared as integer sort keys. The maximum of every chunk of keys is kept, so that finding the next best
label reads the maxima and one chunk instead of the whole row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr, Floats
from vse_ens.kernels.gram_ridge import add_weight_rows
from vse_ens.kernels.jit import inline, inline_once, kernel

Keys = NDArray[np.int32]

# Long enough for the vector unit, short enough to search.
CHUNK = 128

_SIGN_SHIFT = np.int32(31)
_MAGNITUDE_MASK = np.int32(0x7FFFFFFF)
_INFINITY = np.int32(0x7F800000)
EXCLUDED = np.int32(-(2**31))  # below the key of any score

# e^x = 2^(whole + f): a polynomial in f gives 2^f - 1 with an error of 1e-7, which fills the float's fraction bits.
_FRACTION = tuple(np.float32(c) for c in (0.6931517388, 0.2401592716, 0.0558186749, 0.0089909968, 0.0018793178))
_FRACTION_SCALE = np.float32(2.0**23)
_LOG2_E = np.float32(1.4426950408889634)
_LEAST_EXPONENT, _EXPONENT_BIAS = np.float32(-126.0), np.float32(127.0)


class Addends(NamedTuple):
    """The terms that are added to the products of image and label vectors."""

    bias: Floats  # |A|
    weights: Floats  # |A| x |A|: dense label weights; no rows where the model has none
    scale: np.float32


class TopK(NamedTuple):
    """The output of `topk_scores`, one row per image."""

    labels: NDArray[np.int32]  # rows x top: best first, ties by label number; padded with -1
    scores: Floats  # rows x top; padded with -inf
    log_totals: Floats  # rows: log of the sum of e^(score / temperature) over all labels except the known ones

    @classmethod
    def allocate(cls, rows: int, top: int) -> TopK:
        """Return uninitialized arrays."""
        return cls(np.empty((rows, top), np.int32), np.empty((rows, top), np.float32), np.empty(rows, np.float32))

    def part(self, rows: slice) -> TopK:
        """Return a view of some rows."""
        return TopK(self.labels[rows], self.scores[rows], self.log_totals[rows])


class KeyScratch(NamedTuple):
    """Buffers for the sort keys of one row of scores."""

    keys: Keys  # the labels, padded to whole chunks
    maxima: Keys  # the highest key of every chunk

    @classmethod
    def allocate(cls, labels: int) -> KeyScratch:
        """Return buffers for rows of this many labels; the padding is never found."""
        chunks = -(-labels // CHUNK)
        return cls(np.full(chunks * CHUNK, EXCLUDED, np.int32), np.empty(chunks, np.int32))


@inline_once
def write_sort_keys(scores: Floats, keys: Keys) -> bool:
    """Write scores as integers of the same order, with both zeros as 0; return whether none is NaN."""
    largest = np.int32(0)
    for a in range(scores.shape[0]):
        bits = np.float32(scores[a]).view(np.int32)
        sign, size = np.int32(bits >> _SIGN_SHIFT), np.int32(bits & _MAGNITUDE_MASK)
        keys[a] = np.int32(np.int32(size ^ sign) - sign)
        largest = max(largest, size)
    return largest <= _INFINITY


@inline
def chunk_max(keys: Keys, chunk: int) -> np.int32:
    """Return the highest key of a chunk."""
    chunk_keys = keys[chunk * CHUNK : chunk * CHUNK + CHUNK]
    highest = EXCLUDED
    for a in range(CHUNK):
        highest = max(highest, chunk_keys[a])
    return highest


@inline
def chunk_maxima(keys: Keys, maxima: Keys) -> None:
    """Write the highest key of every chunk to ``maxima``."""
    for chunk in range(maxima.shape[0]):
        maxima[chunk] = chunk_max(keys, chunk)


@inline
def argmax_key(keys: Keys, maxima: Keys) -> int:
    """Return the label with the highest key, the lowest number in case of a tie; -1 if all labels are excluded."""
    best = EXCLUDED
    for chunk in range(maxima.shape[0]):
        best = max(best, maxima[chunk])
    if best <= -_INFINITY:
        return -1
    chunk = 0
    while maxima[chunk] != best:
        chunk += 1
    label = chunk * CHUNK
    while keys[label] != best:
        label += 1
    return label


@inline
def top_n(keys: Keys, maxima: Keys, top: NDArray[np.int32]) -> None:
    """Write the labels with the highest keys to ``top``, padded with -1; these labels are excluded from ``keys``."""
    chunk_maxima(keys, maxima)
    top[:] = -1
    for n in range(top.shape[0]):
        label = argmax_key(keys, maxima)
        if label < 0:
            return
        top[n] = label
        keys[label] = EXCLUDED
        maxima[label // CHUNK] = chunk_max(keys, label // CHUNK)


@inline_once
def _log_total(scores: Floats, highest: np.float32, temperature: np.float32, buffer: NDArray[np.int32]) -> np.float32:
    """Return log sum_a e^(score / temperature); the exponential is written out so that it vectorizes."""
    scale = _LOG2_E / temperature
    one, two, three, four, five = _FRACTION
    for a in range(scores.shape[0]):
        power = (scores[a] - highest) * scale
        power = power if power > _LEAST_EXPONENT else _LEAST_EXPONENT
        whole = np.floor(power)
        f = power - whole
        fraction = f * (one + f * (two + f * (three + f * (four + f * five))))
        buffer[a] = np.int32((whole + _EXPONENT_BIAS) * _FRACTION_SCALE) + np.int32(fraction * _FRACTION_SCALE)
    total = np.float32(0.0)
    for a in range(scores.shape[0]):
        total += np.int32(buffer[a]).view(np.float32)
    return np.float32(np.log(total)) + highest / temperature


@kernel
def topk_scores(
    scores: Floats,
    addends: Addends,
    known: Csr,
    excluded: NDArray[np.int64],
    temperatures: Floats,
    best: TopK,
    scratch: KeyScratch,
) -> None:
    """Add the addends to ``scores`` in place and find the best labels of each row.

    The ``known`` labels of a row and the labels ``excluded`` from all rows are not candidates.
    """
    labels, top = scores.shape[1], best.labels.shape[1]
    keys, maxima = scratch.keys, scratch.maxima
    for row in range(scores.shape[0]):
        row_scores, row_labels = scores[row], known.indices[known.indptr[row] : known.indptr[row + 1]]
        for a in range(labels):
            row_scores[a] += addends.bias[a]
        if addends.weights.shape[0]:
            add_weight_rows(row_scores, row_labels, addends.scale, addends.weights)
        for n in range(row_labels.shape[0]):
            row_scores[row_labels[n]] = -np.inf
        write_sort_keys(row_scores, keys)
        chunk_maxima(keys, maxima)
        first = argmax_key(keys, maxima)
        for n in range(excluded.shape[0]):
            keys[excluded[n]] = EXCLUDED
        top_n(keys, maxima, best.labels[row])
        for n in range(top):
            label = best.labels[row, n]
            best.scores[row, n] = -np.inf if label < 0 else row_scores[label]
        # The keys are no longer needed: their RAM, which is in the cache, serves as the buffer.
        best.log_totals[row] = (
            -np.inf if first < 0 else _log_total(row_scores, row_scores[first], temperatures[row], keys)
        )
