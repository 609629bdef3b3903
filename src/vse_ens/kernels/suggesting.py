"""The best labels of every image, to the last bit the same in any company.

A matrix product sums in another order for one row than for many, and so rounds in another way. Here products only
propose: every label whose product comes close enough to the best is scored again, by one loop, and that score decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.jit import kernel, part, source_version
from vse_ens.kernels.ranking import CHUNK, LEFT_OUT, fill_keys, find_best, find_peaks, take_out
from vse_ens.kernels.tables import Floats, Pairs

# Two sums of k products in any order differ by less than 2 k u |v_i| |v_a|, with u = 2^-24 half the spacing of floats
# around 1; adding the rest and comparing two labels doubles that, and it is doubled once more to be safe.
_ROUNDING = np.float32(2.0**-21)


# e^x = 2^(whole + part): 2^part - 1 by a polynomial, right to 1e-7, whose bits are those of the float's fraction.
_FRACTION = tuple(np.float32(c) for c in (0.6931517388, 0.2401592716, 0.0558186749, 0.0089909968, 0.0018793178))
_LOG2_E = np.float32(1.4426950408889634)
_LEAST_EXPONENT, _EXPONENT_BIAS = np.float32(-126.0), np.float32(127.0)
_FRACTION_SCALE = np.float32(2.0**23)


class Best(NamedTuple):
    """What `lead_scores` fills in, a row an image."""

    labels: NDArray[np.int32]  # rows x top: best first, equal scores in the order of numbers; then -1
    scores: Floats  # rows x top; then -inf
    log_totals: Floats  # rows: log of the sum of e^(score / temperature) over all labels but the known ones


@part
def _dot(one: Floats, other: Floats) -> np.float32:
    total = np.float32(0.0)
    for f in range(one.shape[0]):
        total += one[f] * other[f]
    return total


@part
def _insert(labels: NDArray[np.int32], scores: Floats, filled: int, label: int, score: np.float32) -> None:
    """Put a label where it belongs among the first ``filled``; the last one drops out if there is no room."""
    place = min(filled, labels.shape[0])
    while place > 0 and (score > scores[place - 1] or (score == scores[place - 1] and label < labels[place - 1])):
        if place < labels.shape[0]:
            labels[place], scores[place] = labels[place - 1], scores[place - 1]
        place -= 1
    if place < labels.shape[0]:
        labels[place], scores[place] = label, score


@part
def _log_total(scores: Floats, highest: np.float32, temperature: np.float32, buffer: NDArray[np.int32]) -> np.float32:
    """log sum_a e^(score / temperature); the exponential is our own, so that the vector unit takes part in it."""
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
    for a in range(powers.shape[0]):
        total += powers[a]
    return np.float32(np.log(total)) + highest / temperature


def _lead_scores() -> Callable[..., None]:
    version = source_version()

    @kernel
    def lead_scores(
        products: Floats,
        rest: Floats,
        vectors: Floats,
        label_vectors: Floats,
        longest: np.float32,
        known: Pairs,
        denied: NDArray[np.int64],
        temperature: np.float32,
        best: Best,
    ) -> None:
        """The best labels of each row, but for its known ones and those ``denied`` to all, by v_i . v_a + rest.

        ``products``, v_i . v_a of all labels, are used up. ``longest`` is the norm of the longest label vector.
        """
        version  # noqa: B018  # part of the cache key, see source_version
        labels, top = products.shape[1], best.labels.shape[1]
        peaks = np.empty((labels + CHUNK - 1) // CHUNK, np.int32)
        keys = np.full(peaks.shape[0] * CHUNK, LEFT_OUT, np.int32)
        buffer = np.empty(labels, np.int32)
        bits = products.view(np.int32)
        for row in range(products.shape[0]):
            sums = products[row]
            for a in range(labels):
                sums[a] += rest[row, a]
            for place in range(known.indptr[row], known.indptr[row + 1]):
                sums[known.indices[place]] = -np.inf
            fill_keys(bits[row], keys)
            find_peaks(keys, peaks)
            label = find_best(keys, peaks)
            best.log_totals[row] = -np.inf if label < 0 else _log_total(sums, sums[label], temperature, buffer)
            for place in range(denied.shape[0]):
                keys[denied[place]] = LEFT_OUT
            if denied.shape[0]:
                find_peaks(keys, peaks)

            best.labels[row, :] = -1
            best.scores[row, :] = -np.inf
            taken, least = 0, np.float32(-np.inf)
            while True:
                label = find_best(keys, peaks)
                if label < 0 or sums[label] < least:
                    break
                take_out(keys, peaks, label)
                score = _dot(vectors[row], label_vectors[label]) + rest[row, label]
                _insert(best.labels[row], best.scores[row], taken, label, score)
                taken += 1
                if taken == top:
                    length = np.sqrt(_dot(vectors[row], vectors[row]))
                    size = np.float32(vectors.shape[1]) * length * longest + np.abs(sums[label])
                    least = sums[label] - _ROUNDING * size

    return lead_scores


lead_scores = _lead_scores()
