"""Verdicts on suggestions, as people have given them: in a feedback file, or in the decisions of an ``audit.csv``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from vse_ens.data.decisions import decided_rows, is_accepted
from vse_ens.data.feedback.store import check_integrity, in_force, is_feedback_file, read_connection

# Label Studio stores accepted labels only, so that its verdicts say nothing about how many suggestions are right.
_SOURCES = frozenset(["page", "audit", "api"])
_COLUMNS = ("kind", "image", "label", "decision")


class SuggestionVerdict(NamedTuple):
    """A person's word on a suggested label."""

    image: str
    label: str
    accepted: bool


def read_suggestion_verdicts(path: str | Path) -> list[SuggestionVerdict]:
    """Return the verdicts on suggestions of a feedback file, or of a file that `vse audit` or `vse calibrate` wrote.

    Labels that people added or removed themselves are left out: an event of a feedback file is a verdict on a
    suggestion if it has the confidence that was shown. Of an ``audit.csv``, the rows of kind ``missing`` count.
    """
    file = Path(path)
    return _of_feedback(file) if is_feedback_file(file) else _of_decisions(file)


def _of_feedback(path: Path) -> list[SuggestionVerdict]:
    with read_connection(path) as file:
        check_integrity(file, path, "quick_check")
        file.execute("BEGIN")  # one snapshot for both queries
        events = [event for verdict in ("accept", "reject") for event in in_force(file, verdict)]
    return [
        SuggestionVerdict(event.image, event.label, event.verdict == "accept")
        for event in sorted(events, key=lambda one: one.event)
        if event.source in _SOURCES and event.confidence is not None
    ]


def _of_decisions(path: Path) -> list[SuggestionVerdict]:
    found = []
    for line, row in decided_rows(path, _COLUMNS, "vse calibrate --ask"):
        accepted = is_accepted(row["decision"], f"{path}, line {line}", {"add"})
        if row["kind"] == "missing" and accepted is not None:
            found.append(SuggestionVerdict(row["image"], row["label"], accepted))
    return found
