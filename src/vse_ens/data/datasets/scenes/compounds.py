"""Labels made of a plain word and another: "red umbrella", "ashford beach".

A compound occurs together with its word and is rarer. It is drawn once per picture, so that several things in a picture
tend to be red or in Ashford together, and every scene has its own favorites.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.datasets.scenes.words import descriptions, parent_of, sights, towns

_MOST_GENERAL = set(parent_of.values()) - set(parent_of)


@dataclass(frozen=True)
class Compounds:
    """One kind of compounds: those of a word are ``label[start[word]:][:length[word]]``, -1 for those not used.

    The rank of a compound is drawn from a Zipf-like distribution. Its index is the rank moved by ``shift`` per scene,
    cyclically within the first ``ring[word]`` compounds or within the others.
    """

    share: float
    shift: int
    start: NDArray[np.int64]
    length: NDArray[np.int64]
    ring: NDArray[np.int64]
    label: NDArray[np.int32]
    zipf: NDArray[np.float64]
    """The sum of the weights of the ranks below each rank."""

    def draw(
        self, words: NDArray[np.integer], scene: NDArray[np.integer], uniforms: NDArray[np.float64]
    ) -> NDArray[np.int32]:
        """Return the compound of each word, -1 for none; equal uniforms give equal ranks."""
        length, ring, moved = self.length[words], self.ring[words], scene * self.shift
        rank = np.searchsorted(self.zipf, uniforms * self.zipf[length], side="right") - 1
        first = rank < ring
        index = np.where(
            first, (rank + moved) % np.maximum(ring, 1), ring + (rank - ring + moved) % np.maximum(length - ring, 1)
        )
        drawn = self.label[np.where(length > 0, self.start[words] + index, 0)]
        return np.where(length > 0, drawn, np.int32(-1))

    def chances(self, word: int, scene: int) -> NDArray[np.float64]:
        """Return the probability of each compound of a word in a scene."""
        length, ring, moved = self.length[word], self.ring[word], scene * self.shift
        chance = np.diff(self.zipf[: length + 1]) / self.zipf[length]
        return self.share * np.concatenate([np.roll(chance[:ring], moved), np.roll(chance[ring:], moved)])


def likeliest_compounds(
    plain: list[str], drawn: NDArray[np.float64], count: int
) -> tuple[list[str], tuple[Compounds, ...]]:
    """Return the ``count`` likeliest compounds of plain words, and the tables to draw them.

    ``drawn`` is how often each plain word (column) is drawn in each scene (row).
    """
    known = set(plain)
    fronts = [[front for front in _descriptions(word) if f"{front} {word}" not in known] for word in plain]
    described = [[f"{front} {word}" for front in of_word] for of_word, word in zip(fronts, plain, strict=True)]
    single = [sum(" " not in front for front in of_word) for of_word in fronts]
    # Every sight of every town, then a second one of the same name, and so on, for vocabularies of any size.
    times = max(1, -(-(count - sum(map(len, described))) // (len(sights) * len(towns))))
    names = [f" {n}" if n > 1 else "" for n in range(1, times + 1)]
    named = [[f"{town} {word}{n}" for n in names for town in towns] if word in sights else [] for word in plain]
    # The shifts have no factor in common with the rings, so that few scenes share their favorites.
    kinds = [
        _compounds(described, single, share=0.35, shift=23),
        _compounds(named, [min(len(towns), len(of_word)) for of_word in named], share=0.3, shift=37),
    ]
    names = [name for kind in (described, named) for of_word in kind for name in of_word]
    chosen = descending(np.concatenate([_expected(kind, drawn) for kind in kinds]))[:count]
    label = np.full(len(names), -1, dtype=np.int32)
    label[chosen] = np.arange(len(plain), len(plain) + count)
    parts = np.split(label, [len(kinds[0].label)])
    return [names[n] for n in chosen], tuple(replace(kind, label=part) for kind, part in zip(kinds, parts, strict=True))


def _descriptions(word: str) -> list[str]:
    """Return the describing words of the nearest kind that has any; the most general words ("animal") have none."""
    if word in _MOST_GENERAL:
        return []
    kind: str | None = word
    while kind is not None and kind not in descriptions:
        kind = parent_of.get(kind)
    return [] if kind is None else descriptions[kind]


def _compounds(names: list[list[str]], ring: list[int], share: float, shift: int) -> Compounds:
    """Return one kind of compounds, none of them used yet."""
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


def _expected(kind: Compounds, drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how often each compound is drawn, on the scale of ``drawn``."""
    expected = np.zeros(len(kind.label))
    for scene, word in zip(*np.nonzero(drawn), strict=True):
        first = kind.start[word]
        if kind.length[word]:
            expected[first : first + kind.length[word]] += drawn[scene, word] * kind.chances(word, scene)
    return expected


def descending(amounts: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the indices that sort amounts from the largest to the smallest.

    Nearly equal amounts keep their order, so that the last bit of a sum, which may differ between machines, does not
    matter.
    """
    return np.argsort(-np.round(np.log(amounts + 1e-300), 6), kind="stable")
