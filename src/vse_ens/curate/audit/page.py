"""The HTML page of an audit."""

from __future__ import annotations

from vse_ens.curate.audit.audit import Audit, Finding
from vse_ens.report.html import Block, Page, Paragraph, Section
from vse_ens.report.tables import Column, Table

_CONFIDENCE = Column("confidence", ".3f")

_WRONG = (
    "Each label was removed from its image and ranked among all labels that the image lacks. The labels below score no "
    "better than random labels. The confidence is the probability that the label is wrong; it assumes the fraction of "
    "wrong labels that the audit was run with. Numbers in brackets are contributions to the score."
)
_MISSING = (
    "The best suggestions over all images. The confidence is the rate at which similar suggestions were right for "
    "held-out labels. For a model trained without held-out labels, it is the softmax share among the labels that the "
    "image lacks."
)
_DUPLICATES = (
    "Labels that mean the same are the same word in another form, or are used as two names of one thing: hardly ever "
    "on one image, and with the same other labels. Labels that are only used alike often mean different things."
)


def audit_page(audit: Audit, title: str = "Label audit") -> Page:
    """Return a page with the labels likely wrong, likely missing and likely duplicate, and the reason for each."""
    lead = (
        f"Labels likely wrong: {len(audit.wrong):,}. Labels likely missing: {len(audit.missing):,}. "
        f"Pairs of labels likely duplicate: {len(audit.duplicates):,}. The data was not changed; review each finding."
    )
    return Page(title, lead).add(
        Section("Labels likely wrong", Paragraph(_WRONG), _findings("Labels that images have", audit.wrong)),
        Section("Labels likely missing", Paragraph(_MISSING), _findings("Labels that images lack", audit.missing)),
        Section("Labels likely duplicate", Paragraph(_DUPLICATES), _duplicates(audit)),
    )


def _findings(caption: str, findings: list[Finding]) -> Block:
    if not findings:
        return Paragraph("None.")
    rows = [(one.image, one.label, one.confidence, one.reason) for one in findings]
    return Table(caption, [Column("image"), Column("label"), _CONFIDENCE, Column("reason")], rows)


def _duplicates(audit: Audit) -> Block:
    if not audit.duplicates:
        return Paragraph("None.")
    kinds = {"same": "the same", "alike": "used alike"}
    rows = [(one.label, one.other, kinds[one.kind], one.reason) for one in audit.duplicates]
    columns = [Column("label"), Column("merge into"), Column("relation"), Column("reason")]
    return Table("Pairs of labels", columns, rows)
