"""The scores of a few labels for many images, without the scores of all the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.kernels.context import context_vectors
from vse_ens.kernels.tables import Pairs
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model


class LabelColumns:
    """Columns of the score matrix.

    A score is linear in the inputs of an image's labels, so that each input is multiplied by the label vectors once,
    not once for every image that has it.
    """

    def __init__(self, model: Model, labels: NDArray[np.int64]) -> None:
        self.labels = labels
        self._embeddings = model.embeddings
        self._vectors = model.embeddings.label_vectors[labels]
        self._inputs = model.embeddings.input_vectors @ self._vectors.T if model.embeddings.has_context else None
        self._told = (
            np.stack([model.memory.weights_of(int(label)) for label in labels]) * np.float32(model.memory_weight)
            if model.memory is not None and model.memory_weight
            else None
        )

    def scores(self, images: NDArray[np.int64], known: Annotations) -> Floats:
        """images x labels: s_i(a)."""
        rows = known.rows(images)
        scores = np.zeros((len(images), len(self.labels)), np.float32)
        if self._inputs is not None:
            # The same tower, in a space with a dimension for each of the labels.
            context_vectors(Pairs(*rows), self._inputs, self._embeddings.combination_table, scores)
        if len(self._embeddings.image_vectors):
            scores += self._embeddings.image_vectors[images] @ self._vectors.T
        scores += self._embeddings.label_bias[self.labels]
        if self._told is not None:
            image = np.repeat(np.arange(len(images)), np.diff(rows.indptr))
            for column, told in enumerate(self._told):
                scores[:, column] += np.bincount(image, told[rows.indices], len(images)).astype(np.float32)
        return scores

    def known(self, images: NDArray[np.int64], known: Annotations) -> NDArray[np.bool_]:
        """images x labels: whether the image is known to have the label."""
        rows = known.rows(images)
        image = np.repeat(np.arange(len(images)), np.diff(rows.indptr))
        has = np.zeros((len(images), len(self.labels)), np.bool_)
        for column, label in enumerate(self.labels):
            has[image[rows.indices == label], column] = True
        return has
