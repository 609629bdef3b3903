"""From values to places on a line, and the round numbers to write beside it.

What tells one series from another besides its colour: dashes and shapes.

What every chart is made of around its drawing: a caption, a legend, and the figures themselves in a table.

Bars in groups.

Curves over two axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain

from vse_ens.errors import ConfigError
from vse_ens.report.html import SERIES
from vse_ens.report.tables import Column, Table, Value, shown

_LOGARITHMIC_STEPS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0))


@dataclass(frozen=True)
class Axis:
    """A range of values, spread evenly or by their logarithm."""

    low: float
    high: float
    log: bool
    ticks: tuple[float, ...]

    @classmethod
    def around(cls, values: Iterable[float], *, log: bool = False, zero: bool = False, most_ticks: int = 7) -> Axis:
        """An axis with room for all values, and for 0 where ``zero`` is asked."""
        found = list(values)
        for value in found:
            if not math.isfinite(value) or (log and value <= 0):
                raise ConfigError(f"a chart cannot show {value} on {'a logarithmic' if log else 'an'} axis")
        low, high = (min(found), max(found)) if found else (1.0 if log else 0.0, 1.0)
        if log:
            return cls._logarithmic(low, high, most_ticks)
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
        return cls._even(low, high, most_ticks)

    @classmethod
    def _even(cls, low: float, high: float, most_ticks: int) -> Axis:
        if low == high:
            low, high = low - abs(low or 1.0) / 2, high + abs(high or 1.0) / 2
        size = (high - low) / (most_ticks - 1)
        power = 10.0 ** math.floor(math.log10(size))
        step = next(step * power for step in (1.0, 2.0, 2.5, 5.0, 10.0) if step * power >= size * 0.999)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        ticks = tuple(round(step * place, 12) for place in range(first, last + 1))
        return cls(ticks[0], ticks[-1], False, ticks)

    @classmethod
    def _logarithmic(cls, low: float, high: float, most_ticks: int) -> Axis:
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
            if ticks and len(more) > most_ticks:
                break
            ticks = more
        return cls(low, high, True, ticks)

    def place(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high end."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def tick_text(value: float) -> str:
    """A round number in few characters."""
    if value and (abs(value) >= 1e6 or abs(value) < 1e-4):
        return f"{value:.3g}".replace("e+0", "e").replace("e-0", "e-")
    return f"{value:,.6f}".rstrip("0").rstrip(".")


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


@dataclass(frozen=True)
class Size:
    """A drawing's width and height, in pixels at its natural scale."""

    width: int
    height: int
    name: str
    ticks: int
    """About how many numbers an axis has room for."""


WIDE = Size(900, 420, "wide", 9)
NARROW = Size(360, 320, "narrow", 5)


def figure(
    title: str,
    description: str,
    legend: Sequence[tuple[str, str]],
    draw: Callable[[Size], tuple[str, int]],
    data: Table,
) -> str:
    """A chart drawn twice, for wide and for narrow screens, of which the page shows one.

    ``draw`` gives the inside of an SVG of that width, and its height; ``legend`` has a sample and a name each.
    """
    names = "".join(f"<li>{sample}<span>{escape(name)}</span></li>" for sample, name in legend)
    drawings = "".join(_drawing(title, description, size, *draw(size)) for size in (WIDE, NARROW))
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        + (f'<ul class="legend">{names}</ul>' if names else "")
        + drawings
        + f"<details><summary>The figures behind this chart</summary>{data.html()}</details></figure>"
    )


def text(x: float, y: float, words: str, anchor: str = "start", name: str = "", turned: bool = False) -> str:
    """Words in a drawing."""
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    kind = f' class="{name}"' if name else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}{turn}>{escape(words)}</text>'


def _drawing(title: str, description: str, size: Size, inside: str, height: int) -> str:
    return (
        f'<svg class="chart {size.name}" viewBox="0 0 {size.width} {height}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{inside}</svg>"
    )


# The height of a bar, and of the space between groups.
_BAR, _GAP = 16.0, 14.0


@dataclass(frozen=True)
class Bars:
    """One bar in each group."""

    name: str
    values: Sequence[float | None]
    """None leaves a bar out, and says so."""
    intervals: Sequence[tuple[float, float] | None] | None = None


