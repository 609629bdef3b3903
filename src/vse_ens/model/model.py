"""The scoring model: embeddings, and optionally label weights, neighbors and what features add."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.features.attach import squared_lengths
from vse_ens.kernels.arrays import Csr
from vse_ens.model.calibration import BOTH, FEATURES, KIND_SHIFT, LABELS, NOTHING
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.feature_scores import FeatureMap, FeatureScores, log_frequencies
from vse_ens.model.neighbors import ImageNeighbors
from vse_ens.model.weights import LabelWeights

NumbersFn = Callable[[NDArray[np.int64]], NDArray[np.integer] | None]
"""From images to their numbers among those that the model was trained on, -1 for others; or None for none of them."""


@dataclass(frozen=True)
class Model:
    """s_i(a) = v_i . v_a + b_a + scale x the sum of B[b, a] over the known labels b of image i + neighbors + features.

    What neighbors add is stated in `vse_ens.kernels.neighbors`, and what features add in
    `vse_ens.model.feature_scores`. The score of an image without labels is what its features say, or, without features,
    the log frequency of the label.
    """

    embeddings: Embeddings
    label_weights: LabelWeights | None = None
    label_weights_scale: float = 0.0
    neighbors: ImageNeighbors | None = None
    features: FeatureScores | None = None
    frequencies: Floats | None = None
    """`log_frequencies` of the pairs; None if images without labels are scored by their vector alone."""
    balance: float = 0.0
    """b_a is less by this times the log frequency. Of images known by features alone, see `FeatureMap.gains`."""

    def scores(self, images: NDArray[np.int64], known: Annotations, features: Any = None) -> Floats:
        """Return the scores of all labels, one row per image, given the ``known`` labels of the images."""
        vectors = self.embeddings.vectors(images, features, known)
        return self.scores_of(vectors, Csr(*known.rows(images)), self.numbers_in(known)(images))

    def scores_of(
        self, vectors: Floats, known: Csr, images: NDArray[np.integer] | None, features: Any = None
    ) -> Floats:
        """Return the scores of all labels for images given by vectors and ``known`` labels, one row each.

        ``images`` are their numbers if the model was trained on them, -1 for others, or None if it was on none.
        ``features`` are rows of features to use instead of those that the model has; zeros for an image without.
        """
        scores = self.embeddings.scores(vectors)
        self.add_label_weights(known, scores)
        self.add_neighbors(known, images, scores)
        self.add_features(known, images, scores, features)
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

    def add_features(
        self,
        known: Csr,
        images: NDArray[np.integer] | None,
        scores: Floats,
        features: Any = None,
        *,
        labels: NDArray[np.integer] | None = None,
        less_bias: bool = False,
    ) -> None:
        """Add what features say to rows of ``scores``, and replace the scores of images without labels.

        With ``labels``, the columns of ``scores`` are these. With ``less_bias``, b_a is still to be added.
        """
        kinds = self.evidence(known, images, features) >> KIND_SHIFT
        if not kinds.any():
            return
        chosen = slice(None) if labels is None else labels
        rows = np.flatnonzero((kinds == BOTH) | (kinds == FEATURES))
        if len(rows) and self.features is not None:
            numbers = None if features is not None or images is None else images[rows]
            given = None if features is None else features[rows]
            found = self.features.scores(numbers, given, np.diff(known.indptr)[rows], labels)
            is_cold = kinds[rows] == FEATURES
            scores[rows[is_cold]] = 0
            if self.frequencies is not None and self.features.learned.factors.prior:
                found[~is_cold] -= np.float32(self.features.learned.factors.prior) * self.frequencies[chosen]
            scores[rows] += found
        empty = np.flatnonzero(kinds >= FEATURES)
        if len(empty) and self.frequencies is not None:
            frequencies = self.frequencies[chosen]
            scores[kinds == NOTHING] = np.float32(1 - self.balance) * frequencies
            if less_bias:
                scores[empty] -= self.embeddings.label_bias[chosen]

    def evidence(self, known: Csr, images: NDArray[np.integer] | None, features: Any = None) -> NDArray[np.int64]:
        """Return what is known of images, as a `Calibration` takes it; the arguments: as in `scores_of`."""
        counts = np.diff(known.indptr)
        if self.frequencies is None:
            return counts
        has = self._have_features(images, features)
        if has is None:
            return counts if counts.all() else np.where(counts > 0, counts, NOTHING << KIND_SHIFT)
        kinds = np.where(counts > 0, np.where(has, BOTH, LABELS), np.where(has, FEATURES, NOTHING))
        return np.asarray(counts + (kinds << KIND_SHIFT), np.int64)

    def _have_features(self, images: NDArray[np.integer] | None, features: Any) -> NDArray[np.bool_] | None:
        if self.features is None:
            return None
        if features is not None:
            return squared_lengths(features) > 0
        return None if images is None else self.features.present[images] & (images >= 0)

    def numbers_in(self, known: Annotations) -> NumbersFn:
        """Return a function from numbers of images in ``known`` to those that `scores_of` takes."""
        own = self.neighbors.known if self.neighbors else self.features.known if self.features else known
        if own is known:  # without neighbors and features nobody asks
            return lambda images: images
        numbers = own.images.translate(known.images)
        return lambda images: numbers[images]

    def with_features(self, features: Any = None) -> Model:
        """Return a model that scores its images without their features; see `Embeddings.with_features`."""
        return replace(self, embeddings=self.embeddings.with_features(features))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save, by name."""
        weights = self.label_weights.arrays() if self.label_weights else {}
        return self.embeddings.arrays() | weights | (self.features.learned.arrays() if self.features else {})

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

    def completed(self, known: Annotations, balance: float, learned: FeatureMap | None = None) -> Model:
        """Return the model with what follows from the pairs it knows: frequencies, and scores by features."""
        if len(self.embeddings.feature_map):  # an image without labels has a vector
            return replace(self, balance=balance)
        features = FeatureScores(known, learned) if learned else None
        return replace(self, features=features, frequencies=log_frequencies(known), balance=balance)

    def balanced(self, known: Annotations, balance: float) -> Model:
        """Return the model with biases that are less by ``balance`` times the log frequency."""
        if not balance:
            return self
        bias = self.embeddings.label_bias - np.float32(balance) * log_frequencies(known)
        return replace(self, embeddings=replace(self.embeddings, label_bias=bias), balance=balance)
