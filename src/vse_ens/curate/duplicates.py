"""Labels that could be one: the same company but rarely together, or the same word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.curate.blocks import blocks
from vse_ens.curate.spelling import Likeness, alike
from vse_ens.data.annotations import Annotations
from vse_ens.model.embeddings import Embeddings, Floats

# Of every label so many with the most similar vectors are looked at.
_NEIGHBOURS = 5
# Company says nothing of labels that few images have.
_FEWEST_IMAGES = 10
# How sure one can be of two words with the same stem before anything else is known.
_SAME_WORD = 0.8


@dataclass(frozen=True)
class Duplicate:
    """A label that might be merged into another, more common one."""

    label: str
    other: str
    confidence: float
    reason: str


class _Pair(NamedTuple):
    label: int
    other: int
    confidence: float
    similarity: float
    together: int
    spelling: Likeness | None


def near_duplicates(embeddings: Embeddings, known: Annotations, top: int) -> list[Duplicate]:
    """The ``top`` pairs of labels that most look like one.

    Company counts by the cosine of the label vectors, less the more often the two occur together than chance would
    have it; two words of one stem count beside it, words one letter apart as much as their company is alike.
    """
    counts = known.images_per_label
    vectors = _unit(np.asarray(embeddings.label_vectors))
    spelt = alike(known.labels)
    pairs = {pair for pair in spelt if counts[list(pair)].all()} | _neighbours(vectors, counts)
    images = _ImagesOfLabels(known)
    judged = [_judge(one, other, vectors, images, spelt.get((one, other))) for one, other in sorted(pairs)]
    best = sorted(judged, key=lambda pair: (-pair.confidence, pair.label, pair.other))[:top]
    return [_told(pair, known) for pair in best]


class _ImagesOfLabels:
    """The images of every label, rising."""

    def __init__(self, known: Annotations) -> None:
        self.count = len(known.images)
        self._images = known.image_numbers()[np.argsort(known.indices, kind="stable")]
        self._starts = np.concatenate([[0], np.cumsum(known.images_per_label)])

    def of(self, label: int) -> NDArray[np.int32]:
        return self._images[self._starts[label] : self._starts[label + 1]]


def _judge(one: int, other: int, vectors: Floats, images: _ImagesOfLabels, spelling: Likeness | None) -> _Pair:
    ours, theirs = images.of(one), images.of(other)
    together = len(np.intersect1d(ours, theirs, assume_unique=True))
    expected = len(ours) * len(theirs) / images.count
    similarity = float(vectors[one] @ vectors[other])
    company = max(similarity, 0.0) / (1.0 + together / expected)
    doubt = {"same word": 1.0 - _SAME_WORD, "one letter": 1.0 - company, None: 1.0}[spelling]
    label, kept = (one, other) if (len(ours), -one) < (len(theirs), -other) else (other, one)
    return _Pair(label, kept, 1.0 - (1.0 - min(company, 1.0)) * doubt, similarity, together, spelling)


def _told(pair: _Pair, known: Annotations) -> Duplicate:
    ours, theirs = (int(known.images_per_label[label]) for label in (pair.label, pair.other))
    words = {"same word": "the same word; ", "one letter": "one letter apart; ", None: ""}[pair.spelling]
    reason = (
        f"{words}company alike by {pair.similarity:.2f}; "
        f"on {ours:,} and {theirs:,} images, on {pair.together:,} together"
    )
    return Duplicate(known.labels.id(pair.label), known.labels.id(pair.other), pair.confidence, reason)


def _neighbours(vectors: Floats, counts: NDArray[np.int64]) -> set[tuple[int, int]]:
    """The pairs one < other of labels that are not rare, of which one is among the most similar of the other."""
    common = np.flatnonzero(counts >= _FEWEST_IMAGES)
    nearest = min(_NEIGHBOURS, len(common) - 1)
    found: set[tuple[int, int]] = set()
    if nearest < 1:
        return found
    for block in blocks(len(common), len(common)):
        rows = common[block]
        similar = vectors[rows] @ vectors[common].T
        similar[np.arange(len(rows)), np.arange(block.start, block.stop)] = -np.inf
        close = common[np.argpartition(-similar, nearest - 1, axis=1)[:, :nearest]]
        ends = np.sort(np.stack([np.repeat(rows, nearest), close.ravel()], axis=1), axis=1)
        found.update((one, other) for one, other in ends.tolist())
    return found


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny))
