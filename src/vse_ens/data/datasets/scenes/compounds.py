"""Labels made of a plain word and another: "red umbrella", "ashford beach".

A compound comes together with its word and is rarer. Which one comes is drawn once a picture, so that what is red or
in Ashford in a picture tends to be so together, and every scene has its own favourites.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.datasets.scenes.popularity import falling
from vse_ens.data.datasets.scenes.words.compounds import descriptions, sights, towns
from vse_ens.data.datasets.scenes.words.hierarchy import parent_of

_MOST_GENERAL = set(parent_of.values()) - set(parent_of)


@dataclass(frozen=True)
class Compounds:
    """One way of making compounds: those of a word are ``label[start[word]:][:length[word]]``, -1 where left out.

    The rank of a compound is Zipf-like; its place is the rank moved on by ``shift`` a scene, round the ring of the
    first ``ring[word]`` compounds or the ring of the rest.
    """

    share: float
    shift: int
    start: NDArray[np.int64]
    length: NDArray[np.int64]
    ring: NDArray[np.int64]
    label: NDArray[np.int32]
    zipf: NDArray[np.float64]
    """Sums of the weights of the ranks below each."""

    def draw(
        self, words: NDArray[np.integer], scene: NDArray[np.integer], uniforms: NDArray[np.float64]
    ) -> NDArray[np.int32]:
        """The compound of each word, -1 for none; equal uniforms give equal ranks."""
        length, ring, moved = self.length[words], self.ring[words], scene * self.shift
        rank = np.searchsorted(self.zipf, uniforms * self.zipf[length], side="right") - 1
        first = rank < ring
        place = np.where(
            first, (rank + moved) % np.maximum(ring, 1), ring + (rank - ring + moved) % np.maximum(length - ring, 1)
        )
        drawn = self.label[np.where(length > 0, self.start[words] + place, 0)]
        return np.where(length > 0, drawn, np.int32(-1))

    def chances(self, word: int, scene: int) -> NDArray[np.float64]:
        """The probability of each compound of a word in a scene."""
        length, ring, moved = self.length[word], self.ring[word], scene * self.shift
        chance = np.diff(self.zipf[: length + 1]) / self.zipf[length]
        return self.share * np.concatenate([np.roll(chance[:ring], moved), np.roll(chance[ring:], moved)])


def lengthen(plain: list[str], drawn: NDArray[np.float64], wanted: int) -> tuple[list[str], tuple[Compounds, ...]]:
    """The ``wanted`` likeliest compounds of plain words, and how to draw them.

    ``drawn`` says how often each plain word (column) is drawn in each scene (row).
    """
    known = set(plain)
    fronts = [[front for front in _descriptions(word) if f"{front} {word}" not in known] for word in plain]
    described = [[f"{front} {word}" for front in its] for its, word in zip(fronts, plain, strict=True)]
    single = [sum(" " not in front for front in its) for its in fronts]
    # Every sight of every town, then a second one of the same name, and so on: any vocabulary can be filled.
    times = max(1, -(-(wanted - sum(map(len, described))) // (len(sights) * len(towns))))
    named = [_named(word, times) if word in sights else [] for word in plain]
    # The shifts have no factor in common with the rings, so that few scenes share their favourites.
    ways = [
        _compounds(described, single, share=0.35, shift=23),
        _compounds(named, [min(len(towns), len(its)) for its in named], share=0.3, shift=37),
    ]
    names = [name for way in (described, named) for its in way for name in its]
    chosen = falling(np.concatenate([_expected(way, drawn) for way in ways]))[:wanted]
    label = np.full(len(names), -1, dtype=np.int32)
    label[chosen] = np.arange(len(plain), len(plain) + wanted)
    parts = np.split(label, [len(ways[0].label)])
    return [names[n] for n in chosen], tuple(replace(way, label=part) for way, part in zip(ways, parts, strict=True))


def _descriptions(word: str) -> list[str]:
    """The describing words of the nearest kind that has any; the most general words ("animal") take none."""
    if word in _MOST_GENERAL:
        return []
    kind: str | None = word
    while kind is not None and kind not in descriptions:
        kind = parent_of.get(kind)
    return [] if kind is None else descriptions[kind]


def _named(sight: str, times: int) -> list[str]:
    return [f"{town} {sight}" if n == 1 else f"{town} {sight} {n}" for n in range(1, times + 1) for town in towns]


def _compounds(names: list[list[str]], ring: list[int], share: float, shift: int) -> Compounds:
    """A way of making compounds, with every one left out as yet."""
    length = np.array([len(one) for one in names])
    return Compounds(
        share=share,
        shift=shift,
        start=np.cumsum(length) - length,
        length=length,
        ring=np.array(ring),
        label=np.full(length.sum(), -1, dtype=np.int32),
        zipf=np.concatenate([[0.0], np.cumsum(1.0 / (np.arange(length.max()) + 1.5))]),
    )


def _expected(way: Compounds, drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often each compound is drawn, on the scale of ``drawn``."""
    expected = np.zeros(len(way.label))
    for scene, word in zip(*np.nonzero(drawn), strict=True):
        first = way.start[word]
        if way.length[word]:
            expected[first : first + way.length[word]] += drawn[scene, word] * way.chances(word, scene)
    return expected
