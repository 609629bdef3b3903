"""Pairs of labels that often occur together, and the pairs that an image has."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.jit import inline, inline_once, kernel

# 2^64 divided by the golden ratio: the highest bits of a multiple are spread evenly (Fibonacci hashing).
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HALF_WORD = np.uint64(32)
_EMPTY = -1


class LabelPairs(NamedTuple):
    """A hash table of label pairs a < b, which are numbered by descending count."""

    keys: NDArray[np.int64]
    """a * 2^32 + b in a slot with a pair. A pair is in the slot of its hash, or in the next one that was free."""
    numbers: NDArray[np.int32]  # slots: the number of the pair
    shift: int  # 64 - log2(slots)
    labels: int
    pairs: int
    pairs_per_label: int
    """An image with n labels uses its n * pairs_per_label most common pairs."""

    @classmethod
    def of(cls, pairs: NDArray[np.int32], labels: int, pairs_per_label: int) -> LabelPairs:
        """Return the table of pairs a < b, given most common first; at most half of its slots are filled."""
        bits = max(1, 2 * len(pairs) - 1).bit_length()
        keys, numbers = np.full(1 << bits, _EMPTY, np.int64), np.zeros(1 << bits, np.int32)
        own = pairs[:, 0].astype(np.uint64) << _HALF_WORD | pairs[:, 1].astype(np.uint64)
        slots = (own * _MULTIPLIER >> np.uint64(64 - bits)).astype(np.int64)
        own = own.astype(np.int64)
        left = np.arange(len(pairs))
        while len(left):
            free = left[keys[slots[left]] == _EMPTY]
            keys[slots[free]] = own[free]  # of several pairs one gets the slot
            is_placed = keys[slots[left]] == own[left]
            placed, left = left[is_placed], left[~is_placed]
            numbers[slots[placed]] = placed
            slots[left] = (slots[left] + 1) % len(keys)
        return cls(keys, numbers, 64 - bits, labels, len(pairs), pairs_per_label)


class PairMatches(NamedTuple):
    """The label pairs of one image."""

    numbers: NDArray[np.int32]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    """The positions of the two labels among the labels of the image."""

    @classmethod
    def allocate(cls, labels: int) -> PairMatches:
        """Return buffers for images with up to ``labels`` labels; beyond 360, the pairs found last are dropped."""
        # One more than can be found: it is written before it is known whether there is such a pair.
        most = min(labels * (labels - 1) // 2, 1 << 16) + 1
        return cls(np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int32))


@inline
def find_label_pairs(positives: NDArray[np.int32], known: LabelPairs, found: PairMatches) -> int:
    """Write the label pairs among the sorted labels of an image to ``found``; return their number."""
    labels, capacity, last_slot = positives.shape[0], found.numbers.shape[0] - 1, known.keys.shape[0] - 1
    count = 0
    for first in range(labels - 1):
        upper_half = np.uint64(positives[first]) << _HALF_WORD
        for second in range(first + 1, labels):
            hashed = upper_half | np.uint64(positives[second])
            key, slot = np.int64(hashed), np.int64(hashed * _MULTIPLIER >> np.uint64(known.shift))
            while known.keys[slot] != key and known.keys[slot] != _EMPTY:
                slot = slot + 1 & last_slot
            # Without a branch, which the processor could not predict.
            found.numbers[count] = known.numbers[slot]
            found.first[count] = first
            found.second[count] = second
            count = min(count + (known.keys[slot] == key), capacity)
    most = known.pairs_per_label * labels
    return _keep_lowest(known, found, count, most) if count > most else count


@inline_once
def _keep_lowest(known: LabelPairs, found: PairMatches, count: int, most: int) -> int:
    """Keep the ``most`` lowest numbers, which are the most common pairs; found by bisecting the number."""
    low, high = np.int64(0), np.int64(known.pairs)
    while high - low > 1:
        middle = (low + high) // 2
        below = 0
        for n in range(count):
            below += found.numbers[n] < middle
        if below <= most:
            low = middle
        else:
            high = middle
    kept = 0
    for n in range(count):
        if found.numbers[n] < low:
            found.numbers[kept] = found.numbers[n]
            found.first[kept] = found.first[n]
            found.second[kept] = found.second[n]
            kept += 1
    return kept


class CountScratch(NamedTuple):
    """Buffers for counting with which labels one label occurs together."""

    together: NDArray[np.int32]  # |A|: zeros between two labels
    seen: NDArray[np.int32]  # |A|

    @classmethod
    def allocate(cls, labels: int) -> CountScratch:
        """Return buffers for a number of labels."""
        return cls(np.zeros(labels, np.int32), np.empty(labels, np.int32))


@kernel
def pair_count_histogram(
    by_image: Csr, by_label: Csr, histogram: NDArray[np.int64], first: int, last: int, scratch: CountScratch
) -> None:
    """Add to ``histogram[c]`` the number of label pairs that occur together in c images; the last bin is open.

    Only pairs with a lower label from ``first`` to ``last - 1`` are counted.
    """
    most = histogram.shape[0] - 1
    together, seen = scratch.together, scratch.seen
    for label in range(first, last):
        others = count_cooccurrences(by_image, by_label, label, label, together, seen)
        for n in range(others):
            histogram[min(np.int64(together[seen[n]]), most)] += 1
            together[seen[n]] = 0


@kernel
def collect_label_pairs(
    by_image: Csr,
    by_label: Csr,
    min_count: int,
    pairs: NDArray[np.int32],
    counts: NDArray[np.int32],
    first: int,
    last: int,
    scratch: CountScratch,
) -> int:
    """Write the label pairs (a < b) that occur together in at least ``min_count`` images, with their counts.

    Only pairs with a lower label from ``first`` to ``last - 1`` are written. Returns their number.
    """
    together, seen = scratch.together, scratch.seen
    row = 0
    for label in range(first, last):
        others = count_cooccurrences(by_image, by_label, label, label, together, seen)
        for n in range(others):
            other = seen[n]
            if together[other] >= min_count:
                pairs[row, 0] = label
                pairs[row, 1] = other
                counts[row] = together[other]
                row += 1
            together[other] = 0
    return row


@inline_once
def count_cooccurrences(
    by_image: Csr, by_label: Csr, label: int, above: int, together: NDArray[np.int32], seen: NDArray[np.int32]
) -> int:
    """Count in how many images each label ``above`` a number occurs together with ``label``, in ``together``.

    The labels that occur with it are listed in ``seen``; returns their number.
    """
    others = 0
    for position in range(by_label.indptr[label], by_label.indptr[label + 1]):
        image = by_label.indices[position]
        for entry in range(by_image.indptr[image], by_image.indptr[image + 1]):
            other = by_image.indices[entry]
            if other > above:
                if together[other] == 0:
                    seen[others] = other
                    others += 1
                together[other] += 1
    return others
