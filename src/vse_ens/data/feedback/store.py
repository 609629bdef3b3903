"""The file of what people judged: a SQLite file of events that is only ever appended to.

A person accepts or rejects a label for an image, or undoes that: each is an event, and none is changed or deleted. What
is in force for a pair is the last of its verdicts that was not undone; the view ``in_force`` of the file says so to
anyone who opens it.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from vse_ens.errors import DataError, VseError
from vse_ens.storage.atomic import sync_dir

Verdict = Literal["accept", "reject"]

# What makes a SQLite file a feedback file ("vsef"), and the form of its tables.
_APPLICATION_ID = 0x76736566
_VERSION = 1
# How long one process waits while another writes; a write takes milliseconds.
_PATIENCE_SECONDS = 10.0
_MENDING = "put back a copy, or try .recover of the program sqlite3"

_TABLES = """
CREATE TABLE events (
    event INTEGER PRIMARY KEY,
    image TEXT NOT NULL,
    label TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('accept', 'reject', 'undo')),
    by TEXT NOT NULL,
    at TEXT NOT NULL,
    source TEXT NOT NULL,
    confidence REAL,
    model TEXT NOT NULL,
    undoes INTEGER REFERENCES events CHECK ((undoes IS NOT NULL) = (verdict = 'undo')),
    reference TEXT
);
CREATE INDEX events_of_pair ON events (image, label, event);
CREATE UNIQUE INDEX undone_once ON events (undoes) WHERE undoes IS NOT NULL;
CREATE INDEX events_of_reference ON events (reference) WHERE reference IS NOT NULL;
CREATE TRIGGER no_event_is_deleted BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'events are never deleted: undo one by another'); END;
CREATE TRIGGER no_event_is_changed BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'events are never changed: undo one by another'); END;
CREATE VIEW in_force AS
    SELECT image, label, verdict, by, at, source, confidence, model, reference, max(event) AS event
    FROM events AS said
    WHERE undoes IS NULL AND NOT EXISTS (SELECT 1 FROM events AS later WHERE later.undoes = said.event)
    GROUP BY image, label;
"""


class Event(NamedTuple):
    """A row of the file: who judged what, when, and what the machine had said of it."""

    event: int
    image: str
    label: str
    verdict: str
    """``accept``, ``reject`` or ``undo``."""
    by: str
    at: str
    """UTC, ISO 8601 to the millisecond, so that the order of texts is the order of time."""
    source: str
    confidence: float | None
    """What the model gave the label when it was judged."""
    model: str
    """The fingerprint of that model."""
    undoes: int | None
    reference: str | None
    """What the event came from in another program, such as an annotation of Label Studio."""


COLUMNS = ", ".join(Event._fields)
_IN_FORCE = (
    "SELECT event, image, label, verdict, by, at, source, confidence, model, NULL, reference "
    "FROM in_force WHERE verdict = ?"
)


def open_to_write(path: Path) -> sqlite3.Connection:
    """A connection to the feedback file at ``path``, which is made where there is none; any thread may use it."""
    if not path.parent.is_dir():
        raise DataError(f"{path} cannot be made: there is no folder {path.parent}; make it first")
    with sentences(path):
        connection = _connect(path, "rwc")
        try:
            # Two processes may be the first at once: only one finds the file blank inside this transaction.
            with transaction(connection):
                if _is_blank(connection):
                    for statement in (*_statements(_TABLES), *_marks()):
                        connection.execute(statement)
            _check_form(connection, path)
            check_whole(connection, path, "quick_check")
            _write_ahead(connection)
            connection.execute("PRAGMA synchronous = FULL")  # a commit returns when its bytes are on the disk
            sync_dir(path.parent)  # a new file survives a power failure only with its name
        except BaseException:
            connection.close()
            raise
        return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """A connection to a feedback file that can change nothing; any thread may use it."""
    if not path.exists():
        raise DataError(f"{path} does not exist; vse serve makes a feedback file when it starts")
    with sentences(path):
        # "rw" since reading a file in WAL mode may need its shared memory to be made; query_only keeps it unchanged.
        connection = _connect(path, "rw" if os.access(path, os.W_OK) else "ro")
        try:
            _check_form(connection, path)
            connection.execute("PRAGMA query_only = TRUE")
        except BaseException:
            connection.close()
            raise
        return connection


def check_whole(connection: sqlite3.Connection, path: Path, how: Literal["quick_check", "integrity_check"]) -> None:
    """Refuse a damaged file: by its pages (a second for a million events), or also by comparing rows with indexes."""
    found = connection.execute(f"PRAGMA {how}(1)").fetchone()[0]
    if found != "ok":
        raise DataError(f"{path} is damaged ({found.splitlines()[-1]}); {_MENDING}")


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to read with, closed at the end; what goes wrong with the file becomes a sentence."""
    connection = open_to_read(path)
    try:
        with sentences(path):
            yield connection
    finally:
        connection.close()


