"""Bar charts and line charts as HTML figures with inline SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain

from vse_ens.errors import ConfigError
from vse_ens.report.html import in_notebook
from vse_ens.report.svg import Axis, Size, bar_sample, color, dash, figure, line_sample, marker, text, tick_text
from vse_ens.report.tables import Column, Table, Value, shown

# Height of a bar, and of the gap between groups.
_BAR, _GAP = 16.0, 14.0
# Approximate maximum number of markers on a curve.
_MAX_MARKERS = 25


@dataclass(frozen=True)
class Bars:
    """A series of bars, one per group."""

    name: str
    values: Sequence[float | None]
    """None shows a dash instead of a bar."""
    intervals: Sequence[tuple[float, float] | None] | None = None


@dataclass(frozen=True)
class BarChart:
    """Horizontal bars in groups, starting at 0, with their values."""

    title: str
    value_label: str
    groups: Sequence[str]
    bars: Sequence[Bars]
    format: str = ".3f"

    def __post_init__(self) -> None:
        for one in self.bars:
            if len(one.values) != len(self.groups) or (one.intervals and len(one.intervals) != len(self.groups)):
                raise ConfigError(f"the bars {one.name!r} need a value for each of the {len(self.groups)} groups")

    def html(self) -> str:
        """Return the chart as HTML."""
        legend = [(bar_sample(number), one.name) for number, one in enumerate(self.bars)] if len(self.bars) > 1 else []
        description = f"{self.value_label} in the groups {', '.join(self.groups)}."
        data = Table(
            f"{self.title}: data",
            ["group", *(Column(one.name, self.format) for one in self.bars)],
            [(group, *(one.values[index] for one in self.bars)) for index, group in enumerate(self.groups)],
        )
        return figure(self.title, description, legend, self._draw, data)

    def _repr_html_(self) -> str:
        return in_notebook(self.html())

    def _draw(self, size: Size) -> tuple[str, int]:
        ends = [end for one in self.bars for pair in one.intervals or () if pair for end in pair]
        values = [value for one in self.bars for value in one.values if value is not None]
        axis = Axis.around([*values, *ends], zero=True, max_ticks=size.ticks)
        # The margin on the right is for the value of the longest bar.
        left, right = 10.0, size.width - 62.0

        def x(value: float) -> float:
            return left + axis.position(value) * (right - left)

        head = 22.0 if any(self.groups) else 0.0
        group_height = head + _BAR * len(self.bars) + _GAP
        bottom = 6.0 + group_height * len(self.groups)
        parts = [
            f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="6" y2="{bottom:.1f}"/>'
            + text(x(tick), bottom + 17, tick_text(tick), "middle")
            for tick in axis.ticks
        ]
        for index, group in enumerate(self.groups):
            top = 6.0 + group_height * index + head
            parts.append(text(left + 6, top - 6, group, name="name"))
            for number, one in enumerate(self.bars):
                ends_here = one.intervals[index] if one.intervals else None
                parts.append(self._bar(number, one.values[index], ends_here, x, top + _BAR * number))
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
        value_text = shown(value, self.format)
        if value is None:
            return text(x(0) + 6, middle + 4.5, value_text, name="value")
        start, end = sorted((x(0), x(value)))
        tooltip = escape(f"{self.bars[number].name}: {value_text}")
        drawn = (
            f'<rect class="bar {color(number)}" x="{start:.1f}" y="{top + 1:.1f}" width="{max(end - start, 1):.1f}" '
            f'height="{_BAR - 3:.1f}" rx="1.5"><title>{tooltip}</title></rect>'
        )
        if interval is not None:
            low, high = map(x, interval)
            drawn += f'<path class="whisker" d="M{low:.1f} {middle:.1f}H{high:.1f}"/>'
            end = max(end, high)
        return drawn + text(end + 6, middle + 4, value_text, name="value")


@dataclass(frozen=True)
class Series:
    """A curve or a single point."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    band: Sequence[tuple[float, float]] | None = None
    """Lower and upper end of an interval around each y."""
    level: bool = False
    """Whether a thin line continues the last y to the right edge, for comparison."""

    def __post_init__(self) -> None:
        if len(self.xs) != len(self.ys) or (self.band is not None and len(self.band) != len(self.ys)):
            raise ConfigError(f"the series {self.name!r} needs as many x as y, and a band for all points or none")


