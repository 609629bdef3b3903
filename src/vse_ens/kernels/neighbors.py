"""What the images with the most similar labels have.

The similarity of two images is the cosine of their label rows, label a weighted by the root of w_a = log(1 + n / n_a),
so that a rare label counts more than a common one:

    s_ij = sum of w_a over their common labels / sqrt(l_i l_j),    l_i = sum of w_a over the labels of i.

The share of a label among the neighbors of an image, and what it adds to the score, are

    q_i(a) = sum of s_ij^10 over images j != i that have a / sum of s_ij^10 over all images j != i,
    scale x log(1 + q_i(a) / 0.03).

An image less than half as similar as the most similar one would count less than a thousandth of it, and counts nothing:
an image whose neighbors share its rare labels need not look at all images that share a common one. Images with equal
labels are one row of the index.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr, Floats
from vse_ens.kernels.jit import inline, kernel

FLOOR = 0.03
"""A share of this size adds log 2, times the scale."""
LEAST_SHARE = 0.003
"""A smaller share adds nothing, so that an image has tens of labels to add to and not hundreds."""
LEAST_SIMILARITY = 0.5
"""The least similarity of a neighbor, relative to the most similar image."""
HALF_POWER = 5
"""Half the power of a similarity: squares are at hand."""

_LEAST_SQUARE = np.float32(LEAST_SIMILARITY**2)
# A bound of the largest similarity comes from the rows found first, which share the rarest labels.
_FIRST_FOUND = 512
# Rounding must not end the search early.
_MARGIN = np.float32(0.999)


class NeighborIndex(NamedTuple):
    """The label rows of all images, equal ones once, and the rows of every label."""

    rows: Csr  # the labels of each row, rarest first
    images: Floats  # rows: how many images have exactly these labels
    lengths: Floats  # rows: l, the sum of the weights of its labels
    postings: Csr  # |A|: the rows that have each label, by length
    weights: Floats  # |A|: w
    rarity: NDArray[np.int32]  # |A|: the place of each label, rarest first


class NeighborScratch(NamedTuple):
    """Buffers of one thread; ``sums`` and ``shares`` are zeros between calls."""

    sums: Floats  # rows
    found: NDArray[np.int32]  # rows
    query: NDArray[np.int32]  # |A|: the labels of an image, rarest first
    shares: Floats  # |A|
    labels: NDArray[np.int32]  # |A|: those with a share

    @classmethod
    def allocate(cls, index: NeighborIndex) -> NeighborScratch:
        """Return buffers for an index."""
        rows, labels = len(index.lengths), len(index.weights)
        return cls(
            np.zeros(rows, np.float32),
            np.empty(rows, np.int32),
            np.empty(labels, np.int32),
            np.zeros(labels, np.float32),
            np.empty(labels, np.int32),
        )


@inline
def _sort_by_rarity(labels: NDArray[np.int32], rarity: NDArray[np.int32], query: NDArray[np.int32]) -> None:
    """Write the labels of an image to ``query``, rarest first: a Shell sort."""
    count = labels.shape[0]
    for n in range(count):
        query[n] = labels[n]
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for n in range(gap, count):
            label, place = query[n], n
            while place >= gap and rarity[query[place - gap]] > rarity[label]:
                query[place] = query[place - gap]
                place -= gap
            query[place] = label
        gap //= 3


@inline
def _best_square(index: NeighborIndex, own: int, count: int, scratch: NeighborScratch) -> np.float32:
    """Return the largest squared similarity of the first ``count`` rows found, times l of the image in question."""
    best = np.float32(0.0)
    for n in range(count):
        row = scratch.found[n]
        if row != own or index.images[row] > 1:
            best = max(best, scratch.sums[row] * scratch.sums[row] / index.lengths[row])
    return best


@inline
def _first_longer(index: NeighborIndex, first: int, last: int, length: float) -> int:
    """Return the first of the entries of a label whose row is longer than ``length``; they are sorted by length."""
    while first < last:
        middle = (first + last) // 2
        if index.lengths[index.postings.indices[middle]] > length:
            last = middle
        else:
            first = middle + 1
    return first


@inline
def find_neighbors(index: NeighborIndex, labels: NDArray[np.int32], own: int, scratch: NeighborScratch) -> int:
    """Find the neighbors of an image with some ``labels``; ``own`` is its row in the index, or -1. Return how many.

    Their rows are ``scratch.found``, and ``scratch.sums[row]`` is their weight: s^10 relative to the most similar
    image, times the number of images. The caller sets these sums to zero again.
    """
    _sort_by_rarity(labels, index.rarity, scratch.query)
    rest = 0.0
    for n in range(labels.shape[0]):
        rest += np.float64(index.weights[labels[n]])
    count = 0
    for n in range(labels.shape[0]):
        label = scratch.query[n]
        first, last = index.postings.indptr[label], index.postings.indptr[label + 1]
        weight, new = index.weights[label], last
        if last - first > _FIRST_FOUND:
            # s^2 l of an image j that has none of the labels so far is at most rest^2 / l_j: long rows are not new.
            best = _MARGIN * _LEAST_SQUARE * _best_square(index, own, min(count, _FIRST_FOUND), scratch)
            if best > 0.0:
                new = _first_longer(index, first, last, rest * rest / best)
        for entry in range(first, new):
            row = index.postings.indices[entry]
            if scratch.sums[row] == 0.0:
                scratch.found[count] = row
                count += 1
            scratch.sums[row] += weight
        for entry in range(new, last):
            row = index.postings.indices[entry]
            scratch.sums[row] += weight if scratch.sums[row] != 0.0 else np.float32(0.0)
        rest -= np.float64(weight)
    best, kept = _best_square(index, own, count, scratch), 0
    for n in range(count):
        row = scratch.found[n]
        square = scratch.sums[row] * scratch.sums[row] / index.lengths[row]
        images = index.images[row] - (1 if row == own else 0)
        scratch.sums[row] = 0.0
        if images > 0 and square >= _LEAST_SQUARE * best:
            ratio, weight = square / best, np.float32(images)
            for _ in range(HALF_POWER):
                weight *= ratio
            scratch.found[kept] = row
            scratch.sums[row] = weight
            kept += 1
    return kept


@inline
def _sum_shares(
    index: NeighborIndex, labels: NDArray[np.int32], own: int, scratch: NeighborScratch
) -> tuple[int, np.float32]:
    """Sum the weights of the neighbors by label; return the number of labels they have, and their total weight.

    The labels are ``scratch.labels``, their sums ``scratch.shares[label]``, which the caller sets to zero again.
    """
    total, count = np.float32(0.0), 0
    for n in range(find_neighbors(index, labels, own, scratch)):
        row = scratch.found[n]
        weight = scratch.sums[row]
        scratch.sums[row] = 0.0
        total += weight
        for entry in range(index.rows.indptr[row], index.rows.indptr[row + 1]):
            label = index.rows.indices[entry]
            if scratch.shares[label] == 0.0:
                scratch.labels[count] = label
                count += 1
            scratch.shares[label] += weight
    return count, total


@inline
def _term(share: np.float32, total: np.float32, scale: np.float32) -> np.float32:
    """Return what a label's part of the total weight adds to its score."""
    if share < np.float32(LEAST_SHARE) * total:
        return np.float32(0.0)
    return np.float32(scale * np.log1p(share / (np.float32(FLOOR) * total)))


