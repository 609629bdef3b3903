"""Read a feedback file: the verdicts in force as pairs, verdicts on suggestions, and files of the accepted pairs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from vse_ens.data.annotations import Annotations
from vse_ens.data.decisions import decided_rows, is_accepted
from vse_ens.data.feedback.store import (
    Event,
    accepted_in_force,
    check_integrity,
    in_force,
    is_feedback_file,
    read_connection,
)
from vse_ens.data.filters import contained, subset
from vse_ens.data.io.write import check_suffix, defuse_table, table_writer
from vse_ens.errors import ConfigError
from vse_ens.storage.atomic import replace_file

# Finding the verdicts in force takes seconds for a million events, so one query returns all that the counts need.
_COUNTS = """SELECT by, substr(at, 1, 10), sum(verdict = 'accept'), sum(verdict = 'reject')
    FROM in_force GROUP BY 1, 2"""
# Label Studio stores accepted labels only, so that its verdicts say nothing about how many suggestions are right.
_SOURCES = frozenset(["page", "audit", "api"])
_DECISION_COLUMNS = ("kind", "image", "label", "decision")
_COLUMNS = ("image", "label", "by", "at", "model")
_SCHEMA = pa.schema([(name, pa.large_string()) for name in _COLUMNS])
SUFFIXES = (".csv", ".parquet", ".jsonl")
"""Of files of accepted pairs."""
# Events held at a time.
_BLOCK = 1 << 16


class Verdicts(NamedTuple):
    """The verdicts in force of a feedback file; no pair is in both."""

    accepted: Annotations
    rejected: Annotations


def read_feedback(path: str | Path) -> Verdicts:
    """Return the accepted and the rejected pairs in force; a service may write to the file at the same time."""
    with read_connection(Path(path)) as file:
        check_integrity(file, Path(path), "integrity_check")
        found: dict[str, list[tuple[str, str]]] = {"accept": [], "reject": []}
        for event in in_force(file):
            found[event.verdict].append((event.image, event.label))
    return Verdicts(*map(Annotations.from_pairs, found.values()))


def apply_feedback(pairs: Annotations, path: str | Path) -> Annotations:
    """Return ``pairs`` with the accepted pairs of a feedback file and without the rejected ones.

    Images and labels that lose their last pair are removed. The notes count the added and removed pairs. Features are
    dropped: attach them to the result.
    """
    feedback = read_feedback(path)
    kept = without_pairs(pairs, feedback.rejected)
    joined = kept.joined(feedback.accepted)
    added, removed = joined.pairs - kept.pairs, pairs.pairs - kept.pairs
    note = (
        f"{path}: {added:,} of {_pairs(feedback.accepted.pairs, 'accepted')} added, "
        f"{removed:,} of {_pairs(feedback.rejected.pairs, 'rejected')} removed"
    )
    return replace(joined, notes=(*pairs.notes, note))


def without_pairs(pairs: Annotations, rejected: Annotations) -> Annotations:
    """Return ``pairs`` without the rejected ones, and without images and labels that lose their last pair."""
    removed = contained(pairs, rejected)
    if not removed.any():
        return pairs
    kept = replace(pairs.with_pairs(~removed), features=None)
    # Images that had no labels before are kept.
    images = (kept.labels_per_image > 0) | (pairs.labels_per_image == 0)
    return subset(kept, images, (kept.images_per_label > 0) | (pairs.images_per_label == 0))


def _pairs(count: int, kind: str) -> str:
    return f"{count:,} {kind} pair{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class VerdictCounts:
    """The number of verdicts in force."""

    accepted: int
    rejected: int


@dataclass(frozen=True)
class FeedbackCounts:
    """Counts of a feedback file."""

    events: int
    """All events, including undos and verdicts that were overruled later."""
    undone: int
    in_force: VerdictCounts
    by_person: dict[str, VerdictCounts]
    """The person with the most verdicts comes first."""
    by_day: dict[str, VerdictCounts]
    """In the order of days (UTC)."""


def count_feedback(path: str | Path) -> FeedbackCounts:
    """Count the events of a feedback file; a service may write to it at the same time."""
    with read_connection(Path(path)) as file:
        events, undone = file.execute("SELECT count(*), count(undoes) FROM events").fetchone()
        rows = file.execute(_COUNTS).fetchall()
    people, days = (sorted({row[column] for row in rows}) for column in (0, 1))
    by_person = {person: _sum(row for row in rows if row[0] == person) for person in people}
    by_day = {day: _sum(row for row in rows if row[1] == day) for day in days}
    ranked = sorted(people, key=lambda person: -(by_person[person].accepted + by_person[person].rejected))
    return FeedbackCounts(events, undone, _sum(rows), {person: by_person[person] for person in ranked}, by_day)


def _sum(rows: Iterable[tuple[str, str, int, int]]) -> VerdictCounts:
    summed = list(rows)
    return VerdictCounts(sum(row[2] for row in summed), sum(row[3] for row in summed))


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
        events = sorted(in_force(file))
    return [
        SuggestionVerdict(event.image, event.label, event.verdict == "accept")
        for event in events
        if event.source in _SOURCES and event.confidence is not None
    ]


def _of_decisions(path: Path) -> list[SuggestionVerdict]:
    found = []
    for line, row in decided_rows(path, _DECISION_COLUMNS, "vse calibrate --ask"):
        accepted = is_accepted(row["decision"], f"{path}, line {line}", {"add"})
        if row["kind"] == "missing" and accepted is not None:
            found.append(SuggestionVerdict(row["image"], row["label"], accepted))
    return found


def export_accepted(feedback: str | Path, out: str | Path, *, defuse_formulas: bool = False) -> int:
    """Write the accepted pairs in force, by image and label, and return their number.

    ``defuse_formulas`` puts an apostrophe before text in a .csv file that a spreadsheet would run as a formula; a
    reader of the file must remove it again.
    """
    source, target = Path(feedback), Path(out)
    check_suffix(target, *SUFFIXES)
    if defuse_formulas and target.suffix != ".csv":
        raise ConfigError(f"defuse_formulas is for .csv files, not {target}; leave it out")
    written = 0
    with (
        read_connection(source) as file,
        replace_file(target) as partial,
        table_writer(partial, target.suffix[1:], _SCHEMA) as write,
    ):
        check_integrity(file, source, "integrity_check")
        events = accepted_in_force(file)
        while block := list(islice(events, _BLOCK)):
            table = _table(block)
            write(defuse_table(table) if defuse_formulas else table)
            written += len(block)
    return written


def _table(events: list[Event]) -> pa.Table:
    columns = [pa.array([getattr(event, name) for event in events], pa.large_string()) for name in _COLUMNS]
    return pa.table(columns, schema=_SCHEMA)
