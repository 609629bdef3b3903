"""Which words are spelt alike."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Literal

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
