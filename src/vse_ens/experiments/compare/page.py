"""A comparison as an HTML page."""

from __future__ import annotations

import json
from pathlib import Path

from vse_ens.evaluate.rankings import GROUPS
from vse_ens.evaluate.report import Report
from vse_ens.experiments.compare.fit import CURVE_METRIC
from vse_ens.experiments.compare.results import METRICS, Comparison, Result
from vse_ens.experiments.compare.store import Record, Run, remarks, seconds_text, speed_text
from vse_ens.report.charts import BarChart, Bars, LineChart, Series
from vse_ens.report.html import Block, Code, Details, Facts, Note, Page, Paragraph, Section
from vse_ens.report.tables import Cell, Column, Table, Value

# Faster than this is drawn as this: an axis of ten decades would have no room for the curves.
_FASTEST_DRAWN = 0.01


def comparison_page(comparison: Comparison) -> Page:
    """Accuracy, accuracy against time, common and rare labels, what was done, and how to do it again."""
    record, split = comparison.record, comparison.record.split
    done = [result for result in comparison.results if result.report]
    count = len(comparison.results)
    page = Page(f"{count} model{'s' if count > 1 else ''} on {Path(record.pairs).name}", _lead(comparison))
    page.add(Section("Accuracy", *_accuracy(comparison)))
    if done:
        page.add(
            Section("Accuracy against training time", *_against_time([result.run for result in done])),
            Section("Common and rare labels", *_by_group([(one.run, one.report) for one in done if one.report])),
        )
    page.add(
        Section(
            "What was done",
            Paragraph(
                "Of every image with two labels or more one label, chosen at random, was held out: "
                f"{split['test']:,} of {split['pairs']:,} pairs. Every model learnt from the other {split['train']:,} "
                "and from nothing else, then ranked all labels that an image is not known to have. One evaluator did "
                "that for all; labels with equal scores take their expected place. A comparison chooses nothing by the "
                "held-out labels: every model has the settings below, and is measured as its training ends."
            ),
            _facts(record),
            Details("All settings", Table("Settings of every model", ["model", "settings"], _settings(comparison))),
        ),
        Section(
            "How to do it again",
            Code(record.command),
            Paragraph(
                "The split and every model depend on the pairs, the settings and the seed alone, so accuracy comes out "
                "the same on one kind of processor; with a budget it depends on the speed of the machine too. Times "
                "are those of one run. What every model ranked is kept in a folder, and vse compare --from-rankings "
                "computes all metrics from it without training; only the curves over time are as they were measured "
                "on the way."
            ),
        ),
    )
    return page


def _lead(comparison: Comparison) -> str:
    split, budget = comparison.record.split, comparison.record.budget
    best = comparison.best("recall@10")
    leader = next((one.run.name for one in comparison.results if one.report and one.report["recall@10"] == best), None)
    found = f" The best, {leader}, has {100 * best:.1f} % of them among its first ten." if leader and best else ""
    equal = f" Each had {budget:g} seconds to learn." if budget is not None else ""
    held_out = f"{split['test']:,} labels were held out, one an image, to be found again among {split['labels']:,}."
    return held_out + equal + found


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
            "Means over images with 95 % bootstrap intervals; the best of each column stands out. Training time is "
            "that of fitting alone: no reading, compiling or evaluating.",
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
    name = Cell(run.name, note="; ".join(remarks(run, comparison.record.budget)) if run.state == "done" else run.state)
    cells: list[Value | Cell] = [
        Cell(report[metric], interval=report.intervals[metric], best=report[metric] == comparison.best(metric))
        if report
        else None
        for metric in METRICS
    ]
    return [name, *cells, seconds_text(run.seconds), speed_text(run.draws_per_second)]


def _against_time(runs: list[Run]) -> list[Block]:
    series = [
        Series(
            run.name,
            [max(seconds, _FASTEST_DRAWN) for seconds, _ in run.curve],
            [value for _, value in run.curve],
            level=run.kind == "baseline",
        )
        for run in runs
    ]
    quick = [run.name for run in runs if run.curve[0][0] < _FASTEST_DRAWN]
    return [
        LineChart(
            "Share of held-out labels among the first ten, as training goes on",
            "training time, seconds",
            CURVE_METRIC,
            series,
            x_log=True,
            y_zero=True,
        ),
        Paragraph(
            "A curve is one training run, measured between rounds; measuring does not count as training time. A "
            "baseline is fitted at once: it is a point, and the thin line carries it on for comparison."
            + (f" Less than {_FASTEST_DRAWN:g} s is drawn as that: {', '.join(quick)}." if quick else "")
        ),
    ]


def _by_group(found: list[tuple[Run, Report]]) -> list[Block]:
    present = [group for group in GROUPS if group in found[0][1].groups]
    sizes = {
        group: f"{group}: {one.labels:,} label{'s' if one.labels != 1 else ''}, {one.pairs:,} held out"
        for group, one in found[0][1].groups.items()
    }
    bars = [
        Bars(
            run.name,
            [report.groups[group].metrics["recall@10"] for group in present],
            [report.groups[group].intervals["recall@10"] for group in present],
        )
        for run, report in found
    ]
    return [
        Paragraph(
            "The commonest labels that together make up a third of all training pairs are the head, those of the next "
            "third the middle, all others the tail. A method that only knows what is common finds nothing in the tail."
        ),
        BarChart(
            "Recall@10 by how common the held-out label is", "recall@10", [sizes[group] for group in present], bars
        ),
    ]


def _facts(record: Record) -> Facts:
    split = record.split
    return Facts(
        [
            ("pairs", record.pairs),
            ("what they hold", f"{split['images']:,} images, {split['labels']:,} labels, {split['pairs']:,} pairs"),
            ("split", f"{split['protocol']}, seed {split['seed']}"),
            ("budget", "none: every model trained to its own end" if record.budget is None else f"{record.budget:g} s"),
            *record.machine.items(),
        ]
    )


def _settings(comparison: Comparison) -> list[list[Value | Cell]]:
    return [
        [
            result.run.name,
            ", ".join(f"{name} {value if isinstance(value, str) else json.dumps(value)}" for name, value in pairs)
            or "none",
        ]
        for result in comparison.results
        for pairs in [result.run.settings.items()]
    ]
