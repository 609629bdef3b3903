"""Known labels that are likely wrong.

Every known label is removed from its image and compared with all labels that the image lacks. A label is wrong by a
*slip*, which adds any label to an image, or by a *mistake*, where a label takes the place of one that is used alike.

- The odds against a slip grow with two statistics: the softmax share of the label times M of
  `vse_ens.model.label_counts`, and its z-score. M is small for an image with more labels than images usually have: it
  likely has one too many. It is the ratio of the numbers of images themselves, which a smooth law would hide.
- The odds of a mistake are the shares of all other labels, each times the probability that this label is chosen in its
  place (`vse_ens.curate.audit.mistakes`), over the share of the label.

Another label that the image lacks, the *control*, is measured the same way: in turn a random one, as a slip is, and one
that is used like the known label, as in a mistake. One logistic regression per kind of known labels against its
controls turns the statistics into odds, and the odds of both kinds are mixed.

A model trained on these pairs has learnt the wrong ones, too. The influence of a pair on its own score is estimated
from the step sizes of training and subtracted (`_self_influence`), for label and input vectors of the context tower.
Image vectors (`id` and its sums) still depend on all labels of the image. A model without a context tower can compute
another vector by fold-in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.curate.audit.mistakes import CANDIDATES, MAX_LABELS, mistake_probabilities
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import Csr
from vse_ens.model.calibration import Counts, log_totals, softmax_shares
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.model import Model
from vse_ens.model.topk import TemperatureFn, row_blocks, unit_temperature
from vse_ens.streams import Streams

Doubles = NDArray[np.float64]
FoldIn = Callable[[Csr], Floats]
"""Returns vectors of images that are known only by their labels."""

# A regression with three parameters needs no more controls.
_MAX_CONTROLS = 50_000
# The share of mistakes among wrong labels, and the power of the softmax temperature for slips. Chosen on errors planted
# in Corel5k and IAPR-TC12: a larger share finds more mistakes and fewer slips; a larger power finds more slips in
# Corel5k and fewer in IAPR-TC12.
_MISTAKES = 0.15
_SLIP_POWER = 0.5
# Added to the probability of a mistake, whose logarithm is taken.
_MIN_PROBABILITY = 1e-6
# L2 penalty of the regression: keeps it finite if known labels and controls can be separated.
_PENALTY = 1e-2
_NEWTON_STEPS = 25


class LabelEvidence(NamedTuple):
    """Statistics of labels: log of softmax share times M, z-score, and the log odds of a mistake before fitting."""

    known: Doubles  # pairs x 3: of the removed label
    control: Doubles  # pairs x 3: of another label that the image lacks
    has_control: NDArray[np.bool_]  # pairs: False for an image that has all labels


class EvidenceWeights(NamedTuple):
    """Weights of statistics, and an intercept, for the log odds of known label against control."""

    slip: Doubles  # of the first two statistics
    mistake: Doubles  # of the third


@dataclass(frozen=True)
class Auditor:
    """Measures known pairs by a model."""

    model: Model
    known: Annotations
    step_size: float = 0.0
    """`total_step_size` of training on these pairs; 0 if the model was trained on other pairs."""
    fold_in: FoldIn | None = None
    temperature: TemperatureFn = unit_temperature
    """The softmax temperature by the number of known labels, as calibrated on labels held out of training."""

    @cached_property
    def _images_by_size(self) -> Doubles:
        """The number of images with 0, 1, ... labels, plus 1; the last entry stands for all larger sizes."""
        return np.append(np.bincount(self.known.labels_per_image), 0.0) + 1.0

    @cached_property
    def _mistakes(self) -> Floats | None:
        return mistake_probabilities(self.known) if len(self.known.labels) <= MAX_LABELS else None

    def log_ways_on(self, counts: NDArray[np.integer]) -> Doubles:
        """Return log M of images with ``counts`` labels, one of which is in question."""
        images = self._images_by_size
        last = len(images) - 1
        found = np.log(counts * images[np.minimum(counts, last)] / images[np.minimum(counts - 1, last)])
        return np.asarray(found, np.float64)

    def evidence(self, pairs: NDArray[np.int64], controls: NDArray[np.int64]) -> LabelEvidence:
        """Measure known pairs, given by index, and a control for each."""
        labels, images = self.known.indices[pairs].astype(np.int64), images_of(self.known, pairs)
        return self.evidence_of(images, labels, without_label(self.known, pairs), controls)

    def evidence_of(
        self, images: NDArray[np.int64], labels: NDArray[np.int64], others: Csr, controls: NDArray[np.int64]
    ) -> LabelEvidence:
        """Measure a label and a control of each image, given the other labels that the image has."""
        vectors = vectors_without_label(self.model, images, others, self.fold_in)
        scores = self.model.scores_of(vectors, *others)
        rows = np.arange(len(images))
        positives = np.repeat(rows, np.diff(others.indptr)), others.indices
        scores[positives] = -np.inf
        if self.step_size and self.model.embeddings.has_context:
            share = np.exp(scores[rows, labels] - log_totals(scores, 1.0).astype(np.float64))
            influence = _self_influence(self.model.embeddings, vectors, others, labels)
            influence = self.step_size * (1.0 - share) * influence
            scores[rows, labels] -= influence
        counts = np.diff(others.indptr)
        both = np.stack([labels, controls], axis=1)
        measured = scores[rows[:, None], both].astype(np.float64)
        temperatures = self.temperature(counts)
        slip_temperatures = temperatures**_SLIP_POWER
        # A slip adds a label, so the control is one more than the image has.
        log_ways = self.log_ways_on(np.stack([counts + 1, counts + 2], axis=1))
        slips = measured / slip_temperatures[:, None] - log_totals(scores, slip_temperatures)[:, None] + log_ways
        mistakes = self._mistake_odds(scores, both, measured, temperatures)
        lacking = len(self.known.labels) - counts
        statistics = np.stack([slips, _z_scores(scores, measured, positives, lacking), mistakes], axis=2)
        return LabelEvidence(statistics[:, 0], statistics[:, 1], lacking > 1)

    def _mistake_odds(
        self, scores: Floats, labels: NDArray[np.int64], measured: Doubles, temperatures: Floats
    ) -> Doubles:
        """Return the log odds that each of the ``labels`` of a row is there in place of another one."""
        totals = log_totals(scores, temperatures)
        log_odds = totals[:, None] - measured / temperatures[:, None]
        if self._mistakes is not None:
            shares = softmax_shares(scores, totals[:, None], temperatures[:, None])
            chosen = [np.einsum("ij,ij->i", shares, self._mistakes[column]) for column in labels.T]
            log_odds += np.log(np.stack(chosen, axis=1) + _MIN_PROBABILITY)
        return log_odds


def _z_scores(
    scores: Floats, measured: Doubles, positives: tuple[NDArray[np.int64], NDArray[np.int32]], lacking: Counts
) -> Doubles:
    """Return the z-scores of ``measured`` among the scores of the labels that an image lacks; changes ``scores``."""
    scores[positives] = 0.0
    means = scores.sum(axis=1, dtype=np.float64) / lacking
    scores -= means[:, None].astype(np.float32)
    scores[positives] = 0.0
    deviations = np.sqrt(np.einsum("ij,ij->i", scores, scores) / lacking) + 1e-6
    return np.asarray((measured - means[:, None]) / deviations[:, None])


def wrong_confidences(
    auditor: Auditor, wrong_share: float = 0.02, progress: Callable[[int], None] | None = None
) -> Floats:
    """Return the probability that its label is wrong for every known pair, if ``wrong_share`` of all labels are.

    The only label of an image cannot be tested and gets ``wrong_share``. Computes one row of scores per pair.
    """
    known = auditor.known
    tested = _testable(known)
    confidences = np.full(known.pairs, wrong_share, np.float32)
    if not len(tested):
        return confidences
    weights = sample_weights(auditor, sample_pairs(known))
    for block in row_blocks(len(tested), len(known.labels)):
        confidences[tested[block]] = wrong_given(auditor, tested[block], weights, wrong_share)
        if progress:
            progress(block.stop - block.start)
    return confidences


def _testable(known: Annotations) -> NDArray[np.int64]:
    return np.flatnonzero(known.labels_per_image[known.image_numbers()] > 1)


def sample_pairs(known: Annotations, most: int = _MAX_CONTROLS) -> NDArray[np.int64]:
    """Return at most ``most`` random pairs of images with several labels, in order."""
    tested = _testable(known)
    words = _streams().child("pairs").words(len(tested))
    return np.sort(tested[np.argsort(words)[: min(most, _MAX_CONTROLS)]])


def sample_weights(auditor: Auditor, sample: NDArray[np.int64]) -> EvidenceWeights:
    """Return the weights of the statistics, fitted to a sample of pairs and their controls."""
    if not len(sample):
        return EvidenceWeights(np.zeros(3), np.zeros(2))
    controls = choose_controls(auditor, sample)
    blocks = row_blocks(len(sample), len(auditor.known.labels))
    parts = [auditor.evidence(sample[block], controls[block]) for block in blocks]
    known, control, has_control = (np.concatenate(column) for column in zip(*parts, strict=True))
    slip, mistake = slice(0, None, 2), slice(1, None, 2)  # the turns of `choose_controls`
    return EvidenceWeights(
        fit_logistic_regression(known[slip, :2], control[slip, :2], has_control[slip]),
        fit_logistic_regression(known[mistake, 2:], control[mistake, 2:], has_control[mistake]),
    )


def choose_controls(auditor: Auditor, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a label per pair that its image lacks: in turn a random one, and one that is used like the known label."""
    known, streams = auditor.known, _streams()
    images, every = images_of(known, pairs), len(known.labels)
    controls = random_negatives(known.rows(images), every, streams.child("labels").uniforms(len(pairs)))
    turn = np.arange(1, len(pairs), 2)
    rows = known.rows(np.repeat(images[turn], CANDIDATES))
    draws = streams.child("alike").uniforms(len(turn) * CANDIDATES)
    candidates = random_negatives(rows, every, draws).reshape(len(turn), CANDIDATES)
    vectors = auditor.model.embeddings.label_vectors
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    similarities = np.einsum("ijk,ik->ij", vectors[candidates], vectors[known.indices[pairs[turn]]])
    controls[turn] = candidates[np.arange(len(turn)), similarities.argmax(axis=1)]
    return controls


