"""The chart of the rivals, docs/rivals.svg, from the stored result."""

from __future__ import annotations

from pathlib import Path

from benchmarks.core.benchmark import Raw
from benchmarks.core.readme import DATA_SETS, plain, svg_file
from benchmarks.core.results import load
from benchmarks.rivals.base import OURS
from benchmarks.rivals.figures import Row, rows, summary, title
from vse_ens.report.svg import Axis, color, dash, marker, text, tick_text

CHART = Path(__file__).parents[2] / "docs" / "rivals.svg"
_NAMES, _PANEL, _GAP, _ROW = 170, 150, 44, 22
_TOP, _BOTTOM = 44, 34


def chart(raw: Raw) -> str:
    """Return recall@10 as an SVG file: one panel per data set, one line per method, the default's value dashed."""
    found = {name: some for name, some in rows(raw).items() if any(row.rival == OURS for row in some)}
    order = list(dict.fromkeys(line[0] for line in summary(raw, str).rows))
    height = _TOP + _ROW * len(order) + _BOTTOM
    parts = [
        text(_NAMES - 12, _y(number) + 4, plain(name), "end", "name" if name == title(OURS) else "")
        for number, name in enumerate(order)
    ]
    for number, (name, some) in enumerate(found.items()):
        left = _NAMES + number * (_PANEL + _GAP)
        parts.append(f'<g transform="translate({left} 0)">{_panel(name, some, order)}</g>')
    width = _NAMES + len(found) * (_PANEL + _GAP) - _GAP // 2
    described = "; ".join(f"{DATA_SETS.get(name, name)}: {_values(some)}" for name, some in found.items())
    return svg_file(width, height, "Recall@10 of all methods", f"recall@10 by data set. {described}.", "\n".join(parts))


def _values(some: list[Row]) -> str:
    return ", ".join(f"{plain(title(row.rival))} {row.mean('recall@10'):.3f}" for row in some)


def _y(number: int) -> float:
    return _TOP + _ROW * (number + 0.5)


def _panel(name: str, some: list[Row], order: list[str]) -> str:
    by_title = {title(row.rival): row for row in some}
    values = [row.mean("recall@10") for row in some]
    # Popularity is far below the others: an axis that reaches it would hide all other differences.
    axis = Axis.around([value for value in values if value > 0.6 * max(values)], max_ticks=4)
    bottom = _TOP + _ROW * len(order)
    parts = [text(_PANEL / 2, 20, DATA_SETS.get(name, name), "middle", "name")]
    for tick in axis.ticks:
        x = axis.position(tick) * _PANEL
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(text(x, bottom + 18, tick_text(tick), "middle"))
    ours = axis.position(by_title[title(OURS)].mean("recall@10")) * _PANEL
    parts.append(f'<g class="{color(0)}"><path class="curve" d="M{ours:.1f} {_TOP}V{bottom}"{dash(1)}/></g>')
    for number, line in enumerate(order):
        if line not in by_title:
            continue
        value = by_title[line].mean("recall@10")
        if value >= axis.low:
            series = 0 if line == title(OURS) else 1
            x = axis.position(value) * _PANEL
            parts.append(marker(series, x, _y(number), f"{plain(line)}: {value:.4f}"))
        else:
            parts.append(text(2, _y(number) + 4, f"← {value:.2f}"))
    return "".join(parts)


def write() -> None:
    """Rewrite the chart, if there is a result."""
    result = load("rivals")
    if result is not None and rows(result.raw):
        CHART.write_text(chart(result.raw), encoding="utf-8")
        print(f"updated {CHART} from the stored results")
