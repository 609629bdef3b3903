"""The scoring model: embeddings, and optionally label weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import Csr
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.weights import LabelWeights


@dataclass(frozen=True)
class Model:
    """s_i(a) = v_i . v_a + b_a + scale x the sum of B[b, a] over the known labels b of image i."""

    embeddings: Embeddings
    label_weights: LabelWeights | None = None
    label_weights_scale: float = 0.0

    def scores(self, images: NDArray[np.integer], known: Annotations, features: Any = None) -> Floats:
        """Return the scores of all labels, one row per image, given the ``known`` labels of the images."""
        vectors = self.embeddings.vectors(images, features, known)
        return self.scores_of(vectors, *known.rows(images))

    def scores_of(self, vectors: Floats, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> Floats:
        """Return the scores of all labels for images given by vectors and by known labels in CSR form."""
        scores = self.embeddings.scores(vectors)
        self.add_label_weights(indptr, indices, scores)
        return scores

    def add_label_weights(self, indptr: NDArray[np.int64], indices: NDArray[np.int32], scores: Floats) -> None:
        """Add the label weights of known labels, in CSR form, to rows of ``scores``."""
        if self.label_weights is not None and self.label_weights_scale:
            scales = np.full(len(scores), self.label_weights_scale, np.float32)
            self.label_weights.add_scores(Csr(indptr, indices), scales, scores)

    def with_features(self, features: Any = None) -> Model:
        """Return a model that scores its images without their features; see `Embeddings.with_features`."""
        return replace(self, embeddings=self.embeddings.with_features(features))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save, by name."""
        return self.embeddings.arrays() | (self.label_weights.arrays() if self.label_weights else {})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], label_weights_scale: float = 0.0) -> Model:
        """Return the model with the arrays that `arrays` returned."""
        return cls(Embeddings.from_arrays(arrays), LabelWeights.from_arrays(arrays), label_weights_scale)
