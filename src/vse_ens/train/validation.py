"""Held-out labels during training: which epoch is best, and how much the label-label memory should count.

Images of which one label is held out: all that a judge needs to know of the data.

When to stop: logic only, with no model and no disk in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import METRICS, Config
from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.features.matrix import plain_features
from vse_ens.data.splits import HeldOut, one_label_each
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError
from vse_ens.evaluate.calibrate import calibrate
from vse_ens.evaluate.metrics import per_image
from vse_ens.evaluate.rank import evaluate
from vse_ens.evaluate.scorer import FunctionScorer
from vse_ens.evaluate.ties import Numbers
from vse_ens.label_weights.learn import DENSE_LABELS
from vse_ens.model.blas import one_thread
from vse_ens.model.calibration import Calibration
from vse_ens.model.embeddings import Embeddings
from vse_ens.model.model import Model
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import Pool

# What is tried for lambda of the memory, and for its weight; where the search begins.
_REGULARIZATIONS = (2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0)
_FIRST_REGULARIZATION = 10.0
# The search ends at one of the last so many that were tried: only these are kept.
_KEPT_MEMORIES = 3
_WEIGHTS = (0.0, 1.25, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0)
_FIRST_WEIGHT = 20.0


@dataclass(frozen=True)
class ValidationResult:
    """What an epoch is worth."""

    metrics: dict[str, float]
    label_weights_scale: float


class Validator:
    """Measures models on one label of some images, which training does not see.

    The embeddings it is given have the vectors of the trial's images alone. ``learn`` learns a memory of all pairs that
    training sees, by its lambda.
    """

    def __init__(
        self, config: Config, trial: ValidationSet, learn: Callable[[float], LabelWeights], workers: int | None
    ) -> None:
        self.trial = trial
        self._config = config
        self._learn_memory = learn
        self._workers = workers
        self._learnt: dict[float, LabelWeights] = {}
        self.weight = _FIRST_WEIGHT
        """Where the search for the memory's weight begins."""

    @cached_property
    def regularization(self) -> float:
        """lambda of the memory, by what the memory alone does; not searched where each try is long."""
        if len(self.trial.split.train.labels) > DENSE_LABELS:
            return _FIRST_REGULARIZATION
        return hill_climb(_REGULARIZATIONS, _FIRST_REGULARIZATION, self._alone)

    @cached_property
    def _memory(self) -> LabelWeights:
        memory = self._learn(self.regularization)
        self._learnt.clear()
        return memory

    def _learn(self, regularization: float) -> LabelWeights:
        if regularization not in self._learnt:
            for oldest in list(self._learnt)[: 1 - _KEPT_MEMORIES]:
                del self._learnt[oldest]
            self._learnt[regularization] = self._learn_memory(regularization)
        return self._learnt[regularization]

    def _alone(self, regularization: float) -> Numbers:
        labels = len(self.trial.split.train.labels)
        nothing = np.zeros((labels, 0), np.float32)
        own = np.zeros((len(self.trial.images), 0), np.float32)
        silent = Embeddings(nothing, np.zeros(labels, np.float32), own, nothing[:0])
        found = self._measure(Model(silent, self._learn(regularization), 1.0))
        # Not by AUC: in the sum that is the vectors' part.
        return (found["recall@10"] + found["map"]) / 2

    def judge(self, embeddings: Embeddings) -> ValidationResult:
        """The metrics of a model, with the weight of the memory that suits it best."""
        if not self._config.label_weights:
            return ValidationResult(_means(self._measure(Model(embeddings))), 0.0)
        found: dict[float, dict[str, Numbers]] = {}

        def values(weight: float) -> Numbers:
            found[weight] = self._measure(Model(embeddings, self._memory, weight))
            return found[weight][self._config.metric]

        # From one epoch to the next it changes little: the search begins where the last one ended.
        self.weight = hill_climb(_WEIGHTS, self.weight, values)
        return ValidationResult(_means(found[self.weight]), self.weight)

    def calibration(self, embeddings: Embeddings, label_weights_scale: float, pool: Pool | None = None) -> Calibration:
        """How often suggestions are right, by their score: those of a model that has not seen the held-out labels."""
        memory = self._memory if label_weights_scale else None
        return calibrate(Model(embeddings, memory, label_weights_scale), self.trial.split, self.trial.features, pool)

    def _measure(self, model: Model) -> dict[str, Numbers]:
        """Every metric, a value for each image with a held-out label."""
        train, held_out = self.trial.split

        def scores(images: NDArray[np.int64]) -> NDArray[np.float32]:
            return model.scores(images, train, self.trial.features)

        scorer = FunctionScorer(train.images, train.labels, scores)
        with one_thread():
            found = per_image(evaluate(scorer, train, held_out, workers=self._workers))
        found["overall"] = (found["recall@10"] + found["map"] + found["auc"]) / 3
        return {name: found[name] for name in METRICS}


