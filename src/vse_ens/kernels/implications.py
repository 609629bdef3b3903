"""Kernel of implications: the labels that occur on almost all images of another label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.jit import allocating_kernel


@allocating_kernel
def collect_frequent_partners(
    by_image: Csr,
    by_label: Csr,
    minimum: NDArray[np.int64],
    first: int,
    last: int,
    pairs: NDArray[np.int32],
    counts: NDArray[np.int32],
) -> tuple[int, int]:
    """Write the pairs (a, b) of labels that occur together on at least ``minimum[a]`` images, with their counts.

    ``by_label`` has the images of every label. Labels a run from ``first`` to ``last - 1``; those with fewer images
    than ``minimum[a]`` are skipped. Returns the number of pairs written and the label to continue with, which is
    before ``last`` if ``pairs`` was too short for the next label.
    """
    labels = by_label.indptr.shape[0] - 1
    together = np.zeros(labels, np.int32)
    seen = np.empty(labels, np.int32)
    row = 0
    for label in range(first, last):
        if by_label.indptr[label + 1] - by_label.indptr[label] < minimum[label]:
            continue
        others = 0
        for image in by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]:
            for other in by_image.indices[by_image.indptr[image] : by_image.indptr[image + 1]]:
                if together[other] == 0:
                    seen[others] = other
                    others += 1
                together[other] += 1
        start = row
        fits = True
        for other in seen[:others]:
            if other != label and together[other] >= minimum[label]:
                if row < counts.shape[0]:
                    pairs[row, 0] = label
                    pairs[row, 1] = other
                    counts[row] = together[other]
                    row += 1
                else:
                    fits = False
            together[other] = 0
        if not fits:
            return start, label
    return row, last
