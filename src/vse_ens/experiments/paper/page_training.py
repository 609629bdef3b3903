"""Tables 2 and 4 of the report: accuracy, and training time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vse_ens.experiments.paper.data_sets import titles
from vse_ens.experiments.paper.findings import improvement, runs_of, speed_ups
from vse_ens.experiments.paper.learning_curve import time_to
from vse_ens.experiments.paper.numbers import MODELS
from vse_ens.experiments.paper.training import (
    METRICS,
    SETTINGS,
    best_of,
    common_level,
    converged,
    curve,
    still_rising,
)
from vse_ens.report.charts import LineChart, Series
from vse_ens.report.html import Block, Paragraph
from vse_ens.report.tables import Cell, Column, Table

NOT_AT_HAND = "not at hand"
"""What stands where the paper's figure is not known."""

_HEADINGS = {
    "precision@5": "Pre@5",
    "recall@5": "Rec@5",
    "precision@10": "Pre@10",
    "recall@10": "Rec@10",
    "map": "MAP",
    "auc@10": "AUC@10",
    "auc": "AUC (true)",
}


def accuracy(document: dict[str, Any]) -> Iterator[Block]:
    """Table 2."""
    columns: list[str | Column] = ["model", *(Column(_HEADINGS[metric], ".4f") for metric in METRICS)]
    for name, title in titles(document["data_sets"]).items():
        for settings, words in SETTINGS.items():
            runs = runs_of(document, name, settings)
            if runs:
                yield Table(f"{title}, {words}", columns, list(_accuracy_rows(document, name, settings, runs)))
    if any(document["models"].values()):
        yield Paragraph(
            "95 % bootstrap intervals over images. Improve: VSE-ens over the better of its two rivals, as in the "
            "paper. The paper's AUC column is set beside AUC@10, which is what it must be; AUC (true) is that of the "
            "whole ranking. Of every run the epoch with the best recall@10 on held-out labels counts, for all models "
            "alike: it stands below the name. "
            "The curves under table 4 show what came after it."
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
        note = f"epoch {best_of(run).epoch} of {curve(run)[-1].epoch}"
        yield Cell(MODELS[model], note=note), *cells
    if len(runs) == len(MODELS):
        yield "Improve", *(_improve_cell(runs, stated, metric) for metric in METRICS)


def _paper_cell(stated: dict[str, Any] | None, model: str, metric: str) -> float | str | None:
    """The paper's figure; nothing where the settings are not the paper's or it has no such column."""
    if stated is None or metric == "auc":
        return None
    found: float | str = stated.get(model, {}).get(_paper_name(metric), NOT_AT_HAND)
    return found


def _improve_cell(runs: dict[str, Any], stated: dict[str, Any] | None, metric: str) -> Cell:
    ours = improvement(runs, metric)
    if stated is None or metric == "auc":
        return Cell("–" if ours is None else f"{ours:+.1%}")
    known = [stated.get(model, {}).get(_paper_name(metric)) for model in MODELS]
    paper = NOT_AT_HAND if None in known else f"{known[0] / max(known[1:]) - 1:+.1%}"
    return Cell("–" if ours is None else f"{ours:+.1%}", paper)


def _paper_name(metric: str) -> str:
    return "auc" if metric == "auc@10" else metric


def times(document: dict[str, Any]) -> Iterator[Block]:
    """Table 4, with the curves behind it."""
    rows = [
        row for name in document["data_sets"] for settings in SETTINGS for row in _time_rows(document, name, settings)
    ]
    if not rows:
        return
    columns: list[str | Column] = [
        "data set",
        *(Column(name, ".2f") for name in MODELS.values()),
        "WARP / VSE-ens",
        "the same, to a level all reach",
    ]
    yield Table(
        "Seconds of training until recall@10 is within 1 % of the best it gets, compiling and measuring left out.",
        columns,
        rows,
    )
    for name, title in titles(document["data_sets"]).items():
        for settings, words in SETTINGS.items():
            runs = runs_of(document, name, settings)
            if runs:
                yield LineChart(
                    f"{title}, {words}: recall@10 as training goes on",
                    "seconds of training",
                    "recall@10",
                    [
                        Series(
                            MODELS[model], [p.seconds for p in curve(run)], [p.recall for p in curve(run)], level=True
                        )
                        for model, run in runs.items()
                    ],
                    x_log=True,
                    y_zero=True,
                )


def _time_rows(document: dict[str, Any], name: str, settings: str) -> Iterator[Sequence[Any]]:
    runs = runs_of(document, name, settings)
    if len(runs) < len(MODELS):
        return
    paper = document["paper"]
    stated = paper["table4"].get(name, {})
    cells = []
    for model, run in runs.items():
        point = converged(run)
        note = f"epoch {point.epoch} of {curve(run)[-1].epoch}" + (", still rising" if still_rising(run) else "")
        of_paper = stated.get(model, NOT_AT_HAND) if settings == "paper" else None
        cells.append(Cell(point.seconds, of_paper, note=note))
    own, common = speed_ups(runs) or (0.0, 0.0)
    level = common_level(list(runs.values()))
    reached = [time_to(curve(runs[model]), level) for model in ("warp", "vse-ens")]
    both = " and ".join(f"{point.seconds:,.2f} s" for point in reached if point)
    yield (
        Cell(titles(document["data_sets"])[name], note=SETTINGS[settings]),
        *cells,
        Cell(f"{own:.2f}×", f"{paper['speed_up'][name]:g}×" if name in paper["speed_up"] else NOT_AT_HAND),
        Cell(f"{common:.2f}×", note=f"{both} to {level:.3f}"),
    )
