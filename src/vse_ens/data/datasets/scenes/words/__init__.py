"""The words of the built-in data set `scenes`: tables to read and correct by hand, and nothing that draws.

`outdoors` and `indoors` say what is seen in each scene, `surroundings` what light and company a scene can have,
`hierarchy` what is a kind of what, `compounds` which describing words and place names make a vocabulary longer.
"""

from __future__ import annotations

from typing import NamedTuple


class Scene(NamedTuple):
    """What one kind of picture shows. Words stand in order of likelihood, most likely first."""

    name: str
    weight: float
    """How often the scene is photographed, against the others."""
    light: str
    """A key of `surroundings.LIGHTS`: hours and weather the scene can have."""
    company: str
    """A key of `surroundings.COMPANY`: people the scene can have."""
    core: str
    """Words that most pictures of the scene deserve."""
    typical: str
    rare: str
    themes: tuple[str, ...] = ()
    """What may be going on: a picture follows one theme at most, and then shows several of its words."""
    beside: str = ""
    """Scenes that one picture may show together with this one."""


def words_of(text: str) -> list[str]:
    """The words of a comma-separated entry of a table; it may run over several lines."""
    return [" ".join(word.split()) for word in text.split(",") if word.strip()]
