"""Completion of label and image IDs.

Labels are found by the prefix of any of their words, whatever the case and accents, and with one typing error. They
are ranked by how well they suit the other labels of an image, then by frequency.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.filters import fold
from vse_ens.data.vocabulary import Vocabulary

Numbers = NDArray[np.int64]

_WORD = re.compile(r"[^\W_]+")
# In shorter texts, one other letter makes another word.
_MIN_TYPO_LENGTH = 3
# A label suits the context if it is this much more likely with the context than without.
_MIN_LIFT = 2.0


Why = Literal["context", "frequency", "typo"]
"""It suits the other labels of an image, it is frequent, or it differs from the text by one letter."""


class CompletedLabel(NamedTuple):
    """A label that completes a text."""

    label: str
    images: int
    why: Why


class LabelCompletion:
    """Finds labels, each with its number of images, by the prefix of any of their words."""

    def __init__(self, counts: Iterable[tuple[str, int]]) -> None:
        found = dict(counts)
        self._labels = list(found)
        self._images = np.array(list(found.values()), np.int64)
        self._frequencies = (self._images + 1) / (self._images.sum() + len(self._images))
        # One entry per word, from there to the end of the label, so that a prefix may span several words.
        entries = sorted(
            (text[start:], number, start == 0)
            for number, label in enumerate(self._labels)
            for text in (fold(label),)
            for start in {0, *(word.start() for word in _WORD.finditer(text))}
        )
        self._suffixes = [text for text, _, _ in entries]
        self._numbers = np.array([number for _, number, _ in entries], np.int64)
        self._at_start = np.array([at_start for _, _, at_start in entries], np.bool_)

    @classmethod
    def of(cls, known: Annotations) -> LabelCompletion:
        """Complete the labels of a model."""
        return cls(zip(known.labels, known.images_per_label.tolist(), strict=True))

    def find(self, prefix: str, limit: int) -> tuple[list[tuple[str, int]], int]:
        """Return up to ``limit`` labels with their numbers of images, and the number of all matches.

        Labels that start with the prefix come before labels with a later word that does; each group is sorted by
        frequency.
        """
        matches, at_start = self._matches([self._range(fold(prefix))])
        best = matches[np.lexsort((matches, -self._images[matches], ~at_start))][:limit]
        return [(self._labels[number], int(self._images[number])) for number in best], len(matches)

    def complete(
        self, text: str, limit: int, scores: NDArray[np.float32] | None = None, exclude: Numbers | None = None
    ) -> list[CompletedLabel]:
        """Return up to ``limit`` labels, best first.

        ``scores`` has the score of every label for the image. Labels that suit the image come first, then the others by
        frequency, then labels that differ from the text by one letter. A label that equals the text is always first.
        ``exclude`` are the labels that the image has.
        """
        folded = fold(text)
        excluded = np.empty(0, np.int64) if exclude is None else exclude
        context = self._context(scores, excluded)
        found = self._ranked(folded, [self._range(folded)], limit, context, excluded)
        typos = np.empty(0, np.int64)
        if len(found) < limit and len(folded) >= _MIN_TYPO_LENGTH:
            others = np.concatenate([found, excluded])
            typos = self._ranked(folded, [*self._one_letter_off(folded)], limit - len(found), context, others)
        whys: list[Why] = ["context" if context[number] > -np.inf else "frequency" for number in found]
        whys += ["typo"] * len(typos)
        numbers = np.concatenate([found, typos]).tolist()
        return [
            CompletedLabel(self._labels[number], int(self._images[number]), why)
            for number, why in zip(numbers, whys, strict=True)
        ]

    def _ranked(
        self, folded: str, ranges: list[tuple[int, int]], limit: int, context: NDArray[np.float64], exclude: Numbers
    ) -> Numbers:
        """Return the best labels of ranges of entries: those equal to the text, by context, then by frequency."""
        matches, at_start = self._matches(ranges)
        keep = ~np.isin(matches, exclude)
        matches, at_start = matches[keep], at_start[keep]
        is_equal = np.isin(matches, self._equal(folded))
        order = np.lexsort((matches, -self._images[matches], ~at_start, -context[matches], ~is_equal))
        return matches[order[:limit]]

    def _equal(self, folded: str) -> Numbers:
        """Return the labels that equal a text."""
        first = bisect_left(self._suffixes, folded)
        entries = slice(first, bisect_right(self._suffixes, folded, lo=first))
        return self._numbers[entries][self._at_start[entries]]

    def _matches(self, ranges: list[tuple[int, int]]) -> tuple[Numbers, NDArray[np.bool_]]:
        """Return the labels with an entry in one of the ranges, and whether the entry is the start of the label."""
        entries = np.concatenate([np.empty(0, np.int64), *(np.arange(first, last) for first, last in ranges)])
        numbers, at_start = self._numbers[entries], self._at_start[entries]
        matches = np.unique(numbers)
        return matches, np.isin(matches, numbers[at_start])

    def _context(self, scores: NDArray[np.float32] | None, exclude: Numbers) -> NDArray[np.float64]:
        """Return the scores of labels that suit an image: more likely by the scores than by frequency; else -inf."""
        none = np.full(len(self._labels), -np.inf)
        if scores is None:
            return none
        shown = scores.astype(np.float64)
        shown[exclude] = -np.inf
        top = shown.max(initial=-np.inf)
        if top == -np.inf:
            return none
        lifts = shown - top - np.log(np.exp(shown - top).sum()) - np.log(self._frequencies)
        return np.where(lifts > np.log(_MIN_LIFT), shown, -np.inf)

    def _range(self, folded: str) -> tuple[int, int]:
        """Return the first entry that starts with a text, and the end of these entries."""
        first = bisect_left(self._suffixes, folded)
        return first, bisect_right(self._suffixes, folded, lo=first, key=lambda text: text[: len(folded)])

    def _one_letter_off(self, folded: str) -> Iterator[tuple[int, int]]:
        """Yield the entries that start with the text after one letter is added, removed, replaced or swapped.

        Added and replaced letters are those that some entry has there, so only texts that can match are looked up.
        """
        for place in range(len(folded) + 1):
            before, after = folded[:place], folded[place:]
            if len(after) > 1:
                yield self._range(before + after[1] + after[0] + after[2:])
            if after and len(folded) > _MIN_TYPO_LENGTH:
                yield self._range(before + after[1:])
            first, last = self._range(before)
            # An entry that ends here sorts first and has no next letter.
            while first < last and len(self._suffixes[first]) == place:
                first += 1
            while first < last:
                letter = self._suffixes[first][place]
                if after:
                    yield self._range(before + letter + after[1:])
                    yield self._range(before + letter + after)
                first = self._range(before + letter)[1]


def merge(text: str, *found: list[CompletedLabel]) -> list[CompletedLabel]:
    """Return completions of several kinds in one order, each label once: equal to the text, then others, then typos."""
    folded = fold(text)
    ranked = sorted(
        (one for some in found for one in some), key=lambda one: (fold(one.label) != folded, one.why == "typo")
    )
    return list({one.label: one for one in reversed(ranked)}.values())[::-1]


def complete_id(vocabulary: Vocabulary, prefix: str, limit: int) -> tuple[list[str], int]:
    """Return up to ``limit`` IDs that start with ``prefix``, in sorted order, and the number of all matches.

    Binary search reads only a few of millions of IDs.
    """
    numbers = range(len(vocabulary))
    first = bisect_left(numbers, prefix, key=vocabulary.id)
    last = bisect_right(numbers, prefix, lo=first, key=lambda number: vocabulary.id(number)[: len(prefix)])
    return vocabulary.ids(range(first, min(first + limit, last))), last - first
