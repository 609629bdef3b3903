"""Aliases: two labels that are the same word, or are used as two names of one thing."""

from __future__ import annotations

from typing import NamedTuple

from vse_ens.curate.label_similarity import LabelSimilarity, interchangeable_pairs
from vse_ens.curate.spelling import spelling_matches
from vse_ens.data.annotations import Annotations

# A typing error is this many times rarer than the word, and its company resembles that of the word.
_RARER = 10
_MIN_AFFINITY = 5.0
SAME_WORD, ONE_LETTER, INTERCHANGEABLE = "same word", "one letter differs", "used interchangeably"


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
