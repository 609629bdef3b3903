"""What each known label, and each combination of two, adds to a label's score."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr, Floats
from vse_ens.kernels.jit import inline, kernel, source_version
from vse_ens.kernels.label_pairs import LabelPairs, PairMatches, find_label_pairs

Doubles = NDArray[np.float64]


class PairContributions(NamedTuple):
    """The combinations of every row: the first ``counts[i]`` entries from ``starts[i]`` on."""

    starts: NDArray[np.int64]  # rows + 1: the room of a row ends where the next begins
    counts: NDArray[np.int64]  # rows
    places: NDArray[np.int32]  # entries x 2: at which places of the row's labels the two labels are
    shares: Doubles  # entries

    @classmethod
    def allocate(cls, pairs: Csr, known: LabelPairs) -> PairContributions:
        """Buffers for all combinations that rows of labels may use."""
        sizes = np.diff(pairs.indptr)
        most = np.minimum(sizes * (sizes - 1) // 2, known.pairs_per_label * sizes) if len(known.numbers) else 0 * sizes
        starts = np.concatenate([[0], np.cumsum(most)])
        return cls(
            starts,
            np.zeros(len(sizes), np.int64),
            np.zeros((starts[-1], 2), np.int32),
            np.zeros(starts[-1], np.float64),
        )


@inline
def _dot(one: Floats, other: Floats) -> float:
    total = 0.0
    for f in range(one.shape[0]):
        total += np.float64(one[f]) * np.float64(other[f])
    return total


def _context_shares() -> Callable[..., None]:
    version = source_version()

    @kernel
    def context_contributions(
        pairs: Csr,
        labels: NDArray[np.int64],
        label_vectors: Floats,
        inputs: Floats,
        known: LabelPairs,
        shares: Doubles,
        combined: PairContributions,
    ) -> None:
        """What the context of row i of ``pairs`` adds to the score of ``labels[i]``, part by part.

        ``shares`` gets one number for each entry of ``pairs``. The vectors are those of `context_vectors`.
        """
        version  # noqa: B018  # part of the cache key, see source_version
        vocabulary = label_vectors.shape[0]
        longest = 0
        for row in range(labels.shape[0]):
            longest = max(longest, pairs.indptr[row + 1] - pairs.indptr[row])
        room = min(longest * (longest - 1) // 2, 1 << 16) if known.numbers.shape[0] else 0
        found = PairMatches(np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32))
        for row in range(labels.shape[0]):
            first, last = pairs.indptr[row], pairs.indptr[row + 1]
            positives = pairs.indices[first:last]
            wanted = label_vectors[labels[row]]
            for entry in range(first, last):
                shares[entry] = _dot(inputs[pairs.indices[entry]], wanted) / np.sqrt(np.float64(last - first))
            count = find_label_pairs(positives, known, found) if known.numbers.shape[0] else 0
            combined.counts[row] = count
            start = combined.starts[row]
            for place in range(count):
                combined.places[start + place, 0] = found.first[place]
                combined.places[start + place, 1] = found.second[place]
                share = _dot(inputs[vocabulary + found.numbers[place]], wanted)
                combined.shares[start + place] = share / np.sqrt(np.float64(count))

    return context_contributions


context_contributions = _context_shares()