@kernel
def add_neighbor_scores(
    index: NeighborIndex,
    known: Csr,
    own: NDArray[np.int32],
    scale: np.float32,
    scratch: NeighborScratch,
    scores: Floats,
) -> None:
    """Add to each row of ``scores`` what the neighbors have of an image with the ``known`` labels.

    ``own`` is the row of each image in the index, which is not its own neighbor; -1 for an image that is not in it.
    """
    for image in range(scores.shape[0]):
        labels = known.indices[known.indptr[image] : known.indptr[image + 1]]
        count, total = _sum_shares(index, labels, own[image], scratch)
        for n in range(count):
            label = scratch.labels[n]
            scores[image, label] += _term(scratch.shares[label], total, scale)
            scratch.shares[label] = 0.0


@kernel
def neighbor_terms(
    index: NeighborIndex,
    known: Csr,
    own: NDArray[np.int32],
    scale: np.float32,
    scratch: NeighborScratch,
    counts: NDArray[np.int64],
    labels: NDArray[np.int32],
    terms: Floats,
) -> int:
    """Write the labels that `add_neighbor_scores` adds to and what it adds, one image after another.

    ``counts`` gets the number of labels of each image. Returns how many images fitted into ``labels`` and ``terms``.
    """
    written = 0
    for image in range(counts.shape[0]):
        given = known.indices[known.indptr[image] : known.indptr[image + 1]]
        count, total = _sum_shares(index, given, own[image], scratch)
        fits = written + count <= labels.shape[0]
        counts[image] = 0
        for n in range(count):
            label = scratch.labels[n]
            term = _term(scratch.shares[label], total, scale)
            scratch.shares[label] = 0.0
            if fits and term > 0.0:
                labels[written], terms[written] = label, term
                written += 1
                counts[image] += 1
        if not fits:
            return image
    return counts.shape[0]


@kernel
def neighbor_weights(
    index: NeighborIndex, labels: NDArray[np.int32], own: int, scratch: NeighborScratch, weights: Floats
) -> int:
    """Find the neighbors of one image: their rows are ``scratch.found``. Write their weights, and return how many."""
    count = find_neighbors(index, labels, own, scratch)
    for n in range(count):
        weights[n] = scratch.sums[scratch.found[n]]
        scratch.sums[scratch.found[n]] = 0.0
    return count
