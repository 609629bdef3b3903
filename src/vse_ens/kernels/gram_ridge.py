"""Label weights: the co-occurrence matrix G, one ridge regression per label, and scores from the weights.

G = X^T D X: entry (a, b) sums the weights of the images that have both labels. The weight of an image depends on its
number of labels only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr, Floats
from vse_ens.kernels.jit import allocating_kernel, inline, inline_once, kernel

Doubles = NDArray[np.float64]
Numbers = NDArray[np.int32]

# Marks an entry of G that was not kept; entries of G are never negative.
_UNKNOWN = -1.0


class WeightedPairs(NamedTuple):
    """The known pairs, by image and by label, and the weight of an image with n labels."""

    by_image: Csr
    by_label: Csr  # the images of every label, ascending
    size_weights: Doubles  # by n: one weight per image could take more RAM than the pairs


class Supports(NamedTuple):
    """The labels that predict each label of a range: the first ``sizes[a]`` entries of row a."""

    sizes: Numbers  # n
    labels: Numbers  # n x m
    together: Doubles  # n x m: G_ab

    @classmethod
    def allocate(cls, labels: int, width: int) -> Supports:
        """Return uninitialized arrays."""
        return cls(np.empty(labels, np.int32), np.empty((labels, width), np.int32), np.empty((labels, width)))

    def part(self, rows: slice) -> Supports:
        """Return a view of some rows."""
        return Supports(self.sizes[rows], self.labels[rows], self.together[rows])


class PairSums(NamedTuple):
    """Off-diagonal entries of G for a range of labels, or for all labels.

    G_ab is stored once, in the list of the rarer label: ``sizes[a]`` entries from ``starts[a]`` on.
    """

    starts: NDArray[np.int64]  # n + 1
    sizes: Numbers  # n
    labels: Numbers
    values: Doubles
    largest_dropped: Doubles  # n: the largest entry that did not fit into the list, 0 if all fit

    @classmethod
    def allocate(cls, lengths: NDArray[np.int64]) -> PairSums:
        """Return uninitialized arrays for lists of these lengths."""
        labels, starts = len(lengths), np.concatenate([[0], np.cumsum(lengths)])
        entries = int(starts[-1])
        return cls(starts, np.empty(labels, np.int32), np.empty(entries, np.int32), np.empty(entries), np.empty(labels))

    def part(self, rows: slice) -> PairSums:
        """Return a view of some labels."""
        starts = self.starts[rows.start : rows.stop + 1]
        return self._replace(starts=starts, sizes=self.sizes[rows], largest_dropped=self.largest_dropped[rows])


@kernel
def transpose_pairs(by_image: Csr, positions: NDArray[np.int64], images: Numbers, first: int = 0) -> None:
    """Write the images of every label to ``images``, numbered from ``first``.

    ``positions`` has the next free position of each label's list, and is advanced.
    """
    for image in range(by_image.indptr.shape[0] - 1):
        for label in by_image.indices[by_image.indptr[image] : by_image.indptr[image + 1]]:
            images[positions[label]] = first + image
            positions[label] += 1


@kernel
def gram_diagonal(by_image: Csr, size_weights: Doubles, diagonal: Doubles, other_labels: NDArray[np.int64]) -> None:
    """Add to G_aa, and to the number of other labels on the images of a: at least as many as it occurs with."""
    for image in range(by_image.indptr.shape[0] - 1):
        start, end = by_image.indptr[image], by_image.indptr[image + 1]
        for label in by_image.indices[start:end]:
            diagonal[label] += size_weights[end - start]
            other_labels[label] += end - start - 1


@kernel
def gram_rows(pairs: WeightedPairs, rows: Doubles, first: int, last: int) -> None:
    """Add rows ``first`` to ``last - 1`` of G to ``rows``."""
    by_image, by_label, size_weights = pairs
    for label in range(first, last):
        row = rows[label - first]
        for image in by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]:
            start, end = by_image.indptr[image], by_image.indptr[image + 1]
            weight = size_weights[end - start]
            for other in by_image.indices[start:end]:
                row[other] += weight


@allocating_kernel
def find_supports(
    pairs: WeightedPairs,
    diagonal: Doubles,
    ranks: Numbers,
    regularization: float,
    supports: Supports,
    sums: PairSums,
    first: int,
    last: int,
) -> None:
    """Find the supports and the pair sums of labels ``first`` to ``last - 1``.

    The support of a has the best single predictors: b reduces the squared error of a by G_ab^2 / (G_bb + lambda). The
    pair sums keep, within the length of the list, the largest G_ab with labels more common than a (``ranks`` starts at
    the most common label).
    """
    by_image, by_label, size_weights = pairs
    labels, width = diagonal.shape[0], supports.labels.shape[1]
    together = np.zeros(labels, np.float64)
    seen = np.empty(labels, np.int32)
    kept = np.empty(labels, np.int32)
    gain = np.empty(labels, np.float64)
    scratch = np.empty(labels, np.float64)
    for label in range(first, last):
        own = label - first
        seen_count = 0
        for image in by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]:
            begin, end = by_image.indptr[image], by_image.indptr[image + 1]
            weight = size_weights[end - begin]
            for other in by_image.indices[begin:end]:
                if together[other] == 0.0:
                    seen[seen_count] = other
                    seen_count += 1
                together[other] += weight
        others = 0
        for position in range(seen_count):
            if seen[position] != label:
                seen[others] = seen[position]
                others += 1

        for position in range(others):
            common = together[seen[position]]
            gain[position] = common * common / (diagonal[seen[position]] + regularization)
        size, _ = _keep_largest(seen, gain, others, width, kept, scratch)
        supports.sizes[own] = size
        for position in range(size):
            supports.labels[own, position] = kept[position]
            supports.together[own, position] = together[kept[position]]

        commoner = 0
        for position in range(others):
            if ranks[seen[position]] < ranks[label]:
                seen[commoner] = seen[position]
                gain[commoner] = together[seen[position]]
                commoner += 1
            else:
                together[seen[position]] = 0.0
        start = sums.starts[own]
        size, largest_dropped = _keep_largest(seen, gain, commoner, sums.starts[own + 1] - start, kept, scratch)
        sums.sizes[own] = size
        sums.largest_dropped[own] = largest_dropped
        for position in range(size):
            sums.labels[start + position] = kept[position]
            sums.values[start + position] = together[kept[position]]
        for position in range(commoner):
            together[seen[position]] = 0.0
        together[label] = 0.0


@inline
def _keep_largest(
    labels: Numbers, gain: Doubles, count: int, most: int, kept: Numbers, scratch: Doubles
) -> tuple[int, float]:
    """Copy the ``most`` labels of largest gain to ``kept``, in their order; ties go to the first.

    Returns how many were kept and the largest gain that was dropped, or 0.
    """
    if count <= most:
        for position in range(count):
            kept[position] = labels[position]
        return count, 0.0
    # The largest gain that is dropped: labels above it are kept, and some of its ties may be.
    for position in range(count):
        scratch[position] = gain[position]
    edge = _select(scratch, count, count - most - 1)
    above = 0
    for position in range(count):
        above += gain[position] > edge
    at_edge = most - above
    size = 0
    for position in range(count):
        if gain[position] > edge or (gain[position] == edge and at_edge > 0):
            at_edge -= gain[position] == edge
            kept[size] = labels[position]
            size += 1
    return size, edge


@inline
def _select(values: Doubles, count: int, place: int) -> float:
    """Return which of ``count`` values sorting would put at ``place``; reorder them (Hoare's quickselect).

    Numba takes seconds to compile `numpy.partition`.
    """
    first, last = 0, count - 1
    while first < last:
        pivot = values[(first + last) // 2]
        low, high = first, last
        while low <= high:
            while values[low] < pivot:
                low += 1
            while values[high] > pivot:
                high -= 1
            if low <= high:
                values[low], values[high] = values[high], values[low]
                low += 1
                high -= 1
        if place <= high:
            last = high
        elif place >= low:
            first = low
        else:
            break
    return values[place]


@allocating_kernel
def solve_supports(
    supports: Supports,
    diagonal: Doubles,
    ranks: Numbers,
    sums: PairSums,
    regularization: float,
    weights: Floats,
) -> int:
    """Solve (G_SS + lambda I) b = G_Sa for the weights b of each label a, with S the support of a.

    A dropped entry of G counts as 0, and its upper bound is added to the diagonal of both labels: this keeps G_SS free
    of negative eigenvalues. Returns the number of labels whose matrix still is not positive definite.
    """
    failed = 0
    width = supports.labels.shape[1]
    position_of = np.full(diagonal.shape[0], -1, np.int32)
    matrix = np.empty((width, width), np.float64)
    solution = np.empty(width, np.float64)
    for label in range(supports.sizes.shape[0]):
        size = supports.sizes[label]
        support = supports.labels[label, :size]
        for position in range(size):
            position_of[support[position]] = position
            solution[position] = supports.together[label, position]
            matrix[position, :position] = _UNKNOWN
            matrix[position, position] = diagonal[support[position]] + regularization
        for position in range(size):
            one = support[position]
            start = sums.starts[one]
            for entry in range(start, start + sums.sizes[one]):
                other = position_of[sums.labels[entry]]
                if other >= 0:
                    matrix[max(position, other), min(position, other)] = sums.values[entry]
        for position in range(size):
            position_of[support[position]] = -1
            for other in range(position):
                if matrix[position, other] == _UNKNOWN:
                    rarer = position if ranks[support[position]] > ranks[support[other]] else other
                    matrix[position, other] = 0.0
                    matrix[position, position] += sums.largest_dropped[support[rarer]]
                    matrix[other, other] += sums.largest_dropped[support[rarer]]
        failed += not _solve(matrix, solution, size)
        for position in range(size):
            weights[label, position] = solution[position]
    return failed


@inline
def _solve(matrix: Doubles, solution: Doubles, size: int) -> bool:
    """Solve M x = y in place by Cholesky; M is given by its lower triangle, ``solution`` has y and then x.

    Returns False if M is not positive definite.
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
        for k in range(row):  # along the row, which is contiguous
            solution[k] -= matrix[row, k] * solution[row]
    return True


@kernel
def supports_to_csr(
    supports: Supports, weights: Floats, positions: NDArray[np.int64], indices: Numbers, values: Floats
) -> None:
    """Write the weights of supports as CSR rows of the known labels; ``positions``, the row starts, is overwritten."""
    for label in range(supports.sizes.shape[0]):
        for position in range(supports.sizes[label]):
            known = supports.labels[label, position]
            indices[positions[known]] = label
            values[positions[known]] = weights[label, position]
            positions[known] += 1


@inline_once
def add_weight_rows(row: Floats, labels: Numbers, scale: np.float32, weights: Floats) -> None:
    """Add ``scale`` times the weight rows of some labels to a row of scores."""
    position, last = 0, labels.shape[0]
    while position + 4 <= last:  # four at a time: the loop waits for the weights to arrive from RAM
        one, two, three, four = (
            weights[labels[position]],
            weights[labels[position + 1]],
            weights[labels[position + 2]],
            weights[labels[position + 3]],
        )
        for other in range(row.shape[0]):
            row[other] += scale * (one[other] + two[other] + three[other] + four[other])
        position += 4
    while position < last:
        weight_row = weights[labels[position]]
        for other in range(row.shape[0]):
            row[other] += scale * weight_row[other]
        position += 1


@kernel
def add_dense_weights(known: Csr, scales: Floats, weights: Floats, scores: Floats) -> None:
    """Add the dense weight rows, |A| x |A|, of the known labels of each image to its scores, times its scale."""
    for image in range(scores.shape[0]):
        labels = known.indices[known.indptr[image] : known.indptr[image + 1]]
        add_weight_rows(scores[image], labels, scales[image], weights)


@kernel
def add_sparse_weights(
    known: Csr, scales: Floats, indptr: NDArray[np.int64], indices: Numbers, values: Floats, scores: Floats
) -> None:
    """Add CSR weight rows of the known labels of each image to its scores, times its scale."""
    for image in range(scores.shape[0]):
        scale, row = scales[image], scores[image]
        for label in known.indices[known.indptr[image] : known.indptr[image + 1]]:
            for entry in range(indptr[label], indptr[label + 1]):
                row[indices[entry]] += scale * values[entry]
