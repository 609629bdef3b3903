"""One column of the score matrix: the scores of one label for many images of the context tower."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr, Floats
from vse_ens.kernels.jit import kernel
from vse_ens.kernels.label_pairs import LabelPairs, PairMatches, find_label_pairs


@kernel
def image_label_pairs(
    known: Csr, label_pairs: LabelPairs, found: PairMatches, counts: NDArray[np.int64], numbers: NDArray[np.int32]
) -> int:
    """Write the numbers of the label pairs of each image to ``numbers``, one image after another; return how many.

    ``found`` is a buffer, ``counts`` gets the number of pairs per image.
    """
    written = 0
    for image in range(counts.shape[0]):
        positives = known.indices[known.indptr[image] : known.indptr[image + 1]]
        count = find_label_pairs(positives, label_pairs, found)
        counts[image] = count
        for n in range(count):
            numbers[written + n] = found.numbers[n]
        written += count
    return written


@kernel
def add_column_scores(known: Csr, pairs: Csr, labels: int, inputs: Floats, weights: Floats, scores: Floats) -> None:
    """Add to ``scores`` the context and the label weights of one label, one number per image.

    ``inputs`` are the products of the input vectors of all ``labels``, then of all label pairs, with the label's
    vector. ``weights`` are the weights of all labels for the label, scaled; none if the model has no label weights.
    """
    for image in range(scores.shape[0]):
        first, last = known.indptr[image], known.indptr[image + 1]
        scale = np.float32(1.0) / np.sqrt(np.float32(max(last - first, 1)))
        total = np.float32(0.0)
        for n in range(first, last):
            total += inputs[known.indices[n]]
        score = scale * total
        first, last = pairs.indptr[image], pairs.indptr[image + 1]
        scale = np.float32(1.0) / np.sqrt(np.float32(max(last - first, 1)))
        total = np.float32(0.0)
        for n in range(first, last):
            total += inputs[labels + pairs.indices[n]]
        score += scale * total
        if weights.shape[0]:
            for n in range(known.indptr[image], known.indptr[image + 1]):
                score += weights[known.indices[n]]
        scores[image] += score
