"""Labels that are likely duplicates: similar in use but rarely on the same image, or similar in spelling."""

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

SpellingMatch = Literal["same word", "one letter"]

# Number of nearest labels that each label is compared with.
_NEIGHBOURS = 5
# Vectors of labels on fewer images are not reliable.
_MIN_IMAGES = 10
# Confidence that two words with the same stem are duplicates, without other evidence.
_SAME_WORD = 0.8
# In shorter words another letter makes another word: "cat", "coat", "boat".
_MIN_LETTERS = 5


@dataclass(frozen=True)
class Duplicate:
    """A label that might be merged into another, more frequent one."""

    label: str
    other: str
    confidence: float
    reason: str


class _Candidate(NamedTuple):
    label: int
    other: int
    confidence: float
    similarity: float
    together: int
    spelling: SpellingMatch | None


def near_duplicates(embeddings: Embeddings, known: Annotations, top: int) -> list[Duplicate]:
    """Return the ``top`` pairs of labels that are most likely duplicates.

    Similarity in use is the cosine of the label vectors, reduced if the two labels occur together more often than by
    chance. The same stem adds fixed evidence; one differing letter adds as much evidence as the similarity in use.
    """
    counts = known.images_per_label
    vectors = _unit(np.asarray(embeddings.label_vectors))
    spelling = spelling_matches(known.labels)
    pairs = {pair for pair in spelling if counts[list(pair)].all()} | _nearest_pairs(vectors, counts)
    images = _ImagesOfLabels(known)
    candidates = [_compare(one, other, vectors, images, spelling.get((one, other))) for one, other in sorted(pairs)]
    best = sorted(candidates, key=lambda pair: (-pair.confidence, pair.label, pair.other))[:top]
    return [_to_duplicate(pair, known) for pair in best]


class _ImagesOfLabels:
    """The sorted image numbers of every label."""

    def __init__(self, known: Annotations) -> None:
        self.count = len(known.images)
        self._images = known.image_numbers()[np.argsort(known.indices, kind="stable")]
        self._starts = np.concatenate([[0], np.cumsum(known.images_per_label)])

    def of(self, label: int) -> NDArray[np.int32]:
        return self._images[self._starts[label] : self._starts[label + 1]]


def _compare(
    one: int, other: int, vectors: Floats, images: _ImagesOfLabels, spelling: SpellingMatch | None
) -> _Candidate:
    images_one, images_other = images.of(one), images.of(other)
    together = len(np.intersect1d(images_one, images_other, assume_unique=True))
    expected = len(images_one) * len(images_other) / images.count
    similarity = float(vectors[one] @ vectors[other])
    in_use = max(similarity, 0.0) / (1.0 + together / expected)
    doubt = {"same word": 1.0 - _SAME_WORD, "one letter": 1.0 - in_use, None: 1.0}[spelling]
    rarer_first = (len(images_one), -one) < (len(images_other), -other)
    label, kept = (one, other) if rarer_first else (other, one)
    return _Candidate(label, kept, 1.0 - (1.0 - min(in_use, 1.0)) * doubt, similarity, together, spelling)


def _to_duplicate(pair: _Candidate, known: Annotations) -> Duplicate:
    own, other = (int(known.images_per_label[label]) for label in (pair.label, pair.other))
    spelling = {"same word": "same word; ", "one letter": "one letter differs; ", None: ""}[pair.spelling]
    reason = f"{spelling}similarity {pair.similarity:.2f}; on {own:,} and {other:,} images, {pair.together:,} in common"
    return Duplicate(known.labels.id(pair.label), known.labels.id(pair.other), pair.confidence, reason)


def _nearest_pairs(vectors: Floats, counts: NDArray[np.int64]) -> set[tuple[int, int]]:
    """Return pairs one < other of labels that are not rare, one of them among the nearest of the other."""
    common = np.flatnonzero(counts >= _MIN_IMAGES)
    nearest = min(_NEIGHBOURS, len(common) - 1)
    pairs: set[tuple[int, int]] = set()
    if nearest < 1:
        return pairs
    for block in row_blocks(len(common), len(common)):
        rows = common[block]
        similarities = vectors[rows] @ vectors[common].T
        similarities[np.arange(len(rows)), np.arange(block.start, block.stop)] = -np.inf
        close = common[np.argpartition(-similarities, nearest - 1, axis=1)[:, :nearest]]
        ends = np.sort(np.stack([np.repeat(rows, nearest), close.ravel()], axis=1), axis=1)
        pairs.update((one, other) for one, other in ends.tolist())
    return pairs


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny))


def spelling_matches(words: Iterable[str]) -> dict[tuple[int, int], SpellingMatch]:
    """Return pairs of indices of words that are the same except for case, accents, punctuation, plural, or one letter.

    Words are grouped by stem and by stem with one letter removed, so that not all pairs are compared.
    """
    stems = [stem(word) for word in words]
    same, near = defaultdict(list), defaultdict(list)
    for index, word in enumerate(stems):
        same[word].append(index)
        for key in _with_one_letter_removed(word):
            near[key].append(index)
    matches: dict[tuple[int, int], SpellingMatch] = {}
    for indices in near.values():
        for one, other in combinations(indices, 2):
            if one != other and _differ_in_one_letter(stems[one], stems[other]):
                matches[one, other] = "one letter"
    for word, indices in same.items():
        if word:
            matches.update(dict.fromkeys(combinations(indices, 2), "same word"))
    return matches


def stem(word: str) -> str:
    """Return a word without case, accents, punctuation and English plural ending; '' if it has no letter or digit."""
    folded = unicodedata.normalize("NFKD", word.casefold())
    plain = "".join(letter for letter in folded if letter.isalnum())
    if len(plain) > 4 and plain.endswith("ies"):
        return plain[:-3] + "y"
    if len(plain) > 4 and plain.endswith(("ches", "shes", "sses", "xes", "zes")):
        return plain[:-2]
    if len(plain) > 3 and plain.endswith("s") and not plain.endswith(("ss", "us", "is")):
        return plain[:-1]
    return plain


def _with_one_letter_removed(word: str) -> Iterator[str]:
    if len(word) >= _MIN_LETTERS:
        yield word
        yield from {word[:index] + word[index + 1 :] for index in range(len(word))}


def _differ_in_one_letter(one: str, other: str) -> bool:
    """Return whether one letter is added, removed or replaced. Digits do not count: "route 66" is not "route 67"."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    shorter, longer = sorted((one, other), key=len)
    index = next((n for n, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    skip = len(shorter) == len(longer)
    rest_is_same = shorter[index + skip :] == longer[index + 1 :]
    return rest_is_same and not any(word[index : index + 1].isdigit() for word in (one, other))
