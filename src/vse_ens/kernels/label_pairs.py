"""Pairs of labels that often occur together, and which of them an image has."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.jit import inline, kernel

# A list of partners so many times longer than the image's other labels is searched, a shorter one walked along.
_WORTH_SEARCHING = 8


class LabelPairs(NamedTuple):
    """Label pairs a < b, numbered by falling count; for every a its partners b, sorted."""

    indptr: NDArray[np.int64]  # |A| + 1
    partners: NDArray[np.int32]
    numbers: NDArray[np.int32]
    """Of every partner: the number of the pair."""
    pairs_per_label: int
    """An image uses at most so many combinations a label it has: the most common ones."""


class PairMatches(NamedTuple):
    """Buffers for the combinations of one image."""

    numbers: NDArray[np.int32]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    """At which places of the image's labels the two labels are."""

    @classmethod
    def allocate(cls, labels: int) -> PairMatches:
        """For images of up to so many labels; of those with more than 360, combinations found last are left out."""
        most = min(labels * (labels - 1) // 2, 1 << 16)
        return cls(np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int32))


@inline
def find_label_pairs(positives: NDArray[np.int32], known: LabelPairs, found: PairMatches) -> int:
    """Fill ``found`` with the combinations among an image's sorted labels; how many they are."""
    labels, room = positives.shape[0], found.numbers.shape[0]
    count = 0
    for first in range(labels - 1):
        low, end = known.indptr[positives[first]], known.indptr[positives[first] + 1]
        search = end - low > _WORTH_SEARCHING * (labels - first)
        for second in range(first + 1, labels):
            wanted = positives[second]
            if search:
                high = end
                while low < high:
                    middle = (low + high) // 2
                    if known.partners[middle] < wanted:
                        low = middle + 1
                    else:
                        high = middle
            else:
                while low < end and known.partners[low] < wanted:
                    low += 1
            if low < end and known.partners[low] == wanted and count < room:
                found.numbers[count] = known.numbers[low]
                found.first[count] = first
                found.second[count] = second
                count += 1
    most = known.pairs_per_label * labels
    return _keep_lowest(known, found, count, most) if count > most else count


@inline
def _keep_lowest(known: LabelPairs, found: PairMatches, count: int, most: int) -> int:
    """Keep the ``most`` lowest numbers, which are the most common combinations; by bisecting the number."""
    low, high = np.int64(0), np.int64(known.numbers.shape[0])
    while high - low > 1:
        middle = (low + high) // 2
        below = 0
        for place in range(count):
            below += found.numbers[place] < middle
        if below <= most:
            low = middle
        else:
            high = middle
    kept = 0
    for place in range(count):
        if found.numbers[place] < low:
            found.numbers[kept] = found.numbers[place]
            found.first[kept] = found.first[place]
            found.second[kept] = found.second[place]
            kept += 1
    return kept


@kernel
def pair_count_histogram(by_image: Csr, by_label: Csr, histogram: NDArray[np.int64], first: int, last: int) -> None:
    """Add to ``histogram[c]`` how many label pairs occur together in c images; the last entry takes all above.

    Of the pairs whose lower label is one of ``first`` to ``last - 1``.
    """
    labels, most = by_label.indptr.shape[0] - 1, histogram.shape[0] - 1
    together = np.zeros(labels, np.int32)
    seen = np.empty(labels, np.int32)
    for label in range(first, last):
        meetings = _meet(by_image, by_label, label, together, seen)
        for place in range(meetings):
            histogram[min(np.int64(together[seen[place]]), most)] += 1
            together[seen[place]] = 0


@kernel
def collect_label_pairs(
    by_image: Csr,
    by_label: Csr,
    fewest: int,
    pairs: NDArray[np.int32],
    counts: NDArray[np.int32],
    first: int,
    last: int,
) -> int:
    """Fill ``pairs`` with the label pairs (a < b) that occur together in ``fewest`` images or more, and ``counts``.

    Of the pairs whose lower label is one of ``first`` to ``last - 1``; how many they are.
    """
    labels = by_label.indptr.shape[0] - 1
    together = np.zeros(labels, np.int32)
    seen = np.empty(labels, np.int32)
    row = 0
    for label in range(first, last):
        meetings = _meet(by_image, by_label, label, together, seen)
        for place in range(meetings):
            other = seen[place]
            if together[other] >= fewest:
                pairs[row, 0] = label
                pairs[row, 1] = other
                counts[row] = together[other]
                row += 1
            together[other] = 0
    return row


@inline
def _meet(by_image: Csr, by_label: Csr, label: int, together: NDArray[np.int32], seen: NDArray[np.int32]) -> int:
    """Count how often every label of a higher number occurs with one label; how many do at all, listed in ``met``."""
    meetings = 0
    for place in range(by_label.indptr[label], by_label.indptr[label + 1]):
        image = by_label.indices[place]
        for entry in range(by_image.indptr[image], by_image.indptr[image + 1]):
            other = by_image.indices[entry]
            if other > label:
                if together[other] == 0:
                    seen[meetings] = other
                    meetings += 1
                together[other] += 1
    return meetings