def is_feedback_file(path: Path) -> bool:
    """Whether the file is a SQLite file, so that it can only be read as feedback."""
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def in_force(connection: sqlite3.Connection, verdict: Verdict) -> Iterator[Event]:
    """The verdicts of one kind that are in force, by image and label."""
    for row in connection.execute(_IN_FORCE, (verdict,)):
        yield Event(*row)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is written in the block or nothing, alone among all processes; on the disk when it ends."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk may have made SQLite roll back by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def sentences(path: Path) -> Iterator[None]:
    """Turn what SQLite says into a sentence that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise _as_sentence(path, error) from error


def _as_sentence(path: Path, error: sqlite3.Error) -> VseError:
    code = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_")
    if path.is_dir():
        return DataError(f"{path} is a folder; name a feedback file")
    match code.partition("_")[0]:
        case "NOTADB":
            return DataError(f"{path} is no feedback file; name one that vse serve wrote")
        case "CORRUPT":
            return DataError(f"{path} is damaged ({error}); {_MENDING}")
        case "FULL":
            return DataError(f"{path} could not be written: the disk is full; make room on it")
        case "CANTOPEN" | "READONLY" | "PERM" | "AUTH":
            return DataError(f"{path} could not be opened: it or its folder may not be written; allow that or copy it")
        case "BUSY" | "LOCKED":
            return DataError(f"{path} is held by another process; try again when that is done")
    return DataError(f"{path} could not be used: {error}")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=_PATIENCE_SECONDS,
        isolation_level=None,  # transactions are ours to begin
        check_same_thread=False,
    )


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Let readers and a writer not wait for each other; a file system that cannot keeps the older journal, as safe."""
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            # Here alone SQLite does not wait by itself, when another process does the same.
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
        else:
            return


def _is_blank(connection: sqlite3.Connection) -> bool:
    """Whether nothing was ever stored: a new file, or one whose maker was killed at once."""
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return not tables and _number(connection, "application_id") == 0


def _check_form(connection: sqlite3.Connection, path: Path) -> None:
    if _number(connection, "application_id") != _APPLICATION_ID:
        raise DataError(f"{path} is no feedback file but another program's SQLite file; name one that vse serve wrote")
    version = _number(connection, "user_version")
    if version != _VERSION:
        raise DataError(f"{path} has version {version} and this program knows {_VERSION}; use the one that wrote it")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _marks() -> tuple[str, str]:
    return f"PRAGMA application_id = {_APPLICATION_ID}", f"PRAGMA user_version = {_VERSION}"


def _statements(script: str) -> Iterator[str]:
    """The statements of a script one by one: ``executescript`` would end the transaction."""
    waiting = ""
    for line in script.splitlines(keepends=True):
        waiting += line
        if sqlite3.complete_statement(waiting):
            yield waiting
            waiting = ""
