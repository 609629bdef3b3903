"""The products of the vectors of all images with one vector, without computing the vectors of a context tower."""

from __future__ import annotations

import numpy as np

from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.columns import add_column_scores
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.products import row_products

_NO_WEIGHTS = np.empty(0, np.float32)


class ImageProducts:
    """v_i . vector of images i: with a context tower a sum over their labels and label pairs.

    ``pairs`` are the numbers of the label pairs of each image. ``weights`` are one number per label: an image gets
    those of its labels added.
    """

    def __init__(
        self, embeddings: Embeddings, known: Annotations, pairs: Csr, vector: Floats, weights: Floats = _NO_WEIGHTS
    ) -> None:
        self._embeddings, self._known, self._pairs = embeddings, known, pairs
        self._vector, self._weights = vector, weights
        inputs = embeddings.input_vectors if embeddings.has_context else np.zeros_like(embeddings.label_vectors)
        self._inputs = row_products(vector[None], inputs)[0]

    def add(self, first: int, sums: Floats) -> None:
        """Add the products of images from ``first`` on to ``sums``, one number per image."""
        last = first + len(sums)
        if len(self._embeddings.image_vectors):
            sums += row_products(self._vector[None], self._embeddings.image_vectors[first:last])[0]
        if self._embeddings.has_context or len(self._weights):
            rows = Csr(self._known.indptr[first : last + 1], self._known.indices)
            pairs = Csr(self._pairs.indptr[first : last + 1], self._pairs.indices)
            add_column_scores(rows, pairs, len(self._known.labels), self._inputs, self._weights, sums)
