"""Words that are spelled alike: the same word in another form, or one letter apart."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Literal

SpellingMatch = Literal["same word", "one letter"]

# In shorter words another letter makes another word: "cat", "coat", "boat".
_MIN_LETTERS = 5


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
