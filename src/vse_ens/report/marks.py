"""What tells one series from another besides its colour: dashes and shapes."""

from __future__ import annotations

from html import escape

from vse_ens.report.style import SERIES

_DASHES = ("", "8 4", "2 4", "10 4 2 4", "14 4", "4 4", "10 4 2 4 2 4")
# Outlines about (0, 0) within a circle of radius 5.
_SHAPES = (
    "M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0Z",  # circle
    "M-3.8-3.8h7.6v7.6h-7.6Z",  # square
    "M0-5L4.8 3.6H-4.8Z",  # triangle
    "M0-5.2L5.2 0L0 5.2L-5.2 0Z",  # diamond
    "M0 5L4.8-3.6H-4.8Z",  # triangle on its tip
    "M-1.7-5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3Z",  # cross
    "M0-5.4L1.6-1.7L5.2-1.7L2.4 .9L3.4 5L0 2.6L-3.4 5L-2.4 .9L-5.2-1.7L-1.6-1.7Z",  # star
)


def colour(number: int) -> str:
    """The class that gives an element the colour of a series."""
    return f"s{number % SERIES}"


def dash(number: int) -> str:
    """The attribute that gives a line the dashes of a series."""
    pattern = _DASHES[number % len(_DASHES)]
    return f' stroke-dasharray="{pattern}"' if pattern else ""


def marker(number: int, x: float, y: float, title: str = "") -> str:
    """The shape of a series at a place; ``title`` is shown where a pointer rests on it."""
    words = f"<title>{escape(title)}</title>" if title else ""
    shape = _SHAPES[number % len(_SHAPES)]
    return f'<path class="mark {colour(number)}" d="{shape}" transform="translate({x:.1f} {y:.1f})">{words}</path>'


def line_sample(number: int, curve: bool) -> str:
    """A line and its shape, or the shape alone, for a legend."""
    width = 34 if curve else 14
    line = f'<path class="curve" d="M1 7H33"{dash(number)}/>' if curve else ""
    return _sample(number, width, line + marker(number, width / 2, 7))


def bar_sample(number: int) -> str:
    """A piece of a bar, for a legend."""
    return _sample(number, 14, '<rect class="bar" x="1" y="1" width="12" height="12" rx="2"/>')


def _sample(number: int, width: int, inside: str) -> str:
    return f'<svg class="{colour(number)}" width="{width}" viewBox="0 0 {width} 14" aria-hidden="true">{inside}</svg>'
