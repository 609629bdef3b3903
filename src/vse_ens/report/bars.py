"""Bars in groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from vse_ens.errors import ConfigError
from vse_ens.report.axes import Axis, tick_text
from vse_ens.report.figures import Size, figure, text
from vse_ens.report.marks import bar_sample, colour
from vse_ens.report.tables import Column, Table, shown

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
