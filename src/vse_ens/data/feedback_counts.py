"""How much was judged: in all, by whom, on which day."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vse_ens.data.feedback_file import reading

# What is in force takes seconds to find among a million events: once, in pieces that all else is summed from.
_ROWS = """SELECT by, substr(at, 1, 10), sum(verdict = 'accept'), sum(verdict = 'reject')
    FROM in_force GROUP BY 1, 2"""


@dataclass(frozen=True)
class Counted:
    """Verdicts in force."""

    accepted: int
    rejected: int


@dataclass(frozen=True)
class FeedbackCounts:
    """What a feedback file holds."""

    events: int
    """All that was ever said, undos and what was overruled later among it."""
    undone: int
    in_force: Counted
    by_person: dict[str, Counted]
    """Whoever judged most comes first."""
    by_day: dict[str, Counted]
    """In order of days (UTC)."""


def count_feedback(path: str | Path) -> FeedbackCounts:
    """Count what a feedback file holds, which a running service may hold."""
    with reading(Path(path)) as file:
        events, undone = file.execute("SELECT count(*), count(undoes) FROM events").fetchone()
        rows = file.execute(_ROWS).fetchall()
    people, days = (sorted({row[column] for row in rows}) for column in (0, 1))
    by_person = {person: _sum(row for row in rows if row[0] == person) for person in people}
    by_day = {day: _sum(row for row in rows if row[1] == day) for day in days}
    busiest = sorted(people, key=lambda person: -(by_person[person].accepted + by_person[person].rejected))
    return FeedbackCounts(events, undone, _sum(rows), {person: by_person[person] for person in busiest}, by_day)


def _sum(rows: Iterable[tuple[str, str, int, int]]) -> Counted:
    listed = list(rows)
    return Counted(sum(row[2] for row in listed), sum(row[3] for row in listed))
