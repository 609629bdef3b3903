"""Kernels of the `cooccurrence` baseline: the labels that occur together, and scores from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.jit import allocating_kernel, inline, kernel
from vse_ens.kernels.label_pairs import count_cooccurrences

NO_LABEL = -1
"""Pads a list of partners that is shorter than the others."""


@allocating_kernel
def find_partners(by_image: Csr, by_label: Csr, partners: NDArray[np.int32], counts: NDArray[np.int32]) -> None:
    """Find the labels that occur most often with each label, best first, with their counts; ties by label number.

    ``by_label`` has the images of every label. Rows of ``partners`` are padded with ``NO_LABEL``.
    """
    labels, width = partners.shape
    together = np.zeros(labels, np.int32)
    seen = np.empty(labels, np.int32)
    partners[:] = NO_LABEL
    counts[:] = 0
    for label in range(labels):
        others = count_cooccurrences(by_image, by_label, label, -1, together, seen)
        for other in seen[:others]:
            if other != label:
                _insert(partners[label], counts[label], width, other, together[other])
            together[other] = 0


@inline
def _insert(partners: NDArray[np.int32], counts: NDArray[np.int32], width: int, label: int, count: int) -> None:
    """Insert a label into a list sorted by descending count and ascending number; the last entry is dropped."""
    position = width
    while position > 0 and (
        counts[position - 1] < count or (counts[position - 1] == count and partners[position - 1] > label)
    ):
        if position < width:
            partners[position] = partners[position - 1]
            counts[position] = counts[position - 1]
        position -= 1
    if position < width:
        partners[position] = label
        counts[position] = count


@kernel
def add_partners(
    known: Csr, partners: NDArray[np.int32], weights: NDArray[np.float32], scores: NDArray[np.float32]
) -> None:
    """Add the weights of the partners of every known label to the scores of its image."""
    for image in range(scores.shape[0]):
        for label in known.indices[known.indptr[image] : known.indptr[image + 1]]:
            for position in range(partners.shape[1]):
                partner = partners[label, position]
                if partner == NO_LABEL:
                    break
                scores[image, partner] += weights[label, position]
