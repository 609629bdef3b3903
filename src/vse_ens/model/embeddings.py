"""The trained vectors, and the scores they give.

Which labels often occur together, and how kernels look that up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.kernels.label_pairs import LabelPairs

Floats = NDArray[np.float32]


def _nothing() -> Floats:
    return np.empty(0, np.float32)


@dataclass(frozen=True)
class Embeddings:
    """One space for images and labels: s_i(a) = v_i . v_a + b_a."""

    label_vectors: Floats  # |A| x k
    label_bias: Floats  # |A|
    image_vectors: Floats  # images x k; in training, no rows where the tower has no ids
    feature_map: Floats  # features x k; no rows where the tower has no features
    # What follows belongs to the context tower and has no entries without it.
    input_vectors: Floats = field(default_factory=lambda: np.empty((0, 0), np.float32))
    """(|A| + combinations) x k: what every label, and every combination of two, says of an image that has it."""
    label_pairs: NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 2), np.int32))
    """The label pairs that have an input vector of their own, the most common first; a < b."""
    label_squares: Floats = field(default_factory=_nothing)
    """|A|: the sums of squared slopes by which steps shrink; training that goes on later needs them."""
    input_squares: Floats = field(default_factory=_nothing)

    @property
    def dimensions(self) -> int:
        """k."""
        return int(self.label_vectors.shape[1])

    @property
    def has_context(self) -> bool:
        """Whether an image's vector is built from its labels."""
        return len(self.input_vectors) > 0

    @cached_property
    def label_pair_table(self) -> LabelPairs:
        """The combinations as kernels take them."""

        return label_pair_table(self.label_pairs, len(self.label_vectors))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as they are saved."""
        names = sorted(field.name for field in fields(self))
        return {name: getattr(self, name) for name in names if name in _ALWAYS or self.has_context}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Embeddings:
        """From arrays by name, as `arrays` gives them."""
        names = {field.name for field in fields(cls)} if "input_vectors" in arrays else _ALWAYS
        return cls(**{name: arrays[name] for name in names})

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
            fit(self.label_vectors),
            self.label_bias.copy(),
            fit(self.image_vectors),
            fit(self.feature_map),
            fit(self.input_vectors),
            self.label_pairs.copy(),
            self.label_squares.copy(),
            self.input_squares.copy(),
        )

    def vectors(
        self, images: NDArray[np.integer] | slice, features: Any = None, known: Annotations | None = None
    ) -> Floats:
        """v_i of some images: the sum of the free vector, the mapped features, and the context of the known labels.

        Without ``features``, `image_vectors` must have them in already (`settled`).
        """
        parts = []
        if len(self.feature_map) and features is not None:
            parts.append(np.asarray(features[images] @ self.feature_map, dtype=np.float32))
        if len(self.image_vectors):
            parts.append(np.asarray(self.image_vectors[images]))
        if self.has_context:
            if known is None:
                raise TypeError("a context tower needs the known labels")
            numbers = np.arange(len(known.images))[images] if isinstance(images, slice) else images
            parts.append(self.context(*known.rows(numbers)))
        return np.asarray(sum(parts[1:], start=parts[0]))

    def context(self, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> Floats:
        """The vectors that labels alone give, one for each row of labels in CSR form."""
        from vse_ens.kernels.arrays import Csr
        from vse_ens.kernels.context import context_vectors

        vectors = np.zeros((len(indptr) - 1, self.dimensions), np.float32)
        context_vectors(Csr(indptr, indices), self.input_vectors, self.label_pair_table, vectors)
        return vectors

    def settled(self, features: Any = None) -> Embeddings:
        """After training: `image_vectors` have the mapped features in them, so that a model needs no features to score
        the images it knows.
        """
        if not len(self.feature_map):
            return self
        own = replace(self, input_vectors=np.empty((0, 0), np.float32))
        return replace(self, image_vectors=own.vectors(slice(None), features))

    def scores(self, vectors: Floats) -> Floats:
        """Scores of all labels, one row a vector."""
        scores: Floats = vectors @ self.label_vectors.T
        scores += self.label_bias
        return scores


_ALWAYS = {"label_vectors", "label_bias", "image_vectors", "feature_map"}


# Of the combinations of an image with many labels, so many a label are used: it bites from 18 labels on.
_SHARE = 8


def label_pair_table(pairs: NDArray[np.int32], labels: int) -> LabelPairs:
    """Label pairs a < b, the most common first, as kernels look them up."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    indptr = np.searchsorted(pairs[order, 0], np.arange(labels + 1)).astype(np.int64)
    return LabelPairs(indptr, np.ascontiguousarray(pairs[order, 1]), order.astype(np.int32), _SHARE)