@dataclass(frozen=True)
class BarChart:
    """Bars that lie in groups, from 0, each with its figure at the end."""

    title: str
    value_label: str
    groups: Sequence[str]
    bars: Sequence[Bars]
    format: str = ".3f"

    def __post_init__(self) -> None:
        for one in self.bars:
            if len(one.values) != len(self.groups) or (one.intervals and len(one.intervals) != len(self.groups)):
                raise ConfigError(f"the bars {one.name!r} need a value for each of {len(self.groups)} groups")

    def html(self) -> str:
        """As HTML."""
        legend = [(bar_sample(number), one.name) for number, one in enumerate(self.bars)] if len(self.bars) > 1 else []
        description = f"{self.value_label} in the groups {', '.join(self.groups)}."
        data = Table(
            f"{self.title}: figures",
            ["group", *(Column(one.name, self.format) for one in self.bars)],
            [(group, *(one.values[place] for one in self.bars)) for place, group in enumerate(self.groups)],
        )
        return figure(self.title, description, legend, self._draw, data)

    def _draw(self, size: Size) -> tuple[str, int]:
        ends = [end for one in self.bars for pair in one.intervals or () if pair for end in pair]
        values = [value for one in self.bars for value in one.values if value is not None]
        axis = Axis.around([*values, *ends], zero=True, most_ticks=size.ticks)
        # Room at the right for the figure of the longest bar.
        left, right = 10.0, size.width - 62.0

        def x(value: float) -> float:
            return left + axis.place(value) * (right - left)

        head = 22.0 if any(self.groups) else 0.0
        group_height = head + _BAR * len(self.bars) + _GAP
        bottom = 6.0 + group_height * len(self.groups)
        parts = [
            f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="6" y2="{bottom:.1f}"/>'
            + text(x(tick), bottom + 17, tick_text(tick), "middle")
            for tick in axis.ticks
        ]
        for place, group in enumerate(self.groups):
            top = 6.0 + group_height * place + head
            parts.append(text(left + 6, top - 6, group, name="name"))
            for number, one in enumerate(self.bars):
                ends_here = one.intervals[place] if one.intervals else None
                parts.append(self._bar(number, one.values[place], ends_here, x, top + _BAR * number))
        parts.append(
            f'<line class="axis" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="6" y2="{bottom:.1f}"/>'
            + text((left + right) / 2, bottom + 38, self.value_label, "middle")
        )
        return "".join(parts), round(bottom + 48)

    def _bar(
        self,
        number: int,
        value: float | None,
        interval: tuple[float, float] | None,
        x: Callable[[float], float],
        top: float,
    ) -> str:
        middle = top + _BAR / 2
        figure_text = shown(value, self.format)
        if value is None:
            return text(x(0) + 6, middle + 4.5, figure_text, name="value")
        start, end = sorted((x(0), x(value)))
        hint = escape(f"{self.bars[number].name}: {figure_text}")
        drawn = (
            f'<rect class="bar {colour(number)}" x="{start:.1f}" y="{top + 1:.1f}" width="{max(end - start, 1):.1f}" '
            f'height="{_BAR - 3:.1f}" rx="1.5"><title>{hint}</title></rect>'
        )
        if interval is not None:
            low, high = map(x, interval)
            drawn += f'<path class="whisker" d="M{low:.1f} {middle:.1f}H{high:.1f}"/>'
            end = max(end, high)
        return drawn + text(end + 6, middle + 4, figure_text, name="value")


# A curve of many points is marked at about so many of them.
_MOST_MARKS = 25


