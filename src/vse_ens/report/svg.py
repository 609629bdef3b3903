"""Parts of SVG charts: axes, markers of series, text, and the figure around a drawing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from vse_ens.errors import ConfigError
from vse_ens.report.html import SERIES
from vse_ens.report.tables import Table

# Ticks per power of ten on a logarithmic axis: the densest that fit are used.
_LOGARITHMIC_STEPS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0))
# Dash patterns and marker shapes distinguish series without color.
_DASHES = ("", "8 4", "2 4", "10 4 2 4", "14 4", "4 4", "10 4 2 4 2 4")
# Outlines around (0, 0), within a circle of radius 5.
_SHAPES = (
    "M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0Z",  # circle
    "M-3.8-3.8h7.6v7.6h-7.6Z",  # square
    "M0-5L4.8 3.6H-4.8Z",  # triangle
    "M0-5.2L5.2 0L0 5.2L-5.2 0Z",  # diamond
    "M0 5L4.8-3.6H-4.8Z",  # triangle, point down
    "M-1.7-5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3Z",  # cross
    "M0-5.4L1.6-1.7L5.2-1.7L2.4 .9L3.4 5L0 2.6L-3.4 5L-2.4 .9L-5.2-1.7L-1.6-1.7Z",  # star
)


@dataclass(frozen=True)
class Axis:
    """A linear or logarithmic range of values, with ticks at round numbers."""

    low: float
    high: float
    log: bool
    ticks: tuple[float, ...]

    @classmethod
    def around(cls, values: Iterable[float], *, log: bool = False, zero: bool = False, max_ticks: int = 7) -> Axis:
        """Return an axis that covers all values, and 0 if ``zero``."""
        numbers = list(values)
        for value in numbers:
            if not math.isfinite(value) or (log and value <= 0):
                raise ConfigError(f"a chart cannot show {value} on a {'logarithmic' if log else 'linear'} axis")
        low, high = (min(numbers), max(numbers)) if numbers else (1.0 if log else 0.0, 1.0)
        if log:
            return cls._logarithmic(low, high, max_ticks)
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
        return cls._linear(low, high, max_ticks)

    @classmethod
    def _linear(cls, low: float, high: float, max_ticks: int) -> Axis:
        if low == high:
            low, high = low - abs(low or 1.0) / 2, high + abs(high or 1.0) / 2
        size = (high - low) / (max_ticks - 1)
        power = 10.0 ** math.floor(math.log10(size))
        step = next(step * power for step in (1.0, 2.0, 2.5, 5.0, 10.0) if step * power >= size * 0.999)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        ticks = tuple(round(step * number, 12) for number in range(first, last + 1))
        return cls(ticks[0], ticks[-1], False, ticks)

    @classmethod
    def _logarithmic(cls, low: float, high: float, max_ticks: int) -> Axis:
        low, high = (low / 2, high * 2) if low == high else (low, high)
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks: tuple[float, ...] = ()
        for steps in _LOGARITHMIC_STEPS:
            more = tuple(
                step * 10.0**power
                for power in powers
                for step in steps
                if low * 0.999 <= step * 10.0**power <= high * 1.001
            )
            if ticks and len(more) > max_ticks:
                break
            ticks = more
        return cls(low, high, True, ticks)

    def position(self, value: float) -> float:
        """Return where a value lies on the axis, from 0 to 1."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def tick_text(value: float) -> str:
    """Format a round number with few characters."""
    if value and (abs(value) >= 1e6 or abs(value) < 1e-4):
        return f"{value:.3g}".replace("e+0", "e").replace("e-0", "e-")
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def color(number: int) -> str:
    """Return the CSS class with the color of a series."""
    return f"s{number % SERIES}"


def dash(number: int) -> str:
    """Return the attribute with the dash pattern of a series, or nothing for a solid line."""
    pattern = _DASHES[number % len(_DASHES)]
    return f' stroke-dasharray="{pattern}"' if pattern else ""


def marker(number: int, x: float, y: float, title: str = "") -> str:
    """Return the marker of a series at a position; ``title`` is its tooltip."""
    tooltip = f"<title>{escape(title)}</title>" if title else ""
    shape = _SHAPES[number % len(_SHAPES)]
    return f'<path class="mark {color(number)}" d="{shape}" transform="translate({x:.1f} {y:.1f})">{tooltip}</path>'


def line_sample(number: int, curve: bool) -> str:
    """Return a line with its marker, or the marker alone, for a legend."""
    width = 34 if curve else 14
    line = f'<path class="curve" d="M1 7H33"{dash(number)}/>' if curve else ""
    return _sample(number, width, line + marker(number, width / 2, 7))


def bar_sample(number: int) -> str:
    """Return a square in the color of a bar, for a legend."""
    return _sample(number, 14, '<rect class="bar" x="1" y="1" width="12" height="12" rx="2"/>')


def _sample(number: int, width: int, inside: str) -> str:
    return f'<svg class="{color(number)}" width="{width}" viewBox="0 0 {width} 14" aria-hidden="true">{inside}</svg>'


@dataclass(frozen=True)
class Size:
    """The size of a drawing in pixels, before scaling."""

    width: int
    height: int
    name: str
    ticks: int
    """Maximum number of ticks on an axis."""


WIDE = Size(900, 420, "wide", 9)
NARROW = Size(360, 320, "narrow", 5)


def figure(
    title: str,
    description: str,
    legend: Sequence[tuple[str, str]],
    draw: Callable[[Size], tuple[str, int]],
    data: Table,
) -> str:
    """Return a chart with caption, legend and data table, drawn for wide and for narrow screens; CSS selects one.

    ``draw`` returns the contents of an SVG of the given width, and its height. ``legend`` has pairs of sample and name.
    """
    names = "".join(f"<li>{sample}<span>{escape(name)}</span></li>" for sample, name in legend)
    drawings = "".join(_drawing(title, description, size, *draw(size)) for size in (WIDE, NARROW))
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        + (f'<ul class="legend">{names}</ul>' if names else "")
        + drawings
        + f"<details><summary>Data of this chart</summary>{data.html()}</details></figure>"
    )


def text(x: float, y: float, words: str, anchor: str = "start", name: str = "", vertical: bool = False) -> str:
    """Return a text element; ``name`` is its CSS class."""
    rotation = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if vertical else ""
    kind = f' class="{name}"' if name else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}{rotation}>{escape(words)}</text>'


def _drawing(title: str, description: str, size: Size, inside: str, height: int) -> str:
    return (
        f'<svg class="chart {size.name}" viewBox="0 0 {size.width} {height}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{inside}</svg>"
    )
