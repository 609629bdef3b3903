"""The part of a score that comes from the features of an image: a linear map, and the images with similar features.

With x_i the features of image i at length 1, the map gives m_i = W x_i + b: what a ridge regression from features to
labels predicts, times (share of images with the label)^-0.2, so that rare labels count more. Of an image that the map
was fitted on, the prediction is made by a fit without it, which is exact: with leverage h and y = 1 for its labels,

    (m_i - h_i y_i) / (1 - h_i).

To it is added g z_i(a), the logit of a logistic regression. Each half of the images has one of its own; an image is
scored by that of the other half, and a new image by the mean of both.

The neighbors of an image are the 100 images with the most similar features: the cosine of dense features less their
mean, or of sparse features weighted by rarity. They count e^(p cosine), and a label adds log(1 + share / 0.03). So

    f_i(a) = w m_i(a) + v log(1 + share_i(a) / 0.03)

with one pair of factors (w, v) for images without labels, whose score is f_i, and another for images with labels, to
whose score f_i is added: the more labels are known, the less it counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.features.attach import plain_features, squared_lengths
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.neighbors import FLOOR, LEAST_SHARE
from vse_ens.model.embeddings import Floats
from vse_ens.model.neighbors import NeighborTerms
from vse_ens.model.products import LabelProducts, row_products
from vse_ens.streams import Streams

NEIGHBORS = 100
"""The most images with similar features that count."""
MAX_NEIGHBORS_FROM = 100_000
"""Of more images, this many, evenly spaced, are neighbors of others: the search reads all of them for each image."""
MAX_COLUMNS = 4_096
"""More columns are summed into this many with random signs, because the fit takes their number to the third power."""
_LABEL_POWER = -0.2
_SEARCH_BYTES = 1 << 26
_TASK_ROWS = 256


class Factors(NamedTuple):
    """How much the parts count."""

    cold_map: float
    """w of images without labels."""
    cold_neighbors: float
    """v of images without labels."""
    power: float
    """p."""
    map: float = 0.0
    """w of images with one label."""
    neighbors: float = 0.0
    """v of images with one label."""
    decay: float = 0.0
    """Of images with n labels, w and v are n^-decay times as large."""
    logits: float = 0.0
    """g."""
    prior: float = 0.0
    """How much of the log frequency, which both parts of the score hold, is taken from their sum."""


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """What was learned from the features and the labels of the same images."""

    weights: Floats
    """|A| x columns: W."""
    bias: Floats
    """|A|: b."""
    center: Floats
    """columns: the mean of dense features, the weights of sparse ones."""
    leverages: Floats
    """images: h, 0 for an image that the map was not fitted on."""
    logits: Floats
    """(regressions x |A|) x (columns + 1): weights and bias, one regression after another; no rows without them."""
    folds: NDArray[np.int32]
    """images: the regression that was fitted on the image, -1 for none."""
    factors: Factors

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save, by name."""
        return {
            "feature_weights": self.weights,
            "feature_bias": self.bias,
            "feature_center": self.center,
            "feature_leverages": self.leverages,
            "feature_logits": self.logits,
            "feature_folds": self.folds,
            "feature_factors": np.array(self.factors, np.float32),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> FeatureMap | None:
        """Return the map with the arrays that `arrays` returned, or None if there are none."""
        if "feature_weights" not in arrays:
            return None
        return cls(
            arrays["feature_weights"],
            arrays["feature_bias"],
            arrays["feature_center"],
            arrays["feature_leverages"],
            arrays["feature_logits"],
            arrays["feature_folds"],
            Factors(*arrays["feature_factors"].tolist()),
        )


def feature_arrays(features: Any) -> dict[str, NDArray[Any]]:
    """Return the rows of features, dense or sparse, as arrays to save, by name."""
    plain = plain_features(features)
    if isinstance(plain, np.ndarray):
        return {"features_values": plain}
    return {
        "features_values": plain.data,
        "features_indices": plain.indices.astype(np.int32, copy=False),
        "features_indptr": plain.indptr.astype(np.int64, copy=False),
        "features_columns": np.array([plain.shape[1]], np.int64),
    }


def features_of_arrays(arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return the rows of features that `feature_arrays` took apart; None if there are none."""
    values = arrays.get("features_values")
    if values is None or values.ndim == 2:
        return values
    from scipy.sparse import csr_array

    shape = (len(arrays["features_indptr"]) - 1, int(arrays["features_columns"][0]))
    return csr_array((values, arrays["features_indices"], arrays["features_indptr"]), shape)


class FeatureScores:
    """Scores images by their features; ``known`` has the features and labels of the images of the model."""

    def __init__(self, known: Annotations, learned: FeatureMap) -> None:
        self.known = known
        self.learned = learned
        self._lock = threading.Lock()
        self._all_terms: NeighborTerms | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return FeatureScores, (self.known, self.learned)

    def with_factors(self, factors: Factors) -> FeatureScores:
        """Return the same with other factors."""
        return FeatureScores(self.known, replace(self.learned, factors=factors))

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Whether each image of the model has features."""
        return squared_lengths(self.known.features) > 0

    def map_scores(
        self, images: NDArray[np.integer] | None, given: Any = None, labels: NDArray[np.integer] | None = None
    ) -> Floats:
        """Return m, one row per image: of images of the model, given by number, or of rows of features ``given``.

        With ``labels``, only their columns.
        """
        learned, rows = self.learned, self._unit_rows(images, given)
        scores = self._map.products(rows, labels)
        if given is None and images is not None:
            self._leave_out(images, scores, labels)
        if learned.factors.logits and len(self._regressions):
            found = [one.products(rows, labels) for one in self._regressions]
            folds = np.full(len(scores), -1) if given is not None or images is None else learned.folds[images]
            for fold, one in enumerate(found):
                weights = np.where(folds < 0, 1 / len(found), np.where(folds == fold, 0.0, 1 / (len(found) - 1)))
                scores += (learned.factors.logits * weights).astype(np.float32)[:, None] * one
        return scores

    def _leave_out(self, images: NDArray[np.integer], scores: Floats, labels: NDArray[np.integer] | None) -> None:
        leverages, own = self.learned.leverages[images], self.known.rows(images)
        row, label = np.repeat(np.arange(len(images)), np.diff(own.indptr)), own.indices
        taken = leverages[row] * self.label_factors[label]
        if labels is None:
            scores[row, label] -= taken
        else:
            for column, one in enumerate(labels):
                here = label == one
                scores[row[here], column] -= taken[here]
        scores /= (1 - leverages)[:, None]

    def neighbor_terms(self, images: NDArray[np.integer] | None, given: Any = None) -> NeighborTerms:
        """Return log(1 + share / 0.03) of the labels of the neighbors; the arguments: as in `map_scores`."""
        if given is None and images is not None and self._all_terms is not None:
            indptr, labels = self._all_terms.labels
            counts = indptr[images + 1] - indptr[images]
            starts = np.concatenate([[0], np.cumsum(counts)])
            at = np.arange(starts[-1]) + np.repeat(indptr[images] - starts[:-1], counts)
            return NeighborTerms(Csr(starts, labels[at]), self._all_terms.values[at])
        rows = self._keys_of(self._unit_rows(images, given))
        step = max(1, _SEARCH_BYTES // (4 * max(1, len(self._pool))))
        own = np.full(rows.shape[0], -1) if given is not None or images is None else self._place[images]
        parts = [
            _shares(
                self._similarities(rows[first : first + step]), own[first : first + step], self._labels, self._power
            )
            for first in range(0, rows.shape[0], step)
        ]
        return NeighborTerms.joined(parts)

    def use_all_terms(self, run: Callable[[Sequence[Callable[[int], Any]]], list[Any]]) -> None:
        """Find the neighbors of all images of the model once, for searches by label."""
        count = len(self.known.images)
        if self._all_terms is None:
            tasks = [
                partial(lambda first, _: self.neighbor_terms(np.arange(first, min(first + _TASK_ROWS, count))), first)
                for first in range(0, count, _TASK_ROWS)
            ]
            self._all_terms = NeighborTerms.joined(run(tasks))

    def scores(
        self,
        images: NDArray[np.integer] | None,
        given: Any,
        counts: NDArray[np.int64],
        labels: NDArray[np.integer] | None = None,
    ) -> Floats:
        """Return f, one row per image; ``counts`` are the numbers of known labels. The others: as in `map_scores`."""
        factors, is_cold = self.learned.factors, counts == 0
        scores = self.map_scores(images, given, labels)
        decay = np.maximum(counts, 1) ** -factors.decay
        scores *= np.where(is_cold, factors.cold_map, factors.map * decay).astype(np.float32)[:, None]
        terms = self.neighbor_terms(images, given)
        scales = np.where(is_cold, factors.cold_neighbors, factors.neighbors * decay).astype(np.float32)
        row = np.repeat(np.arange(len(scores)), np.diff(terms.labels.indptr))
        if labels is None:
            scores[row, terms.labels.indices] += scales[row] * terms.values
        else:
            for column, one in enumerate(labels):
                here = terms.labels.indices == one
                scores[row[here], column] += scales[row[here]] * terms.values[here]
        return scores

    # --- the index ------------------------------------------------------------------------------------------------

    @cached_property
    def label_factors(self) -> Floats:
        """The factor of each label: (share of images with the label)^-0.2."""
        return label_factors(self.known)

    @cached_property
    def _map(self) -> _LinearMap:
        return _LinearMap(self.learned.weights, self.learned.bias)

    @cached_property
    def _regressions(self) -> list[_LinearMap]:
        labels, logits = len(self.learned.bias), self.learned.logits
        parts = [logits[first : first + labels] for first in range(0, len(logits), labels)]
        return [_LinearMap(np.ascontiguousarray(one[:, :-1]), one[:, -1]) for one in parts]

    @property
    def _power(self) -> np.float32:
        return np.float32(self.learned.factors.power)

    def _unit_rows(self, images: NDArray[np.integer] | None, given: Any) -> Any:
        return unit_rows(self.known.features[images] if given is None else given)

    def _keys_of(self, rows: Any) -> Any:
        """Return what cosines are computed of."""
        return neighbor_keys(rows, self.learned.center)

    @cached_property
    def _pool(self) -> NDArray[np.int64]:
        """The images that are neighbors of others."""
        return chosen_evenly(np.flatnonzero(self.present & (self.known.labels_per_image > 0)), MAX_NEIGHBORS_FROM)

    @cached_property
    def _place(self) -> NDArray[np.int64]:
        place = np.full(len(self.known.images), -1)
        place[self._pool] = np.arange(len(self._pool))
        return place

    @cached_property
    def _labels(self) -> Any:
        """The labels of the pool, as a SciPy matrix."""
        from scipy.sparse import csr_array

        rows, shape = self.known.rows(self._pool), (len(self._pool), len(self.known.labels))
        return csr_array((np.ones(len(rows.indices), np.float32), rows.indices, rows.indptr), shape)

    def _similarities(self, keys: Any) -> Floats:
        with self._lock:  # one thread makes the index, the others wait
            index = self._index
        if isinstance(index, LabelProducts):
            return index.of(keys)
        return np.asarray((keys @ index).toarray(), np.float32)

    @cached_property
    def _index(self) -> Any:
        keys = self._keys_of(self._unit_rows(self._pool, None))
        return LabelProducts(keys) if isinstance(keys, np.ndarray) else keys.T.tocsr()


class _LinearMap:
    """W x + b of rows of features; each row by itself."""

    def __init__(self, weights: Floats, bias: Floats) -> None:
        self._weights, self._bias = weights, bias

    def products(self, rows: Any, labels: NDArray[np.integer] | None) -> Floats:
        """Return one row per row of features, of all ``labels`` or of some."""
        if isinstance(rows, np.ndarray):
            products = self._table.of(rows) if labels is None else row_products(self._weights[labels], rows).T
        else:
            columns = self._columns if labels is None else np.ascontiguousarray(self._weights[labels].T)
            products = np.asarray(rows @ columns, dtype=np.float32)  # SciPy adds in the order of the entries
        return np.ascontiguousarray(products + (self._bias if labels is None else self._bias[labels]))

    @cached_property
    def _table(self) -> LabelProducts:
        return LabelProducts(self._weights)

    @cached_property
    def _columns(self) -> Floats:
        return np.ascontiguousarray(self._weights.T)


def chosen_evenly(images: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return ``most`` images, evenly spaced, or all of fewer."""
    return images if len(images) <= most else images[np.linspace(0, len(images) - 1, most).astype(np.int64)]


def label_factors(known: Annotations) -> Floats:
    """Return (share of images with the label)^-0.2 of each label."""
    shares = np.maximum(known.images_per_label, 0.5) / max(1, np.count_nonzero(known.labels_per_image))
    return np.asarray(shares**_LABEL_POWER, np.float32)


def unit_rows(features: Any) -> Any:
    """Return rows of features with length 1, or 0, and at most `MAX_COLUMNS` columns."""
    plain = plain_features(features)
    if plain.shape[1] > MAX_COLUMNS:
        plain = plain_features(plain @ _signs(plain.shape[1]))
    lengths = np.sqrt(squared_lengths(plain))
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0).astype(np.float32)
    if isinstance(plain, np.ndarray):
        return plain * inverse[:, None]
    unit = plain.copy()
    unit.data *= np.repeat(inverse, np.diff(plain.indptr))
    return unit


@cache
def _signs(columns: int) -> Any:
    from scipy.sparse import csr_array

    words = Streams(0).child("feature-columns").words(columns)
    signs = np.where(words & np.uint64(1), 1, -1).astype(np.float32)
    return csr_array(
        (signs, ((words >> np.uint64(1)) % np.uint64(MAX_COLUMNS)).astype(np.int32), np.arange(columns + 1)),
        (columns, MAX_COLUMNS),
    )


def neighbor_keys(rows: Any, center: Floats) -> Any:
    """Return rows of length 1 as the search for neighbors compares them."""
    if isinstance(rows, np.ndarray):
        centered: Floats = rows - center
        centered[~np.any(rows, axis=1)] = 0
        return unit_rows(centered)
    weighted = rows.copy()
    weighted.data *= center[rows.indices]
    return unit_rows(weighted)


def _shares(similarities: Floats, own: NDArray[np.int64], labels: Any, power: np.float32) -> NeighborTerms:
    """Return the terms of a block of images from their similarities to the pool; ``own`` is their place in it."""
    from scipy.sparse import csr_array

    count, size = similarities.shape
    itself = np.flatnonzero(own >= 0)
    similarities[itself, own[itself]] = -np.inf
    kept = min(NEIGHBORS, size)
    chosen = np.argpartition(-similarities, kept - 1, axis=1)[:, :kept]
    found = np.take_along_axis(similarities, chosen, axis=1)
    best = np.maximum(found.max(axis=1, keepdims=True), np.float32(-2))
    weights = np.exp(power * (found - best))
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), np.float32(1e-30))
    weights[~(found.max(axis=1) > -2)] = 0
    shares = csr_array((weights.ravel(), chosen.ravel(), np.arange(0, chosen.size + 1, kept)), (count, size)) @ labels
    shares.sort_indices()
    used = shares.data >= LEAST_SHARE
    indptr = np.concatenate([[0], np.cumsum(used)])[shares.indptr].astype(np.int64)
    values = np.log1p(shares.data[used] / np.float32(FLOOR)).astype(np.float32)
    return NeighborTerms(Csr(indptr, shares.indices[used].astype(np.int32)), values)
