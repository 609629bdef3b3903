"""Write the results of README.md, a table and docs/accuracy-time.svg, from stored results.

python -m benchmarks.core.readme
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.core.benchmark import Raw, Table
from benchmarks.core.report import fill_sections, markdown_table, stale_note
from benchmarks.core.results import Result, load
from benchmarks.peers.race import METRIC, median_run
from benchmarks.rivals.figures import summary
from vse_ens.report.charts import LineChart, Series
from vse_ens.report.html import CHART_STYLE
from vse_ens.report.svg import Size, colour, dash, marker, text

README = Path(__file__).parents[2] / "README.md"
CHART = README.parent / "docs" / "accuracy-time.svg"

DATA_SETS = {
    "iaprtc12": "IAPR TC-12",
    "openimages_v1val_sample": "Open Images sample",
    "mirflickr25k": "MIRFLICKR-25k",
    "corel5k": "Corel5k",
    "nuswide81": "NUS-WIDE concepts",
}
# Of a line of prose.
_WIDTH = 160
# Those with stored learning curves, where the benchmark `peers` has not run yet.
_CHARTED = ("iaprtc12", "openimages_v1val_sample")
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


def methods() -> list[Method]:
    """Return the methods with stored results, in the order of the table."""
    context, presets, baselines = (_sets(name) for name in ("context", "accuracy", "baselines"))
    time_to_accuracy = load("time-to-accuracy")
    curves: Raw = time_to_accuracy.raw["curves"] if time_to_accuracy else {}
    rows = [
        Method("**`context`**, the default", {name: _mean(facts["context"]) for name, facts in context.items()}, {}),
        Method("EASE, tuned", {name: _ease(facts["ease"]) for name, facts in context.items()}, {}),
        _stored("ALS (implicit)", "als", baselines, {}),
        *(_stored(f"`{name}`", name, presets, curves) for name in ("opt-auc", "warp", "vse-ens")),
        _stored("co-occurrence", "cooccurrence", baselines, {}),
        _stored("popularity", "popularity", baselines, {}),
    ]
    return [row for row in rows if row.points]


def charted_sets() -> list[str]:
    """Return the data sets of the chart, one panel each."""
    return list(_sets("peers") or _CHARTED)


def charted_methods() -> list[Method]:
    """Return the methods of the chart: those of the benchmark `peers`, or else of the table.

    Without those whose time, below a millisecond, would stretch its axis.
    """
    peers = _sets("peers")
    found = _peers(peers) if peers else methods()
    return [
        method
        for method in found
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


def _sets(benchmark: str) -> Raw:
    result = load(benchmark)
    sets: Raw = result.raw["sets"] if result else {}
    return {name: facts for name, facts in sets.items() if name in DATA_SETS}


def _mean(fits: list[Raw]) -> Point:
    return Point(*np.mean([_point(fit) for fit in fits], axis=0).tolist())


def _ease(fit: Raw) -> Point:
    point = _point(fit)
    return point._replace(seconds=point.seconds + fit["tuning_seconds"])


def _point(fit: Raw) -> Point:
    metrics = fit["metrics"]
    # With one held-out label per image, MAP is the mean reciprocal rank.
    return Point(metrics["recall@10"], metrics["mrr"] if "mrr" in metrics else metrics["map"], fit["seconds"])


def _stored(title: str, name: str, sets: Raw, curves: Raw) -> Method:
    return Method(
        title,
        {data_set: _point(facts["models"][name]) for data_set, facts in sets.items() if name in facts["models"]},
        {
            data_set: [(point["seconds"], point["recall@10"]) for point in models[name]]
            for data_set, models in curves.items()
        },
    )


def results() -> str:
    """Return the table, the chart and the machine as Markdown."""
    found = methods()
    best = {name: max(method.points[name].recall for method in found if name in method.points) for name in DATA_SETS}
    labels = {name: facts["labels"] for name, facts in _sets("context").items()}
    columns = ("", *(f"{title} ({labels[name]:,})" for name, title in DATA_SETS.items()))
    rows = [(method.name, *(_cell(method.points.get(name), best[name]) for name in DATA_SETS)) for method in found]
    return "\n\n".join(
        (
            markdown_table(Table(columns, rows)),
            "![Recall@10 against training time](docs/accuracy-time.svg)",
            _machine(),
        )
    )


def _cell(point: Point | None, best: float) -> str:
    if point is None:
        return "-"
    shown = f"{point.recall:.3f} / {point.reciprocal_rank:.3f}"
    return f"**{shown}**" if point.recall == best else shown


def _machine() -> str:
    stored: list[Result] = [
        result
        for result in map(load, ("context", "peers", "accuracy", "time-to-accuracy", "baselines"))
        if result is not None
    ]
    dates = sorted({str(result.machine["date"]) for result in stored})
    cpus = sorted({f"{result.machine['cores']} cores of {result.machine['cpu']}" for result in stored})
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
            _time_label(),
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


def _time_label() -> str:
    return "CPU seconds of training" if _sets("peers") else "seconds of training"


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
            f'<g class="{colour(number)}" transform="translate({x:.1f} {y})">{line}{marker(number, 17, 0)}'
            f"{text(42, 4.5, name)}</g>"
        )
        x += needed
    return "\n".join(parts), y + _LEGEND_LINE - _MARGIN


def _description(found: Sequence[Method]) -> str:
    ends = [
        f"{DATA_SETS[name]}: " + ", ".join(f"{plain(method.name)} {method.points[name].recall:.3f}" for method in found)
        for name in charted_sets()
    ]
    return f"recall@10 against {_time_label()}, on a logarithmic axis. {'; '.join(ends)}."


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
    """Return README with up-to-date results; those of `rivals` where it has markers for them."""
    sections = {"results": results()}
    stored = load("rivals")
    if stored is not None and "<!-- rivals -->" in readme:
        sections["rivals"] = markdown_table(summary(stored.raw, lambda name: DATA_SETS.get(name, name)))
    return fill_sections(readme, sections)


def write() -> None:
    """Rewrite the results of README and the chart."""
    README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
    CHART.write_text(chart(), encoding="utf-8")
    print(f"updated {README} and {CHART} from the stored results")


if __name__ == "__main__":
    write()
