"""The HTML page of an audit: findings by label, with pictures, the other labels of the image, and a filter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from vse_ens.curate.audit.audit import Audit, Finding
from vse_ens.curate.audit.duplicates import Duplicate
from vse_ens.report.html import Block, Facts, Page, Paragraph, Section
from vse_ens.report.tables import Column, Table

PictureOf = Callable[[str], str | None]
"""Returns the address of an image's picture, such as a ``data:`` URL; None if there is none."""
LabelsOf = Callable[[str], list[str]]
"""Returns the labels of an image."""

_WRONG = (
    "Each label was removed from its image and ranked among all labels that the image lacks. The labels below score no "
    "better than random labels. The percentage is the probability that the label is wrong; it assumes the fraction of "
    "wrong labels that the audit was run with. Numbers in brackets are contributions to the score."
)
_MISSING = (
    "The best suggestions over all images. The percentage is the rate at which similar suggestions were right for "
    "held-out labels. For a model trained without held-out labels, it is the softmax share among the labels that the "
    "image lacks."
)
_DUPLICATES = (
    "Labels that mean the same are the same word in another form, or are used as two names of one thing: hardly ever "
    "on one image, and with the same other labels. Labels that are only used alike often mean different things."
)
# Labels of an image on its card.
_LABELS_SHOWN = 12

# The box that filters findings; hidden until the script runs.
_FILTER = (
    '<div class="filter" hidden><input type="search" aria-label="Filter findings by label, image or reason" '
    'placeholder="Filter by label, image or reason"><output aria-live="polite"></output></div>'
)
_STYLE, _SCRIPT = (Path(__file__).with_name(f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))


def audit_page(
    audit: Audit,
    *,
    facts: Sequence[tuple[str, str]] = (),
    labels_of: LabelsOf | None = None,
    picture_of: PictureOf | None = None,
) -> Page:
    """Return a page with the labels likely wrong, likely missing and likely duplicate, grouped by label.

    ``facts`` are names and values that say which model and data were audited, and when. ``labels_of`` and
    ``picture_of`` add the labels and the picture of each image.
    """
    wrong, missing = (sum(row.confidence > 0.5 for row in rows) for rows in (audit.wrong, audit.missing))
    lead = (
        f"{wrong:,} labels are probably wrong and {missing:,} probably missing; "
        f"{len(audit.wrong) + len(audit.missing) - wrong - missing:,} more are worth a look; "
        f"{len(audit.duplicates):,} pairs of labels may be duplicates. "
        "Nothing was changed: every finding is for you to decide."
    )
    cards = _Cards(labels_of or (lambda _: []), picture_of or (lambda _: None))
    page = Page("Label audit", lead, style=_STYLE, script=_SCRIPT, pictures=picture_of is not None)
    page.head = [*([Facts(facts)] if facts else []), _Html(_FILTER)]
    return page.add(
        Section("Labels likely wrong", Paragraph(_WRONG), cards.of(audit.wrong)),
        Section("Labels likely missing", Paragraph(_MISSING), cards.of(audit.missing)),
        Section("Labels likely duplicate", Paragraph(_DUPLICATES), _duplicates(audit.duplicates)),
    )


@dataclass(frozen=True)
class _Html:
    text: str

    def html(self) -> str:
        return self.text


@dataclass(frozen=True)
class _Cards:
    """Cards of findings on images."""

    labels_of: LabelsOf
    picture_of: PictureOf

    def of(self, findings: Sequence[Finding]) -> Block:
        """Return the findings by label: the label with the most findings first, then the most certain finding."""
        if not findings:
            return Paragraph("None.")
        groups: dict[str, list[Finding]] = defaultdict(list)
        for one in findings:
            groups[one.label].append(one)
        order = sorted(groups, key=lambda label: (-len(groups[label]), -groups[label][0].confidence, label))
        return _Html(
            '<div class="findings">' + "".join(self._group(label, groups[label]) for label in order) + "</div>"
        )

    def _group(self, label: str, findings: Sequence[Finding]) -> str:
        count = f"{len(findings):,} image{'s' if len(findings) > 1 else ''}"
        cards = "".join(map(self._card, findings))
        return f'<div class="group"><h3>{escape(label)} <small>{count}</small></h3><ul class="cards">{cards}</ul></div>'

    def _card(self, finding: Finding) -> str:
        address = self.picture_of(finding.image)
        picture = f'<img src="{escape(address)}" alt="" loading="lazy">' if address else ""
        others = [label for label in self.labels_of(finding.image) if label != finding.label]
        more = f" and {len(others) - _LABELS_SHOWN:,} more" if len(others) > _LABELS_SHOWN else ""
        labels = f'<p class="labels">{escape(", ".join(others[:_LABELS_SHOWN]))}{more}</p>' if others else ""
        text = " ".join([finding.label, finding.image, finding.reason, *others])
        return (
            f'<li class="card" data-text="{escape(text)}">{picture}<div>'
            f'<p class="head"><code>{escape(finding.image)}</code><span>{finding.confidence:.0%}</span></p>'
            f"{labels}<p>{escape(finding.reason)}</p></div></li>"
        )


def _duplicates(duplicates: Sequence[Duplicate]) -> Block:
    if not duplicates:
        return Paragraph("None.")
    kinds = {"same": "the same", "alike": "used alike"}
    rows = [(one.label, one.other, kinds[one.kind], one.reason) for one in duplicates]
    columns = [Column("label"), Column("merge into"), Column("relation"), Column("reason")]
    return Table("Pairs of labels", columns, rows)
