"""Tables 2 and 4 of the report: accuracy and training time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vse_ens.experiments.paper.data_sets import marked_titles
from vse_ens.experiments.paper.findings import completed_runs, improvement, speed_ups
from vse_ens.experiments.paper.learning_curve import first_reaching
from vse_ens.experiments.paper.numbers import MODELS
from vse_ens.experiments.paper.training import (
    METRICS,
    SETTINGS,
    best_point,
    common_level,
    convergence_point,
    curve_points,
    still_rising,
)
from vse_ens.report.charts import LineChart, Series
from vse_ens.report.html import Block, Paragraph
from vse_ens.report.tables import Cell, Column, Table

NOT_AVAILABLE = "not available"
"""Shown in place of an unknown value of the paper."""

_HEADINGS = {
    "precision@5": "Pre@5",
    "recall@5": "Rec@5",
    "precision@10": "Pre@10",
    "recall@10": "Rec@10",
    "map": "MAP",
    "auc@10": "AUC@10",
    "auc": "AUC (true)",
}


def accuracy_blocks(document: dict[str, Any]) -> Iterator[Block]:
    """Yield table 2."""
    columns: list[str | Column] = ["model", *(Column(_HEADINGS[metric], ".4f") for metric in METRICS)]
    for name, title in marked_titles(document["data_sets"]).items():
        for settings, description in SETTINGS.items():
            runs = completed_runs(document, name, settings)
            if runs:
                yield Table(f"{title}, {description}", columns, list(_accuracy_rows(document, name, settings, runs)))
    if any(document["models"].values()):
        yield Paragraph(
            "Intervals are 95 % bootstrap intervals over images. Improve: VSE-ens over the better of the other two, as "
            "in the paper. The paper's AUC column is shown below AUC@10, which it must be; AUC (true) is that of the "
            "full ranking. For all models the epoch with the best recall@10 on held-out labels is used; it is given "
            "below the name. The curves below table 4 include the later epochs."
        )


def _accuracy_rows(document: dict[str, Any], name: str, settings: str, runs: dict[str, Any]) -> Iterator[Sequence[Any]]:
    stated = document["paper"]["table2"].get(name, {}) if settings == "paper" else None
    for model, run in runs.items():
        cells = []
        for metric in METRICS:
            ours = run["metrics"][metric]
            best = len(runs) > 1 and ours == max(other["metrics"][metric] for other in runs.values())
            paper = _paper_cell(stated, model, metric)
            cells.append(Cell(ours, paper, tuple(run["intervals"][metric]), best))
        note = f"epoch {best_point(run).epoch} of {curve_points(run)[-1].epoch}"
        yield Cell(MODELS[model], note=note), *cells
    if len(runs) == len(MODELS):
        yield "Improve", *(_improve_cell(runs, stated, metric) for metric in METRICS)


def _paper_cell(stated: dict[str, Any] | None, model: str, metric: str) -> float | str | None:
    """Return the paper's value; None if the settings are not the paper's or its table has no such column."""
    if stated is None or metric == "auc":
        return None
    value: float | str = stated.get(model, {}).get(_paper_name(metric), NOT_AVAILABLE)
    return value


def _improve_cell(runs: dict[str, Any], stated: dict[str, Any] | None, metric: str) -> Cell:
    ours = improvement(runs, metric)
    if stated is None or metric == "auc":
        return Cell("–" if ours is None else f"{ours:+.1%}")
    values = [stated.get(model, {}).get(_paper_name(metric)) for model in MODELS]
    paper = NOT_AVAILABLE if None in values else f"{values[0] / max(values[1:]) - 1:+.1%}"
    return Cell("–" if ours is None else f"{ours:+.1%}", paper)


def _paper_name(metric: str) -> str:
    return "auc" if metric == "auc@10" else metric


def time_blocks(document: dict[str, Any]) -> Iterator[Block]:
    """Yield table 4 and its learning curves."""
    rows = [
        row for name in document["data_sets"] for settings in SETTINGS for row in _time_rows(document, name, settings)
    ]
    if not rows:
        return
    columns: list[str | Column] = [
        "data set",
        *(Column(name, ".2f") for name in MODELS.values()),
        "WARP / VSE-ens",
        "WARP / VSE-ens to a common level",
    ]
    yield Table(
        "Seconds of training until recall@10 is within 1 % of its best, without compiling and measuring.",
        columns,
        rows,
    )
    for name, title in marked_titles(document["data_sets"]).items():
        for settings, description in SETTINGS.items():
            runs = completed_runs(document, name, settings)
            if runs:
                yield LineChart(
                    f"{title}, {description}: recall@10 over training time",
                    "seconds of training",
                    "recall@10",
                    [
                        Series(
                            MODELS[model],
                            [p.seconds for p in curve_points(run)],
                            [p.recall for p in curve_points(run)],
                            level=True,
                        )
                        for model, run in runs.items()
                    ],
                    x_log=True,
                    y_zero=True,
                )


def _time_rows(document: dict[str, Any], name: str, settings: str) -> Iterator[Sequence[Any]]:
    runs = completed_runs(document, name, settings)
    if len(runs) < len(MODELS):
        return
    paper = document["paper"]
    stated = paper["table4"].get(name, {})
    cells = []
    for model, run in runs.items():
        point = convergence_point(run)
        note = f"epoch {point.epoch} of {curve_points(run)[-1].epoch}" + (", still rising" if still_rising(run) else "")
        paper_value = stated.get(model, NOT_AVAILABLE) if settings == "paper" else None
        cells.append(Cell(point.seconds, paper_value, note=note))
    converged, common = speed_ups(runs) or (0.0, 0.0)
    level = common_level(list(runs.values()))
    reached = [first_reaching(curve_points(runs[model]), level) for model in ("warp", "vse-ens")]
    seconds = " and ".join(f"{point.seconds:,.2f} s" for point in reached if point)
    yield (
        Cell(marked_titles(document["data_sets"])[name], note=SETTINGS[settings]),
        *cells,
        Cell(f"{converged:.2f}×", f"{paper['speed_up'][name]:g}×" if name in paper["speed_up"] else NOT_AVAILABLE),
        Cell(f"{common:.2f}×", note=f"{seconds} to {level:.3f}"),
    )