def wrong_given(auditor: Auditor, pairs: NDArray[np.int64], weights: EvidenceWeights, wrong_share: float) -> Floats:
    """Return the probability that the label of each pair is wrong, given the weights of `sample_weights`."""
    evidence = auditor.evidence(pairs, auditor.known.indices[pairs].astype(np.int64))  # controls play no part here
    return wrong_by_evidence(evidence, weights, wrong_share)


def wrong_by_evidence(evidence: LabelEvidence, weights: EvidenceWeights, wrong_share: float) -> Floats:
    """Return the probability that each measured label is wrong, given the weights of `sample_weights`."""
    prior = np.log(wrong_share) - np.log1p(-wrong_share)
    slip = np.log1p(-_MISTAKES) - (evidence.known[:, :2] @ weights.slip[:2] + weights.slip[2])
    mistake = np.log(_MISTAKES) - (evidence.known[:, 2] * weights.mistake[0] + weights.mistake[1])
    log_odds = prior + np.logaddexp(slip, mistake)
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(log_odds, -80.0, 80.0))), np.float32)


def _streams() -> Streams:
    return Streams(0).child("audit", "decoys")  # the name selects the random numbers


def fit_logistic_regression(known: Doubles, control: Doubles, has_control: NDArray[np.bool_]) -> Doubles:
    """Return the weights of the statistics and the intercept for the log odds of known label against control."""
    columns = known.shape[1]
    if not has_control.any():
        return np.zeros(columns + 1)
    samples = np.concatenate([known[has_control], control[has_control]])
    targets = np.repeat([1.0, 0.0], has_control.sum())
    mean, deviation = samples.mean(axis=0), samples.std(axis=0) + 1e-9
    inputs = np.column_stack([(samples - mean) / deviation, np.ones(len(samples))])
    weights = np.zeros(columns + 1)
    for _ in range(_NEWTON_STEPS):
        predicted = 1.0 / (1.0 + np.exp(-np.clip(inputs @ weights, -30.0, 30.0)))
        gradient = inputs.T @ (targets - predicted) - _PENALTY * weights
        hessian = (inputs * (predicted * (1.0 - predicted))[:, None]).T @ inputs + _PENALTY * np.eye(columns + 1)
        weights += np.linalg.solve(hessian, gradient)
    scaled = weights[:-1] / deviation
    return np.array([*scaled, weights[-1] - scaled @ mean])


