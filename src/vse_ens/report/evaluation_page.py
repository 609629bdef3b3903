"""An evaluation as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from vse_ens.evaluate.reliability import Reliability, mean_distance
from vse_ens.evaluate.report import GROUP_METRICS, Report
from vse_ens.report.html import Code, Note, Page, Paragraph, Section
from vse_ens.report.reliability import reliability_chart
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
                    f"calibration error, the mean distance of the two, is {mean_distance(trusted):.4f}."
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
