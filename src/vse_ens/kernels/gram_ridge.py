"""The label-label memory: sums over images that two labels share, one small regression a label, and scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr, Floats
from vse_ens.kernels.jit import inline, kernel

Doubles = NDArray[np.float64]
Numbers = NDArray[np.int32]

# Two labels of a support with no sum at hand; a sum is never below 0.
_UNKNOWN = -1.0


class WeightedPairs(NamedTuple):
    """The known pairs, read both ways, and what an image of n labels counts for."""

    by_image: Csr
    by_label: Csr  # the images of every label, rising
    size_weights: Doubles  # at n; a number for every image would be more than the pairs of many


class Supports(NamedTuple):
    """The labels from which each label of a range is told: the first ``sizes[a]`` of row a, counted from its first."""

    sizes: Numbers  # n
    labels: Numbers  # n x m
    together: Doubles  # n x m: G_ab

    def of(self, rows: slice) -> Supports:
        """Those of some of the labels, in the same memory."""
        return Supports(self.sizes[rows], self.labels[rows], self.together[rows])


class PairSums(NamedTuple):
    """G_ab off the diagonal, each held once, in the list of the rarer label: ``sizes[a]`` entries at ``starts[a]``.

    Of a range of labels, counted from its first, or of all.
    """

    starts: NDArray[np.int64]  # n + 1: the room of a ends where the next begins
    sizes: Numbers  # n
    labels: Numbers
    values: Doubles
    left_out: Doubles  # n: the largest sum that a list had no room for, 0 where it had room for all


@kernel
def transpose_pairs(by_image: Csr, places: NDArray[np.int64], images: Numbers, first: int = 0) -> None:
    """Write the images of every label to ``images``; ``places``, where each label's list goes on, are moved on.

    The images are numbered from ``first``.
    """
    for image in range(by_image.indptr.shape[0] - 1):
        for label in by_image.indices[by_image.indptr[image] : by_image.indptr[image + 1]]:
            images[places[label]] = first + image
            places[label] += 1


@kernel
def gram_diagonal(by_image: Csr, size_weights: Doubles, diagonal: Doubles, meetings: NDArray[np.int64]) -> None:
    """Add to every label's G_aa, and how many labels its images have beside it: at least as many as it occurs with."""
    for image in range(by_image.indptr.shape[0] - 1):
        start, end = by_image.indptr[image], by_image.indptr[image + 1]
        for label in by_image.indices[start:end]:
            diagonal[label] += size_weights[end - start]
            meetings[label] += end - start - 1


@kernel
def gram_rows(sources: WeightedPairs, rows: Doubles, first: int, last: int) -> None:
    """Rows ``first`` to ``last - 1`` of G = X^T D X, |A| x |A|, added to ``rows``."""
    by_image, by_label, size_weights = sources
    for label in range(first, last):
        row = rows[label - first]
        for image in by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]:
            start, end = by_image.indptr[image], by_image.indptr[image + 1]
            weight = size_weights[end - start]
            for other in by_image.indices[start:end]:
                row[other] += weight


@kernel
def find_supports(
    sources: WeightedPairs,
    diagonal: Doubles,
    ranks: Numbers,
    regularization: float,
    supports: Supports,
    shared: PairSums,
    first: int,
    last: int,
) -> None:
    """The supports and the shared sums of labels ``first`` to ``last - 1``, the range that both are of.

    A support holds the labels that alone tell most: b takes G_ab^2 / (G_bb + lambda) off the squared error of a. Of the
    labels more common than a (``ranks`` counts from the most common), the largest sums that there is room for are kept.
    """
    by_image, by_label, size_weights = sources
    labels, width = diagonal.shape[0], supports.labels.shape[1]
    together = np.zeros(labels, np.float64)
    seen = np.empty(labels, np.int32)
    kept = np.empty(labels, np.int32)
    measure = np.empty(labels, np.float64)
    for label in range(first, last):
        own = label - first
        meetings = 0
        for image in by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]:
            begin, end = by_image.indptr[image], by_image.indptr[image + 1]
            weight = size_weights[end - begin]
            for other in by_image.indices[begin:end]:
                if together[other] == 0.0:
                    seen[meetings] = other
                    meetings += 1
                together[other] += weight
        others = 0
        for place in range(meetings):
            if seen[place] != label:
                seen[others] = seen[place]
                others += 1

        for place in range(others):
            common = together[seen[place]]
            measure[place] = common * common / (diagonal[seen[place]] + regularization)
        size, _ = _keep_largest(seen, measure, others, width, kept)
        supports.sizes[own] = size
        for place in range(size):
            supports.labels[own, place] = kept[place]
            supports.together[own, place] = together[kept[place]]

        commoner = 0
        for place in range(others):
            if ranks[seen[place]] < ranks[label]:
                seen[commoner] = seen[place]
                measure[commoner] = together[seen[place]]
                commoner += 1
            else:
                together[seen[place]] = 0.0
        start = shared.starts[own]
        size, left_out = _keep_largest(seen, measure, commoner, shared.starts[own + 1] - start, kept)
        shared.sizes[own] = size
        shared.left_out[own] = left_out
        for place in range(size):
            shared.labels[start + place] = kept[place]
            shared.values[start + place] = together[kept[place]]
        for place in range(commoner):
            together[seen[place]] = 0.0
        together[label] = 0.0


