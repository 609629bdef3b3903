"""Write the results of README.md, a table and docs/accuracy-time.svg, from stored results.

python -m benchmarks.core.readme
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.core.benchmark import Raw
from benchmarks.core.report import cores_of, fill_sections, markdown_table, stale_note
from benchmarks.core.results import Result, load
from benchmarks.peers.race import METRIC, median_run
from benchmarks.rivals.figures import rows, summary
from vse_ens.report.charts import LineChart, Series
from vse_ens.report.html import CHART_STYLE
from vse_ens.report.svg import Size, color, dash, marker, text

README = Path(__file__).parents[2] / "README.md"
CHART = README.parent / "docs" / "accuracy-time.svg"

DATA_SETS = {
    "iaprtc12": "IAPR TC-12",
    "openimages_v1val_sample": "Open Images sample",
    "mirflickr25k": "MIRFLICKR-25k",
    "corel5k": "Corel5k",
    "nuswide81": "NUS-WIDE concepts",
    "eurlex4k": "EURLex-4K",
    "lastfm2k": "Last.fm 2K",
}
# Of a line of prose.
_WIDTH = 160
_CHART_WIDTH = 890
_MARGIN, _LEGEND_LINE, _PANEL_TITLE = 18, 24, 26
# A curve has one marker per such factor of time.
_MARKER_STEP = 1.35
# Width of a letter of the legend, and of a sample with the gaps beside it, in pixels.
_LETTER, _SAMPLE = 6.9, 62


class Point(NamedTuple):
    """The accuracy of a fitted model, and the seconds it took to fit."""

    recall: float
    reciprocal_rank: float
    seconds: float


class Method(NamedTuple):
    """A method with its results by data set, and its learning curves if it has some."""

    name: str
    points: dict[str, Point]
    curves: dict[str, list[tuple[float, float]]]


def charted_sets() -> list[str]:
    """Return the data sets of the chart, one panel each."""
    return list(_sets())


def charted_methods() -> list[Method]:
    """Return the methods of the chart: those of the benchmark `peers`.

    Without those whose time, below a millisecond, would stretch its axis.
    """
    return [
        method
        for method in _peers(_sets())
        if all(name in method.points and method.points[name].seconds > 0.001 for name in charted_sets())
    ]


def _peers(sets: Raw) -> list[Method]:
    curves: dict[str, dict[str, list[Raw]]] = {}
    for data_set, facts in sets.items():
        for name, method in facts["methods"].items():
            if ran := median_run(method):
                curves.setdefault(name, {})[data_set] = ran
    return [
        Method(
            name,
            {data_set: Point(ran[-1][METRIC], ran[-1]["mrr"], ran[-1]["seconds"]) for data_set, ran in by_set.items()},
            {data_set: [(point["seconds"], point[METRIC]) for point in ran] for data_set, ran in by_set.items()},
        )
        for name, by_set in curves.items()
    ]


def _sets() -> Raw:
    result = load("peers")
    sets: Raw = result.raw["sets"] if result else {}
    return {name: facts for name, facts in sets.items() if name in DATA_SETS}


def results() -> str:
    """Return the table of the rivals, the chart and the machine as Markdown."""
    stored = load("rivals")
    if stored is None:
        raise FileNotFoundError("the benchmark rivals has no stored result; run: python -m benchmarks rivals")
    facts = {data_set: some[0].raw for data_set, some in rows(stored.raw).items()}
    table = summary(
        stored.raw,
        lambda name: f"{DATA_SETS[name]} ({facts[name]['images']:,} images, {facts[name]['labels']:,} labels)",
    )
    return "\n\n".join(
        (markdown_table(table), "![Recall@10 against training time](docs/accuracy-time.svg)", _machine())
    )


def _machine() -> str:
    stored: list[Result] = [result for result in map(load, ("rivals", "peers")) if result is not None]
    dates = sorted({str(result.machine["date"]) for result in stored})
    cpus = sorted({cores_of(result.machine) for result in stored})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    where = f"Measured on {', '.join(cpus)}, {when}. {stale_note(stored)}"
    return textwrap.fill(where, _WIDTH, break_long_words=False, break_on_hyphens=False)


def chart() -> str:
    """Return recall@10 against training time as an SVG file, one panel per data set."""
    found, data_sets = charted_methods(), charted_sets()
    size = Size(width=_CHART_WIDTH // len(data_sets), height=340, name="panel", ticks=5)
    panels = [
        LineChart(
            DATA_SETS[name],
            "CPU seconds of training",
            "recall@10",
            [_series(method, name) for method in found],
            x_log=True,
        )
        for name in data_sets
    ]
    legend, legend_height = _legend(found, size.width * len(panels))
    top = _MARGIN + legend_height
    parts, height = [legend], 0
    for number, panel in enumerate(panels):
        inside, panel_height = panel.draw(size)
        title = text(size.width / 2 + 20, 14, panel.title, "middle", name="name")
        parts.append(
            f'<g transform="translate({size.width * number} {top})">{title}'
            f'<g transform="translate(0 {_PANEL_TITLE - 8})">{inside}</g></g>'
        )
        height = max(height, top + _PANEL_TITLE + panel_height)
    width = size.width * len(panels)
    return svg_file(width, height, "Accuracy against training time", _description(found), "\n".join(parts))


def _series(method: Method, data_set: str) -> Series:
    point = method.points[data_set]
    curve = _thinned(method.curves.get(data_set, [(point.seconds, point.recall)]))
    return Series(plain(method.name), [seconds for seconds, _ in curve], [recall for _, recall in curve])


def _thinned(curve: list[tuple[float, float]]) -> list[tuple[float, float]]:
    # From the end, so that the last point is kept.
    kept = curve[-1:]
    for point in reversed(curve):
        if point[0] * _MARKER_STEP <= kept[-1][0]:
            kept.append(point)
    return kept[::-1]


def plain(name: str) -> str:
    """Return a name without the marks of Markdown."""
    return re.sub(r"[*`]", "", name)


def _legend(found: Sequence[Method], width: int) -> tuple[str, int]:
    parts, x, y = [], float(_MARGIN), _MARGIN
    for number, method in enumerate(found):
        name = plain(method.name)
        needed = _SAMPLE + _LETTER * len(name)
        if x + needed > width:
            x, y = float(_MARGIN), y + _LEGEND_LINE
        line = f'<path class="curve" d="M0 0H34"{dash(number)}/>' if method.curves else ""
        parts.append(
            f'<g class="{color(number)}" transform="translate({x:.1f} {y})">{line}{marker(number, 17, 0)}'
            f"{text(42, 4.5, name)}</g>"
        )
        x += needed
    return "\n".join(parts), y + _LEGEND_LINE - _MARGIN


def _description(found: Sequence[Method]) -> str:
    ends = [
        f"{DATA_SETS[name]}: " + ", ".join(f"{plain(method.name)} {method.points[name].recall:.3f}" for method in found)
        for name in charted_sets()
    ]
    return f"recall@10 against {'CPU seconds of training'}, on a logarithmic axis. {'; '.join(ends)}."


def svg_file(width: int, height: int, title: str, description: str, inside: str) -> str:
    """Return an SVG file with the styles of charts."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">\n<title>{title}</title>\n'
        f"<desc>{description}</desc>\n<style>{CHART_STYLE}"
        'svg{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif}\n'
        ".paper{fill:var(--paper)}</style>\n"
        f'<rect class="paper" width="{width}" height="{height}" rx="6"/>\n{inside}\n</svg>\n'
    )


def filled(readme: str) -> str:
    """Return README with up-to-date results."""
    return fill_sections(readme, {"results": results()})


def write() -> None:
    """Rewrite the results of README and the chart."""
    README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
    CHART.write_text(chart(), encoding="utf-8")
    print(f"updated {README} and {CHART} from the stored results")


if __name__ == "__main__":
    write()
