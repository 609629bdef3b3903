"""Held-out labels during training: the validation set, its metrics after each epoch, and early stopping."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import METRICS, Config
from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.csr import take_rows
from vse_ens.data.features.attach import plain_features
from vse_ens.data.splits import HeldOut, one_label_each
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError
from vse_ens.evaluate.calibrate import calibrate
from vse_ens.evaluate.metrics import Numbers, per_image
from vse_ens.evaluate.rank import FunctionScorer, evaluate
from vse_ens.evaluate.rank_model import ModelScores
from vse_ens.kernels.arrays import Csr
from vse_ens.model.calibration import Calibration
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.model import Model
from vse_ens.model.neighbors import ImageNeighbors
from vse_ens.model.topk import run_serial
from vse_ens.model.weights import LabelWeights

# Images with a held-out label: enough to see a difference of one point in recall, but at most this share of the images
# or, where images have many labels, of the pairs.
_MAX_IMAGES = 4_000
_MAX_IMAGE_SHARE = 0.2
_MAX_PAIR_SHARE = 0.04
# With very many labels, ranking all of them after every epoch takes long: use fewer images, but not too few.
_MAX_SCORES = 20_000_000
_MIN_IMAGES = 1_000
# Above this share of held-out pairs, the rest is a noticeably smaller data set: train the final model on all pairs.
_REFIT_SHARE = 0.02

# The values tried for lambda of the label weights and for their scale, and where the search starts.
_REGULARIZATIONS = (2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0)
_FIRST_REGULARIZATION = 10.0
_SCALES = (0.0, 1.25, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0)
_FIRST_SCALE = 20.0
# The values tried for the scale of what neighbors add.
_NEIGHBOR_SCALES = (0.0, 0.5, 1.0, 2.0, 3.0, 4.5)
_FIRST_NEIGHBOR_SCALE = 1.0
MAX_SEARCH_LABELS = 3_000
"""With more labels, lambda is not searched, because that takes long. On the Open Images sample (5,390 labels) the
search took half of the training and kept the start value for every seed."""
_ROWS = 256
# The search for lambda ends at one of the last label weights that were tried: only these are kept.
KEPT_LABEL_WEIGHTS = 3


ScoreFn = Callable[[NDArray[np.int64]], Floats]
"""From numbers of validation images to the scores of all labels, one row per image."""


class ValidationSet(NamedTuple):
    """Some images, numbered from 0, with the labels that training sees and the one held out of each."""

    images: NDArray[np.int64]
    """Their numbers in the training data."""
    split: Split
    features: Any


def held_out_images(images: int, labels: int, pairs: int) -> int:
    """Return the largest number of images with a held-out label."""
    share = math.ceil(max(_MAX_IMAGE_SHARE * images, _MAX_PAIR_SHARE * pairs))
    return min(share, _MAX_IMAGES, max(_MAX_SCORES // max(labels, 1), _MIN_IMAGES))


def kept_scores(images: int, labels: int) -> int:
    """Return how many scores of one kind are kept during validation at most."""
    return min(images * labels, _MAX_SCORES)


def worth_refitting(held_out: int, pairs: int) -> bool:
    """Return whether enough pairs were held out to train the final model on all."""
    return held_out > _REFIT_SHARE * pairs


def choose_held_out(config: Config, data: Annotations) -> HeldOut:
    """Choose one label of some images; the pairs may be mapped from disk."""
    most = held_out_images(len(data.images), len(data.labels), data.pairs)
    chosen = one_label_each(data.indptr, config.seed, "validation", most)
    if not len(chosen.images):
        raise DataError(
            "no image has two labels, so none can be held out for validation; if a row lists several, give "
            "--label-separator or --layout wide; else add labels, or use --preset opt-auc"
        )
    return chosen


def make_validation_set(known: Annotations, train: Annotations, chosen: HeldOut) -> ValidationSet:
    """Collect the chosen images with their labels in ``train`` and the label that is in ``known`` alone."""
    images = Vocabulary.trusted(known.images.arrow.take(chosen.images), known.images.kind)
    held_out = Annotations.trusted(
        images, known.labels, np.arange(len(chosen.positions) + 1), np.asarray(known.indices[chosen.positions])
    )
    rest = Annotations.trusted(images, known.labels, *train.rows(chosen.images))
    features = None if known.features is None else plain_features(known.features)[chosen.images]
    return ValidationSet(chosen.images, Split(rest, held_out), features)


@dataclass(frozen=True)
class ValidationResult:
    """The metrics of an epoch, with the scale of the label weights, or of the neighbors, that suits it best."""

    metrics: dict[str, float]
    scale: float


class Validator:
    """Measures models on a validation set.

    The embeddings it is given hold the vectors of the validation images only. ``learn_label_weights`` learns label
    weights from the pairs that training sees, given their lambda.
    """

    def __init__(
        self,
        config: Config,
        data: ValidationSet,
        training_pairs: Annotations,
        learn_label_weights: Callable[[float], LabelWeights],
        workers: int | None,
    ) -> None:
        self.data = data
        self.scale = _FIRST_SCALE
        """Where the search for the scale of the label weights starts."""
        self._config = config
        self._training_pairs = training_pairs
        self._learn_label_weights = learn_label_weights
        self._workers = workers
        self._tried: dict[float, LabelWeights] = {}

    @property
    def images(self) -> NDArray[np.int64]:
        """The numbers of the validation images in the training data."""
        return self.data.images

    def validate(self, embeddings: Embeddings) -> ValidationResult:
        """Measure the model of an epoch, with the scale of the label weights that suits it."""
        scores = self._model_scores(Model(embeddings))
        if not self._config.label_weights:
            return ValidationResult(_means(self._measure(scores)), 0.0)
        own_scores = _Blocks(scores)
        measured: dict[float, dict[str, Numbers]] = {}

        def values(scale: float) -> Numbers:
            measured[scale] = self._measure(lambda images: _sum(own_scores(images), scale, self._weight_scores(images)))
            return measured[scale][self._config.metric]

        self.scale = hill_climb(_SCALES, self.scale, values)
        return ValidationResult(_means(measured[self.scale]), self.scale)

    def choose_neighbors_scale(self, embeddings: Embeddings, label_weights_scale: float) -> ValidationResult:
        """Choose the scale of what neighbors add to the scores of a trained model, and measure their sum."""
        train = self.data.split.train
        weights = self._label_weights if label_weights_scale else None
        own_scores = _Blocks(self._model_scores(Model(embeddings, weights, label_weights_scale)))
        terms = ImageNeighbors(self._training_pairs, 1.0).terms(Csr(train.indptr, train.indices), self.images)
        measured: dict[float, dict[str, Numbers]] = {}

        def values(scale: float) -> Numbers:
            def scores(images: NDArray[np.int64]) -> Floats:
                found, part = own_scores(images).copy(), terms.rows(int(images[0]), len(images))
                rows = np.repeat(np.arange(len(images)), np.diff(part.labels.indptr))
                found[rows, part.labels.indices] += np.float32(scale) * part.values
                return found

            measured[scale] = self._measure(scores)
            return measured[scale][self._config.metric]

        scale = hill_climb(_NEIGHBOR_SCALES, _FIRST_NEIGHBOR_SCALE, values)
        return ValidationResult(_means(measured[scale]), scale)

    def calibration(self, model: Model) -> Calibration:
        """Learn how often suggestions are right, by score, from a model that has not seen the held-out labels."""
        return calibrate(model, self.data.split, self.data.features)

    def model(self, embeddings: Embeddings, label_weights_scale: float, neighbors_scale: float) -> Model:
        """Return the model that has not seen the held-out labels."""
        label_weights = self._label_weights if label_weights_scale else None
        neighbors = ImageNeighbors(self._training_pairs, neighbors_scale) if neighbors_scale else None
        model = Model(embeddings, label_weights, label_weights_scale, neighbors)
        return model.balanced(self._training_pairs, self._config.balance)

    def scores_given(self, model: Model, chosen: NDArray[np.int64], rows: Csr) -> Floats:
        """Return the scores of a model for some images of validation if they have the labels of ``rows``."""
        embeddings = model.embeddings
        found = []
        for first in range(0, len(chosen), _ROWS):
            part = chosen[first : first + _ROWS]
            given = take_rows(*rows, np.arange(first, first + len(part)))
            vectors = embeddings.context(*given)
            if len(embeddings.image_vectors):
                vectors += embeddings.own_vectors(part)
            found.append(model.scores_of(vectors, given, self.images[part]))
        return np.concatenate(found)

    def measure(self, scores: Floats, rows: NDArray[np.int64]) -> Numbers:
        """Return the metric of some images of validation, given their scores."""
        place = np.zeros(len(self.images), np.int64)
        place[rows] = np.arange(len(rows))
        kept = np.zeros(len(self.images), np.bool_)
        kept[rows] = True
        found = self._measure(lambda images: scores[place[images]], kept)
        return found[self._config.metric]

    def _model_scores(self, model: Model) -> ModelScores:
        train = self.data.split.train
        # Training changes the vectors, and embeddings keep a copy of those of labels.
        model = replace(model, embeddings=replace(model.embeddings))
        return ModelScores(
            model,
            lambda images: model.embeddings.vectors(images, self.data.features, train),
            Csr(train.indptr, train.indices),
            self.images,
            run_serial,
        )

    @cached_property
    def regularization(self) -> float:
        """Lambda of the label weights, by how they do alone; the default where each try takes long."""
        if len(self.data.split.train.labels) > MAX_SEARCH_LABELS:
            return _FIRST_REGULARIZATION
        return hill_climb(_REGULARIZATIONS, _FIRST_REGULARIZATION, self._measure_label_weights)

    @cached_property
    def _label_weights(self) -> LabelWeights:
        found = self._learn(self.regularization)
        self._tried.clear()
        return found

    def _learn(self, regularization: float) -> LabelWeights:
        if regularization not in self._tried:
            for oldest in list(self._tried)[: 1 - KEPT_LABEL_WEIGHTS]:
                del self._tried[oldest]
            self._tried[regularization] = self._learn_label_weights(regularization)
        return self._tried[regularization]

    @cached_property
    def _weight_scores(self) -> ScoreFn:
        """The scores of the label weights alone, the same after every epoch."""
        return _Blocks(self._scores_of(self._label_weights))

    def _scores_of(self, label_weights: LabelWeights) -> ScoreFn:
        train, one = self.data.split.train, np.ones(1, np.float32)

        def scores(images: NDArray[np.int64]) -> Floats:
            found = np.zeros((len(images), len(train.labels)), np.float32)
            label_weights.add_scores(Csr(*train.rows(images)), np.repeat(one, len(images)), found)
            return found

        return scores

    def _measure_label_weights(self, regularization: float) -> Numbers:
        found = self._measure(self._scores_of(self._learn(regularization)))
        # AUC is left out: in the sum it comes from the vectors.
        return (found["recall@10"] + found["map"]) / 2

    def _measure(self, scores: ScoreFn, images: NDArray[np.bool_] | None = None) -> dict[str, Numbers]:
        """Return every metric, one value per validation image, or for some ``images``."""
        train, held_out = self.data.split
        held_out = held_out if images is None else held_out.with_pairs(images[held_out.image_numbers()])
        scorer = FunctionScorer(train.images, train.labels, scores)
        found = per_image(evaluate(scorer, train, held_out, workers=self._workers))
        found["overall"] = (found["recall@10"] + found["map"] + found["auc"]) / 3
        return {name: found[name] for name in METRICS}


class _Blocks:
    """Computes the scores of each block of images once, while all together take little RAM."""

    def __init__(self, scores: ScoreFn) -> None:
        self._scores = scores
        self._kept: dict[tuple[int, int], Floats] = {}
        self._left = _MAX_SCORES

    def __call__(self, images: NDArray[np.int64]) -> Floats:
        """Return the scores of a block of consecutive images."""
        block = (int(images[0]), len(images))
        if block in self._kept:
            return self._kept[block]
        scores = self._scores(images)
        if scores.size <= self._left:
            self._kept[block] = scores
            self._left -= scores.size
        return scores


def _sum(own: Floats, scale: float, weights: Floats) -> Floats:
    found = np.multiply(weights, np.float32(scale))
    found += own
    return found


def _means(values: dict[str, Numbers]) -> dict[str, float]:
    return {name: float(numbers.mean()) for name, numbers in values.items()}


def hill_climb(
    choices: tuple[float, ...], start: float, values: Callable[[float], Numbers], errors: float = 1.0
) -> float:
    """Move from ``start`` to a better neighbor until none is better by more than chance.

    ``values`` returns one value per image, for the same images with every choice. A neighbor is better when the mean
    difference exceeds this number of standard ``errors``. With few images the start, which did well on other data, is
    kept.
    """
    known: dict[int, Numbers] = {}

    def gain(place: int, other: int) -> float:
        """Return by how many standard errors ``other`` is better."""
        for index in (place, other):
            if index not in known:
                known[index] = values(choices[index])
        difference = known[other] - known[place]
        error = difference.std() / math.sqrt(len(difference))
        return float(difference.mean() / error) if error else 0.0

    place = choices.index(start)
    while True:
        neighbors = [other for other in (place - 1, place + 1) if 0 <= other < len(choices)]
        best = max(neighbors, key=lambda other: gain(place, other))
        if gain(place, best) <= errors:
            return choices[place]
        place = best


@dataclass
class EarlyStopping:
    """Decides when to stop: after ``patience`` epochs without a better value, but not before twice as many in all.

    In the first epochs of large data sets the differences are chance.
    """

    patience: int
    best_value: float = -math.inf
    best_epoch: int = 0
    waited: int = 0

    def update(self, epoch: int, value: float) -> bool:
        """Record the value of an epoch; return whether it is the best so far."""
        if value > self.best_value:
            self.best_value, self.best_epoch, self.waited = value, epoch, 0
            return True
        self.waited += 1
        return False

    @property
    def exhausted(self) -> bool:
        """Whether to stop."""
        return self.waited >= self.patience and self.best_epoch + self.waited >= 2 * self.patience
