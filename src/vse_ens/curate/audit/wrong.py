"""Known labels that are likely wrong.

Every known label is removed from its image and compared with all labels that the image lacks. A label is wrong by a
*slip*, which adds any label to an image, or by a *mistake*, where a label takes the place of one that is used alike.

- The odds against a slip grow with the softmax share of the label, with its z-score, and with the size of the image: an
  image with n labels is right, or one of n - 1 labels with a slip. Slips are as frequent as labels, so there are n I(n)
  labels of the first kind to (n - 1) I(n - 1) of the second, where I(n) is the number of images with n labels.
- The odds of a mistake are the shares of all other labels, each times the probability that this label is chosen in its
  place (`vse_ens.curate.audit.odds`), over the share of the label.

Another label that the image lacks, the *control*, is measured the same way: in turn a random one, as a slip is, and one
that is used like the known label, as in a mistake. One logistic regression per kind of known labels against its
controls turns the statistics into odds, and the odds of both kinds are mixed.

The labels of an image compete: of two that do not fit to each other, one is wrong, not both. The confidences add up to
the expected number of wrong labels (`vse_ens.curate.audit.odds`).

A model trained on these pairs has learned the wrong ones, too. The influence of a pair on its own score is estimated
from the step sizes of training and subtracted (`_self_influence`), for label and input vectors of the context tower; no
score gets lower than the lowest one of the image. Image vectors still depend on all labels of the image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.curate.audit.odds import (
    CANDIDATES,
    MAX_LABELS,
    alone,
    confidences_of,
    doubts,
    fit_logistic_regression,
    mistake_probabilities,
)
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import Csr
from vse_ens.model.calibration import Counts, log_totals, softmax_shares
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.loaded import LoadedModel
from vse_ens.model.topk import row_blocks
from vse_ens.streams import Streams

Doubles = NDArray[np.float64]

# A regression with three parameters needs no more controls, and the sum of confidences no more pairs.
_MAX_CONTROLS = 20_000
_MAX_DOUBTS = 10_000
# The share of mistakes among wrong labels. Chosen on errors planted in Corel5k and IAPR-TC12: a larger share finds more
# mistakes and fewer slips.
_MISTAKES = 0.3
# The evidence about a label that this many other images have counts half.
_FEW_IMAGES = 1.0
# Added to the probability of a mistake, whose logarithm is taken.
_MIN_PROBABILITY = 1e-6


class LabelEvidence(NamedTuple):
    """Statistics of labels: log of softmax share, z-score, and the log odds of a mistake before fitting."""

    known: Doubles  # pairs x 3: of the removed label
    control: Doubles  # pairs x 3: of another label that the image lacks
    has_control: NDArray[np.bool_]  # pairs: False for an image that has all labels
    log_size_odds: Doubles  # pairs: by the number of labels of the image
    trust: Doubles  # pairs: from 0, if no other image has the label, to 1


class EvidenceWeights(NamedTuple):
    """Weights of statistics, and an intercept, for the log odds of known label against control; and what they give."""

    slip: Doubles  # of the first two statistics
    mistake: Doubles  # of the third
    doubts: Doubles  # `doubts` about a sample of pairs


@dataclass(frozen=True)
class Auditor:
    """Measures known pairs by a model."""

    loaded: LoadedModel
    step_size: float = 0.0
    """`total_step_size` of training on these pairs; 0 if the model was trained on other pairs."""

    @property
    def known(self) -> Annotations:
        """The pairs."""
        return self.loaded.known

    @cached_property
    def _images_by_size(self) -> Doubles:
        """The number of images with 0, 1, ... labels, plus 1; the last entry stands for all larger sizes."""
        return np.append(np.bincount(self.known.labels_per_image), 0.0) + 1.0

    @cached_property
    def _mistakes(self) -> Floats | None:
        return mistake_probabilities(self.known) if len(self.known.labels) <= MAX_LABELS else None

    def log_size_odds(self, counts: NDArray[np.integer]) -> Doubles:
        """Return the log odds against a slip by size alone, for images with ``counts`` labels."""
        images = self._images_by_size
        last = len(images) - 1
        ratio = images[np.minimum(counts, last)] / images[np.minimum(counts - 1, last)]
        return np.asarray(np.log(ratio * counts / np.maximum(counts - 1, 1)), np.float64)

    def evidence(self, pairs: NDArray[np.int64], controls: NDArray[np.int64]) -> LabelEvidence:
        """Measure known pairs, given by index, and a control for each."""
        labels, images = self.known.indices[pairs].astype(np.int64), images_of(self.known, pairs)
        return self.evidence_of(images, labels, without_label(self.known, pairs), controls)

    def evidence_of(
        self, images: NDArray[np.int64], labels: NDArray[np.int64], others: Csr, controls: NDArray[np.int64]
    ) -> LabelEvidence:
        """Measure a label and a control of each image, given the other labels that the image has."""
        model = self.loaded.model
        vectors = self.loaded.vectors_by_labels(others, images)
        scores = model.scores_of(vectors, others, images)
        rows = np.arange(len(images))
        positives = np.repeat(rows, np.diff(others.indptr)), others.indices
        lowest = scores.min(axis=1)
        scores[positives] = -np.inf
        if self.step_size and model.embeddings.has_context:
            share = np.exp(scores[rows, labels] - log_totals(scores, 1.0).astype(np.float64))
            influence = _self_influence(model.embeddings, vectors, others, labels)
            influence = self.step_size * (1.0 - share) * influence
            # Of a rare label, the estimate takes back more than training has added.
            scores[rows, labels] = np.maximum(scores[rows, labels] - influence, lowest)
        counts = np.diff(others.indptr)
        both = np.stack([labels, controls], axis=1)
        measured = scores[rows[:, None], both].astype(np.float64)
        temperatures = self.loaded.temperature(model.evidence(others, images))[:, None]
        totals = log_totals(scores, temperatures[:, 0])[:, None]
        log_shares = measured / temperatures - totals
        mistakes = -log_shares
        if self._mistakes is not None:
            shares = softmax_shares(scores, totals, temperatures)
            chosen = [np.einsum("ij,ij->i", shares, self._mistakes[column]) for column in both.T]
            mistakes += np.log(np.stack(chosen, axis=1) + _MIN_PROBABILITY)
        lacking = len(self.known.labels) - counts
        statistics = np.stack([log_shares, _z_scores(scores, measured, positives, lacking), mistakes], axis=2)
        elsewhere = np.maximum(self.known.images_per_label[labels] - 1, 0)
        trust = elsewhere / (elsewhere + _FEW_IMAGES)
        return LabelEvidence(statistics[:, 0], statistics[:, 1], lacking > 1, self.log_size_odds(counts + 1), trust)


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
    if len(tested):
        weights = sample_weights(auditor, sample_pairs(known))
        found = _doubts_on(auditor, tested, weights, progress)
        confidences[tested] = confidences_of(found, weights.doubts, wrong_share)
    return confidences


def _doubts_on(
    auditor: Auditor,
    pairs: NDArray[np.int64],
    weights: EvidenceWeights,
    progress: Callable[[int], None] | None = None,
) -> Doubles:
    """Return the `doubts` about all pairs of some images."""
    return doubts(_pair_ratios(auditor, pairs, weights, progress), images_of(auditor.known, pairs))


def _pair_ratios(
    auditor: Auditor,
    pairs: NDArray[np.int64],
    weights: EvidenceWeights,
    progress: Callable[[int], None] | None = None,
) -> Doubles:
    ratios = np.empty(len(pairs))
    for block in row_blocks(len(pairs), len(auditor.known.labels)):
        labels = auditor.known.indices[pairs[block]].astype(np.int64)
        ratios[block] = log_ratios(auditor.evidence(pairs[block], labels), weights)  # controls play no part here
        if progress:
            progress(block.stop - block.start)
    return ratios


def _testable(known: Annotations) -> NDArray[np.int64]:
    return np.flatnonzero(known.labels_per_image[known.image_numbers()] > 1)


def sample_pairs(known: Annotations, most: int = _MAX_CONTROLS) -> NDArray[np.int64]:
    """Return at most ``most`` random pairs of images with several labels, in order."""
    tested = _testable(known)
    words = _streams().child("pairs").words(len(tested))
    return np.sort(tested[np.argsort(words)[: min(most, _MAX_CONTROLS)]])


def sample_images(known: Annotations, pairs: int) -> NDArray[np.int64]:
    """Return random images with several labels, in order: one, and more as long as they have at most ``pairs``."""
    images = np.flatnonzero(known.labels_per_image > 1)
    images = images[np.argsort(_streams().child("images").words(len(images)))]
    fitting = np.cumsum(known.labels_per_image[images]) <= pairs
    return np.sort(images[: max(1, int(fitting.sum()))])


def sample_weights(auditor: Auditor, sample: NDArray[np.int64]) -> EvidenceWeights:
    """Return the weights of the statistics, fitted to a sample of pairs and their controls."""
    if not len(sample):
        return EvidenceWeights(np.zeros(3), np.zeros(2), np.zeros(0))
    controls = choose_controls(auditor, sample)
    blocks = row_blocks(len(sample), len(auditor.known.labels))
    parts = [auditor.evidence(sample[block], controls[block]) for block in blocks]
    known, control, has_control, *_ = (np.concatenate(column) for column in zip(*parts, strict=True))
    slip, mistake = slice(0, None, 2), slice(1, None, 2)  # the turns of `choose_controls`
    weights = EvidenceWeights(
        fit_logistic_regression(known[slip, :2], control[slip, :2], has_control[slip]),
        fit_logistic_regression(known[mistake, 2:], control[mistake, 2:], has_control[mistake]),
        np.zeros(0),
    )
    images = sample_images(auditor.known, min(len(sample), _MAX_DOUBTS))
    return weights._replace(doubts=_doubts_on(auditor, _pairs_of(auditor.known, images), weights))


def choose_controls(auditor: Auditor, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a label per pair that its image lacks: in turn a random one, and one that is used like the known label."""
    known, streams = auditor.known, _streams()
    images, every = images_of(known, pairs), len(known.labels)
    controls = random_negatives(known.rows(images), every, streams.child("labels").uniforms(len(pairs)))
    turn = np.arange(1, len(pairs), 2)
    rows = known.rows(np.repeat(images[turn], CANDIDATES))
    draws = streams.child("alike").uniforms(len(turn) * CANDIDATES)
    candidates = random_negatives(rows, every, draws).reshape(len(turn), CANDIDATES)
    vectors = auditor.loaded.model.embeddings.label_vectors
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    similarities = np.einsum("ijk,ik->ij", vectors[candidates], vectors[known.indices[pairs[turn]]])
    controls[turn] = candidates[np.arange(len(turn)), similarities.argmax(axis=1)]
    return controls


