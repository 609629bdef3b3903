"""Which labels occur together, and scores read off that: what the baseline of that name counts with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.jit import inline, kernel

NO_LABEL = -1
"""Fills the places of a list of partners that is shorter than the others."""


@kernel
def find_partners(by_image: Csr, by_label: Csr, partners: NDArray[np.int32], counts: NDArray[np.int32]) -> None:
    """The labels that occur most often with each label, best first, and how often; equals by their number.

    ``by_label`` has the images of every label. A row of ``partners`` that is not full ends in ``NO_LABEL``.
    """
    labels, width = partners.shape
    together = np.zeros(labels, np.int32)
    seen = np.empty(labels, np.int32)
    partners[:] = NO_LABEL
    counts[:] = 0
    for label in range(labels):
        meetings = 0
        for image in by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]:
            for other in by_image.indices[by_image.indptr[image] : by_image.indptr[image + 1]]:
                if other != label:
                    if together[other] == 0:
                        seen[meetings] = other
                        meetings += 1
                    together[other] += 1
        for other in seen[:meetings]:
            _insert(partners[label], counts[label], width, other, together[other])
            together[other] = 0


@inline
def _insert(partners: NDArray[np.int32], counts: NDArray[np.int32], width: int, label: int, count: int) -> None:
    """Put a label in its place in a list by falling count and rising number; the last one falls off."""
    place = width
    while place > 0 and (counts[place - 1] < count or (counts[place - 1] == count and partners[place - 1] > label)):
        if place < width:
            partners[place] = partners[place - 1]
            counts[place] = counts[place - 1]
        place -= 1
    if place < width:
        partners[place] = label
        counts[place] = count


@kernel
def add_partners(
    known: Csr, partners: NDArray[np.int32], weights: NDArray[np.float32], scores: NDArray[np.float32]
) -> None:
    """Add the weights of the partners of every known label to the row of its image."""
    for image in range(scores.shape[0]):
        for label in known.indices[known.indptr[image] : known.indptr[image + 1]]:
            for place in range(partners.shape[1]):
                partner = partners[label, place]
                if partner == NO_LABEL:
                    break
                scores[image, partner] += weights[label, place]
