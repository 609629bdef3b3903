"""The words of the built-in data set `scenes`: tables to be read and corrected by hand.

`outdoors` and `indoors` contain the scenes, `surroundings` the light and the people of a scene, `hierarchy` the kinds
of things, `compounds` the describing words and place names that enlarge a vocabulary.
"""

from __future__ import annotations

from typing import NamedTuple


class Scene(NamedTuple):
    """The words for one kind of picture, the likeliest first."""

    name: str
    weight: float
    """How often the scene occurs, relative to the others."""
    light: str
    """A key of `surroundings.LIGHTS`: times of day and weather of the scene."""
    company: str
    """A key of `surroundings.COMPANY`: people in the scene."""
    core: str
    """Words for most pictures of the scene."""
    typical: str
    rare: str
    themes: tuple[str, ...] = ()
    """Activities and the like: a picture has at most one theme, and then several of its words."""
    beside: str = ""
    """Scenes that a picture may show together with this one."""


def words_of(text: str) -> list[str]:
    """Return the words of a comma-separated entry, which may run over several lines."""
    return [" ".join(word.split()) for word in text.split(",") if word.strip()]
