"""Aliases: two labels that are the same word in another form or one letter apart, or two names of one thing."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Literal, NamedTuple

from vse_ens.curate.label_similarity import LabelSimilarity, interchangeable_pairs
from vse_ens.data.annotations import Annotations

# A typing error is this many times rarer than the word, and its company resembles that of the word.
_RARER = 10
_MIN_AFFINITY = 5.0
SAME_WORD, ONE_LETTER, INTERCHANGEABLE = "same word", "one letter differs", "used interchangeably"

SpellingMatch = Literal["same word", "one letter"]
_MIN_LETTERS = 5
_NAMESPACE = re.compile(r".*[:|]")


class Alias(NamedTuple):
    """A label that may be replaced by another, more frequent one."""

    label: str
    other: str
    evidence: str


class AliasPair(NamedTuple):
    """An alias by numbers."""

    label: int
    other: int
    evidence: str
    together: int


def find_aliases(data: Annotations) -> list[Alias]:
    """Return the labels that mean the same as a more frequent one, the clearest evidence first."""
    counts = data.images_per_label
    return [
        Alias(
            data.labels.id(pair.label),
            data.labels.id(pair.other),
            f"{pair.evidence}; {in_numbers(int(counts[pair.label]), int(counts[pair.other]), pair.together)}",
        )
        for pair in alias_pairs(data, LabelSimilarity(data))
    ]


def in_numbers(images: int, others: int, together: int) -> str:
    """Return the numbers of images of two labels in words."""
    return f"on {images:,} and {others:,} images, {together:,} in common"


def alias_pairs(data: Annotations, similarity: LabelSimilarity) -> list[AliasPair]:
    """Return the pairs of labels that mean the same.

    Evidence is the same word in another form; or one letter's difference in a much rarer label with similar company
    and never on the same image; or use as two names of one thing, hardly ever on the same image and with the same
    company, which needs `vse_ens.curate.label_similarity.MIN_IMAGES` images of both labels. Of every kind, labels on
    many images come first.
    """
    counts = data.images_per_label
    found: dict[tuple[int, int], AliasPair] = {}
    for pair, match in spelling_matches(data.labels).items():
        one, other = sorted(pair, key=lambda number: (counts[number], -number))
        if counts[one] == 0:
            continue
        together = similarity.together(one, other)
        if match == "same word":
            found[one, other] = AliasPair(one, other, SAME_WORD, together)
        elif (
            together == 0
            and counts[other] >= _RARER * counts[one]
            and similarity.compare(one, other).affinity >= _MIN_AFFINITY
        ):
            found[one, other] = AliasPair(one, other, ONE_LETTER, together)
    for one, other in interchangeable_pairs(data, similarity):
        found.setdefault((one, other), AliasPair(one, other, INTERCHANGEABLE, similarity.together(one, other)))
    order = (SAME_WORD, ONE_LETTER, INTERCHANGEABLE)
    return sorted(found.values(), key=lambda one: (order.index(one.evidence), -counts[one.label], one.label, one.other))


def spelling_matches(words: Iterable[str]) -> dict[tuple[int, int], SpellingMatch]:
    """Return pairs of indices of words that are the same except for case, accents, punctuation, plural, or one letter.

    Words are grouped by stem and by stem with one letter removed, so that not all pairs are compared. In short words
    another letter makes another word: "cat", "coat", "boat", "rating:s", "rating:e".
    """
    given = list(words)
    stems = [stem(word) for word in given]
    same, near = defaultdict(list), defaultdict(list)
    for index, word in enumerate(stems):
        same[word].append(index)
        if len(stem(_NAMESPACE.sub("", given[index]))) >= _MIN_LETTERS:
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
