"""Curves over two axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from vse_ens.errors import ConfigError
from vse_ens.report.axes import Axis, tick_text
from vse_ens.report.figures import Size, figure, text
from vse_ens.report.marks import colour, dash, line_sample, marker
from vse_ens.report.tables import Column, Table, Value

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
