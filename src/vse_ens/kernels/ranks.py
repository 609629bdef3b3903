"""The ranks of held-out labels among all labels of an image, and the top-N list."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr, Floats
from vse_ens.kernels.jit import inline_once, kernel
from vse_ens.kernels.topk import EXCLUDED, Keys, KeyScratch, top_n, write_sort_keys

# Values of `RankResults.above` where there is no count.
IS_KNOWN, IS_NAN = -1, -2


class RankResults(NamedTuple):
    """The output of `rank_rows`."""

    above: NDArray[np.int32]  # per held-out pair: candidates with a higher score
    tied: NDArray[np.int32]  # candidates with the same score, itself included; 0 where it is not ranked
    top: NDArray[np.int32]  # rows x N: the best candidates, best first, ties by label number; padded with -1


@inline_once
def count_above(keys: Keys, own: np.int32) -> tuple[np.int32, np.int32]:
    """Return how many keys are higher than ``own`` and how many are equal."""
    above, tied = np.int32(0), np.int32(0)
    for a in range(keys.shape[0]):
        above = np.int32(above + (keys[a] > own))
        tied = np.int32(tied + (keys[a] == own))
    return above, tied


@kernel
def rank_rows(
    scores: Floats,
    rows: NDArray[np.int64],
    images: NDArray[np.int64],
    first: int,
    last: int,
    known: Csr,
    held_out: Csr,
    results: RankResults,
    scratch: KeyScratch,
) -> None:
    """Rank rows ``first`` to ``last - 1`` of ``scores``.

    Row n has the scores of image ``images[n]``; its held-out labels and results are in row ``rows[n]``.
    """
    labels = scores.shape[1]
    keys, maxima = scratch.keys, scratch.maxima
    for n in range(first, last):
        row, image = rows[n], images[n]
        all_numbers = write_sort_keys(scores[n], keys)
        known_labels = known.indices[known.indptr[image] : known.indptr[image + 1]]
        for position in range(known_labels.shape[0]):
            keys[known_labels[position]] = EXCLUDED
        for pair in range(held_out.indptr[row], held_out.indptr[row + 1]):
            label = held_out.indices[pair]
            results.tied[pair] = 0
            if not all_numbers:
                results.above[pair] = IS_NAN
            elif label < 0:
                results.above[pair] = labels - known_labels.shape[0]
            elif keys[label] == EXCLUDED:
                results.above[pair] = IS_KNOWN
            else:
                results.above[pair], results.tied[pair] = count_above(keys, keys[label])
        top_n(keys, maxima, results.top[row])
