"""The trained vectors, and the scores they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Embeddings:
    """One space for images and labels: s_i(a) = v_i . v_a + b_a."""

    label_vectors: Floats  # |A| x k
    label_bias: Floats  # |A|
    image_vectors: Floats  # images x k; in training, no rows where the tower has no ids
    feature_map: Floats  # features x k; no rows where the tower has no features

    @property
    def dimensions(self) -> int:
        """k."""
        return int(self.label_vectors.shape[1])

    def arrays(self) -> dict[str, Floats]:
        """The arrays by name, as they are saved."""
        return {
            "feature_map": self.feature_map,
            "image_vectors": self.image_vectors,
            "label_bias": self.label_bias,
            "label_vectors": self.label_vectors,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Embeddings:
        """From arrays by name, as `arrays` gives them."""
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})

    def copy(self) -> Embeddings:
        """The same numbers in memory of their own."""
        return Embeddings(**{name: array.copy() for name, array in self.arrays().items()})

    def widened(self, width: int) -> Embeddings:
        """A copy with every vector ``width`` long: cut, or with zeros behind."""

        def fit(table: Floats) -> Floats:
            wide = np.zeros((len(table), width), np.float32)
            wide[:, : table.shape[1]] = table[:, :width]
            return wide

        return Embeddings(
            fit(self.label_vectors), self.label_bias.copy(), fit(self.image_vectors), fit(self.feature_map)
        )

    def vectors(self, images: NDArray[np.integer] | slice, features: Any = None) -> Floats:
        """v_i of some images: the free vector, the mapped features, or their sum."""
        if not len(self.feature_map):
            return np.asarray(self.image_vectors[images])
        mapped = np.asarray(features[images] @ self.feature_map, dtype=np.float32)
        return mapped + self.image_vectors[images] if len(self.image_vectors) else mapped

    def settled(self, features: Any = None) -> Embeddings:
        """After training: `image_vectors` are v_i itself, mapped features included, so that a model needs no features
        to score the images it knows.
        """
        if not len(self.feature_map):
            return self
        return replace(self, image_vectors=self.vectors(slice(None), features))

    def scores(self, vectors: Floats) -> Floats:
        """Scores of all labels, one row a vector."""
        scores: Floats = vectors @ self.label_vectors.T
        scores += self.label_bias
        return scores
