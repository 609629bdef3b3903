"""The feedback file: an append-only SQLite file of verdicts on suggestions.

A person accepts or rejects a label for an image, or undoes that. Each is an event, and no event is changed or deleted.
The verdict in force on a pair is the last one that was not undone; the view ``in_force`` of the file contains them.

Verdicts that were given together are a batch: events with consecutive numbers, and a row in ``batches``, which only
undoing a batch reads. Files of an older program lack that table; it is added when they are opened for writing.
``events.sql`` and ``batches.sql`` create the tables.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from vse_ens.errors import DataError, VseError
from vse_ens.system import sync

Verdict = Literal["accept", "reject"]

# The mark of a feedback file in the SQLite header ("vsef"), and the version of its tables.
_APPLICATION_ID = 0x76736566
_VERSION = 1
_MARKS = (f"PRAGMA application_id = {_APPLICATION_ID}", f"PRAGMA user_version = {_VERSION}")
# The longest wait for another process that writes; a write takes milliseconds.
_BUSY_SECONDS = 10.0
_REPAIR = "restore a copy, or try .recover of the program sqlite3"


class Event(NamedTuple):
    """A row of the file: a verdict, its author and time, and the confidence of the model."""

    event: int
    image: str
    label: str
    verdict: str
    """``accept``, ``reject`` or ``undo``."""
    by: str
    at: str
    """UTC, ISO 8601 to the millisecond; the order of the texts is the order in time."""
    source: str
    confidence: float | None
    """The confidence of the model in the label at that time."""
    model: str
    """The fingerprint of that model."""
    undoes: int | None
    reference: str | None
    """The origin of the event in another program, such as an annotation of Label Studio."""


COLUMNS = ", ".join(Event._fields)
_IN_FORCE = "SELECT event, image, label, verdict, by, at, source, confidence, model, NULL, reference FROM in_force"


def open_writer(path: Path) -> sqlite3.Connection:
    """Return a connection for writing, which any thread may use; a missing file is created, for its owner only."""
    if not path.parent.is_dir():
        raise DataError(f"{path} cannot be created: there is no folder {path.parent}; create it first")
    _check_regular(path)
    _create(path)
    with translate_errors(path):
        connection = _connect(path, "rwc")
        try:
            # Of two processes that create the file at once, only one finds it empty inside this transaction.
            with transaction(connection):
                if _is_empty(connection):
                    for statement in (*_statements("events.sql"), *_MARKS):
                        connection.execute(statement)
            _check_version(connection, path)
            with transaction(connection):
                for statement in _statements("batches.sql"):
                    connection.execute(statement)
            check_integrity(connection, path, "quick_check")
            _write_ahead(connection)
            connection.execute("PRAGMA synchronous = FULL")  # a commit returns when it is on disk
            sync(path.parent)  # a new file survives a power failure only with its name
        except BaseException:
            connection.close()
            raise
        return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Return a read-only connection, which any thread may use."""
    if not path.exists():
        raise DataError(f"{path} does not exist; vse serve creates a feedback file when it starts")
    _check_regular(path)
    with translate_errors(path):
        # "rw" because a reader in WAL mode may have to create the shared memory file; query_only prevents changes.
        connection = _connect(path, "rw" if os.access(path, os.W_OK) else "ro")
        try:
            _check_version(connection, path)
            connection.execute("PRAGMA query_only = TRUE")
        except BaseException:
            connection.close()
            raise
        return connection


def check_integrity(
    connection: sqlite3.Connection, path: Path, check: Literal["quick_check", "integrity_check"]
) -> None:
    """Raise if a file is damaged: in its pages (a second for a million events), or also in rows against indexes."""
    result = connection.execute(f"PRAGMA {check}(1)").fetchone()[0]
    if result != "ok":
        raise DataError(f"{path} is damaged ({result.splitlines()[-1]}); {_REPAIR}")


@contextmanager
def read_connection(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a read-only connection for the block; SQLite's errors become `DataError`."""
    connection = open_reader(path)
    try:
        with translate_errors(path):
            yield connection
    finally:
        connection.close()


def is_feedback_file(path: Path) -> bool:
    """Return whether a file is a SQLite file, which can only be feedback."""
    try:
        if not path.is_file():  # opening a pipe would wait for its other end
            return False
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def file_identity(path: Path) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Return the device and file numbers of a file and its write-ahead log, None for one that does not exist.

    They stay the same while a connection is open, unless someone deletes, moves or replaces a file. SQLite does not
    notice that.
    """
    real = path.resolve()
    return _numbers(real), _numbers(real.with_name(f"{real.name}-wal"))


def _numbers(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def in_force(connection: sqlite3.Connection) -> Iterator[Event]:
    """Yield the verdicts in force, by image and label."""
    return (Event(*row) for row in connection.execute(_IN_FORCE))


def accepted_in_force(connection: sqlite3.Connection) -> Iterator[Event]:
    """Yield the accepted pairs in force, by image and label."""
    return (event for event in in_force(connection) if event.verdict == "accept")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write everything in the block or nothing, excluding other writers; it is on disk at the end."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite rolls back by itself if the disk is full.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turn an error of SQLite into a `DataError` that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translate(path, error) from error


def _translate(path: Path, error: sqlite3.Error) -> VseError:
    code = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_")
    if path.is_dir():
        return DataError(f"{path} is a folder; name a feedback file")
    match code.partition("_")[0]:
        case "NOTADB":
            return DataError(f"{path} is not a feedback file; name one that vse serve wrote")
        case "CORRUPT":
            return DataError(f"{path} is damaged ({error}); {_REPAIR}")
        case "FULL":
            return DataError(f"{path} could not be written: the disk is full; free some space")
        case "CANTOPEN" | "READONLY" | "PERM" | "AUTH":
            return DataError(f"{path} could not be opened: it or its folder is not writable; change that or copy it")
        case "BUSY" | "LOCKED":
            return DataError(f"{path} is locked by another process; try again when it has finished")
    return DataError(f"{path} could not be used: {error}")


def _check_regular(path: Path) -> None:
    if path.exists() and not path.is_file() and not path.is_dir():
        raise DataError(f"{path} is not a regular file; name a feedback file")


def _create(path: Path) -> None:
    """Create an empty file that only its owner may read, because it names people; SQLite would use 0644.

    The files that SQLite creates beside it get the same permissions.
    """
    with suppress(OSError):  # SQLite fails too, and `_translate` has a sentence for it
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,  # we begin transactions
        check_same_thread=False,
    )


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode, so that readers and the writer do not wait; without support, the journal mode stays."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            # Only here SQLite does not wait for another process that does the same.
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _is_empty(connection: sqlite3.Connection) -> bool:
    """Return whether the file is new, or was left empty by a process that was killed."""
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return not tables and _number(connection, "application_id") == 0


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    if _number(connection, "application_id") != _APPLICATION_ID:
        raise DataError(f"{path} is a SQLite file of another program, not feedback; name one that vse serve wrote")
    version = _number(connection, "user_version")
    if version != _VERSION:
        raise DataError(
            f"{path} has version {version}, but this program reads {_VERSION}; use the program that wrote it"
        )


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a file of this package; ``executescript`` would end the transaction."""
    statement = ""
    for line in Path(__file__).with_name(script).read_text(encoding="utf-8").splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
