"""The contribution of each known label and each label pair to a score."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr, Floats
from vse_ens.kernels.jit import inline, kernel
from vse_ens.kernels.label_pairs import LabelPairs, PairMatches, find_label_pairs

Doubles = NDArray[np.float64]


class PairContributions(NamedTuple):
    """The contributions of label pairs: row i has ``counts[i]`` entries from ``starts[i]`` on."""

    starts: NDArray[np.int64]  # rows + 1
    counts: NDArray[np.int64]  # rows
    positions: NDArray[np.int32]  # entries x 2: the positions of the two labels among the labels of the row
    values: Doubles  # entries
    found: PairMatches  # a buffer

    @classmethod
    def allocate(cls, pairs: Csr, label_pairs: LabelPairs) -> PairContributions:
        """Return buffers for all label pairs that the rows may use."""
        sizes = np.diff(pairs.indptr)
        most = (
            np.minimum(sizes * (sizes - 1) // 2, label_pairs.pairs_per_label * sizes)
            if label_pairs.pairs
            else 0 * sizes
        )
        starts = np.concatenate([[0], np.cumsum(most)])
        return cls(
            starts,
            np.zeros(len(sizes), np.int64),
            np.zeros((starts[-1], 2), np.int32),
            np.zeros(starts[-1], np.float64),
            PairMatches.allocate(int(sizes.max(initial=0)) if label_pairs.pairs else 0),
        )


@inline
def _dot(one: Floats, other: Floats) -> float:
    total = 0.0
    for f in range(one.shape[0]):
        total += np.float64(one[f]) * np.float64(other[f])
    return total


@kernel
def context_contributions(
    pairs: Csr,
    labels: NDArray[np.int64],
    label_vectors: Floats,
    inputs: Floats,
    label_pairs: LabelPairs,
    contributions: Doubles,
    pair_contributions: PairContributions,
) -> None:
    """Split the context part of the score of ``labels[i]`` for row i of ``pairs`` into its terms.

    ``contributions`` gets one number per entry of ``pairs``, ``pair_contributions`` those of label pairs. Their sum is
    the product of the label vector and the vector of `vse_ens.kernels.context.context_vectors`.
    """
    vocabulary = label_vectors.shape[0]
    found = pair_contributions.found
    for row in range(labels.shape[0]):
        first, last = pairs.indptr[row], pairs.indptr[row + 1]
        positives = pairs.indices[first:last]
        label_vector = label_vectors[labels[row]]
        for entry in range(first, last):
            contributions[entry] = _dot(inputs[pairs.indices[entry]], label_vector) / np.sqrt(np.float64(last - first))
        count = find_label_pairs(positives, label_pairs, found) if label_pairs.pairs else 0
        pair_contributions.counts[row] = count
        start = pair_contributions.starts[row]
        for n in range(count):
            pair_contributions.positions[start + n, 0] = found.first[n]
            pair_contributions.positions[start + n, 1] = found.second[n]
            contribution = _dot(inputs[vocabulary + found.numbers[n]], label_vector)
            pair_contributions.values[start + n] = contribution / np.sqrt(np.float64(count))
