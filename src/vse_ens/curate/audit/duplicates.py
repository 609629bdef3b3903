"""Labels that mean the same, and labels that are merely used alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vse_ens.curate.label_similarity import LabelSimilarity, nearest_pairs
from vse_ens.curate.rules.aliases import alias_pairs, in_numbers
from vse_ens.data.annotations import Annotations
from vse_ens.model.embeddings import Embeddings, Floats

# Number of nearest labels that each label is compared with.
_NEIGHBORS = 5
# Vectors of labels on fewer images are not reliable.
_MIN_IMAGES = 10
# The list ends at this similarity, reduced by common images. Of 35 labels of scenes, IAPR TC-12 and MIRFLICKR that were
# split in two at random, 34 reach it, and 5 % of the other pairs.
_MIN_SIMILARITY = 0.5


@dataclass(frozen=True)
class Duplicate:
    """A label that means the same as another, more frequent one, or is merely used like it."""

    label: str
    other: str
    kind: Literal["same", "alike"]
    """``same`` if spelling or a strict test of their use says that they mean the same, else ``alike``."""
    reason: str


def near_duplicates(embeddings: Embeddings, known: Annotations, top: int) -> list[Duplicate]:
    """Return the ``top`` pairs of labels: first those that mean the same, then those that are used alike.

    Two labels mean the same by the evidence of `vse_ens.curate.rules.aliases`. They are used alike if their vectors are
    near and they do not occur together more often than by chance; the more similar ones come first, and the list ends
    where they are no longer near.
    """
    similarity = LabelSimilarity(known)
    same = alias_pairs(known, similarity)[:top]
    pairs = {(pair.label, pair.other) for pair in same}
    found = [_duplicate(known, pair.label, pair.other, "same", f"{pair.evidence}; ", pair.together) for pair in same]
    vectors = _unit(np.asarray(embeddings.label_vectors))
    alike = sorted(
        _compare(one, other, vectors, known, similarity.together(one, other))
        for one, other in _near(vectors, known.images_per_label)
    )
    found += [
        _duplicate(known, label, other, "alike", f"similarity {cosine:.2f}; ", together)
        for order, label, other, cosine, together in alike
        if -order >= _MIN_SIMILARITY and (label, other) not in pairs
    ]
    return found[:top]


def _compare(
    one: int, other: int, vectors: Floats, known: Annotations, together: int
) -> tuple[float, int, int, float, int]:
    """Return what pairs are sorted by, the rarer label, the other one, their similarity, and their common images.

    They are sorted by similarity, reduced if the labels occur together more often than by chance.
    """
    counts = known.images_per_label
    chance = counts[one] * counts[other] / len(known.images)
    similarity = float(vectors[one] @ vectors[other])
    in_use = max(similarity, 0.0) / (1.0 + together / chance)
    rarer_first = (counts[one], -one) < (counts[other], -other)
    label, kept = (one, other) if rarer_first else (other, one)
    return -float(in_use), label, kept, similarity, together


def _duplicate(
    known: Annotations, label: int, other: int, kind: Literal["same", "alike"], evidence: str, together: int
) -> Duplicate:
    own, others = (int(known.images_per_label[number]) for number in (label, other))
    reason = evidence + in_numbers(own, others, together)
    return Duplicate(known.labels.id(label), known.labels.id(other), kind, reason)


def _near(vectors: Floats, counts: NDArray[np.int64]) -> set[tuple[int, int]]:
    """Return pairs one < other of labels that are not rare, one of them among the nearest of the other."""
    common = np.flatnonzero(counts >= _MIN_IMAGES)
    nearest = min(_NEIGHBORS, len(common) - 1)
    return nearest_pairs(vectors[common], common, nearest) if nearest >= 1 else set()


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny))