def random_negatives(known: Csr, labels: int, draws: Doubles) -> NDArray[np.int64]:
    """Return a label per row that the row lacks, chosen by ``draws`` in [0, 1); label 0 if it has all labels."""
    sizes = np.diff(known.indptr)
    chosen = np.minimum((draws * (labels - sizes)).astype(np.int64), np.maximum(labels - sizes - 1, 0))
    # Below the j-th label of a row, the number of lacking labels is its label number minus j.
    rows = np.repeat(np.arange(len(sizes)), sizes)
    below = known.indices - (np.arange(len(rows)) - np.repeat(known.indptr[:-1], sizes))
    negatives = chosen + np.bincount(rows[below <= chosen[rows]], minlength=len(sizes))
    return np.where(sizes < labels, negatives, 0)


def total_step_size(config: Config, epochs: int) -> float:
    """Return the sum of AdaGrad's step sizes, to be divided by the root of the final sum of squared gradients.

    The sum of squares grows linearly, so the sum of rate / sqrt(squares so far) is twice that of rate / sqrt(squares).
    """
    return float(2.0 * config.learning_rate * np.sum(config.learning_rate_decay ** np.arange(epochs)))


def _self_influence(embeddings: Embeddings, vectors: Floats, others: Csr, labels: NDArray[np.int64]) -> Doubles:
    """Return how much a training step on a pair raises its own score, by the label vector and by the input vectors."""
    rows = np.repeat(np.arange(len(labels)), np.diff(others.indptr))
    rates = 1.0 / np.sqrt(embeddings.input_squares[others.indices].astype(np.float64))
    mean_rates = np.bincount(rows, rates, len(labels)) / np.maximum(np.diff(others.indptr), 1)
    by_label = np.einsum("ij,ij->i", vectors, vectors) / np.sqrt(embeddings.label_squares[labels])
    label_vectors = embeddings.label_vectors[labels]
    return np.asarray(by_label + np.einsum("ij,ij->i", label_vectors, label_vectors) * mean_rates, np.float64)


def images_of(known: Annotations, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the image of each pair, given by index."""
    return np.searchsorted(known.indptr, pairs, side="right") - 1


def without_label(known: Annotations, pairs: NDArray[np.int64]) -> Csr:
    """Return, per pair, the other labels of its image."""
    images = images_of(known, pairs)
    indptr, indices = known.rows(images)
    return Csr(indptr - np.arange(len(indptr)), np.delete(indices, indptr[:-1] + pairs - known.indptr[images]))


def vectors_without_label(
    model: Model, images: NDArray[np.int64], others: Csr, fold_in: FoldIn | None = None
) -> Floats:
    """Return v_i of each image as computed from its other labels.

    Without a context tower, v_i was trained on all labels of the image; ``fold_in`` computes one from the others.
    """
    embeddings = model.embeddings
    if not embeddings.has_context:
        return fold_in(others) if fold_in else embeddings.own_vectors(images)
    vectors = embeddings.context(*others)
    if len(embeddings.image_vectors):
        vectors += embeddings.own_vectors(images)
    return vectors
