"""The history of a feedback file: random verdicts, undos and batches, and the model they are compared with."""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from vse_ens.data.feedback.pairs import read_feedback
from vse_ens.data.feedback.verdicts import Feedback, FeedbackBatch

if TYPE_CHECKING:
    from benchmarks.service.history import Operation

# Few enough that processes often mean the same pair.
_IMAGES = [f"image {number}" for number in range(5)]
_LABELS = ["sea", "sand", "fog", "dog"]
_PEOPLE = ["anna", "ben"]
_FILE = "feedback.sqlite"
_DISK_ERRORS = ("the disk is full", "disk I/O error", "could not be opened")


class Row(NamedTuple):
    """A stored event; ``model`` is the name of the operation that stored it."""

    event: int
    image: str
    label: str
    verdict: str
    by: str
    model: str
    undoes: int | None
    reference: str | None


class FeedbackSession:
    """Random calls of `Feedback`."""

    def __init__(self, path: Path) -> None:
        self._feedback = Feedback(path)
        self._seen = [event.event for event in self._feedback.events(limit=1_000)]

    def draw(self, random: Random) -> Any:
        """Return an ``add``, an ``undo`` or a ``batch``; every fifth batch ends with an invalid label."""
        if random.random() < 0.15:
            steps = [self._draw_step(random) for _ in range(random.randrange(1, 12))]
            if random.random() < 0.2:
                steps.append(["add", "image", " ", "accept", "anna", None])
            return ["batch", steps]
        return self._draw_step(random)

    def _draw_step(self, random: Random) -> list[Any]:
        if self._seen and random.random() < 0.4:
            return ["undo", random.choice(self._seen[-50:]), random.choice(_PEOPLE)]
        verdict = random.choice(["accept", "reject"])
        reference = random.choice([None, None, "annotation 1"])
        return ["add", random.choice(_IMAGES), random.choice(_LABELS), verdict, random.choice(_PEOPLE), reference]

    def run(self, name: str, what: Any) -> Any:
        """Return the event number, or those of a batch."""
        if what[0] == "batch":
            with self._feedback.batch() as batch:
                result: Any = [_step(batch, name, step) for step in what[1]]
            self._seen += [number for step, number in zip(what[1], result, strict=True) if step[0] == "add"]
        else:
            result = _step(self._feedback, name, what)
            self._seen += [result] if what[0] == "add" else []
        return result

    def close(self) -> None:
        """Close the file."""
        self._feedback.close()


def _step(feedback: Feedback | FeedbackBatch, name: str, what: Sequence[Any]) -> int:
    if what[0] == "undo":
        return feedback.undo(what[1], by=what[2], model=name)
    image, label, verdict, by, reference = what[1:]
    return feedback.add(image, label, verdict, by=by, source="api", confidence=None, model=name, reference=reference)


class FeedbackSubject:
    """A feedback file."""

    def open(self, folder: Path) -> FeedbackSession:
        """Open the file in a process."""
        return FeedbackSession(folder / _FILE)

    def check(self, folder: Path, operations: list[Operation]) -> tuple[list[str], dict[str, int]]:
        """Compare the log of the processes, the rows of the file and the answers of `Feedback`."""
        path = folder / _FILE
        # Opened by SQLite alone, so that a fault of our own code is not repeated here.
        connection = sqlite3.connect(path)
        columns = ", ".join(Row._fields)
        rows = [Row(*row) for row in connection.execute(f"SELECT {columns} FROM events ORDER BY rowid")]
        integrity = [line for (line,) in connection.execute("PRAGMA integrity_check")]
        connection.close()
        faults = [] if integrity == ["ok"] else [f"integrity_check: {line}" for line in integrity]
        faults += check_log(operations, rows)
        faults += check_answers(path, rows)
        counts = {
            "operations acknowledged": sum(one.result is not None for one in operations),
            "refused as invalid": sum(_is_invalid(one) for one in operations),
            "failed on a full disk": sum(one.error is not None and not _is_invalid(one) for one in operations),
            "killed in progress": sum(one.ended is None for one in operations),
            "events stored": len(rows),
        }
        return faults, counts


