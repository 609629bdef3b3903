"""Open databases of other programs for reading, without leaving a trace, also while the program is running.

A database that no transaction is open on is read where it is, as immutable: SQLite then takes no lock and creates no
file beside it. With a write-ahead log or a journal, the last changes are not in the database itself, so a copy of both
is read from a temporary folder.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import unreadable
from vse_ens.errors import DataError

_MAGIC = b"SQLite format 3\0"
_LOGS = ("-wal", "-journal")
_MAX_TEXT = 16 << 20  # bytes of one value
_ATTEMPTS = 5


class Catalogue:
    """A database that is open for reading."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query; a damaged database raises a `DataError`."""
        with _readable(self.path):
            yield from self._connection.execute(query, values)

    def tables(self, schema: str = "main") -> set[str]:
        """Return the names of the tables; views are left out, since they can compute without end."""
        return {str(name) for (name,) in self.rows(f"SELECT name FROM {schema}.sqlite_schema WHERE type = 'table'")}  # noqa: S608

    def need(self, tables: Sequence[str], program: str, schema: str = "main") -> None:
        """Raise a `DataError` if the database lacks a table that a program's catalogue has."""
        missing = [name for name in tables if name not in self.tables(schema)]
        if missing:
            raise DataError(f"{self.path} is no catalogue of {program} that can be read: it has no table {missing[0]}")


@contextmanager
def open_catalogue(path: Path, attached: Mapping[str, Path] | None = None) -> Iterator[Catalogue]:
    """Open a database, and others under the names of ``attached``."""
    with tempfile.TemporaryDirectory(prefix="vse-", ignore_cleanup_errors=True) as folder:
        with _readable(path):
            connection = sqlite3.connect(_address(path, Path(folder)), uri=True)
        try:
            connection.text_factory = lambda text: text.decode(errors="replace")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_TEXT)
            with _readable(path):
                for pragma in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
                    connection.execute(f"PRAGMA {pragma}")
                connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
            for name, other in (attached or {}).items():
                with _readable(other):
                    connection.execute(f"ATTACH ? AS {name}", [_address(other, Path(folder))])
            yield Catalogue(path, connection)
        finally:
            connection.close()


def is_database(glance: Glance, tables: Sequence[str]) -> bool:
    """Return whether a file is a database that has these tables."""
    if not glance.head.startswith(_MAGIC):
        return False
    try:
        with open_catalogue(glance.path) as catalogue:
            return set(tables) <= catalogue.tables()
    except DataError:
        return False


def common_root(folders: Sequence[str]) -> str:
    """Return the folder that contains all given folders, with ``/``; empty if there is none."""
    names = [folder.replace("\\", "/").rstrip("/") or "/" for folder in folders]
    try:
        return os.path.commonpath(names).replace("\\", "/") if names else ""
    except ValueError:  # absolute and relative folders, or several drives
        return ""


def _address(path: Path, folder: Path) -> str:
    """Return the URI to open: that of the file, or of a copy in a temporary folder."""
    _check(path)
    if not _has_log(path):
        return f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    copy = folder / path.name
    for _ in range(_ATTEMPTS):
        before = _state(path)
        try:
            if sum(size for size, _ in before) > shutil.disk_usage(folder).free:
                raise DataError(
                    f"{path} is in use, and there is no room in {folder.parent} for a copy; close its program"
                )
            shutil.copyfile(path, copy)
            for log in _LOGS:
                with suppress(FileNotFoundError):
                    shutil.copyfile(f"{path}{log}", f"{copy}{log}")
        except OSError as error:
            raise unreadable(path, error) from None
        if _state(path) == before:
            return f"{copy.absolute().as_uri()}?mode=rw"
    raise DataError(f"{path} is being written; wait for its program to finish, or close it")


def _check(path: Path) -> None:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise DataError(f"{path} is not a regular file; name a database")
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise DataError(f"{path} is no SQLite database")
    except OSError as error:
        raise unreadable(path, error) from None


def _has_log(path: Path) -> bool:
    return any(size for size, _ in _state(path)[1:])


def _state(path: Path) -> list[tuple[int, int]]:
    """Return the size and the time of the last change of a database and its logs."""
    result = []
    for suffix in ("", *_LOGS):
        try:
            status = path.with_name(path.name + suffix).stat()
            result.append((status.st_size, status.st_mtime_ns))
        except OSError:
            result.append((0, 0))
    return result


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:  # also of an error message
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{path} cannot be read as a database: {reason}; close its program and try again") from None
