"""An evaluation as an HTML page.

The reliability plot: how often suggestions of each confidence were right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from vse_ens.evaluate.reliability import Reliability, binned_calibration_error
from vse_ens.evaluate.report import GROUP_METRICS, Report
from vse_ens.report.charts import LineChart, Series
from vse_ens.report.html import Code, Note, Page, Paragraph, Section
from vse_ens.report.tables import Cell, Column, Table, Value


def evaluation_page(
    title: str, report: Report, trusted: Sequence[Reliability], *, top: int, command: str | None = None
) -> Page:
    """All metrics with their intervals, common and rare labels, and whether confidences are what they say.

    ``trusted`` are the first ``top`` suggestions in bins by confidence; empty where the model has no confidences.
    """
    lead = (
        f"{report.images:,} images with {report.pairs:,} held-out labels, each ranked among {report.labels:,} labels, "
        "without those the image is known to have."
    )
    page = Page(title, lead)
    notes = [Note(text, "warning") for text in report.notes()]
    page.add(Section("Metrics", *notes, _metrics(report)), Section("Common and rare labels", _groups(report)))
    if trusted:
        page.add(
            Section(
                "Confidence",
                Paragraph(
                    f"The first {top} suggestions for every image, in piles of about the same confidence: each pile "
                    "should be right as often as it says. Right is a suggestion that is a held-out label of its "
                    "image; one that is true of the image but was never tagged counts as wrong. The expected "
                    f"calibration error, the mean distance of the two, is {binned_calibration_error(trusted):.4f}."
                ),
                reliability_chart("How often suggestions were right", {f"first {top}": trusted}),
            )
        )
    if command:
        page.add(Section("Do it again", Code(command)))
    return page


def _metrics(report: Report) -> Table:
    rows = [(name, Cell(value, interval=report.intervals.get(name))) for name, value in report.metrics.items()]
    return Table(
        "Means over images, with 95 % intervals over resampled images", ["metric", Column("value", ".4f")], rows
    )


def _groups(report: Report) -> Table:
    rows: list[list[Value | Cell]] = [
        [
            name,
            group.labels,
            group.pairs,
            *(Cell(group.metrics[one], interval=group.intervals.get(one)) for one in GROUP_METRICS),
        ]
        for name, group in report.groups.items()
    ]
    counts = [Column("labels", ","), Column("held-out pairs", ",")]
    return Table(
        "By how common the held-out label is in training",
        ["labels that are", *counts, *(Column(one, ".4f") for one in GROUP_METRICS)],
        rows,
    )


# Standard errors on either side of a 95 % interval.
_ERRORS = 1.96


def reliability_chart(title: str, found: Mapping[str, Sequence[Reliability]]) -> LineChart:
    """A curve for each of ``found`` beside the line on which confidence and truth are the same.

    The band is where the truth lies with a chance of 95 %, by the number of suggestions.
    """
    end = max((max(one.confidence, _interval(one)[1]) for points in found.values() for one in points), default=1.0)
    curves = [
        Series(
            f"{name} ({sum(one.count for one in points):,} suggestions)",
            [one.confidence for one in points],
            [one.right for one in points],
            band=[_interval(one) for one in points],
        )
        for name, points in found.items()
    ]
    exact = Series("right as often as said", [0.0, end], [0.0, end])
    return LineChart(title, "confidence", "part that was right", [*curves, exact], y_zero=True)


def _interval(one: Reliability) -> tuple[float, float]:
    """Wilson's interval, which stays between 0 and 1 and has a width also where all or none were right."""
    spread = _ERRORS**2 / one.count
    middle = (one.right + spread / 2) / (1 + spread)
    half = math.sqrt(spread * one.right * (1 - one.right) + spread**2 / 4) / (1 + spread)
    return max(middle - half, 0.0), min(middle + half, 1.0)
