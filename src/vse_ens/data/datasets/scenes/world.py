"""The word tables as arrays from which pictures are drawn.

A picture is a combination of rows: the row of its scene, of a theme of that scene, of a light and of a group of people
that the scene can have. A row is a list of words, each with its probability. A model can learn this structure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.datasets.scenes.compounds import Compounds, descending, likeliest_compounds
from vse_ens.data.datasets.scenes.words import (
    COMPANY,
    GROUPS,
    LIGHTS,
    SCENES,
    SKIES,
    Scene,
    general_share,
    parent_of,
    words_of,
)
from vse_ens.errors import ConfigError

MIN_LABELS = 50
MAX_LABELS = 1_000_000

# The probability of the first word of each tier, and the factor from one word to the next.
_CORE, _TYPICAL, _RARE, _THEME = (0.85, 0.85), (0.30, 0.93), (0.06, 0.94), (0.72, 0.86)
_THEME_SHARE = 0.6
_SECOND_SCENE_SHARE = 0.15


@dataclass(frozen=True)
class Choice:
    """For every scene a few options and their cumulative probabilities."""

    cumulative: NDArray[np.float64]
    option: NDArray[np.int32]

    @classmethod
    def of(cls, weights: Sequence[Mapping[int, float]]) -> Choice:
        """Return the choices of options and their weights, one mapping per scene."""
        widest = max(map(len, weights))
        cumulative = np.ones((len(weights), widest))
        option = np.zeros((len(weights), widest), dtype=np.int32)
        for scene, options in enumerate(weights):
            sums = np.cumsum(list(options.values()))
            cumulative[scene, : len(options)] = sums / sums[-1]
            option[scene, : len(options)] = list(options)
        return cls(cumulative, option)

    def draw(self, scene: NDArray[np.integer], uniforms: NDArray[np.float64]) -> NDArray[np.int32]:
        """Draw one option for each scene."""
        column = (self.cumulative[scene] <= uniforms[:, None]).sum(axis=1)
        return np.asarray(self.option[scene, column])


@dataclass(frozen=True)
class World:
    """The tables for drawing; labels are indices of ``words``, which has plain words first, by popularity."""

    words: tuple[str, ...]
    plain: int
    """The number of hand-written words; the others are compounds."""
    scene: NDArray[np.float64]
    """Cumulative probabilities of the scenes."""
    row_start: NDArray[np.int64]
    row_label: NDArray[np.int32]
    row_chance: NDArray[np.float64]
    """The rows in CSR form; row 0 is empty."""
    base: NDArray[np.int32]
    """The row of each scene itself."""
    theme: Choice
    light: Choice
    company: Choice
    second: Choice
    """Another scene in the same picture, or -1."""
    parent: NDArray[np.int32]
    """The more general label of each plain label, or -1."""
    parent_share: NDArray[np.float64]
    likeliest: NDArray[np.int32]
    """The label of each scene for pictures that would have none."""
    compounds: tuple[Compounds, ...]


@dataclass(frozen=True)
class _Scene:
    """The rows of a scene: its own, and three choices with their weights."""

    base: int
    theme: dict[int, float]
    light: dict[int, float]
    company: dict[int, float]


def build_world(labels: int | None = None) -> World:
    """Return the world with its ``labels`` most popular labels, or with all hand-written words."""
    if labels is not None and not MIN_LABELS <= labels <= MAX_LABELS:
        raise ConfigError(f"labels must lie between {MIN_LABELS} and {MAX_LABELS:,}, got {labels}")
    rows, scenes = _rows()
    vocabulary = sorted({word for row in rows for word in row} | set(parent_of.values()))
    drawn = _drawn(vocabulary, rows, scenes)
    order = descending(_with_parents(vocabulary, drawn).sum(axis=0))[:labels]
    plain = [vocabulary[n] for n in order]
    drawn = drawn[:, order]
    added, compounds = (
        likeliest_compounds(plain, drawn, labels - len(plain)) if labels and labels > len(plain) else ([], ())
    )

    number = {word: n for n, word in enumerate(plain)}
    numbered = [[(number[word], chance) for word, chance in row.items() if word in number] for row in rows]
    weights = np.cumsum([scene.weight for scene in SCENES])
    return World(
        words=(*plain, *added),
        plain=len(plain),
        scene=weights / weights[-1],
        row_start=np.cumsum([0, *map(len, numbered)]),
        row_label=np.array([label for row in numbered for label, _ in row], dtype=np.int32),
        row_chance=np.array([chance for row in numbered for _, chance in row]),
        base=np.array([scene.base for scene in scenes], dtype=np.int32),
        theme=Choice.of([scene.theme for scene in scenes]),
        light=Choice.of([scene.light for scene in scenes]),
        company=Choice.of([scene.company for scene in scenes]),
        second=Choice.of([_beside(scene) for scene in SCENES]),
        parent=np.array([number.get(parent_of.get(word, ""), -1) for word in plain], dtype=np.int32),
        parent_share=np.array([general_share.get(parent_of.get(word, ""), 0.0) for word in plain]),
        likeliest=drawn.argmax(axis=1).astype(np.int32),
        compounds=compounds,
    )


def _rows() -> tuple[list[dict[str, float]], list[_Scene]]:
    """Return all rows, the empty one first, and the rows of each scene."""
    rows: list[dict[str, float]] = [{}]

    def add(row: dict[str, float]) -> int:
        if not row:
            return 0
        rows.append(row)
        return len(rows) - 1

    sky_row = {name: add(row) for name, row in SKIES.items()}
    group_row = {name: add(row) for name, row in GROUPS.items()}
    scenes = []
    for scene in SCENES:
        base = add(_tier(scene.rare, _RARE) | _tier(scene.typical, _TYPICAL) | _tier(scene.core, _CORE))
        themes = {add(_tier(theme, _THEME)): 1.0 / (rank + 2) for rank, theme in enumerate(scene.themes)}
        no_theme = sum(themes.values()) * (1.0 - _THEME_SHARE) / _THEME_SHARE
        light = {sky_row[name]: weight for name, weight in LIGHTS[scene.light].items()}
        company = {group_row[name]: weight for name, weight in COMPANY[scene.company].items()}
        scenes.append(_Scene(base, {0: no_theme, **themes}, light, company))
    return rows, scenes


def _tier(words: str, tier: tuple[float, float]) -> dict[str, float]:
    chance, factor = tier
    row = {}
    for word in words_of(words):
        row[word] = chance
        chance *= factor
    return row


def _beside(scene: Scene) -> dict[int, float]:
    """Return the scenes that a picture may show together with this one, with probabilities; -1 is none."""
    others = words_of(scene.beside)
    if not others:
        return {-1: 1.0}
    number = {other.name: n for n, other in enumerate(SCENES)}
    return {-1: 1.0 - _SECOND_SCENE_SHARE} | {number[other]: _SECOND_SCENE_SHARE / len(others) for other in others}


def _drawn(vocabulary: list[str], rows: list[dict[str, float]], scenes: list[_Scene]) -> NDArray[np.float64]:
    """Return how often each word is drawn in each scene, up to a common factor."""
    number = {word: n for n, word in enumerate(vocabulary)}
    drawn = np.zeros((len(SCENES), len(vocabulary)))
    for index, (scene, rows_of) in enumerate(zip(SCENES, scenes, strict=True)):
        for options in ({rows_of.base: 1.0}, rows_of.theme, rows_of.light, rows_of.company):
            total = sum(options.values())
            for row, weight in options.items():
                for word, chance in rows[row].items():
                    drawn[index, number[word]] += scene.weight * weight / total * chance
    return drawn


def _with_parents(vocabulary: list[str], drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    number = {word: n for n, word in enumerate(vocabulary)}
    total = drawn.copy()
    for word in vocabulary:
        share, general = 1.0, word
        while general in parent_of:
            general = parent_of[general]
            share *= general_share[general]
            total[:, number[general]] += share * drawn[:, number[word]]
    return total
