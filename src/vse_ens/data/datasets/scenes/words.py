"""The words of the built-in data set, from ``words.json``: tables to be read and corrected by hand.

The file has the scenes, the light and the people that a scene can have, the kinds of things, and the describing words
and place names that enlarge a vocabulary. Lists of words are texts with commas, the likeliest word first.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Scene(NamedTuple):
    """The words for one kind of picture, the likeliest first."""

    name: str
    weight: float
    """How often the scene occurs, relative to the others."""
    light: str
    """A key of `LIGHTS`: times of day and weather of the scene."""
    company: str
    """A key of `COMPANY`: people in the scene."""
    core: str
    """Words for most pictures of the scene."""
    typical: str
    rare: str
    themes: Sequence[str] = ()
    """Activities and the like: a picture has at most one theme, and then several of its words."""
    beside: str = ""
    """Scenes that a picture may show together with this one."""


def words_of(text: str) -> list[str]:
    """Return the words of a text with commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


_TABLES = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))

SCENES: tuple[Scene, ...] = tuple(Scene(name, **fields) for name, fields in _TABLES["scenes"].items())

SKIES: dict[str, dict[str, float]] = _TABLES["skies"]
"""Words for a time of day or weather, each with its probability."""
LIGHTS: dict[str, dict[str, float]] = _TABLES["lights"]
"""The skies of a scene, with their weights."""
GROUPS: dict[str, dict[str, float]] = _TABLES["groups"]
"""Words for the people in a picture, each with its probability."""
COMPANY: dict[str, dict[str, float]] = _TABLES["company"]
"""The groups of people of a scene, with their weights."""

_KINDS: dict[str, str] = _TABLES["kinds"]
parent_of: dict[str, str] = {child: parent for parent, children in _KINDS.items() for child in words_of(children)}
"""The more general word that an annotator may add: ``parent_of["beagle"] == "dog"``. A word has at most one."""
general_share: dict[str, float] = {parent: _TABLES["general_shares"].get(parent, 0.3) for parent in _KINDS}
"""How often annotators add the general word: nearly always "dog", rarely "kitchenware"."""

descriptions: dict[str, list[str]] = {}
"""The describing words of each kind of thing: single words first, then combinations of one of each list.

They apply to a word and to everything below it in the hierarchy, unless a nearer kind has its own lists.
"""
for _kinds, (_first, _second) in _TABLES["descriptions"].items():
    _together = [f"{one} {other}" for one in words_of(_first) for other in words_of(_second)]
    descriptions |= dict.fromkeys(words_of(_kinds), words_of(f"{_first}, {_second}") + _together)

sights: list[str] = words_of(_TABLES["sights"])
"""Things that are named after the town they are in."""

_ENDINGS = words_of(_TABLES["town_endings"])
towns: list[str] = [
    beginning + ending
    for step in range(len(_ENDINGS))  # diagonally, so that neighbors in the list share neither half
    for index, beginning in enumerate(words_of(_TABLES["town_beginnings"]))
    for ending in [_ENDINGS[(index + step) % len(_ENDINGS)]]
    if beginning != ending and beginning[-1] != ending[0]  # neither "brookbrook" nor "elmmouth"
]
"""Fictitious towns; any resemblance is coincidental."""
