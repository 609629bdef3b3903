"""An audit as an HTML page."""

from __future__ import annotations

from vse_ens.curate.audit.audit import Audit, Finding
from vse_ens.report.html import Block, Page, Paragraph, Section
from vse_ens.report.tables import Column, Table

_CONFIDENCE = Column("confidence", ".3f")


def audit_page(audit: Audit, title: str = "Audit of labels") -> Page:
    """Labels likely wrong, labels likely missing, and labels that could be one, with the reason of each."""
    lead = (
        f"{_counted(len(audit.wrong), 'label')} that may be wrong, {len(audit.missing):,} that may be missing, "
        f"{_counted(len(audit.duplicates), 'pair')} of labels that may be one. Nothing was changed: what is right, a "
        "person decides."
    )
    return Page(title, lead).add(
        Section(
            "Labels likely wrong",
            Paragraph(
                "Every label was left out of its image and looked for among all labels the image has not. These stood "
                "where labels drawn at random stand. The confidence is that a label is wrong, if as many are as the "
                "audit was told to expect. Numbers in brackets are parts of the score."
            ),
            _findings("Labels that images have", audit.wrong),
        ),
        Section(
            "Labels likely missing",
            Paragraph(
                "The best suggestions over all images. The confidence is how often suggestions like it were right for "
                "labels that had been held out; of a model trained without any, the share among all labels the image "
                "has not."
            ),
            _findings("Labels that images have not", audit.missing),
        ),
        Section("Labels that could be one", Paragraph(_DUPLICATES), _duplicates(audit)),
    )


_DUPLICATES = (
    "Labels found beside the same other labels but rarely together, and words of one stem. Two labels may keep the "
    "same company and still be two things: the confidence orders the list, it is no probability."
)


def _findings(caption: str, findings: list[Finding]) -> Block:
    if not findings:
        return Paragraph("None.")
    rows = [(one.image, one.label, one.confidence, one.reason) for one in findings]
    return Table(caption, [Column("image"), Column("label"), _CONFIDENCE, Column("reason")], rows)


def _duplicates(audit: Audit) -> Block:
    if not audit.duplicates:
        return Paragraph("None.")
    rows = [(one.label, one.other, one.confidence, one.reason) for one in audit.duplicates]
    return Table(
        "Pairs of labels", [Column("label"), Column("might be merged into"), _CONFIDENCE, Column("reason")], rows
    )


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
