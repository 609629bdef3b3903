"""The part of a score that comes from the features of an image: a linear map, and the images with similar features.

With x_i the features of image i at length 1, the map gives m_i = W x_i + b: what a ridge regression from features to
labels predicts, times (share of images with the label)^-0.2, so that rare labels count more. Of an image that the map
was fitted on, the prediction is made by a fit without it, which is exact: with leverage h and y = 1 for its labels,

    (m_i - h_i y_i) / (1 - h_i).

To it is added g z_i(a), the logit of a logistic regression. Each half of the images has one of its own; an image is
scored by that of the other half, and a new image by the mean of both.

The neighbors of an image are the 100 images with the highest cosine of two vectors side by side: the features on their
256 main directions, each divided by the fourth root of its variance, at length 1; and the map's predictions less their
mean, on their 256 main directions, at length 0.7. They count e^(p cosine), and a label adds log(1 + share / 0.03). So

    f_i(a) = w m_i(a) + v log(1 + share_i(a) / 0.03)

with one pair of factors (w, v) for images without labels, whose score is f_i, and another for images with labels, to
whose score f_i is added: the more labels are known, the less it counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
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
DIRECTIONS = 256
"""The most directions of features, and of predictions, that are compared."""
MAX_COLUMNS = 4_096
"""More columns are summed into this many with random signs, because the fit takes their number to the third power."""
LABEL_POWER = 0.2
_PREDICTIONS = np.float32(0.7)
_SEARCH_BYTES = 1 << 26
Numbers = NDArray[np.integer]
Chosen = Numbers | None
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
    rarity: float = LABEL_POWER
    """The map's predictions are divided by the share of images with the label to this power."""
    prior: float = 0.0
    """How much of the log frequency, which both parts of the score hold, is taken from their sum."""


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """What was learned from the features and the labels of the same images."""

    weights: Floats
    """|A| x (columns + 1): W and b. As in ``axes`` and ``logits``, the last column is added."""
    axes: Floats
    """directions x (columns + 1): how features are compared."""
    label_axes: Floats
    """directions x |A|: how predictions are compared."""
    leverages: Floats
    """images: h, 0 for an image that the map was not fitted on."""
    logits: Floats
    """(regressions x |A|) x (columns + 1): one regression after another; no rows without them."""
    folds: NDArray[np.int32]
    """images: the regression that was fitted on the image, -1 for none."""
    gains: Floats
    """2 x |A|: what scores of images without labels are multiplied by, and what is added then, to balance labels."""
    factors: Factors

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save, by name."""
        return {f"feature_{one.name}": np.asarray(getattr(self, one.name)) for one in fields(self)[:-1]} | {
            "feature_factors": np.array(self.factors, np.float32)
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> FeatureMap | None:
        """Return the map with the arrays that `arrays` returned, or None if there are none."""
        if "feature_weights" not in arrays:
            return None
        found: dict[str, Any] = {one.name: arrays[f"feature_{one.name}"] for one in fields(cls)}
        return cls(**found | {"factors": Factors(*found["factors"].tolist())})


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

    def changed(self, **values: Any) -> FeatureScores:
        """Return the same with other fields of what was learned, but not its tables, and with the same index."""
        learned = replace(self.learned, **values)
        factors = Factors(*np.array(learned.factors, np.float32).tolist())  # as a model file has them
        found = FeatureScores(self.known, replace(learned, factors=factors))
        kept = ("_index", "_labels", "_place", "_pool", "_map", "_regressions")
        vars(found).update({name: value for name, value in vars(self).items() if name in kept})
        return found

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Whether each image of the model has features."""
        return squared_lengths(self.known.features) > 0

    def map_scores(self, images: Chosen, given: Any = None, labels: Chosen = None) -> Floats:
        """Return m, one row per image: of images of the model, given by number, or of rows of features ``given``.

        With ``labels``, only their columns.
        """
        learned, rows = self.learned, self._unit_rows(images, given)
        scores = self._mapped(rows, images if given is None else None, labels)
        if learned.factors.rarity != LABEL_POWER:
            scores *= self._rarities if labels is None else self._rarities[labels]
        if learned.factors.logits and len(self._regressions):
            found = [one.products(rows, labels) for one in self._regressions]
            folds = np.full(len(scores), -1) if given is not None or images is None else learned.folds[images]
            for fold, one in enumerate(found):
                weights = np.where(folds < 0, 1 / len(found), np.where(folds == fold, 0.0, 1 / (len(found) - 1)))
                scores += (learned.factors.logits * weights).astype(np.float32)[:, None] * one
        return scores

    def _mapped(self, rows: Any, images: Chosen, labels: Chosen) -> Floats:
        """Return the predictions of the map, of images of the model those by a fit without the image."""
        scores = self._map.products(rows, labels)
        if images is not None:
            leverages, own = self.learned.leverages[images], self.known.rows(images)
            row = np.repeat(np.arange(len(images)), np.diff(own.indptr))
            _add(scores, row, own.indices, -leverages[row] * self.label_factors[own.indices], labels)
            scores /= (1 - leverages)[:, None]
        return scores

    def neighbor_terms(self, images: Chosen, given: Any = None) -> NeighborTerms:
        """Return log(1 + share / 0.03) of the labels of the neighbors; the arguments: as in `map_scores`."""
        if given is None and images is not None and self._all_terms is not None:
            indptr, labels = self._all_terms.labels
            counts = indptr[images + 1] - indptr[images]
            starts = np.concatenate([[0], np.cumsum(counts)])
            at = np.arange(starts[-1]) + np.repeat(indptr[images] - starts[:-1], counts)
            return NeighborTerms(Csr(starts, labels[at]), self._all_terms.values[at])
        return self.terms_of(*self.nearest(images, given))

    def nearest(self, images: Chosen, given: Any = None) -> tuple[NDArray[np.int64], Floats]:
        """Return the places of the nearest images in the pool, and their cosines; the arguments: as in `map_scores`."""
        numbers = None if given is not None else images
        keys = self._keys(self._unit_rows(images, given), numbers)
        own = np.full(len(keys), -1) if numbers is None else self._place[numbers]
        with self._lock:  # one thread makes the index, the others wait
            index = self._index
        step, kept = max(1, _SEARCH_BYTES // (4 * max(1, len(self._pool)))), min(NEIGHBORS, len(self._pool))
        places, cosines = np.empty((len(keys), kept), np.int64), np.empty((len(keys), kept), np.float32)
        for first in range(0, len(keys), step):
            block = slice(first, first + step)
            found = index.of(keys[block])
            itself = np.flatnonzero(own[block] >= 0)
            found[itself, own[block][itself]] = -np.inf
            places[block] = np.argpartition(-found, kept - 1, axis=1)[:, :kept]
            cosines[block] = np.take_along_axis(found, places[block], axis=1)
        return places, cosines

    def terms_of(self, places: NDArray[np.int64], cosines: Floats) -> NeighborTerms:
        """Return log(1 + share / 0.03) of the labels of the images at ``places``, given their cosines."""
        from scipy.sparse import csr_array

        count, kept = places.shape
        best = np.maximum(cosines.max(axis=1, keepdims=True), np.float32(-2))
        weights = np.exp(np.float32(self.learned.factors.power) * (cosines - best))
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), np.float32(1e-30))
        starts = np.arange(0, places.size + 1, kept)
        shares = csr_array((weights.ravel(), places.ravel(), starts), (count, len(self._pool))) @ self._labels
        shares.sort_indices()
        used = shares.data >= LEAST_SHARE
        indptr = np.concatenate([[0], np.cumsum(used)])[shares.indptr].astype(np.int64)
        values = np.log1p(shares.data[used] / np.float32(FLOOR)).astype(np.float32)
        return NeighborTerms(Csr(indptr, shares.indices[used].astype(np.int32)), values)

    def use_all_terms(self, run: Callable[[Sequence[Callable[[int], Any]]], list[Any]]) -> None:
        """Find the neighbors of all images of the model once, for searches by label."""
        count = len(self.known.images)
        if self._all_terms is None:
            tasks = [
                partial(lambda first, _: self.neighbor_terms(np.arange(first, min(first + _TASK_ROWS, count))), first)
                for first in range(0, count, _TASK_ROWS)
            ]
            self._all_terms = NeighborTerms.joined(run(tasks))

    def scores(self, images: Chosen, given: Any, counts: NDArray[np.int64], labels: Chosen = None) -> Floats:
        """Return f, one row per image; ``counts`` are the numbers of known labels. The others: as in `map_scores`."""
        factors, is_cold = self.learned.factors, counts == 0
        scores = self.map_scores(images, given, labels)
        decay = np.maximum(counts, 1) ** -factors.decay
        scores *= self._map_scales(counts)[:, None]
        terms = self.neighbor_terms(images, given)
        scales = np.where(is_cold, factors.cold_neighbors, factors.neighbors * decay).astype(np.float32)
        row = np.repeat(np.arange(len(scores)), np.diff(terms.labels.indptr))
        _add(scores, row, terms.labels.indices, scales[row] * terms.values, labels)
        gain, shift = self.learned.gains if labels is None else self.learned.gains[:, labels]
        scores[is_cold] = scores[is_cold] * gain + shift
        return scores

    def directions(self, images: NDArray[np.integer], counts: NDArray[np.int64]) -> Floats:
        """Return vectors of images whose products with `label_directions` are nearly their w_i m_i, without logits."""
        gaps = self._mapped(self._unit_rows(images, None), images, None) - self._means
        vectors = np.column_stack([self._label_axes.of(gaps), np.ones(len(images), np.float32)])
        return np.asarray(vectors * (self._map_scales(counts) * self.present[images])[:, None], np.float32)

    @cached_property
    def label_directions(self) -> Floats:
        """The vectors of all labels; see `directions`."""
        return np.asarray(np.column_stack([self.learned.label_axes.T, self._means]) * self._rarities[:, None])

    def _map_scales(self, counts: NDArray[np.int64]) -> Floats:
        factors = self.learned.factors
        found = np.where(counts == 0, factors.cold_map, factors.map * np.maximum(counts, 1) ** -factors.decay)
        return found.astype(np.float32)

    # --- the index ------------------------------------------------------------------------------------------------

    @cached_property
    def label_factors(self) -> Floats:
        """The factor of each label: (share of images with the label)^-0.2."""
        return label_factors(self.known)

    @cached_property
    def _rarities(self) -> Floats:
        exponent = LABEL_POWER - self.learned.factors.rarity
        return np.asarray(np.exp(exponent * log_frequencies(self.known)), np.float32)

    @cached_property
    def _map(self) -> _LinearMap:
        return _LinearMap(self.learned.weights)

    @cached_property
    def _regressions(self) -> list[_LinearMap]:
        labels, logits = len(self.known.labels), self.learned.logits
        return [_LinearMap(logits[first : first + labels]) for first in range(0, len(logits), labels)]

    def _unit_rows(self, images: Chosen, given: Any) -> Any:
        return unit_rows(self.known.features[images] if given is None else given)

    def _keys(self, rows: Any, images: Chosen) -> Floats:
        """Return what cosines are computed of, at length 1."""
        found = unit_rows(self._axes.products(rows, None))
        gaps = self._mapped(rows, images, None) - self._means
        parts = [found, _PREDICTIONS * unit_rows(self._label_axes.of(gaps))]
        return np.asarray(unit_rows(np.concatenate(parts, axis=1)))

    @cached_property
    def _axes(self) -> _LinearMap:
        return _LinearMap(self.learned.axes)

    @cached_property
    def _label_axes(self) -> LabelProducts:
        return LabelProducts(self.learned.label_axes)

    @cached_property
    def _means(self) -> Floats:
        """What the map predicts on average."""
        return self.label_factors * np.exp(log_frequencies(self.known))

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
        return self.known.to_matrix()[self._pool].astype(np.float32)

    @cached_property
    def _index(self) -> LabelProducts:
        parts = [self._pool[first : first + _TASK_ROWS] for first in range(0, len(self._pool), _TASK_ROWS)]
        return LabelProducts(np.concatenate([self._keys(self._unit_rows(one, None), one) for one in parts]))


