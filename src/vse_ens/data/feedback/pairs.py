"""Feedback as pairs: the accepted and the rejected ones, a data set corrected by both, and counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.feedback.store import check_integrity, in_force, read_connection
from vse_ens.data.vocabulary import Vocabulary

# Finding the verdicts in force takes seconds for a million events, so one query returns all that the counts need.
_COUNTS = """SELECT by, substr(at, 1, 10), sum(verdict = 'accept'), sum(verdict = 'reject')
    FROM in_force GROUP BY 1, 2"""


class Verdicts(NamedTuple):
    """The verdicts in force of a feedback file; no pair is in both."""

    accepted: Annotations
    rejected: Annotations


def read_feedback(path: str | Path) -> Verdicts:
    """Return the accepted and the rejected pairs in force; a service may write to the file at the same time."""
    with read_connection(Path(path)) as file:
        check_integrity(file, Path(path), "integrity_check")
        # One snapshot for both queries.
        file.execute("BEGIN")
        accepted, rejected = (
            Annotations.from_pairs((event.image, event.label) for event in in_force(file, verdict))
            for verdict in ("accept", "reject")
        )
    return Verdicts(accepted, rejected)


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
    positions = _positions(pairs, rejected)
    if not len(positions):
        return pairs
    keep = np.ones(pairs.pairs, np.bool_)
    keep[positions] = False
    kept = pairs.with_pairs(keep)
    # Images that had no labels before are kept.
    images = _subset(pairs.images, (kept.labels_per_image > 0) | (pairs.labels_per_image == 0))
    labels = _subset(pairs.labels, (kept.images_per_label > 0) | (pairs.images_per_label == 0))
    data = Annotations.from_numbers(
        images,
        labels,
        images.translate(pairs.images)[kept.image_numbers()],
        labels.translate(pairs.labels)[kept.indices],
    )
    return replace(data, pictures=pairs.pictures)


def _subset(ids: Vocabulary, chosen: NDArray[np.bool_]) -> Vocabulary:
    return Vocabulary(ids.arrow.filter(pa.array(chosen)), ids.kind)


def _positions(pairs: Annotations, others: Annotations) -> NDArray[np.int64]:
    """Return the indices in ``pairs`` of those of ``others`` that it contains."""
    images = pairs.images.translate(others.images)[others.image_numbers()]
    labels = pairs.labels.translate(others.labels)[others.indices]
    positions = []
    for image, label in zip(images.tolist(), labels.tolist(), strict=True):
        if image >= 0 and label >= 0:
            row = pairs.label_numbers(image)
            column = int(np.searchsorted(row, label))
            if column < len(row) and row[column] == label:
                positions.append(int(pairs.indptr[image]) + column)
    return np.array(positions, np.int64)


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
