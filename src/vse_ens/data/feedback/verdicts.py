"""Verdicts on labels, stored durably: a verdict that was acknowledged survives a kill and a power cut."""

from __future__ import annotations

import math
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, NotRequired, TypedDict, Unpack, get_args

from vse_ens.data.feedback.store import (
    COLUMNS,
    Event,
    Verdict,
    accepted_in_force,
    file_identity,
    open_reader,
    open_writer,
    read_connection,
    transaction,
    translate_errors,
)
from vse_ens.data.rules.rule_set import check_text
from vse_ens.errors import ConfigError, DataError, UnknownIdError

_ADD = f"INSERT INTO events ({COLUMNS}) VALUES ({', '.join('?' * len(Event._fields))})"  # noqa: S608  # constants
_EVENT = f"SELECT {COLUMNS} FROM events WHERE event = ?"  # noqa: S608
_EVENTS_AFTER = f"SELECT {COLUMNS} FROM events WHERE event > ? ORDER BY event LIMIT ?"  # noqa: S608
_OF_IMAGE = "SELECT label, verdict, event FROM in_force WHERE image = ?"
_OF_PAIR = "SELECT event, verdict, by, reference FROM in_force WHERE image = ? AND label = ?"
_OF_REFERENCE = f"""SELECT {COLUMNS} FROM events AS verdict WHERE reference = ? AND undoes IS NULL
    AND NOT EXISTS (SELECT 1 FROM events AS later WHERE later.undoes = verdict.event)"""  # noqa: S608
_ADD_BATCH = "INSERT INTO batches (batch, last) VALUES (?, ?)"
_LAST_OF_BATCH = "SELECT last FROM batches WHERE batch = ?"
_BATCH_AROUND = "SELECT batch FROM batches WHERE batch <= ? AND last >= ? ORDER BY batch DESC LIMIT 1"
_UNDONE = "SELECT undoes FROM events WHERE undoes BETWEEN ? AND ?"
_LAST_EVENT = "SELECT coalesce(max(event), 0) FROM events"
_ALL_PAIRS = "SELECT image, label, verdict, event FROM in_force"
_CHANGED_PAIRS = "SELECT DISTINCT image, label FROM events WHERE event > ? AND event <= ?"
# Control characters, line and paragraph separators.
_NOT_IN_LINE = ("Cc", "Zl", "Zp")
# The largest integer of SQLite.
_MAX_INTEGER = 2**63 - 1


class ImageVerdicts(NamedTuple):
    """The verdicts in force for one image: event numbers by label."""

    accepted: dict[str, int]
    rejected: dict[str, int]

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, int]]) -> ImageVerdicts:
        """Return the verdicts of label, verdict and event."""
        verdicts = cls({}, {})
        for label, verdict, event in rows:
            (verdicts.accepted if verdict == "accept" else verdicts.rejected)[label] = event
        return verdicts


class NewVerdict(NamedTuple):
    """One verdict of a batch."""

    image: str
    label: str
    verdict: Verdict
    confidence: float | None = None


class Given(TypedDict):
    """Who gave a verdict, and what was shown."""

    by: str
    source: str
    confidence: float | None
    model: str
    reference: NotRequired[str | None]
    """The object in another program that the verdict came from."""


class StoredBatch(NamedTuple):
    """The result of storing a batch."""

    batch: int | None
    """The number by which it is undone; None if every verdict was in force already, from different batches."""
    stored: int
    skipped: int
    """Verdicts that were in force already."""


class UndoneBatch(NamedTuple):
    """The result of undoing a batch."""

    undone: int
    skipped: int
    """Verdicts of the batch that had been undone before."""


class PairVerdict(NamedTuple):
    """The verdict in force on a pair and its event; None and 0 if there is none."""

    image: str
    label: str
    verdict: str | None
    event: int


