"""The HTML page of an evaluation, and the reliability diagram."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from vse_ens.evaluate.reliability import Reliability, binned_calibration_error
from vse_ens.evaluate.report import GROUP_METRICS, Report
from vse_ens.report.charts import BarChart, Bars, LineChart, Series
from vse_ens.report.html import Block, Code, Columns, Note, Page, Paragraph, Section
from vse_ens.report.tables import Cell, Column, Table, Value

# Plots beside each other on a wide screen.
_STYLE = "body{max-width:110rem}"
# The quantile of the normal distribution for a 95 % interval.
_Z = 1.96


def evaluation_page(
    title: str, report: Report, bins: Sequence[Reliability], *, top: int, command: str | None = None
) -> Page:
    """Return a page with a headline, plots, and all metrics with intervals, overall and by label frequency.

    ``bins`` are the first ``top`` suggestions in bins by hit; empty if the model has no confidences.
    """
    lead = report.headline() or f"{report.pairs:,} held-out labels of {report.images:,} images were ranked."
    data = (
        f"{report.images:,} images with {report.pairs:,} held-out labels, each ranked among {report.labels:,} labels "
        "except those that the image is known to have. Lines show 95 % intervals."
    )
    page = Page(title, lead, style=_STYLE)
    notes = [Note(text, "warning") for text in report.notes()]
    charts: list[Block | None] = [_recall_chart(report), _group_chart(report)]
    if bins:
        charts.append(reliability_chart("Are hits right?", {f"first {top}": bins}))
    page.add(Section("Results", *notes, Paragraph(data), Columns(*(chart for chart in charts if chart is not None))))
    if bins:
        page.add(
            Section(
                "Hits",
                Paragraph(
                    f"The first {top} suggestions for every image, in bins of similar hit: the chance that a "
                    "suggestion is the held-out label. In each bin, the fraction of held-out labels should equal the "
                    "hit. A correct label that nobody assigned counts as wrong here; the confidence of a suggestion, "
                    "the chance that it is right, cannot be measured on held-out labels. The expected "
                    "calibration error, the mean difference between hit and fraction, is "
                    f"{binned_calibration_error(bins):.4f}."
                ),
            )
        )
    page.add(Section("All metrics", Columns(_metrics(report), _groups(report))))
    if command:
        page.add(Section("Command", Code(command)))
    return page


def _recall_chart(report: Report) -> BarChart | None:
    """Return the share of held-out labels among the first N suggestions, for every N."""
    names = [name for name in report.metrics if name.startswith("recall@")]
    if not names:
        return None
    tops = [name.partition("@")[2] for name in names]
    groups = ["first suggestion" if top == "1" else f"first {top} suggestions" for top in tops]
    bars = Bars("recall", [report.metrics[name] for name in names], [report.intervals.get(name) for name in names])
    return BarChart("How many held-out labels are found", "share of held-out labels", groups, [bars])


def _group_chart(report: Report) -> BarChart | None:
    """Return the recall of frequent and rare labels."""
    if len(report.groups) < 2:
        return None
    metric = GROUP_METRICS[0]
    groups = [f"{name}: {group.labels:,} labels" for name, group in report.groups.items()]
    values = [group.metrics[metric] for group in report.groups.values()]
    ends = [group.intervals.get(metric) for group in report.groups.values()]
    return BarChart(
        "Frequent and rare labels", f"{metric}, by frequency in training", groups, [Bars(metric, values, ends)]
    )


def _metrics(report: Report) -> Table:
    rows = [
        (" = ".join(names), Cell(report.metrics[names[0]], interval=report.intervals.get(names[0])))
        for names in report.folded()
    ]
    return Table("Means over images, with 95 % bootstrap intervals", ["metric", Column("value", ".4f")], rows)


def _groups(report: Report) -> Table:
    shown = report.group_metrics()
    rows: list[list[Value | Cell]] = [
        [
            name,
            group.labels,
            group.pairs,
            *(Cell(group.metrics[one], interval=group.intervals.get(one)) for one in shown),
        ]
        for name, group in report.groups.items()
    ]
    counts = [Column("labels", ","), Column("held-out pairs", ",")]
    return Table(
        "By frequency of the held-out label in training",
        ["group", *counts, *(Column(one, ".4f") for one in shown)],
        rows,
    )


def reliability_chart(title: str, curves: Mapping[str, Sequence[Reliability]]) -> LineChart:
    """Return a reliability diagram with one curve per name, and the line of perfect calibration.

    The bands are 95 % intervals of the fraction of right suggestions.
    """
    end = max((max(one.confidence, _interval(one)[1]) for points in curves.values() for one in points), default=1.0)
    measured = [
        Series(
            f"{name} ({sum(one.count for one in points):,} suggestions)",
            [one.confidence for one in points],
            [one.right for one in points],
            band=[_interval(one) for one in points],
        )
        for name, points in curves.items()
    ]
    perfect = Series("perfect calibration", [0.0, end], [0.0, end])
    return LineChart(title, "hit", "fraction right", [*measured, perfect], y_zero=True)


def _interval(one: Reliability) -> tuple[float, float]:
    """Return the Wilson interval, which stays within 0 and 1 and is not empty if all or none were right."""
    spread = _Z**2 / one.count
    middle = (one.right + spread / 2) / (1 + spread)
    half = math.sqrt(spread * one.right * (1 - one.right) + spread**2 / 4) / (1 + spread)
    return max(middle - half, 0.0), min(middle + half, 1.0)
