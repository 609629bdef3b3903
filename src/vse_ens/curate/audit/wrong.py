"""Known labels that are likely wrong.

Every known label is left out of its image and looked at in the company of all labels the image has not: by its share of
the softmax, and by how many standard deviations it lies above their mean. What these two are worth is learnt from the
data alone: beside each known label a *decoy*, a random label that the image has not, is looked at in the same company,
and a logistic regression tells known labels from decoys. A label that looks like a decoy is likely wrong.

A model trained on the very pairs has also learnt the wrong ones. How far a pair has moved its own score is estimated
from the steps that training took, and taken back (`_own_lesson`): for label and input vectors of the context tower. A
free vector of an image (`id` and its sums) still knows all of its labels; without a context, fold-in finds another.

Labels drawn at random, and how known ones are told from them.

Known labels, each judged as if it were not known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import Csr
from vse_ens.model.calibration import log_totals
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.model import Model
from vse_ens.model.topk import row_blocks
from vse_ens.streams import Streams

Doubles = NDArray[np.float64]

# A regression of three numbers needs no more decoys.
_DECOYS = 50_000


class LabelEvidence(NamedTuple):
    """How labels stand in the company of all labels their images have not."""

    known: Doubles  # pairs x 2: of the label left out, log of the share and standard deviations above the mean
    decoy: Doubles  # pairs x 2: of a label drawn at random, in the same company
    has_decoy: NDArray[np.bool_]  # pairs: an image with all labels has none


@dataclass(frozen=True)
class Auditor:
    """Looks at known pairs by a model, trained on them or not."""

    model: Model
    known: Annotations
    steps: float = 0.0
    """How far training on these pairs went, as `steps_of` tells; 0 where the model was trained on others."""
    fold_in: FoldIn | None = None

    def looks(self, places: NDArray[np.int64], draws: Doubles) -> LabelEvidence:
        """How some known pairs, and random labels in their place, look; ``draws`` in [0, 1) choose those."""
        labels, every = self.known.indices[places].astype(np.int64), len(self.known.labels)
        images = images_of(self.known, places)
        others = without_label(self.known, places)
        vectors = left_out_vectors(self.model, images, others, self.fold_in)
        scores = self.model.scores_of(vectors, *others)
        rows = np.arange(len(places))
        beside = np.repeat(rows, np.diff(others.indptr)), others.indices
        scores[beside] = -np.inf
        totals = log_totals(scores, 1.0).astype(np.float64)
        if self.steps and self.model.embeddings.has_context:
            share = np.exp(scores[rows, labels] - totals)
            lesson = self.steps * (1.0 - share) * _own_lesson(self.model.embeddings, vectors, others, labels)
            scores[rows, labels] -= lesson
            totals += np.log1p(np.maximum(share * np.expm1(-lesson), -1.0 + 1e-9))

        company = every - np.diff(others.indptr)
        decoys = random_absent(self.known.rows(images), every, draws)
        judged = np.stack([scores[rows, labels], scores[rows, decoys]], axis=1).astype(np.float64)
        scores[beside] = 0.0
        means = scores.sum(axis=1, dtype=np.float64) / company
        scores -= means[:, None].astype(np.float32)
        scores[beside] = 0.0
        spreads = np.sqrt(np.einsum("ij,ij->i", scores, scores) / company) + 1e-6
        look = np.stack([judged - totals[:, None], (judged - means[:, None]) / spreads[:, None]], axis=2)
        return LabelEvidence(look[:, 0], look[:, 1], company > 1)


def wrong_confidences(
    auditor: Auditor, wrong_share: float = 0.02, progress: Callable[[int], None] | None = None
) -> Floats:
    """For every known pair how likely its label is wrong, if ``wrong_share`` of all labels are.

    A label alone on its image cannot be told from others: it gets that share. Takes one row of scores a pair.
    """
    known = auditor.known
    streams = Streams(0).child("audit", "decoys")
    judged = np.flatnonzero(known.labels_per_image[known.image_numbers()] > 1)
    confidences = np.full(known.pairs, wrong_share, np.float32)
    if not len(judged):
        return confidences
    sample = np.sort(judged[np.argsort(streams.child("pairs").words(len(judged)))[:_DECOYS]])
    draws = streams.child("labels").uniforms(len(sample))
    parts = [auditor.looks(sample[block], draws[block]) for block in row_blocks(len(sample), len(known.labels))]
    weights = tell_apart(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    prior = np.log(wrong_share) - np.log1p(-wrong_share)
    for block in row_blocks(len(judged), len(known.labels)):
        places = judged[block]
        looks = auditor.looks(places, np.zeros(len(places)))
        odds = prior - (looks.known @ weights[:2] + weights[2])
        confidences[places] = 1.0 / (1.0 + np.exp(-np.clip(odds, -80.0, 80.0)))
        if progress:
            progress(len(places))
    return confidences


def steps_of(config: Config, epochs: int) -> float:
    """How far AdaGrad has stepped in so many epochs, but for the root of the squares it ends with.

    The squares grow evenly, so that the sum of rate / sqrt(squares so far) is twice that of rate / sqrt(squares).
    """
    return float(2.0 * config.learning_rate * np.sum(config.learning_rate_decay ** np.arange(epochs)))


def _own_lesson(embeddings: Embeddings, vectors: Floats, others: Csr, labels: NDArray[np.int64]) -> Doubles:
    """By how much a step of training on a pair raises its own score: by the label's vector, and by the inputs."""
    rows = np.repeat(np.arange(len(labels)), np.diff(others.indptr))
    rates = 1.0 / np.sqrt(embeddings.input_squares[others.indices].astype(np.float64))
    mean_rates = np.bincount(rows, rates, len(labels)) / np.maximum(np.diff(others.indptr), 1)
    by_label = np.einsum("ij,ij->i", vectors, vectors) / np.sqrt(embeddings.label_squares[labels])
    wanted = embeddings.label_vectors[labels]
    return np.asarray(by_label + np.einsum("ij,ij->i", wanted, wanted) * mean_rates, np.float64)