class _LinearMap:
    """W x + b of rows of features, given W with b as its last column; each row by itself."""

    def __init__(self, table: Floats) -> None:
        self._weights, self._bias = np.ascontiguousarray(table[:, :-1]), table[:, -1]

    def products(self, rows: Any, labels: Chosen) -> Floats:
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


def _add(scores: Floats, row: Numbers, label: Numbers, values: Floats, labels: Chosen) -> None:
    """Add values to the scores of some rows and labels, if the columns are all labels or those of ``labels``."""
    if labels is None:
        scores[row, label] += values
        return
    for column, one in enumerate(labels):
        here = label == one
        scores[row[here], column] += values[here]


def chosen_evenly(images: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return ``most`` images, evenly spaced, or all of fewer."""
    return images if len(images) <= most else images[np.linspace(0, len(images) - 1, most).astype(np.int64)]


def label_factors(known: Annotations) -> Floats:
    """Return (share of images with the label)^-0.2 of each label."""
    return np.asarray(np.exp(-LABEL_POWER * log_frequencies(known)), np.float32)


def log_frequencies(known: Annotations) -> Floats:
    """Return the logarithm of the share of images with each label, counting images that have any."""
    shares = np.maximum(known.images_per_label, 0.5) / max(1, np.count_nonzero(known.labels_per_image))
    return np.asarray(np.log(shares), np.float32)


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