class FeedbackBatch:
    """Events that are stored together or not at all; `Feedback.batch` makes one."""

    def __init__(self, writer: sqlite3.Connection) -> None:
        self._writer = writer

    def add(self, image: str, label: str, verdict: Verdict, **given: Unpack[Given]) -> int:
        """Add a verdict, as `Feedback.add` does."""
        _check(image, label, verdict, given["by"], given["confidence"])
        before = self._writer.execute(_OF_PAIR, (image, label)).fetchone()
        if before is not None and before[1:] == (verdict, given["by"], given.get("reference")):
            return int(before[0])
        return self._append({"image": image, "label": label, "verdict": verdict, **given})

    def undo(self, event: int, *, by: str, model: str) -> int:
        """Undo a verdict, as `Feedback.undo` does."""
        _check_person(by)
        if not 0 < event <= _MAX_INTEGER:
            raise UnknownIdError(str(event), "event")
        done = self._writer.execute("SELECT event FROM events WHERE undoes = ?", (event,)).fetchone()
        if done is not None:
            return int(done[0])
        row = self._writer.execute(_EVENT, (event,)).fetchone()
        if row is None:
            raise UnknownIdError(str(event), "event")
        undone = Event(*row)
        if undone.verdict == "undo":
            raise ConfigError(f"event {event} is itself an undo; accept or reject {undone.label!r} again instead")
        return self._append({**undone._asdict(), "verdict": "undo", "by": by, "model": model, "undoes": event})

    def events_of_reference(self, reference: str) -> list[Event]:
        """Return the verdicts with this ``reference`` that were not undone."""
        return [Event(*row) for row in self._writer.execute(_OF_REFERENCE, (reference,))]

    def _append(self, values: dict[str, Any]) -> int:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        row = {**values, "event": None, "at": now}
        return int(self._writer.execute(_ADD, [row.get(name) for name in Event._fields]).lastrowid or 0)


