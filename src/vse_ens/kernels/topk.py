"""The best labels of every image, and what all its labels come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr, Floats
from vse_ens.kernels.gram_ridge import add_weight_rows
from vse_ens.kernels.jit import inline, kernel, source_version
from vse_ens.kernels.ranks import CHUNK, EXCLUDED, argmax_key, chunk_maxima, top_n, write_sort_keys

# e^x = 2^(whole + f): 2^f - 1 by a polynomial in f, right to 1e-7, gives the bits of the float's fraction.
_FRACTION = tuple(np.float32(c) for c in (0.6931517388, 0.2401592716, 0.0558186749, 0.0089909968, 0.0018793178))
_FRACTION_SCALE = np.float32(2.0**23)
_LOG2_E = np.float32(1.4426950408889634)
_LEAST_EXPONENT, _EXPONENT_BIAS = np.float32(-126.0), np.float32(127.0)


class Addends(NamedTuple):
    """What a score has beside a product."""

    bias: Floats  # |A|
    weights: Floats  # |A| x |A|: the dense rows of a memory; no rows where there is none
    scale: np.float32


class TopK(NamedTuple):
    """What `lead_scores` fills in, a row an image."""

    labels: NDArray[np.int32]  # rows x top: best first, equal scores in the order of numbers; then -1
    scores: Floats  # rows x top; then -inf
    log_totals: Floats  # rows: log of the sum of e^(score / its temperature) over all labels but the known ones

    @classmethod
    def allocate(cls, rows: int, top: int) -> TopK:
        """Room for so many rows."""
        return cls(np.empty((rows, top), np.int32), np.empty((rows, top), np.float32), np.empty(rows, np.float32))

    def part(self, rows: slice) -> TopK:
        """Some rows, in the same memory."""
        return TopK(self.labels[rows], self.scores[rows], self.log_totals[rows])


@inline
def _log_total(scores: Floats, highest: np.float32, temperature: np.float32, buffer: NDArray[np.int32]) -> np.float32:
    """log sum_a e^(score / temperature); with an exponential of our own, in which the vector unit takes part."""
    scale = _LOG2_E / temperature
    one, two, three, four, five = _FRACTION
    for a in range(scores.shape[0]):
        power = (scores[a] - highest) * scale
        power = power if power > _LEAST_EXPONENT else _LEAST_EXPONENT
        whole = np.floor(power)
        f = power - whole
        fraction = f * (one + f * (two + f * (three + f * (four + f * five))))
        buffer[a] = np.int32((whole + _EXPONENT_BIAS) * _FRACTION_SCALE) + np.int32(fraction * _FRACTION_SCALE)
    powers = buffer.view(np.float32)
    total = np.float32(0.0)
    for a in range(scores.shape[0]):
        total += powers[a]
    return np.float32(np.log(total)) + highest / temperature


def _lead_scores() -> Callable[..., None]:
    version = source_version()

    @kernel
    def topk_scores(
        scores: Floats,
        addends: Addends,
        known: Csr,
        denied: NDArray[np.int64],
        temperatures: Floats,
        best: TopK,
    ) -> None:
        """The best labels of each row of ``scores``, but for its ``known`` ones and those ``denied`` to all; what is
        to be added to ``scores`` first is added there.
        """
        version  # noqa: B018  # part of the cache key, see source_version
        labels, top = scores.shape[1], best.labels.shape[1]
        peaks = np.empty((labels + CHUNK - 1) // CHUNK, np.int32)
        keys = np.full(peaks.shape[0] * CHUNK, EXCLUDED, np.int32)
        bits = scores.view(np.int32)
        for row in range(scores.shape[0]):
            own, has = scores[row], known.indices[known.indptr[row] : known.indptr[row + 1]]
            for a in range(labels):
                own[a] += addends.bias[a]
            if addends.weights.shape[0]:
                add_weight_rows(own, has, addends.scale, addends.weights)
            for place in range(has.shape[0]):
                own[has[place]] = -np.inf
            write_sort_keys(bits[row], keys)
            chunk_maxima(keys, peaks)
            first = argmax_key(keys, peaks)
            for place in range(denied.shape[0]):
                keys[denied[place]] = EXCLUDED
            top_n(keys, peaks, best.labels[row])
            for place in range(top):
                label = best.labels[row, place]
                best.scores[row, place] = -np.inf if label < 0 else own[label]
            # The keys have served: their memory, which is at hand, takes the powers.
            best.log_totals[row] = -np.inf if first < 0 else _log_total(own, own[first], temperatures[row], keys)

    return topk_scores


topk_scores = _lead_scores()
