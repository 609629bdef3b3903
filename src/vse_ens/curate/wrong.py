"""Known labels that are likely wrong.

Every known label is left out of its image and looked at in the company of all labels the image has not: by its share of
the softmax, and by how many standard deviations it lies above their mean. What these two are worth is learnt from the
data alone: beside each known label a *decoy*, a random label that the image has not, is looked at in the same company,
and a logistic regression tells known labels from decoys. A label that looks like a decoy is likely wrong.

A model trained on the very pairs has also learnt the wrong ones. How far a pair has moved its own score is estimated
from the steps that training took, and taken back (`_own_lesson`): for label and input vectors of the context tower. A
free vector of an image (`id` and its sums) still knows all of its labels; without a context, fold-in finds another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.curate.blocks import blocks
from vse_ens.curate.decoys import random_absent, tell_apart
from vse_ens.curate.left_out import FoldIn, images_of, left_out, left_out_vectors
from vse_ens.data.annotations import Annotations
from vse_ens.data.rows import Rows
from vse_ens.evaluate.calibration import log_totals
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.model import Model
from vse_ens.streams import Streams

Doubles = NDArray[np.float64]

# A regression of three numbers needs no more decoys.
_DECOYS = 50_000


class Looks(NamedTuple):
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

    def looks(self, places: NDArray[np.int64], draws: Doubles) -> Looks:
        """How some known pairs, and random labels in their place, look; ``draws`` in [0, 1) choose those."""
        labels, every = self.known.indices[places].astype(np.int64), len(self.known.labels)
        images = images_of(self.known, places)
        others = left_out(self.known, places)
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
        return Looks(look[:, 0], look[:, 1], company > 1)


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
    parts = [auditor.looks(sample[block], draws[block]) for block in blocks(len(sample), len(known.labels))]
    weights = tell_apart(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    prior = np.log(wrong_share) - np.log1p(-wrong_share)
    for block in blocks(len(judged), len(known.labels)):
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


def _own_lesson(embeddings: Embeddings, vectors: Floats, others: Rows, labels: NDArray[np.int64]) -> Doubles:
    """By how much a step of training on a pair raises its own score: by the label's vector, and by the inputs."""
    rows = np.repeat(np.arange(len(labels)), np.diff(others.indptr))
    rates = 1.0 / np.sqrt(embeddings.input_squares[others.indices].astype(np.float64))
    mean_rates = np.bincount(rows, rates, len(labels)) / np.maximum(np.diff(others.indptr), 1)
    by_label = np.einsum("ij,ij->i", vectors, vectors) / np.sqrt(embeddings.label_squares[labels])
    wanted = embeddings.label_vectors[labels]
    return np.asarray(by_label + np.einsum("ij,ij->i", wanted, wanted) * mean_rates, np.float64)
