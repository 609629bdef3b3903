"""All that scores: the vectors, and the label-label memory beside them."""

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
    """s_i(a) = v_i . v_a + b_a + weight x what the image's known labels say of a by counts."""

    embeddings: Embeddings
    label_weights: LabelWeights | None = None
    label_weights_scale: float = 0.0

    def scores(self, images: NDArray[np.integer], known: Annotations, features: Any = None) -> Floats:
        """Scores of all labels, a row for each image; ``known`` are the labels the images are known to have."""
        vectors = self.embeddings.vectors(images, features, known)
        return self.scores_of(vectors, *known.rows(images))

    def scores_of(self, vectors: Floats, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> Floats:
        """The same by vector and known labels, in CSR form: for images of which nothing else is known."""
        scores = self.embeddings.scores(vectors)
        self.add_label_weights(indptr, indices, scores)
        return scores

    def add_label_weights(self, indptr: NDArray[np.int64], indices: NDArray[np.int32], scores: Floats) -> None:
        """Add what the memory says to rows of ``scores``, by their known labels in CSR form."""
        if self.label_weights is not None and self.label_weights_scale:
            scales = np.full(len(scores), self.label_weights_scale, np.float32)
            self.label_weights.add_scores(Csr(indptr, indices), scales, scores)

    def settled(self, features: Any = None) -> Model:
        """After training: a model that needs no features to score the images it knows."""
        return replace(self, embeddings=self.embeddings.settled(features))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as they are saved."""
        return self.embeddings.arrays() | (self.label_weights.arrays() if self.label_weights else {})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], label_weights_scale: float = 0.0) -> Model:
        """From arrays by name, as `arrays` gives them."""
        return cls(Embeddings.from_arrays(arrays), LabelWeights.from_arrays(arrays), label_weights_scale)
