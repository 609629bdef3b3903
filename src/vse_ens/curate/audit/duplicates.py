"""Labels that could be one: the same company but rarely together, or the same word.

Which words are spelt alike.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.topk import row_blocks

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
    for block in row_blocks(len(common), len(common)):
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


Likeness = Literal["same word", "one letter"]

# A letter more or less in a short word makes another word: "cat", "coat", "boat".
_SHORTEST = 5


def alike(words: Iterable[str]) -> dict[tuple[int, int], Likeness]:
    """Pairs of places in ``words``: the same but for case, accents, punctuation and plural, or one letter apart.

    Every word is filed under what is left of it; nothing is compared with everything.
    """
    stems = [stem(word) for word in words]
    same, near = defaultdict(list), defaultdict(list)
    for place, word in enumerate(stems):
        same[word].append(place)
        for key in _with_a_letter_gone(word):
            near[key].append(place)
    found: dict[tuple[int, int], Likeness] = {}
    for places in near.values():
        for one, other in combinations(places, 2):
            if one != other and _one_letter_apart(stems[one], stems[other]):
                found[one, other] = "one letter"
    for word, places in same.items():
        if word:
            found.update(dict.fromkeys(combinations(places, 2), "same word"))
    return found


def stem(word: str) -> str:
    """A word without case, accents, punctuation and an English plural's ending; all that is left of signs alone: ''."""
    folded = unicodedata.normalize("NFKD", word.casefold())
    plain = "".join(letter for letter in folded if letter.isalnum())
    if len(plain) > 4 and plain.endswith("ies"):
        return plain[:-3] + "y"
    if len(plain) > 4 and plain.endswith(("ches", "shes", "sses", "xes", "zes")):
        return plain[:-2]
    if len(plain) > 3 and plain.endswith("s") and not plain.endswith(("ss", "us", "is")):
        return plain[:-1]
    return plain


def _with_a_letter_gone(word: str) -> Iterator[str]:
    if len(word) >= _SHORTEST:
        yield word
        yield from {word[:place] + word[place + 1 :] for place in range(len(word))}


def _one_letter_apart(one: str, other: str) -> bool:
    """Whether one letter is added, gone or another; digits do not count: "route 66" is not "route 67"."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    shorter, longer = sorted((one, other), key=len)
    place = next((n for n, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    skip = len(shorter) == len(longer)
    rest_is_same = shorter[place + skip :] == longer[place + 1 :]
    return rest_is_same and not any(word[place : place + 1].isdigit() for word in (one, other))
