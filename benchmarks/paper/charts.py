"""The charts of docs/paper-numbers.md as SVG files: learning curves, figure 1, and time to accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from benchmarks.core.readme import svg_file
from benchmarks.paper import curves
from benchmarks.paper.data_sets import marked_titles
from benchmarks.paper.findings import doubt_about_data, groups_of
from benchmarks.paper.numbers import MODELS, PAPER, number
from benchmarks.paper.rules_time import SEARCHES
from vse_ens.report.charts import LineChart, Series
from vse_ens.report.svg import Size, color, dash, marker, text

Document = dict[str, Any]

_PANEL = Size(width=440, height=320, name="panel", ticks=5)
_TITLE, _LINE, _MARGIN = 26, 22, 14
# Width of a letter of the legend, and of a sample with the gaps beside it.
_LETTER, _SAMPLE = 6.9, 62
# Accuracies of the chart of time to accuracy, as parts of the best of all.
_LEVELS = [level / 50 for level in range(20, 51)]


def learning_curves(document: Document) -> str:
    """Return recall@10 by iterations and by CPU seconds, tuned, of the first seed."""
    name, group = _best_group(document)
    title = marked_titles(document["data_sets"])[name]
    panels = [
        LineChart(
            f"{title}, by {label}",
            label,
            "recall@10",
            [
                Series(
                    MODELS[model],
                    [point[axis] for point in group["models"][model]["runs"][0]["points"]],
                    [point[2] for point in group["models"][model]["runs"][0]["points"]],
                )
                for model in MODELS
            ],
            x_log=True,
            y_zero=True,
        )
        for axis, label in ((0, "iterations"), (1, "CPU seconds"))
    ]
    return _file("Learning curves of the three models", panels, list(MODELS.values()))


def time_to_accuracy(document: Document) -> str:
    """Return the iterations and CPU seconds to each accuracy, the mean over the seeds that all reach it."""
    name, group = _best_group(document)
    title = marked_titles(document["data_sets"])[name]
    runs = {model: [run["points"] for run in group["models"][model]["runs"]] for model in MODELS}
    top = max(curves.best(points) for found in runs.values() for points in found)
    panels = []
    for axis, label in ((0, "iterations"), (1, "CPU seconds")):
        series = []
        for model, found in runs.items():
            at = [(share * top, _mean(found, share * top, axis)) for share in _LEVELS]
            reached = [(level, value) for level, value in at if value is not None]
            series.append(Series(MODELS[model], [one[0] for one in reached], [one[1] for one in reached]))
        panels.append(LineChart(f"{title}: {label} to an accuracy", "recall@10", label, series, y_log=True))
    return _file("Iterations and time to accuracy of the three models", panels, list(MODELS.values()))


def _mean(runs: Sequence[curves.Points], level: float, axis: int) -> float | None:
    found = [curves.reach(points, level) for points in runs]
    values = [math.log(one[axis]) for one in found if one is not None]
    return math.exp(sum(values) / len(values)) if len(values) == len(runs) else None


def figure_1(document: Document) -> str:
    """Return the samples per step of WARP by iteration, one panel per data set that is not made up."""
    panels = []
    names = [reading for _, reading, _ in SEARCHES]
    for name, title in marked_titles(document["data_sets"]).items():
        if document["data_sets"][name]["generated"]:
            continue
        lines = []
        for group, reading, count in SEARCHES:
            warp = document["runs"].get(name, {}).get(group, {}).get("models", {}).get("warp")
            counts = count(warp["runs"][0]) if warp else []
            lines.append(Series(reading, list(range(1, len(counts) + 1)), counts))
        last = max(len(one.xs) for one in lines)
        if not last:
            continue
        level = number(PAPER["figure1"][name]["level"])
        lines.append(Series("the paper's level", [1, last], [level, level]))
        other = " (a sample)" if doubt_about_data(document, name) else ""
        panels.append(LineChart(f"{title}{other}", "iteration", "labels examined per step", lines, y_log=True))
    return _file("Samples per step of WARP", panels, [*names, "the paper's level"])


CHARTS: dict[str, Callable[[Document], str]] = {
    "paper-curves.svg": learning_curves,
    "paper-time-to-accuracy.svg": time_to_accuracy,
    "paper-figure-1.svg": figure_1,
}
"""The files in docs, with what draws them."""


def _best_group(document: Document) -> tuple[str, dict[str, Any]]:
    """Return the first group of the first data set of the paper that was trained."""
    for name in document["data_sets"]:
        if not doubt_about_data(document, name):
            for group_name in ("early", "tuned", "deviation"):
                found = dict(groups_of(document, name)).get(group_name)
                if found:
                    return name, found
    raise ValueError("no data set of the paper has been trained on")


def _file(title: str, panels: Sequence[LineChart], names: Sequence[str]) -> str:
    """Return panels beside each other below one legend."""
    width = _PANEL.width * len(panels)
    parts, x, y = [], float(_MARGIN), _MARGIN
    for index, name in enumerate(names):
        needed = _SAMPLE + _LETTER * len(name)
        if x + needed > width:
            x, y = float(_MARGIN), y + _LINE
        parts.append(
            f'<g class="{color(index)}" transform="translate({x:.1f} {y})">'
            f'<path class="curve" d="M0 0H34"{dash(index)}/>{marker(index, 17, 0)}{text(42, 4.5, name)}</g>'
        )
        x += needed
    top, height = y + _LINE, 0
    for index, panel in enumerate(panels):
        inside, panel_height = panel.draw(_PANEL)
        parts.append(
            f'<g transform="translate({_PANEL.width * index} {top})">'
            f"{text(_PANEL.width / 2 + 20, 14, panel.title, 'middle', name='name')}"
            f'<g transform="translate(0 {_TITLE - 8})">{inside}</g></g>'
        )
        height = max(height, top + _TITLE + panel_height)
    described = "; ".join(f"{panel.title}: {panel.y_label} against {panel.x_label}" for panel in panels)
    return svg_file(width, height, escape(title), escape(described), "\n".join(parts))