@dataclass(frozen=True)
class LineChart:
    """Curves over two axes, each linear or logarithmic."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_log: bool = False
    y_log: bool = False
    y_zero: bool = False
    """Whether the y axis starts at 0."""

    def html(self) -> str:
        """Return the chart as HTML."""
        legend = [(line_sample(number, len(one.xs) > 1), one.name) for number, one in enumerate(self.series)]
        return figure(self.title, self._description(), legend, self.draw, self._data())

    def _repr_html_(self) -> str:
        return in_notebook(self.html())

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
        return Table(f"{self.title}: data", columns, rows)

    def draw(self, size: Size) -> tuple[str, int]:
        """Return the contents of an SVG of the given width, and its height."""
        ys = chain.from_iterable((*one.ys, *chain.from_iterable(one.band or ())) for one in self.series)
        x_axis = Axis.around(chain.from_iterable(one.xs for one in self.series), log=self.x_log, max_ticks=size.ticks)
        y_axis = Axis.around(ys, log=self.y_log, zero=self.y_zero, max_ticks=7)
        left = 34 + 7.5 * max((len(tick_text(tick)) for tick in y_axis.ticks), default=1)
        plot = _Plot(x_axis, y_axis, left, 12.0, size.width - 16.0, size.height - 50.0)
        parts = [plot.frame(self.x_label, self.y_label)]
        # Markers are drawn over curves, and curves over bands.
        layers = (plot.band, plot.level, plot.curve, plot.markers)
        parts += [layer(number, one) for layer in layers for number, one in enumerate(self.series)]
        return "".join(parts), size.height


@dataclass(frozen=True)
class _Plot:
    """The area of a drawing between the axes."""

    x_axis: Axis
    y_axis: Axis
    left: float
    top: float
    right: float
    bottom: float

    def x(self, value: float) -> float:
        # A margin on both sides, so that markers at the ends are not cut off.
        return self.left + 8.0 + self.x_axis.position(value) * (self.right - self.left - 16.0)

    def y(self, value: float) -> float:
        return self.bottom - self.y_axis.position(value) * (self.bottom - self.top)

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
            text(14, (self.top + self.bottom) / 2, y_label, "middle", vertical=True),
        ]
        return "".join(parts)

    def band(self, number: int, series: Series) -> str:
        if not series.band or len(series.xs) < 2:
            return ""
        upper = [(x, high) for x, (_, high) in zip(series.xs, series.band, strict=True)]
        lower = [(x, low) for x, (low, _) in zip(series.xs, series.band, strict=True)]
        return f'<path class="band {color(number)}" d="{self._path([*upper, *reversed(lower)])}Z"/>'

    def level(self, number: int, series: Series) -> str:
        if not series.level or not len(series.ys):
            return ""
        y = self.y(series.ys[-1])
        return (
            f'<line class="level {color(number)}" x1="{self.x(series.xs[-1]):.1f}" x2="{self.right:.1f}" '
            f'y1="{y:.1f}" y2="{y:.1f}"/>'
        )

    def curve(self, number: int, series: Series) -> str:
        if len(series.xs) < 2:
            return ""
        path = self._path(list(zip(series.xs, series.ys, strict=True)))
        return f'<path class="curve {color(number)}" d="{path}"{dash(number)}/>'

    def markers(self, number: int, series: Series) -> str:
        points = list(zip(series.xs, series.ys, strict=True))
        step = -(-len(points) // _MAX_MARKERS)
        # Counted from the end, so that the last point always has a marker.
        return "".join(
            marker(number, self.x(x), self.y(y), f"{series.name}: {x:.4g}, {y:.4g}")
            for x, y in points[:: -max(step, 1)]
        )

    def _path(self, points: Sequence[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
