"""Ids by how they begin: what a person who types is offered."""

from __future__ import annotations

import heapq
import re
from bisect import bisect_left, bisect_right

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary

_WORD = re.compile(r"[^\W_]+")


class LabelCompletion:
    """Labels by the beginning of any of their words, in any case; ordered as a person would want them."""

    def __init__(self, known: Annotations) -> None:
        self._labels = list(known.labels)
        self._images: list[int] = known.images_per_label.tolist()
        self._by_images = sorted(range(len(self._labels)), key=lambda number: -self._images[number])
        # From every word to the label's end, so that what was typed may go on over several words.
        entries = sorted(
            (text[place:], number, place == 0)
            for number, label in enumerate(self._labels)
            for text in (label.casefold(),)
            for place in {0, *(word.start() for word in _WORD.finditer(text))}
        )
        self._texts = [text for text, _, _ in entries]
        self._found = [(number, at_start) for _, number, at_start in entries]

    def find(self, prefix: str, limit: int) -> tuple[list[tuple[str, int]], int]:
        """Labels with their images, those that begin so in front, the most frequent first; and how many there are."""
        if not prefix:
            return self._shown(self._by_images[:limit]), len(self._labels)
        typed = prefix.casefold()
        first = bisect_left(self._texts, typed)
        last = bisect_right(self._texts, typed, lo=first, key=lambda text: text[: len(typed)])
        begins: dict[int, bool] = {}
        for number, at_start in self._found[first:last]:
            begins[number] = begins.get(number, False) or at_start
        best = heapq.nsmallest(limit, begins, key=lambda number: (not begins[number], -self._images[number], number))
        return self._shown(best), len(begins)

    def _shown(self, numbers: list[int]) -> list[tuple[str, int]]:
        return [(self._labels[number], self._images[number]) for number in numbers]


def complete_id(vocabulary: Vocabulary, prefix: str, limit: int) -> tuple[list[str], int]:
    """Ids that begin exactly so, in their order, and how many there are; of millions only a few are touched."""
    numbers = range(len(vocabulary))
    first = bisect_left(numbers, prefix, key=vocabulary.id)
    last = bisect_right(numbers, prefix, lo=first, key=lambda number: vocabulary.id(number)[: len(prefix)])
    return vocabulary.ids(range(first, min(first + limit, last))), last - first
