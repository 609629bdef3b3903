"""The scoring model: embeddings, and optionally label weights and neighbors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import Csr
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.neighbors import ImageNeighbors
from vse_ens.model.weights import LabelWeights

NumbersFn = Callable[[NDArray[np.int64]], NDArray[np.integer] | None]
"""From images to their numbers among those that the model was trained on, -1 for others; or None for none of them."""


@dataclass(frozen=True)
class Model:
    """s_i(a) = v_i . v_a + b_a + scale x the sum of B[b, a] over the known labels b of image i + neighbors.

    What neighbors add is stated in `vse_ens.kernels.neighbors`.
    """

    embeddings: Embeddings
    label_weights: LabelWeights | None = None
    label_weights_scale: float = 0.0
    neighbors: ImageNeighbors | None = None

    def scores(self, images: NDArray[np.int64], known: Annotations, features: Any = None) -> Floats:
        """Return the scores of all labels, one row per image, given the ``known`` labels of the images."""
        vectors = self.embeddings.vectors(images, features, known)
        return self.scores_of(vectors, Csr(*known.rows(images)), self.numbers_in(known)(images))

    def scores_of(self, vectors: Floats, known: Csr, images: NDArray[np.integer] | None) -> Floats:
        """Return the scores of all labels for images given by vectors and ``known`` labels, one row each.

        ``images`` are their numbers if the model was trained on them, -1 for others, or None if it was on none.
        """
        scores = self.embeddings.scores(vectors)
        self.add_label_weights(known, scores)
        self.add_neighbors(known, images, scores)
        return scores

    def add_label_weights(self, known: Csr, scores: Floats) -> None:
        """Add the label weights of ``known`` labels to rows of ``scores``."""
        if self.label_weights is not None and self.label_weights_scale:
            scales = np.full(len(scores), self.label_weights_scale, np.float32)
            self.label_weights.add_scores(known, scales, scores)

    def add_neighbors(self, known: Csr, images: NDArray[np.integer] | None, scores: Floats) -> None:
        """Add to rows of ``scores`` what the neighbors have; the arguments: as in `scores_of`."""
        if self.neighbors is not None:
            self.neighbors.add_scores(known, images, scores)

    def numbers_in(self, known: Annotations) -> NumbersFn:
        """Return a function from numbers of images in ``known`` to those that `scores_of` takes."""
        if self.neighbors is None or self.neighbors.known is known:  # without neighbors nobody asks
            return lambda images: images
        numbers = self.neighbors.known.images.translate(known.images)
        return lambda images: numbers[images]

    def with_features(self, features: Any = None) -> Model:
        """Return a model that scores its images without their features; see `Embeddings.with_features`."""
        return replace(self, embeddings=self.embeddings.with_features(features))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save, by name."""
        return self.embeddings.arrays() | (self.label_weights.arrays() if self.label_weights else {})

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        label_weights_scale: float = 0.0,
        neighbors: ImageNeighbors | None = None,
    ) -> Model:
        """Return the model with the arrays that `arrays` returned."""
        weights = LabelWeights.from_arrays(arrays)
        return cls(Embeddings.from_arrays(arrays), weights, label_weights_scale, neighbors)