def _means(values: dict[str, Numbers]) -> dict[str, float]:
    return {name: float(numbers.mean()) for name, numbers in values.items()}


def hill_climb(choices: tuple[float, ...], start: float, values: Callable[[float], Numbers]) -> float:
    """The choice that is reached from ``start`` by steps to a neighbour that is better by more than chance.

    ``values`` are those of the same images for every choice: better is a mean difference above its standard error. With
    few images the start, which did well elsewhere, is kept.
    """
    known: dict[int, Numbers] = {}

    def gain(place: int, other: int) -> float:
        """By how many standard errors ``other`` is better."""
        for wanted in (place, other):
            if wanted not in known:
                known[wanted] = values(choices[wanted])
        difference = known[other] - known[place]
        error = difference.std() / math.sqrt(len(difference))
        return float(difference.mean() / error) if error else 0.0

    place = choices.index(start)
    while True:
        neighbours = [other for other in (place - 1, place + 1) if 0 <= other < len(choices)]
        best = max(neighbours, key=lambda other: gain(place, other))
        if gain(place, best) <= 1.0:
            return choices[place]
        place = best


# Of how many images a label is held out: enough to see a difference of one point in recall, but never so many that what
# is left to learn from is another data set: a share of the images or, where images have many labels, of the pairs.
_MOST_IMAGES = 4_000
_MOST_SHARE = 0.2
_MOST_OF_PAIRS = 0.04
# With very many labels ranking them all takes its time after every epoch: fewer images do, but not too few.
_MOST_SCORES = 20_000_000
_ENOUGH_IMAGES = 1_000


class ValidationSet(NamedTuple):
    """Some images, numbered anew from 0, with the labels that training sees and the one that it does not."""

    images: NDArray[np.int64]
    """Their numbers in the whole."""
    split: Split
    features: Any


def most_held_out(images: int, labels: int, pairs: int) -> int:
    """Of how many images a label is held out; of fewer where not as many have two."""
    share = math.ceil(max(_MOST_SHARE * images, _MOST_OF_PAIRS * pairs))
    return min(share, _MOST_IMAGES, max(_MOST_SCORES // max(labels, 1), _ENOUGH_IMAGES))


def choose_held_out(config: Config, data: Annotations) -> HeldOut:
    """Which labels are kept from training; the pairs may be mapped into memory."""
    most = most_held_out(len(data.images), len(data.labels), data.pairs)
    chosen = one_label_each(data.indptr, config.seed, "validation", most)
    if not len(chosen.images):
        raise DataError(
            "no image has two labels, so that none can be held out and found by the others; bring more labels an "
            "image, or use --preset opt-auc"
        )
    return chosen


def make_validation_set(whole: Annotations, part: Annotations, chosen: HeldOut) -> ValidationSet:
    """The trial by the labels that were chosen of the whole, and are not in the part."""
    images = Vocabulary.trusted(whole.images.arrow.take(chosen.images), whole.images.kind)
    held_out = Annotations.trusted(
        images, whole.labels, np.arange(len(chosen.positions) + 1), np.asarray(whole.indices[chosen.positions])
    )
    known = Annotations.trusted(images, whole.labels, *part.rows(chosen.images))
    features = None if whole.features is None else plain_features(whole.features)[chosen.images]
    return ValidationSet(chosen.images, Split(known, held_out), features)


@dataclass
class EarlyStopping:
    """Stop after ``patience`` epochs without a better value; remember which epoch was best."""

    patience: int
    best_value: float = -math.inf
    best_epoch: int = 0
    waited: int = 0

    def update(self, epoch: int, value: float) -> bool:
        """Take in an epoch's value; whether it is the best so far."""
        if value > self.best_value:
            self.best_value, self.best_epoch, self.waited = value, epoch, 0
            return True
        self.waited += 1
        return False

    @property
    def exhausted(self) -> bool:
        """Whether it is time to stop."""
        return self.waited >= self.patience
