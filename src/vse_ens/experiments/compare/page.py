"""The HTML report of a comparison."""

from __future__ import annotations

import json
from pathlib import Path

from vse_ens.evaluate.rankings import GROUPS
from vse_ens.evaluate.report import Report
from vse_ens.experiments.compare.results import (
    CURVE_METRIC,
    METRICS,
    Comparison,
    ComparisonInfo,
    EntryRun,
    Result,
    format_seconds,
    format_speed,
    run_notes,
)
from vse_ens.report.charts import BarChart, Bars, LineChart, Series
from vse_ens.report.html import Block, Code, Details, Facts, Note, Page, Paragraph, Section
from vse_ens.report.tables import Cell, Column, Table, Value

# Shorter times are drawn at this value: an axis of ten decades would compress the curves.
_MIN_SECONDS_DRAWN = 0.01


def comparison_page(comparison: Comparison) -> Page:
    """Return the report: accuracy, accuracy over time, label frequency groups, method, and how to repeat it."""
    info, split = comparison.info, comparison.info.split
    done = [result for result in comparison.results if result.report]
    count = len(comparison.results)
    page = Page(f"{count} model{'s' if count > 1 else ''} on {Path(info.pairs).name}", _summary(comparison))
    page.add(Section("Accuracy", *_accuracy(comparison)))
    if done:
        page.add(
            Section("Accuracy over training time", *_over_time([result.run for result in done])),
            Section("Common and rare labels", *_by_group([(one.run, one.report) for one in done if one.report])),
        )
    page.add(
        Section(
            "Method",
            Paragraph(
                "For every image with two or more labels, one label chosen at random was held out: "
                f"{split['test']:,} of {split['pairs']:,} pairs. Every model was trained on the other "
                f"{split['train']:,} pairs only, and then ranked all labels that an image is not known to have. The "
                "evaluation is the same for all models; labels with equal scores share their expected rank. Nothing "
                "is selected by the held-out labels: every model uses the settings below and is evaluated at the end "
                "of its training."
            ),
            _facts(info),
            Details("All settings", Table("Settings of every model", ["model", "settings"], _settings(comparison))),
        ),
        Section(
            "Repeat this comparison",
            Code(info.command),
            Paragraph(
                "The split and every model depend only on the pairs, the settings and the seed, so accuracy is "
                "repeatable on one kind of processor. With a budget it also depends on the speed of the machine. Times "
                "are from a single run. The rankings of every model are stored in a folder; vse compare "
                "--from-rankings recomputes all metrics from it without training. Only the curves over time are "
                "stored as measured."
            ),
        ),
    )
    return page


def _summary(comparison: Comparison) -> str:
    split, budget = comparison.info.split, comparison.info.budget
    best = comparison.best("recall@10")
    leader = next((one.run.name for one in comparison.results if one.report and one.report["recall@10"] == best), None)
    text = f"{split['test']:,} labels were held out, one per image, and ranked among {split['labels']:,} labels."
    if budget is not None:
        text += f" Each model had {budget:g} seconds of training."
    if leader and best:
        text += f" The best model, {leader}, ranks {100 * best:.1f} % of them in its top ten."
    return text


def _accuracy(comparison: Comparison) -> list[Block]:
    columns = [
        Column("model"),
        *(Column(metric, ".4f") for metric in METRICS),
        Column("training, s", right=True),
        Column("draws/s", right=True),
    ]
    rows = [_row(comparison, result) for result in comparison.results]
    blocks: list[Block] = [
        Table(
            "Means over images with 95 % bootstrap intervals; the best value of each column is bold. Training time "
            "excludes reading, compiling and evaluation.",
            columns,
            rows,
        )
    ]
    for result in comparison.results:
        if result.run.state != "done":
            blocks.append(Note(f"{result.run.name} has no result. {result.run.error}", "warning"))
        elif result.report:
            blocks += [Note(f"{result.run.name}: {note}.") for note in result.report.notes()]
    return blocks


def _row(comparison: Comparison, result: Result) -> list[Value | Cell]:
    run, report = result.run, result.report
    note = "; ".join(run_notes(run, comparison.info.budget)) if run.state == "done" else run.state
    cells: list[Value | Cell] = [
        Cell(report[metric], interval=report.intervals[metric], best=report[metric] == comparison.best(metric))
        if report
        else None
        for metric in METRICS
    ]
    return [Cell(run.name, note=note), *cells, format_seconds(run.seconds), format_speed(run.draws_per_second)]


def _over_time(runs: list[EntryRun]) -> list[Block]:
    series = [
        Series(
            run.name,
            [max(seconds, _MIN_SECONDS_DRAWN) for seconds, _ in run.curve],
            [value for _, value in run.curve],
            level=run.kind == "baseline",
        )
        for run in runs
    ]
    faster = [run.name for run in runs if run.curve[0][0] < _MIN_SECONDS_DRAWN]
    return [
        LineChart(
            "Recall@10 over training time",
            "training time, seconds",
            CURVE_METRIC,
            series,
            x_log=True,
            y_zero=True,
        ),
        Paragraph(
            "Each curve is one training run, measured between rounds; measuring is not counted as training time. A "
            "baseline is fitted in one call: it is a single point, extended by a thin line for comparison."
            + (f" Times below {_MIN_SECONDS_DRAWN:g} s are drawn at that value: {', '.join(faster)}." if faster else "")
        ),
    ]


def _by_group(reports: list[tuple[EntryRun, Report]]) -> list[Block]:
    first = reports[0][1]
    present = [group for group in GROUPS if group in first.groups]
    headings = {
        group: f"{group}: {one.labels:,} label{'s' if one.labels != 1 else ''}, {one.pairs:,} held out"
        for group, one in first.groups.items()
    }
    bars = [
        Bars(
            run.name,
            [report.groups[group].metrics["recall@10"] for group in present],
            [report.groups[group].intervals["recall@10"] for group in present],
        )
        for run, report in reports
    ]
    return [
        Paragraph(
            "The head is the most frequent labels that together make up a third of all training pairs, the middle "
            "those of the next third, and the tail all others. A method that ranks by frequency finds nothing in the "
            "tail."
        ),
        BarChart(
            "Recall@10 by frequency of the held-out label", "recall@10", [headings[group] for group in present], bars
        ),
    ]


def _facts(info: ComparisonInfo) -> Facts:
    split = info.split
    budget = "none: every model trained to the end of its schedule" if info.budget is None else f"{info.budget:g} s"
    return Facts(
        [
            ("pairs", info.pairs),
            ("size", f"{split['images']:,} images, {split['labels']:,} labels, {split['pairs']:,} pairs"),
            ("split", f"{split['protocol']}, seed {split['seed']}"),
            ("budget", budget),
            *info.machine.items(),
        ]
    )


def _settings(comparison: Comparison) -> list[list[Value | Cell]]:
    return [
        [
            result.run.name,
            ", ".join(f"{name} {value if isinstance(value, str) else json.dumps(value)}" for name, value in settings)
            or "none",
        ]
        for result in comparison.results
        for settings in [result.run.settings.items()]
    ]