# Of the regression: enough to keep it finite where the two can be told apart without a fault.
_RIDGE = 1e-2
_NEWTON_STEPS = 25


def random_absent(owned: Csr, labels: int, draws: Doubles) -> NDArray[np.int64]:
    """A label that is not in the row, for each row; label 0 where all are."""
    sizes = np.diff(owned.indptr)
    chosen = np.minimum((draws * (labels - sizes)).astype(np.int64), np.maximum(labels - sizes - 1, 0))
    # Of the j-th label of a row as many absent ones lie below as its number is above j.
    rows = np.repeat(np.arange(len(sizes)), sizes)
    below = owned.indices - (np.arange(len(rows)) - np.repeat(owned.indptr[:-1], sizes))
    found = chosen + np.bincount(rows[below <= chosen[rows]], minlength=len(sizes))
    return np.where(sizes < labels, found, 0)


def tell_apart(known: Doubles, decoys: Doubles, has_decoy: NDArray[np.bool_]) -> Doubles:
    """Weights of a logistic regression, the constant last: how much more a look is like known labels than decoys."""
    if not has_decoy.any():
        return np.zeros(3)
    looks = np.concatenate([known[has_decoy], decoys[has_decoy]])
    truth = np.repeat([1.0, 0.0], has_decoy.sum())
    centre, spread = looks.mean(axis=0), looks.std(axis=0) + 1e-9
    inputs = np.column_stack([(looks - centre) / spread, np.ones(len(looks))])
    weights = np.zeros(3)
    for _ in range(_NEWTON_STEPS):
        expected = 1.0 / (1.0 + np.exp(-np.clip(inputs @ weights, -30.0, 30.0)))
        slope = inputs.T @ (truth - expected) - _RIDGE * weights
        curvature = (inputs * (expected * (1.0 - expected))[:, None]).T @ inputs + _RIDGE * np.eye(3)
        weights += np.linalg.solve(curvature, slope)
    scaled = weights[:2] / spread
    return np.array([*scaled, weights[2] - scaled @ centre])


FoldIn = Callable[[Csr], Floats]
"""The vectors of images known by their labels alone."""


def images_of(known: Annotations, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The image of each of some pairs."""
    return np.searchsorted(known.indptr, places, side="right") - 1


def without_label(known: Annotations, places: NDArray[np.int64]) -> Csr:
    """For each of some pairs the labels that its image has beside it."""
    images = images_of(known, places)
    indptr, indices = known.rows(images)
    return Csr(indptr - np.arange(len(indptr)), np.delete(indices, indptr[:-1] + places - known.indptr[images]))


def left_out_vectors(model: Model, images: NDArray[np.int64], others: Csr, fold_in: FoldIn | None = None) -> Floats:
    """v_i as built from the other labels.

    A free vector was trained with all labels of its image: without a context, ``fold_in`` finds one for the others.
    """
    embeddings = model.embeddings
    if not embeddings.has_context:
        return fold_in(others) if fold_in else np.asarray(embeddings.image_vectors[images])
    vectors = embeddings.context(*others)
    if len(embeddings.image_vectors):
        vectors += embeddings.image_vectors[images]
    return vectors