@dataclass(frozen=True)
class Series:
    """A curve, or a single point."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    band: Sequence[tuple[float, float]] | None = None
    """Between which figures each y lies."""
    level: bool = False
    """Whether a thin line carries its last y on to the right, to compare others with."""

    def __post_init__(self) -> None:
        if len(self.xs) != len(self.ys) or (self.band is not None and len(self.band) != len(self.ys)):
            raise ConfigError(f"the series {self.name!r} needs as many x as y, and a band for all or none of them")


@dataclass(frozen=True)
class LineChart:
    """Curves over two axes, each even or logarithmic."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_log: bool = False
    y_log: bool = False
    y_zero: bool = False
    """Whether the y axis starts at 0."""

    def html(self) -> str:
        """As HTML."""
        legend = [(line_sample(number, len(one.xs) > 1), one.name) for number, one in enumerate(self.series)]
        return figure(self.title, self._description(), legend, self._draw, self._data())

    def _description(self) -> str:
        ends = (f"{one.name} ends at {one.ys[-1]:.4g}" for one in self.series if len(one.ys))
        return f"{self.y_label} against {self.x_label}. {'; '.join(ends)}."

    def _data(self) -> Table:
        banded = any(one.band for one in self.series)
        columns: list[str | Column] = ["series", Column(self.x_label, ".6g"), Column(self.y_label, ".6g")]
        if banded:
            columns += [Column("from", ".6g"), Column("to", ".6g")]
        rows: list[Sequence[Value]] = []
        for one in self.series:
            ends: Sequence[tuple[float | None, float | None]] = one.band or [(None, None)] * len(one.xs)
            rows += [(one.name, x, y, *(end if banded else ())) for x, y, end in zip(one.xs, one.ys, ends, strict=True)]
        return Table(f"{self.title}: figures", columns, rows)

    def _draw(self, size: Size) -> tuple[str, int]:
        ys = chain.from_iterable((*one.ys, *chain.from_iterable(one.band or ())) for one in self.series)
        x_axis = Axis.around(chain.from_iterable(one.xs for one in self.series), log=self.x_log, most_ticks=size.ticks)
        y_axis = Axis.around(ys, log=self.y_log, zero=self.y_zero, most_ticks=7)
        left = 34 + 7.5 * max((len(tick_text(tick)) for tick in y_axis.ticks), default=1)
        plot = _Plot(x_axis, y_axis, left, 12.0, size.width - 16.0, size.height - 50.0)
        parts = [plot.frame(self.x_label, self.y_label)]
        # Points lie above curves, and curves above bands.
        layers = (plot.band, plot.level, plot.curve, plot.marks)
        parts += [layer(number, one) for layer in layers for number, one in enumerate(self.series)]
        return "".join(parts), size.height


@dataclass(frozen=True)
class _Plot:
    """A place for curves on a drawing."""

    x_axis: Axis
    y_axis: Axis
    left: float
    top: float
    right: float
    bottom: float

    def x(self, value: float) -> float:
        # A little room on both sides, so that a mark at the end is whole.
        return self.left + 8.0 + self.x_axis.place(value) * (self.right - self.left - 16.0)

    def y(self, value: float) -> float:
        return self.bottom - self.y_axis.place(value) * (self.bottom - self.top)

    def frame(self, x_label: str, y_label: str) -> str:
        parts = [
            f'<line class="grid" x1="{self.left:.1f}" x2="{self.right:.1f}" y1="{self.y(tick):.1f}" '
            f'y2="{self.y(tick):.1f}"/>{text(self.left - 8, self.y(tick) + 4.5, tick_text(tick), "end")}'
            for tick in self.y_axis.ticks
        ]
        parts += [
            f'<line class="axis" x1="{self.x(tick):.1f}" x2="{self.x(tick):.1f}" y1="{self.bottom:.1f}" '
            f'y2="{self.bottom + 5:.1f}"/>{text(self.x(tick), self.bottom + 20, tick_text(tick), "middle")}'
            for tick in self.x_axis.ticks
        ]
        parts += [
            f'<path class="axis" d="M{self.left:.1f} {self.bottom:.1f}H{self.right:.1f}"/>',
            text((self.left + self.right) / 2, self.bottom + 42, x_label, "middle"),
            text(14, (self.top + self.bottom) / 2, y_label, "middle", turned=True),
        ]
        return "".join(parts)

    def band(self, number: int, series: Series) -> str:
        if not series.band or len(series.xs) < 2:
            return ""
        upper = [(x, high) for x, (_, high) in zip(series.xs, series.band, strict=True)]
        lower = [(x, low) for x, (low, _) in zip(series.xs, series.band, strict=True)]
        return f'<path class="band {colour(number)}" d="{self._path([*upper, *reversed(lower)])}Z"/>'

    def level(self, number: int, series: Series) -> str:
        if not series.level or not len(series.ys):
            return ""
        y = self.y(series.ys[-1])
        return (
            f'<line class="level {colour(number)}" x1="{self.x(series.xs[-1]):.1f}" x2="{self.right:.1f}" '
            f'y1="{y:.1f}" y2="{y:.1f}"/>'
        )

    def curve(self, number: int, series: Series) -> str:
        if len(series.xs) < 2:
            return ""
        path = self._path(list(zip(series.xs, series.ys, strict=True)))
        return f'<path class="curve {colour(number)}" d="{path}"{dash(number)}/>'

    def marks(self, number: int, series: Series) -> str:
        points = list(zip(series.xs, series.ys, strict=True))
        step = -(-len(points) // _MOST_MARKS)
        # Counted from the end: the last point is always marked.
        return "".join(
            marker(number, self.x(x), self.y(y), f"{series.name}: {x:.4g}, {y:.4g}")
            for x, y in points[:: -max(step, 1)]
        )

    def _path(self, points: Sequence[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
