"""What a label looks like: a function that draws it, where it is put, and how large it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from tools.illustrations.canvas import Color, Pen

Zone = Literal["sky", "far", "ground", "front", "table", "wall", "water"]
"""Far things stand at the horizon, those in front are small and near; outdoors, things of a table lie in front."""


class Glyph(NamedTuple):
    """A drawing of height 1 above the point where it stands."""

    draw: Callable[[Pen, Color], None]
    zone: Zone
    height: float
    """In units of the canvas."""
    width: float
    """As a multiple of the height."""
    color: Color


def glyphs(
    draw: Callable[[Pen, Color], None], zone: Zone, height: float, width: float, colors: Mapping[str, Color]
) -> dict[str, Glyph]:
    """Return glyphs of one shape in several colors."""
    return {label: Glyph(draw, zone, height, width, color) for label, color in colors.items()}