@inline
def _keep_largest(labels: Numbers, measure: Doubles, count: int, room: int, kept: Numbers) -> tuple[int, float]:
    """Copy the ``room`` labels of largest measure, in their order, to ``kept``; of equals the first.

    Gives how many there are, and the largest measure of those left out, or 0.
    """
    if count <= room:
        kept[:count] = labels[:count]
        return count, 0.0
    # The largest that is left out: all above it have room, and some of its equals may.
    edge = np.partition(measure[:count], count - room - 1)[count - room - 1]
    above = 0
    for place in range(count):
        above += measure[place] > edge
    at_edge = room - above
    size = 0
    for place in range(count):
        if measure[place] > edge or (measure[place] == edge and at_edge > 0):
            at_edge -= measure[place] == edge
            kept[size] = labels[place]
            size += 1
    return size, edge


@kernel
def solve_supports(
    supports: Supports,
    diagonal: Doubles,
    ranks: Numbers,
    shared: PairSums,
    regularization: float,
    weights: Floats,
) -> int:
    """Weights of the labels that have these supports, n x m: (G_SS + lambda I) b = G_Sa with S the support of a.

    A sum that was left out is taken for 0, and what it may have been at most is added to both labels' diagonal: this
    keeps G_SS free of negative eigenvalues. Gives how many labels had a matrix that is not positive all the same.
    """
    failed = 0
    width = supports.labels.shape[1]
    place_of = np.full(diagonal.shape[0], -1, np.int32)
    matrix = np.empty((width, width), np.float64)
    solution = np.empty(width, np.float64)
    for label in range(supports.sizes.shape[0]):
        size = supports.sizes[label]
        support = supports.labels[label, :size]
        for place in range(size):
            place_of[support[place]] = place
            solution[place] = supports.together[label, place]
            matrix[place, :place] = _UNKNOWN
            matrix[place, place] = diagonal[support[place]] + regularization
        for place in range(size):
            one = support[place]
            start = shared.starts[one]
            for entry in range(start, start + shared.sizes[one]):
                other = place_of[shared.labels[entry]]
                if other >= 0:
                    matrix[max(place, other), min(place, other)] = shared.values[entry]
        for place in range(size):
            place_of[support[place]] = -1
            for other in range(place):
                if matrix[place, other] == _UNKNOWN:
                    rarer = place if ranks[support[place]] > ranks[support[other]] else other
                    matrix[place, other] = 0.0
                    matrix[place, place] += shared.left_out[support[rarer]]
                    matrix[other, other] += shared.left_out[support[rarer]]
        failed += not _solve(matrix, solution, size)
        for place in range(size):
            weights[label, place] = solution[place]
    return failed


@inline
def _solve(matrix: Doubles, solution: Doubles, size: int) -> bool:
    """Solve M x = y in place by Cholesky, M given by its lower triangle, y and then x in ``solution``.

    False if M is not positive definite.
    """
    for row in range(size):
        for column in range(row):
            rest = matrix[row, column]
            for k in range(column):
                rest -= matrix[row, k] * matrix[column, k]
            matrix[row, column] = rest / matrix[column, column]
        pivot = matrix[row, row]
        for k in range(row):
            pivot -= matrix[row, k] * matrix[row, k]
        if not pivot > 0.0:
            return False
        matrix[row, row] = np.sqrt(pivot)
    for row in range(size):
        rest = solution[row]
        for k in range(row):
            rest -= matrix[row, k] * solution[k]
        solution[row] = rest / matrix[row, row]
    for row in range(size - 1, -1, -1):
        solution[row] /= matrix[row, row]
        for k in range(row):  # along the row: a column would be read across memory
            solution[k] -= matrix[row, k] * solution[row]
    return True


@kernel
def supports_to_csr(
    supports: Supports, weights: Floats, places: NDArray[np.int64], indices: Numbers, values: Floats
) -> None:
    """Weights of supports as rows of known labels in CSR form; ``places``, where each row starts, is used up."""
    for label in range(supports.sizes.shape[0]):
        for place in range(supports.sizes[label]):
            known = supports.labels[label, place]
            indices[places[known]] = label
            values[places[known]] = weights[label, place]
            places[known] += 1


@inline
def add_weight_rows(row: Floats, labels: Numbers, scale: np.float32, weights: Floats) -> None:
    """Add to a row its scale times the rows of weights of some labels."""
    place, last = 0, labels.shape[0]
    while place + 4 <= last:  # four at a time: what waits for memory is the fetching of weights
        one, two, three, four = (
            weights[labels[place]],
            weights[labels[place + 1]],
            weights[labels[place + 2]],
            weights[labels[place + 3]],
        )
        for other in range(row.shape[0]):
            row[other] += scale * (one[other] + two[other] + three[other] + four[other])
        place += 4
    while place < last:
        told = weights[labels[place]]
        for other in range(row.shape[0]):
            row[other] += scale * told[other]
        place += 1


@kernel
def add_dense_weights(known: Csr, scales: Floats, weights: Floats, scores: Floats) -> None:
    """Add to the row of every image its scale times the rows of weights, |A| x |A|, of its known labels."""
    for image in range(scores.shape[0]):
        labels = known.indices[known.indptr[image] : known.indptr[image + 1]]
        add_weight_rows(scores[image], labels, scales[image], weights)


@kernel
def add_sparse_weights(
    known: Csr, scales: Floats, indptr: NDArray[np.int64], indices: Numbers, values: Floats, scores: Floats
) -> None:
    """The same where the rows of weights are in CSR form."""
    for image in range(scores.shape[0]):
        scale, row = scales[image], scores[image]
        for label in known.indices[known.indptr[image] : known.indptr[image + 1]]:
            for entry in range(indptr[label], indptr[label + 1]):
                row[indices[entry]] += scale * values[entry]