def wrong_given(auditor: Auditor, pairs: NDArray[np.int64], weights: EvidenceWeights, wrong_share: float) -> Floats:
    """Return the probability that the label of each pair is wrong, given the weights of `sample_weights`.

    The other labels of an image can only lower it, and are measured if it is above ``wrong_share`` without them.
    """
    known = auditor.known
    found = confidences_of(alone(_pair_ratios(auditor, pairs, weights)), weights.doubts, wrong_share)
    likely = np.flatnonzero(found > wrong_share)
    every = _pairs_of(known, np.unique(images_of(known, pairs[likely])))
    whole = _doubts_on(auditor, every, weights)[np.searchsorted(every, pairs[likely])]
    found[likely] = confidences_of(whole, weights.doubts, wrong_share)
    return found


def _pairs_of(known: Annotations, images: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pairs of the images, by index."""
    counts = known.labels_per_image[images]
    starts = known.indptr[images] - np.cumsum(counts) + counts
    return np.asarray(np.repeat(starts, counts) + np.arange(counts.sum()), np.int64)


def wrong_by_evidence(evidence: LabelEvidence, weights: EvidenceWeights, wrong_share: float) -> Floats:
    """Return the probability that each measured label is wrong if the other labels of its image are right."""
    return confidences_of(alone(log_ratios(evidence, weights)), weights.doubts, wrong_share)


def log_ratios(evidence: LabelEvidence, weights: EvidenceWeights) -> Doubles:
    """Return the log of the likelihood of the evidence if the label is wrong, over that if it is right.

    The less a label is known from other images, the closer to 0: the model cannot tell what it fits to.
    """
    share, deviation = evidence.known[:, 0] * weights.slip[0], evidence.known[:, 1] * weights.slip[1]
    slip = np.log1p(-_MISTAKES) - (share + deviation + weights.slip[2] + evidence.log_size_odds)
    mistake = np.log(_MISTAKES) - (evidence.known[:, 2] * weights.mistake[0] + weights.mistake[1])
    return np.asarray(np.clip(evidence.trust * np.logaddexp(slip, mistake), -80.0, 80.0))


def _streams() -> Streams:
    return Streams(0).child("audit", "decoys")  # the name selects the random numbers


def random_negatives(known: Csr, labels: int, draws: Doubles) -> NDArray[np.int64]:
    """Return a label per row that the row lacks, chosen by ``draws`` in [0, 1); label 0 if it has all labels."""
    sizes = np.diff(known.indptr)
    chosen = np.minimum((draws * (labels - sizes)).astype(np.int64), np.maximum(labels - sizes - 1, 0))
    # Below the j-th label of a row, the number of lacking labels is its label number minus j.
    rows = np.repeat(np.arange(len(sizes)), sizes)
    below = known.indices - (np.arange(len(rows)) - np.repeat(known.indptr[:-1], sizes))
    negatives = chosen + np.bincount(rows[below <= chosen[rows]], minlength=len(sizes))
    return np.where(sizes < labels, negatives, 0)


def total_step_size(config: Config, training: Mapping[str, Any]) -> float:
    """Return the sum of AdaGrad's step sizes, to be divided by the root of the final sum of squared gradients.

    ``training`` are the facts about the training. The sum of squares grows linearly, so the sum of
    rate / sqrt(squares so far) is twice the sum of rate / sqrt(squares).
    """
    # Models of version 0.2 do not say how many epochs made them.
    epochs = training.get("model_epochs", training["best_epoch"])
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