class Feedback:
    """The feedback file of a service, safe to use from several threads and processes.

    Nothing is cached outside the file, so two services on one file see each other's events immediately.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._writer = open_writer(self.path)
        # A second connection, so that reads do not wait for writes to reach the disk.
        self._reader = open_reader(self.path)
        self._identity = file_identity(self.path)
        self._write_lock, self._read_lock = Lock(), Lock()

    @contextmanager
    def batch(self) -> Iterator[FeedbackBatch]:
        """Store the events of the block together or not at all; they are on disk at its end."""
        with self._write_lock, translate_errors(self.path):
            self._check_place()
            with transaction(self._writer):
                yield FeedbackBatch(self._writer)
            self._check_place()

    def add(self, image: str, label: str, verdict: Verdict, **given: Unpack[Given]) -> int:
        """Store a verdict and return its event number; it is on disk when this returns.

        Repeating a verdict that is in force, with the same ``by`` and ``reference``, returns the existing event, so a
        request may be sent twice.
        """
        with self.batch() as batch:
            return batch.add(image, label, verdict, **given)

    def undo(self, event: int, *, by: str, model: str) -> int:
        """Undo a verdict and return the number of the undo event; the previous verdict is in force again.

        Undoing an event twice returns the first undo event.
        """
        with self.batch() as batch:
            return batch.undo(event, by=by, model=model)

    def add_batch(self, verdicts: Sequence[NewVerdict], *, by: str, source: str, model: str) -> StoredBatch:
        """Store verdicts together or not at all; they are on disk when this returns.

        Verdicts that are in force already are skipped. A batch that is sent again gets the number of the first.
        """
        with self.batch() as batch:
            before = self._number(_LAST_EVENT)
            events = []
            for index, (image, label, verdict, confidence) in enumerate(verdicts):
                try:
                    event = batch.add(image, label, verdict, by=by, source=source, confidence=confidence, model=model)
                except ConfigError as error:
                    raise ConfigError(f"events.{index}: {error}; nothing was stored") from None
                events.append(event)
            # No one else writes during a transaction, so new events have consecutive numbers.
            last = self._number(_LAST_EVENT)
            if last > before:
                self._writer.execute(_ADD_BATCH, (before + 1, last))
                return StoredBatch(before + 1, last - before, len(events) - (last - before))
            found = self._writer.execute(_BATCH_AROUND, (min(events), max(events))).fetchone() if events else None
            return StoredBatch(found and int(found[0]), 0, len(events))

    def undo_batch(self, batch: int, *, by: str, model: str) -> UndoneBatch:
        """Undo the verdicts of a batch together or not at all, without those that were undone before."""
        with self.batch() as changes:
            row = self._writer.execute(_LAST_OF_BATCH, (batch,)).fetchone() if 0 < batch <= _MAX_INTEGER else None
            if row is None:
                raise UnknownIdError(str(batch), "batch")
            last = int(row[0])
            done = {int(event) for (event,) in self._writer.execute(_UNDONE, (batch, last))}
            open_events = [event for event in range(batch, last + 1) if event not in done]
            for event in open_events:
                changes.undo(event, by=by, model=model)
            return UndoneBatch(len(open_events), len(done))

    def changes(self, after: int) -> tuple[int, list[PairVerdict]]:
        """Return the last event, and the verdicts in force on all pairs with an event after number ``after``."""
        last = int(self._read(_LAST_EVENT)[0][0])
        if last == after:
            return last, []
        if after == 0:
            with read_connection(self.path) as file:
                return last, [PairVerdict(*row) for row in file.execute(_ALL_PAIRS)]
        changed = []
        for image, label in self._read(_CHANGED_PAIRS, after, last):
            found = self._read(_OF_PAIR, image, label)
            event, verdict = found[0][:2] if found else (0, None)
            changed.append(PairVerdict(image, label, verdict, event))
        return last, changed

    def of(self, image: str) -> ImageVerdicts:
        """Return the verdicts in force for an image."""
        return ImageVerdicts.of(self._read(_OF_IMAGE, image))

    def events(self, after: int = 0, limit: int = 100) -> list[Event]:
        """Return the first ``limit`` events after number ``after``."""
        return [Event(*row) for row in self._read(_EVENTS_AFTER, min(after, _MAX_INTEGER), min(limit, _MAX_INTEGER))]

    def pairs(self) -> Iterator[Event]:
        """Iterate over the accepted pairs in force, by image and label, as of the first item."""
        with read_connection(self.path) as file:
            yield from accepted_in_force(file)

    def close(self) -> None:
        """Close the file."""
        with self._write_lock, self._read_lock:
            self._reader.close()
            self._writer.close()

    def _read(self, statement: str, *values: str | int) -> list[Any]:
        with self._read_lock, translate_errors(self.path):
            return self._reader.execute(statement, values).fetchall()

    def _number(self, statement: str) -> int:
        return int(self._writer.execute(statement).fetchone()[0])

    def _check_place(self) -> None:
        """Raise if the file was deleted or replaced: what is written to it now would be lost."""
        if file_identity(self.path) != self._identity:
            raise DataError(
                f"{self.path} was deleted, moved or replaced while it was open, so nothing more can be stored in it; "
                "put it back or restart the service"
            )


def _check(image: str, label: str, verdict: str, by: str, confidence: float | None) -> None:
    check_text("image", image)
    check_text("label", label)
    _check_person(by)
    if verdict not in get_args(Verdict):
        raise ConfigError(f"verdict must be one of {', '.join(get_args(Verdict))}, got {verdict!r}")
    if confidence is not None and not (math.isfinite(confidence) and 0 <= confidence <= 1):
        raise ConfigError(f"confidence must be between 0 and 1, got {confidence}")


def _check_person(by: str) -> None:
    """Check a name, which lists show in a line of its own."""
    check_text("by", by)
    if any(unicodedata.category(character) in _NOT_IN_LINE for character in by):
        raise ConfigError(f"by {by!r} must be one line without control characters")
