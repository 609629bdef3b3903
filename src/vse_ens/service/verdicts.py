"""What people accepted and rejected, kept so that neither a kill nor a power cut loses what was acknowledged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, get_args

from vse_ens.data.feedback.store import (
    COLUMNS,
    Event,
    Verdict,
    in_force,
    open_to_read,
    open_to_write,
    reading,
    sentences,
    transaction,
)
from vse_ens.errors import ConfigError, UnknownIdError

_ADD = f"INSERT INTO events ({COLUMNS}) VALUES ({', '.join('?' * len(Event._fields))})"  # noqa: S608  # our own words
_EVENT = f"SELECT {COLUMNS} FROM events WHERE event = ?"  # noqa: S608
_EVENTS_AFTER = f"SELECT {COLUMNS} FROM events WHERE event > ? ORDER BY event LIMIT ?"  # noqa: S608
_OF_IMAGE = "SELECT label, verdict, event FROM in_force WHERE image = ?"
_OF_PAIR = "SELECT event, verdict, by, reference FROM in_force WHERE image = ? AND label = ?"
_OF_REFERENCE = f"""SELECT {COLUMNS} FROM events AS said WHERE reference = ? AND undoes IS NULL
    AND NOT EXISTS (SELECT 1 FROM events AS later WHERE later.undoes = said.event)"""  # noqa: S608
# The largest number that SQLite knows.
_LAST = 2**63 - 1


class ImageVerdicts(NamedTuple):
    """What is in force for an image: each label with the event that says so."""

    accepted: dict[str, int]
    rejected: dict[str, int]


class Feedback:
    """The feedback file of a service; every method may be called from any thread, and from several processes.

    Nothing is remembered outside the file, so that two services on one file see each other's events at once.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._writer = open_to_write(self.path)
        # Apart from the writer, so that a reader does not wait for its disk.
        self._reader = open_to_read(self.path)
        self._writing, self._reading = Lock(), Lock()

    def add(
        self,
        image: str,
        label: str,
        verdict: Verdict,
        *,
        by: str,
        source: str,
        confidence: float | None,
        model: str,
        reference: str | None = None,
    ) -> int:
        """Keep a verdict and give its event, durable when this returns.

        A verdict in force that the same person has given from the same place is that event: a request may be sent
        twice. ``reference`` names what it came from in another program.
        """
        _check(image, label, verdict, by, confidence)
        with self._writing, sentences(self.path), transaction(self._writer):
            before = self._writer.execute(_OF_PAIR, (image, label)).fetchone()
            if before is not None and before[1:] == (verdict, by, reference):
                return int(before[0])
            return self._append(image, label, verdict, by, source, confidence, model, None, reference)

    def undo(self, event: int, *, by: str, model: str) -> int:
        """Take a verdict back and give the event that does so; what was in force before it is in force again.

        Undoing what is undone already gives the event that did.
        """
        _check_text("by", by)
        if not 0 < event <= _LAST:
            raise UnknownIdError(str(event), "event")
        with self._writing, sentences(self.path), transaction(self._writer):
            done = self._writer.execute("SELECT event FROM events WHERE undoes = ?", (event,)).fetchone()
            if done is not None:
                return int(done[0])
            row = self._writer.execute(_EVENT, (event,)).fetchone()
            if row is None:
                raise UnknownIdError(str(event), "event")
            undone = Event(*row)
            if undone.verdict == "undo":
                raise ConfigError(f"event {event} is itself an undo; judge {undone.label!r} again instead")
            return self._append(
                undone.image, undone.label, "undo", by, undone.source, undone.confidence, model, event, undone.reference
            )

    def of(self, image: str) -> ImageVerdicts:
        """What is in force for an image."""
        judged = ImageVerdicts({}, {})
        for label, verdict, event in self._read(_OF_IMAGE, image):
            (judged.accepted if verdict == "accept" else judged.rejected)[label] = event
        return judged

    def of_reference(self, reference: str) -> list[Event]:
        """The verdicts that came from ``reference`` and were not undone."""
        return [Event(*row) for row in self._read(_OF_REFERENCE, reference)]

    def judged(self, among: Iterable[tuple[str, str]] | None = None) -> set[tuple[str, str]]:
        """Every (image, label) for which a verdict is in force.

        All of them take seconds to find among a million events; those ``among`` a thousand pairs take none.
        """
        with reading(self.path) as file:
            if among is None:
                return set(file.execute("SELECT image, label FROM in_force"))
            return {pair for pair in among if file.execute(_OF_PAIR, pair).fetchone() is not None}

    def events(self, after: int = 0, limit: int = 100) -> list[Event]:
        """The first ``limit`` events past the one numbered ``after``."""
        return [Event(*row) for row in self._read(_EVENTS_AFTER, min(after, _LAST), min(limit, _LAST))]

    def pairs(self) -> Iterator[Event]:
        """The accepted pairs in force, by image and label, as they were when the first was asked for."""
        with reading(self.path) as file:
            yield from in_force(file, "accept")

    def close(self) -> None:
        """Give the file back; nothing can be asked afterwards."""
        with self._writing, self._reading:
            self._reader.close()
            self._writer.close()

    def _read(self, statement: str, *values: str | int) -> list[Any]:
        with self._reading, sentences(self.path):
            return self._reader.execute(statement, values).fetchall()

    def _append(
        self,
        image: str,
        label: str,
        verdict: str,
        by: str,
        source: str,
        confidence: float | None,
        model: str,
        undoes: int | None,
        reference: str | None,
    ) -> int:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        values = (None, image, label, verdict, by, now, source, confidence, model, undoes, reference)
        return int(self._writer.execute(_ADD, values).lastrowid or 0)


def _check(image: str, label: str, verdict: str, by: str, confidence: float | None) -> None:
    for name, text in (("image", image), ("label", label), ("by", by)):
        _check_text(name, text)
    if verdict not in get_args(Verdict):
        raise ConfigError(f"verdict must be one of {', '.join(get_args(Verdict))}, got {verdict!r}")
    if confidence is not None and not (math.isfinite(confidence) and 0 <= confidence <= 1):
        raise ConfigError(f"confidence must lie in 0..1, got {confidence}")


def _check_text(name: str, text: str) -> None:
    if not text.strip():
        raise ConfigError(f"{name} must not be blank")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{name} {text!r} is not valid unicode") from None
