"""What people judged, as pairs: those they accepted, those they rejected, and a data set with both made good.

How much was judged: in all, by whom, on which day.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.feedback.store import check_whole, in_force, reading
from vse_ens.data.vocabulary import Vocabulary


class Verdicts(NamedTuple):
    """The verdicts in force of a feedback file; no pair is in both."""

    accepted: Annotations
    rejected: Annotations


def read_feedback(path: str | Path) -> Verdicts:
    """The accepted and the rejected pairs in force of a feedback file, which a running service may hold."""
    with reading(Path(path)) as file:
        check_whole(file, Path(path), "integrity_check")
        # One moment for both: what is judged meanwhile is for the next time.
        file.execute("BEGIN")
        accepted, rejected = (
            Annotations.from_pairs((event.image, event.label) for event in in_force(file, verdict))
            for verdict in ("accept", "reject")
        )
    return Verdicts(accepted, rejected)


def apply_feedback(pairs: Annotations, path: str | Path) -> Annotations:
    """``pairs`` with the accepted pairs of a feedback file and without the rejected ones, for `vse train --feedback`.

    Images and labels that lose their last pair go too. The notes say how many pairs came and went. Features are not
    kept: add them to the result.
    """
    feedback = read_feedback(path)
    kept = _without(pairs, feedback.rejected)
    joined = kept.joined(feedback.accepted)
    came, went = joined.pairs - kept.pairs, pairs.pairs - kept.pairs
    note = (
        f"{path}: {came:,} of {_pairs(feedback.accepted.pairs, 'accepted')} added, "
        f"{went:,} of {_pairs(feedback.rejected.pairs, 'rejected')} taken out"
    )
    return replace(joined, notes=(*pairs.notes, note))


def _without(pairs: Annotations, rejected: Annotations) -> Annotations:
    places = _places(pairs, rejected)
    if not len(places):
        return pairs
    keep = np.ones(pairs.pairs, np.bool_)
    keep[places] = False
    kept = pairs.with_pairs(keep)
    # An image that was listed without labels stays.
    images = _some(pairs.images, (kept.labels_per_image > 0) | (pairs.labels_per_image == 0))
    labels = _some(pairs.labels, (kept.images_per_label > 0) | (pairs.images_per_label == 0))
    return Annotations.from_numbers(
        images,
        labels,
        images.translate(pairs.images)[kept.image_numbers()],
        labels.translate(pairs.labels)[kept.indices],
    )


def _some(ids: Vocabulary, chosen: NDArray[np.bool_]) -> Vocabulary:
    return Vocabulary(ids.arrow.filter(pa.array(chosen)), ids.kind)


def _places(pairs: Annotations, sought: Annotations) -> NDArray[np.int64]:
    """Where in ``pairs`` those of ``sought`` are that it has."""
    images = pairs.images.translate(sought.images)[sought.image_numbers()]
    labels = pairs.labels.translate(sought.labels)[sought.indices]
    places = []
    for image, label in zip(images.tolist(), labels.tolist(), strict=True):
        if image >= 0 and label >= 0:
            row = pairs.label_numbers(image)
            place = int(np.searchsorted(row, label))
            if place < len(row) and row[place] == label:
                places.append(int(pairs.indptr[image]) + place)
    return np.array(places, np.int64)


def _pairs(count: int, kind: str) -> str:
    return f"{count:,} {kind} pair{'' if count == 1 else 's'}"


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
