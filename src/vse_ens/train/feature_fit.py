"""Learn what the features of images say about their labels, in closed form, and how much it counts.

The map is a ridge regression from features of length 1 to labels. One eigendecomposition of the Gram matrix serves
every lambda, and each image is predicted by a fit without it: with P the centered features in the basis of eigenvectors
and D = 1 / (eigenvalues + lambda), the leverage of image i is h_i = sum_k P_ik^2 D_k + 1 / n. All choices are made by
such predictions: lambda, the power of similarities and the share of neighbors for images without labels; the factors
for images with labels, to whose scores features are added, on the held-out labels of validation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows
from vse_ens.data.features.attach import squared_lengths
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError, DataError
from vse_ens.evaluate.calibrate import cold_curve, cold_temperature, held_out_curve
from vse_ens.evaluate.metrics import Numbers, per_image
from vse_ens.evaluate.rank import FunctionScorer, evaluate
from vse_ens.kernels.arrays import Csr
from vse_ens.model.blas import one_thread
from vse_ens.model.calibration import BOTH, FEATURES, Curve
from vse_ens.model.embeddings import Floats
from vse_ens.model.feature_scores import (
    DIRECTIONS,
    LABEL_POWER,
    Factors,
    FeatureMap,
    FeatureScores,
    chosen_evenly,
    label_factors,
    log_frequencies,
    unit_rows,
)
from vse_ens.model.model import Model
from vse_ens.model.neighbors import NeighborTerms
from vse_ens.streams import Streams
from vse_ens.train.feature_logits import FOLDS, RANK, fit_logits
from vse_ens.train.validation import Validator, hill_climb

Doubles = NDArray[np.float64]

# Images whose left-out predictions choose lambda and factors, and fit the confidences.
MAX_IMAGES = 5_000
MAX_SCORES = 4_000_000
_FEWEST_IMAGES = 3
_FEWEST_TARGETS = 20
# A choice is better if the mean difference exceeds half of its standard error.
_ERRORS = 0.5
BLOCK = 16_384
# Logits of all images in the regressions; with very many labels, too few images would be left.
_MAX_LOGITS = 16_000_000
_FEWEST_FITTED = 1_000
# Lambda, relative to the mean eigenvalue.
_LAMBDAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_FIRST_LAMBDA = 0.3
_NO_VARIANCE = 1e-6
# Factors of logits and of neighbors, relative to the map.
_SHARES = (0.0, 0.02, 0.035, 0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4)


# The least standard deviation of a label's scores that balance divides by.
_LEAST_SPREAD = 0.05


class _Cold(NamedTuple):
    """How the parts count for images without labels, relative to the map."""

    rarity: float = LABEL_POWER
    logits: float = 0.05
    share: float = 0.2
    power: float = 20.0


_COLD_CHOICES = {
    "rarity": (0.0, 0.1, LABEL_POWER, 0.3, 0.4),
    "logits": _SHARES,
    "share": _SHARES,
    "power": (7.0, 10.0, 14.0, 20.0, 28.0, 40.0),
}


class _Hybrid(NamedTuple):
    """How features count for images with labels."""

    weight: float
    """The factor of the map, in units of that of images without labels."""
    decay: float
    share: float
    """The factor of neighbors, in units of that of the map."""
    prior: float


_HYBRID_CHOICES = {
    "weight": (0.0, 0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0, 16.0),
    "decay": (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5),
    "share": _SHARES,
    "prior": (0.0, 0.125, 0.25, 0.375, 0.5, 0.75, 1.0),
}


class LearnedFeatures(NamedTuple):
    """What was learned from features: the scores, and the curves of images with features."""

    scores: FeatureScores
    curves: dict[int, Curve]
    regularization: float


def check_features(config: Config) -> None:
    """Raise a ConfigError if a configuration would ignore features."""
    if config.has_features or (config.has_context and config.validate):
        return
    tower = "context+features" if config.has_context else "id+features" if config.has_ids else "features"
    more = f", or tower {tower}" if config.engine != "serial" else ""
    without = " without validate" if config.has_context else ""
    raise ConfigError(
        f"tower {config.tower}{without} cannot use image features; use the preset context{more}, or leave the "
        "features out"
    )


def images_with_both(known: Annotations) -> NDArray[np.int64]:
    """Return the images with labels and features, from which features are learned."""
    has = squared_lengths(known.features) > 0
    both = np.flatnonzero(has & (known.labels_per_image > 0))
    if len(both) < _FEWEST_IMAGES:
        raise DataError(
            f"only {len(both)} of {len(known.images):,} images have both labels and features, too few to learn from; "
            "check that both use the same image ids"
        )
    return both


class Ridge:
    """The ridge regression of some images, for any lambda."""

    def __init__(self, known: Annotations, images: NDArray[np.int64]) -> None:
        self.known, self.images = known, images
        self.factors = label_factors(known)
        self._targets = known.to_matrix().astype(np.float32)
        self._rows: Callable[[NDArray[np.int64]], Any] = lambda chosen: unit_rows(known.features[chosen])
        columns = self._rows(images[:1]).shape[1]
        count, labels = len(images), len(known.labels)
        sums, gram = np.zeros(columns), np.zeros((columns, columns))
        products = np.zeros((labels, columns))
        with one_thread():
            for first in range(0, count, BLOCK):
                chosen = images[first : first + BLOCK]
                exact = self._rows(chosen).astype(np.float64)
                gram += _dense(exact.T @ exact)
                sums += np.asarray(exact.sum(axis=0)).ravel()
                products += _dense(self._targets[chosen].T @ exact)
            self.mean = sums / count
            self.label_means = np.bincount(known.rows(images).indices, minlength=labels) / count
            gram -= count * np.outer(self.mean, self.mean)
            values, self.vectors = np.linalg.eigh(gram)
            products -= count * np.outer(self.label_means, self.mean)
            self.products = products @ self.vectors  # labels x eigenvectors
        self.values = np.maximum(values, 0.0)
        # Rows have length 1, so that a variance below this is rounding: all images have the same features.
        total = max(float(self.values.sum()), _NO_VARIANCE * count)
        self.unit = total / max(1, min(count - 1, columns))

    def rotated(self, images: NDArray[np.int64], last: int = 0) -> Floats:
        """Return P, the centered features of images in the basis of eigenvectors, or of the ``last`` ones."""
        vectors = self.vectors[:, -last:]
        with one_thread():
            rotated = self._rows(images) @ vectors.astype(np.float32)
            return np.asarray(rotated - (self.mean @ vectors).astype(np.float32))

    def left_out(self, rotated: Floats, images: NDArray[np.int64], regularization: float) -> Floats:
        """Return the predictions for images by fits without them, each label times its factor."""
        inverse = (1.0 / (self.values + regularization * self.unit)).astype(np.float32)
        with one_thread():
            scores = (rotated * inverse) @ self.products.T.astype(np.float32) + self.label_means.astype(np.float32)
        leverages = np.square(rotated) @ inverse + 1.0 / len(self.images)
        scores -= leverages[:, None] * self._targets[images].toarray()
        scores /= np.maximum(1.0 - leverages, 1e-6)[:, None]
        return np.asarray(scores * self.factors, np.float32)

    def solve(self, regularization: float) -> FeatureMap:
        """Return the map, with factors of 1."""
        inverse = 1.0 / (self.values + regularization * self.unit)
        with one_thread():
            weights = (self.products * inverse) @ self.vectors.T
            roots = (self.values[-DIRECTIONS:] + self.unit) ** -0.25
            axes = roots[:, None] * self.vectors[:, -DIRECTIONS:].T
            axes = np.column_stack([axes, -axes @ self.mean])
            label_axes = _main_directions(self.factors[:, None] * self.products * inverse * np.sqrt(self.values))
        bias = self.label_means - weights @ self.mean
        leverages = np.zeros(len(self.known.images), np.float32)
        for first in range(0, len(self.images), BLOCK):
            chosen = self.images[first : first + BLOCK]
            found = np.square(self.rotated(chosen)) @ inverse + 1.0 / len(self.images)
            leverages[chosen] = np.minimum(found, 1.0 - 1e-6)
        return FeatureMap(
            (np.column_stack([weights, bias]) * self.factors[:, None]).astype(np.float32),
            axes.astype(np.float32),
            label_axes.astype(np.float32),
            leverages,
            *self._logits(),
            np.array([np.ones_like(bias), np.zeros_like(bias)], np.float32),
            Factors(1.0, 0.0, _Cold().power),
        )

    def _logits(self) -> tuple[Floats, NDArray[np.int32]]:
        """Return the weights and biases of logistic regressions, each on half of the images, and who is in which."""
        labels, folds = len(self.known.labels), np.full(len(self.known.images), -1, np.int32)
        fitted = chosen_evenly(self.images, _MAX_LOGITS // labels)
        if len(fitted) < min(_FEWEST_FITTED, len(self.images)):
            return np.empty((0, len(self.mean) + 1), np.float32), folds
        folds[fitted] = np.arange(len(fitted)) % FOLDS
        vectors, values = self.vectors[:, -RANK:], self.values[-RANK:]
        parts = []
        for fold in range(FOLDS):
            chosen = np.flatnonzero(folds == fold)
            rotated = self.rotated(chosen, RANK)
            weights, bias = fit_logits(rotated, values * len(chosen) / len(self.images), self._targets[chosen])
            with one_thread():
                whole = weights.T.astype(np.float64) @ vectors.T
                parts.append(np.column_stack([whole, bias - whole @ self.mean]))
        return np.concatenate(parts).astype(np.float32), folds


def _main_directions(rows: Doubles) -> Doubles:
    """Return orthonormal directions of columns, one per row, that hold most of their squared length."""
    count, width = rows.shape
    if count <= DIRECTIONS:
        return np.eye(count)
    found = Streams(0).child("directions").normals(width * DIRECTIONS).reshape(width, DIRECTIONS)
    for _ in range(3):
        found = rows.T @ np.linalg.qr(rows @ found)[0]
    return np.linalg.qr(rows @ found)[0].T


def _dense(matrix: Any) -> Any:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def learn_features(known: Annotations, balance: float = 0.0, workers: int | None = None) -> LearnedFeatures:
    """Learn from images with labels and features; factors are chosen for images without labels.

    The scores of such an image are scaled to log probabilities: a softmax of temperature 1 fits them best.
    """
    both = images_with_both(known)
    ridge = Ridge(known, both)
    sample = chosen_evenly(both, max(200, min(MAX_IMAGES, MAX_SCORES // len(known.labels))))
    names = Vocabulary.trusted(known.images.arrow.take(sample), known.images.kind)
    rotated, truth = ridge.rotated(sample), Annotations.trusted(names, known.labels, *known.rows(sample))
    nothing = truth.with_pairs(np.zeros(truth.pairs, np.bool_))

    def measured(scores: Floats) -> Numbers:
        scorer = FunctionScorer(truth.images, truth.labels, lambda rows: scores[rows])
        found = per_image(evaluate(scorer, nothing, truth, workers=workers))
        return (found["recall@10"] + found["map"]) / 2

    regularization = hill_climb(
        _LAMBDAS, _FIRST_LAMBDA, lambda one: measured(ridge.left_out(rotated, sample, one)), _ERRORS
    )
    scores = FeatureScores(known, ridge.solve(regularization))
    first = scores.learned.factors
    mapped = scores.map_scores(sample)
    logits = scores.changed(factors=first._replace(logits=1.0)).map_scores(sample) - mapped
    frequencies, nearest = log_frequencies(known), scores.nearest(sample)
    by_power: dict[float, Floats] = {}

    def total(at: _Cold) -> Floats:
        if at.power not in by_power:
            one = scores.changed(factors=first._replace(power=at.power))
            by_power[at.power] = _spread(one.terms_of(*nearest), len(known.labels))
        found = mapped * np.exp((LABEL_POWER - at.rarity) * frequencies) + np.float32(at.logits) * logits
        return np.asarray(found + np.float32(at.share) * by_power[at.power])

    best = _climb(_COLD_CHOICES, _Cold(), lambda at: measured(total(at)))
    sums = total(best)
    scale = 1.0 / cold_temperature(sums, truth)
    factors = Factors(scale, scale * best.share, best.power, logits=best.logits, rarity=best.rarity)
    found = np.float32(scale) * sums
    means, spreads = found.mean(axis=0), np.maximum(found.std(axis=0), _LEAST_SPREAD)
    gain = spreads**-balance
    gains = np.array([gain, means * (1 - gain)], np.float32)
    cold = cold_curve(found * gains[0] + gains[1], truth)
    return LearnedFeatures(scores.changed(factors=factors, gains=gains), {FEATURES: cold}, regularization)


def refit_features(scores: FeatureScores, known: Annotations, regularization: float) -> FeatureMap:
    """Learn the map again from more pairs or features, with the same lambda and factors."""
    learned = Ridge(known, images_with_both(known)).solve(regularization)
    learned.gains[:, known.labels.translate(scores.known.labels)] = scores.learned.gains
    return replace(learned, factors=scores.learned.factors)


def with_labels(learned: LearnedFeatures, validator: Validator, model: Model) -> LearnedFeatures:
    """Return the scores with the factors that suit images with labels and features, and the curve of such images.

    ``model`` has not seen the held-out labels of the validation images. It scores them by all other labels, by two, and
    by one: the fewer are known, the more features count.
    """
    scores, known, streams = learned.scores, validator.data.split.train, Streams(0).child("known-labels")
    chosen = np.flatnonzero(scores.present[validator.images])
    if len(chosen) < _FEWEST_TARGETS:
        return learned
    factors, frequencies = scores.learned.factors, log_frequencies(scores.known)
    mapped = scores.map_scores(validator.images[chosen])
    terms = _spread(scores.neighbor_terms(validator.images[chosen]), mapped.shape[1])
    shown = [_some(known, chosen, count, streams.child(str(count))) for count in (1, 2, len(known.labels))]
    own = [validator.scores_given(model, chosen, rows) for rows in shown]

    def total(at: _Hybrid, part: int) -> Floats:
        counts = np.maximum(np.diff(shown[part].indptr), 1)
        found = mapped + np.float32(at.share) * terms
        found *= (at.weight * factors.cold_map * counts**-at.decay).astype(np.float32)[:, None]
        found += own[part]
        found -= np.float32(at.prior) * frequencies
        return found

    def measured(at: _Hybrid) -> Numbers:
        return np.concatenate([validator.measure(total(at, part), chosen) for part in range(len(shown))])

    best = _Hybrid(1.0, 0.5, factors.cold_neighbors / factors.cold_map, 0.0)
    best = _climb(_HYBRID_CHOICES, best, measured)
    weight = best.weight * factors.cold_map
    factors = factors._replace(map=weight, neighbors=weight * best.share, decay=best.decay, prior=best.prior)
    curve = held_out_curve(
        np.concatenate([total(best, part) for part in range(len(shown))]),
        np.concatenate([np.diff(rows.indptr) for rows in shown]),
        take_rows(known.indptr, known.indices, np.tile(chosen, len(shown))),
        np.tile(validator.data.split.test.indices[chosen].astype(np.int64), len(shown)),
    )
    return learned._replace(scores=scores.changed(factors=factors), curves={**learned.curves, BOTH: curve})


def _climb(choices: Mapping[str, tuple[float, ...]], at: Any, measured: Callable[[Any], Numbers]) -> Any:
    """Return the fields with the values that do best, each chosen in turn, twice."""
    for name in (*choices, *choices):
        here, every = at, tuple(sorted({*choices[name], getattr(at, name)}))
        values = partial(lambda name, here, value: measured(here._replace(**{name: value})), name, here)
        at = at._replace(**{name: hill_climb(every, getattr(at, name), values, _ERRORS)})
    return at


def _some(known: Annotations, images: NDArray[np.int64], count: int, stream: Streams) -> Csr:
    """Return at most ``count`` labels of each image, chosen at random."""
    indptr, indices = known.rows(images)
    row = np.repeat(np.arange(len(images)), np.diff(indptr))
    order = np.lexsort((stream.words(len(indices)), row))
    kept = np.sort(order[np.arange(len(indices)) - indptr[row] < count])
    return Csr(np.concatenate([[0], np.cumsum(np.minimum(np.diff(indptr), count))]), indices[kept])


def _spread(terms: NeighborTerms, labels: int) -> Floats:
    """Return neighbor terms as a matrix."""
    found = np.zeros((len(terms.labels.indptr) - 1, labels), np.float32)
    found[np.repeat(np.arange(len(found)), np.diff(terms.labels.indptr)), terms.labels.indices] = terms.values
    return found
