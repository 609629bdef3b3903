"""The trained vectors of images and labels, and the scores they give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.errors import NotFiniteError
from vse_ens.kernels.arrays import Csr, aligned_table
from vse_ens.kernels.label_pairs import LabelPairs
from vse_ens.model.products import LabelProducts, row_products
from vse_ens.storage.tensors import NOT_FINITE, is_finite

Floats = NDArray[np.float32]

# The arrays of every model; the others are for models with a context tower.
_ALWAYS = {"label_vectors", "label_bias", "image_vectors", "feature_map"}
# An image with n labels uses at most 8 n of its label pairs, which is fewer than all from 18 labels on.
_PAIRS_PER_LABEL = 8


def _empty() -> Floats:
    return np.empty(0, np.float32)


@dataclass(frozen=True)
class Embeddings:
    """Vectors of images and labels in one space: s_i(a) = v_i . v_a + b_a."""

    label_vectors: Floats  # |A| x k
    label_bias: Floats  # |A|
    image_vectors: Floats  # images x k; in training, no rows if the tower has no image ids
    feature_map: Floats  # features x k; no rows if the tower has no features
    # The following arrays are empty without a context tower.
    input_vectors: Floats = field(default_factory=lambda: np.empty((0, 0), np.float32))
    """(|A| + pairs) x k: the part of each label, then of each label pair, in the vector of an image that has it."""
    label_pairs: NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 2), np.int32))
    """The label pairs a < b that have an input vector, most common first."""
    label_squares: Floats = field(default_factory=_empty)
    """|A|: sums of squared gradients, which set the step sizes; incremental training continues with them."""
    input_squares: Floats = field(default_factory=_empty)
    """|A| + pairs: the same for the input vectors."""

    @property
    def dimensions(self) -> int:
        """The length k of a vector."""
        return int(self.label_vectors.shape[1])

    @property
    def has_context(self) -> bool:
        """Whether the vector of an image depends on its labels."""
        return len(self.input_vectors) > 0

    @cached_property
    def label_pair_table(self) -> LabelPairs:
        """The label pairs in the form that kernels look up."""
        return label_pair_table(self.label_pairs, len(self.label_vectors))

    @cached_property
    def label_products(self) -> LabelProducts:
        """The products with the label vectors."""
        return LabelProducts(self.label_vectors)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save, by name."""
        names = sorted(field.name for field in fields(self))
        return {name: getattr(self, name) for name in names if name in _ALWAYS or self.has_context}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Embeddings:
        """Return the embeddings with the arrays that `arrays` returned."""
        names = {field.name for field in fields(cls)} if "input_vectors" in arrays else _ALWAYS
        return cls(**{name: arrays[name] for name in names})

    def copy(self) -> Embeddings:
        """Return a deep copy."""
        return self.resized(self.dimensions)

    def resized(self, width: int) -> Embeddings:
        """Return a copy with vectors of length ``width``, cut or padded with zeros."""

        def fit(table: Floats) -> Floats:
            wide: Floats = aligned_table(len(table), width)
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

    @classmethod
    def joined(cls, members: Sequence[Embeddings]) -> Embeddings:
        """Put the vectors of models with the same label pairs side by side: a score is the mean of theirs.

        Both sides are divided by the root of their number, so that a step of incremental training is as long as in one.
        """

        def mean(tables: Iterable[Floats]) -> Floats:
            return np.asarray(np.mean(list(tables), axis=0), np.float32)

        def side_by_side(tables: Iterable[Floats]) -> Floats:
            return np.asarray(np.concatenate(list(tables), axis=1) / np.float32(len(members) ** 0.5))

        return replace(
            members[0],
            label_vectors=side_by_side(member.label_vectors for member in members),
            label_bias=mean(member.label_bias for member in members),
            image_vectors=side_by_side(member.image_vectors for member in members),
            feature_map=side_by_side(member.feature_map for member in members),
            input_vectors=side_by_side(member.input_vectors for member in members),
            label_squares=mean(member.label_squares for member in members),
            input_squares=mean(member.input_squares for member in members),
        )

    def vectors(
        self, images: NDArray[np.integer] | slice, features: Any = None, known: Annotations | None = None
    ) -> Floats:
        """Return v_i of images: the sum of the own vector, the mapped features and the context of the known labels.

        Without ``features``, `image_vectors` must include them already; see `with_features`.
        """
        parts = []
        if len(self.feature_map) and features is not None:
            parts.append(self.mapped(features[images]))
        if len(self.image_vectors):
            parts.append(self.own_vectors(images))
        if self.has_context:
            if known is None:
                raise TypeError("a context tower needs the known labels")
            numbers = np.arange(len(known.images))[images] if isinstance(images, slice) else images
            parts.append(self.context(*known.rows(numbers)))
        return np.asarray(sum(parts[1:], start=parts[0]))

    def mapped(self, features: Any) -> Floats:
        """Return rows of features, dense or sparse, mapped into the space: each row by itself."""
        if isinstance(features, np.ndarray):
            return row_products(features, np.ascontiguousarray(self.feature_map.T))
        return np.asarray(features @ self.feature_map, dtype=np.float32)  # SciPy adds in the order of the entries

    def vectors_given(self, images: NDArray[np.integer], known: Csr) -> Floats:
        """Return the same for images whose ``known`` labels have been selected, one row each."""
        if not self.has_context:
            return self.own_vectors(images)
        context = self.context(*known)
        return self.own_vectors(images) + context if len(self.image_vectors) else context

    def own_vectors(self, images: NDArray[np.integer] | slice) -> Floats:
        """Return rows of `image_vectors`, which loading a model does not read; raise if a number is not finite."""
        rows = np.asarray(self.image_vectors[images])
        if not is_finite(rows):
            raise NotFiniteError(
                f"the array 'image_vectors' {NOT_FINITE}: training diverged or the file is damaged; "
                "copy the model again or retrain it"
            )
        return rows

    def context(self, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> Floats:
        """Return the part of v_i that comes from labels, for rows of labels in CSR form."""
        from vse_ens.kernels.context import context_vectors

        vectors = np.zeros((len(indptr) - 1, self.dimensions), np.float32)
        context_vectors(Csr(indptr, indices), self.input_vectors, self.label_pair_table, vectors)
        return vectors

    def with_features(self, features: Any = None) -> Embeddings:
        """Return the same with mapped features included in `image_vectors`, so that scoring needs no features."""
        if not len(self.feature_map):
            return self
        without_context = replace(self, input_vectors=np.empty((0, 0), np.float32))
        return replace(self, image_vectors=without_context.vectors(slice(None), features))

    def scores(self, vectors: Floats) -> Floats:
        """Return the scores of all labels, one row per vector."""
        scores = row_products(vectors, self.label_vectors)
        scores += self.label_bias
        return scores


def label_pair_table(pairs: NDArray[np.int32], labels: int) -> LabelPairs:
    """Return label pairs a < b, given most common first, in the form that kernels look up."""
    return LabelPairs.of(pairs, labels, _PAIRS_PER_LABEL)