def _is_invalid(operation: Operation) -> bool:
    return operation.error is not None and not operation.error.startswith("DataError")


class InForce:
    """The model: events in their order, and the intervals in which each is in force."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.faults: list[str] = []
        self.verdicts: dict[tuple[str, str], list[Row]] = defaultdict(list)
        """The verdicts on a pair that were not undone; the last one is in force."""
        self.intervals: dict[int, list[tuple[int, int | None]]] = defaultdict(list)
        """By event number: from the event after which it came into force to that after which it no longer was."""
        by_number: dict[int, Row] = {}
        undone: set[int] = set()
        for position, row in enumerate(rows, start=1):
            if row.event != position:
                self.faults.append(f"event {row.event} is stored at position {position}")
            verdicts = self.verdicts[row.image, row.label]
            before = verdicts[-1] if verdicts else None
            if row.undoes is None:
                if before is not None and _same(before, row):
                    self.faults.append(f"event {row.event} repeats event {before.event}, which is in force")
                verdicts.append(row)
            else:
                target = by_number.get(row.undoes)
                if target is None or target.undoes is not None or row.undoes in undone:
                    self.faults.append(f"event {row.event} undoes event {row.undoes}, which cannot be undone")
                    continue
                if (target.image, target.label, target.reference) != (row.image, row.label, row.reference):
                    self.faults.append(f"event {row.event} undoes event {row.undoes} of another pair")
                    continue
                undone.add(row.undoes)
                verdicts.remove(target)
            after = verdicts[-1] if verdicts else None
            if before is not after:
                if before is not None:
                    self.intervals[before.event][-1] = (self.intervals[before.event][-1][0], row.event)
                if after is not None:
                    self.intervals[after.event].append((row.event, None))
            by_number[row.event] = row

    def state(self) -> dict[tuple[str, str], Row]:
        """Return the verdict in force of each pair that has one."""
        return {pair: verdicts[-1] for pair, verdicts in self.verdicts.items() if verdicts}

    def was_in_force(self, event: int, first: int, last: int) -> bool:
        """Return whether an event was in force after any of the events ``first`` to ``last``."""
        return any(begin <= last and (end is None or end > first) for begin, end in self.intervals[event])


def _same(one: Row, other: Row) -> bool:
    return (one.verdict, one.by, one.reference) == (other.verdict, other.by, other.reference)


def check_log(operations: Iterable[Operation], rows: Sequence[Row]) -> list[str]:
    """Compare the answers that processes got with what is stored."""
    by_name = {operation.name: operation for operation in operations}
    stored: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        stored[row.model].append(row)
    model = InForce(rows)
    faults = [*model.faults, *(f"{name} is stored but was never asked for" for name in stored.keys() - by_name.keys())]
    faults += _check_order(by_name, rows)
    # The last event that must have been stored before a time, and the last that may have been.
    asked = [(by_name[row.model], row) for row in rows if row.model in by_name]
    acknowledged = _LastEvent((one.ended, row.event) for one, row in asked if one.ended and one.result is not None)
    begun = _LastEvent((one.begun, row.event) for one, row in asked)
    for operation in by_name.values():
        events = stored.get(operation.name, [])
        steps = operation.what[1] if operation.what[0] == "batch" else [operation.what]
        if operation.error is not None and not _is_expected(operation.error, steps, rows):
            faults.append(f"{operation.name} was refused: {operation.error}")
        if _is_invalid(operation) and events:
            faults.append(f"{operation.name} was refused, but event {events[0].event} is stored")
        if operation.result is None:
            faults += _check_whole(operation.name, steps, events)
            continue
        results = operation.result if operation.what[0] == "batch" else [operation.result]
        if len(results) != len(steps):
            faults.append(f"{operation.name} was answered {len(results)} numbers for {len(steps)} steps")
            continue
        new = {row.event for row in events}
        if len(new) != len(set(results) & new):
            faults.append(f"{operation.name} stored {sorted(new)}, but was answered {results}")
        first, last = acknowledged.before(operation.begun), begun.before(operation.ended or 0)
        for step, number in zip(steps, results, strict=True):
            if not 0 < number <= len(rows):
                faults.append(f"{operation.name}: event {number} was acknowledged, but is not stored")
            elif not _is_of_step(step, rows[number - 1]):
                faults.append(f"{operation.name}: event {number} is stored as {rows[number - 1]}, not as {step}")
            elif number not in new and step[0] == "add" and not model.was_in_force(number, first, last):
                faults.append(f"{operation.name} was answered event {number}, which was not in force at that time")
    return faults


def _is_of_step(step: Sequence[Any], row: Row) -> bool:
    if step[0] == "undo":
        return bool(row.undoes == step[1])
    return row.undoes is None and (row.image, row.label, row.verdict, row.by, row.reference) == tuple(step[1:])


def _is_expected(error: str, steps: Iterable[Sequence[Any]], rows: Sequence[Row]) -> bool:
    """Return whether the disk failed, or a step is invalid: a blank label, or the undo of an undo."""
    if error.startswith("DataError"):
        return any(reason in error for reason in _DISK_ERRORS)
    return any(
        not step[2].strip() if step[0] == "add" else 0 < step[1] <= len(rows) and rows[step[1] - 1].undoes is not None
        for step in steps
    )


def _check_whole(name: str, steps: Sequence[Any], events: Sequence[Row]) -> list[str]:
    """Check an operation that was not acknowledged: stored completely, with repeats left out, or not at all."""
    if not events:
        return []
    numbers = [row.event for row in events]
    if len(events) > len(steps) or numbers != list(range(numbers[0], numbers[0] + len(events))):
        return [f"{name} is stored as {numbers}"]
    remaining = iter(events)
    row = next(remaining, None)
    for step in steps:
        if row is not None and _is_of_step(step, row):
            row = next(remaining, None)
    return [] if row is None else [f"{name} is stored as {numbers}, which are not its steps"]


class _LastEvent:
    """The greatest event number up to a time."""

    def __init__(self, timed: Iterable[tuple[int, int]]) -> None:
        found = sorted(timed)
        self._times = [time for time, _ in found]
        self._greatest = [0, *accumulate((event for _, event in found), max)]

    def before(self, time: int) -> int:
        return self._greatest[bisect_left(self._times, time)]


def _check_order(by_name: dict[str, Operation], rows: Iterable[Row]) -> list[str]:
    """Check that an event stored later was not acknowledged before an earlier one was asked for."""
    faults = []
    latest_begin = 0
    for row in rows:
        operation = by_name.get(row.model)
        if operation is None:
            continue
        if operation.result is not None and (operation.ended or 0) < latest_begin:
            faults.append(f"event {row.event} was acknowledged before an earlier event was asked for")
        latest_begin = max(latest_begin, operation.begun)
    return faults


def check_answers(path: Path, rows: Sequence[Row]) -> list[str]:
    """Compare the answers of a feedback file with the model."""
    faults = []
    state = InForce(rows).state()
    feedback = Feedback(path)
    for image in _IMAGES:
        answered = feedback.of(image)
        for name, verdict in (("accepted", "accept"), ("rejected", "reject")):
            expected = {
                label: row.event for (one, label), row in state.items() if one == image and row.verdict == verdict
            }
            if getattr(answered, name) != expected:
                faults.append(f"{image}: {name} is {getattr(answered, name)}, expected {expected}")
    feedback.close()
    stored = read_feedback(path)
    for pairs, verdict in ((stored.accepted, "accept"), (stored.rejected, "reject")):
        expected_pairs = {pair for pair, row in state.items() if row.verdict == verdict}
        if {(image, label) for image in pairs.images for label in pairs.labels_of(image)} != expected_pairs:
            faults.append(f"pairs of {verdict} differ from the model")
    return faults
