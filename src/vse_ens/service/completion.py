"""Completion of label and image IDs by prefix."""

from __future__ import annotations

import heapq
import re
from bisect import bisect_left, bisect_right

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary

_WORD = re.compile(r"[^\W_]+")


class LabelCompletion:
    """Finds labels by the prefix of any of their words, ignoring case; frequent labels come first."""

    def __init__(self, known: Annotations) -> None:
        self._labels = list(known.labels)
        self._images: list[int] = known.images_per_label.tolist()
        self._by_frequency = sorted(range(len(self._labels)), key=lambda number: -self._images[number])
        # One entry per word, from there to the end of the label, so that a prefix may span several words.
        entries = sorted(
            (text[start:], number, start == 0)
            for number, label in enumerate(self._labels)
            for text in (label.casefold(),)
            for start in {0, *(word.start() for word in _WORD.finditer(text))}
        )
        self._suffixes = [text for text, _, _ in entries]
        self._entries = [(number, at_start) for _, number, at_start in entries]

    def find(self, prefix: str, limit: int) -> tuple[list[tuple[str, int]], int]:
        """Return up to ``limit`` labels with their numbers of images, and the number of all matches.

        Labels that start with the prefix come before labels with a later word that does; each group is sorted by
        frequency.
        """
        if not prefix:
            return self._with_images(self._by_frequency[:limit]), len(self._labels)
        folded = prefix.casefold()
        first = bisect_left(self._suffixes, folded)
        last = bisect_right(self._suffixes, folded, lo=first, key=lambda text: text[: len(folded)])
        matches: dict[int, bool] = {}
        for number, at_start in self._entries[first:last]:
            matches[number] = matches.get(number, False) or at_start
        best = heapq.nsmallest(limit, matches, key=lambda number: (not matches[number], -self._images[number], number))
        return self._with_images(best), len(matches)

    def _with_images(self, numbers: list[int]) -> list[tuple[str, int]]:
        return [(self._labels[number], self._images[number]) for number in numbers]


def complete_id(vocabulary: Vocabulary, prefix: str, limit: int) -> tuple[list[str], int]:
    """Return up to ``limit`` IDs that start with ``prefix``, in sorted order, and the number of all matches.

    Binary search reads only a few of millions of IDs.
    """
    numbers = range(len(vocabulary))
    first = bisect_left(numbers, prefix, key=vocabulary.id)
    last = bisect_right(numbers, prefix, lo=first, key=lambda number: vocabulary.id(number)[: len(prefix)])
    return vocabulary.ids(range(first, min(first + limit, last))), last - first
