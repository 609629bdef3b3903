"""The parts that the readers of catalogs share, and databases of other programs, read without leaving a trace.

A database that no transaction is open on is read where it is, as immutable: SQLite then takes no lock and creates no
file beside it. With a write-ahead log or a journal, the last changes are not in the database itself, so a copy of both
is read from a temporary folder.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import count, groupby
from pathlib import Path
from typing import Any, ClassVar

from vse_ens.data.collections.base import ImageList, Item, OpenOptions
from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import as_label, read_regular, unreadable
from vse_ens.errors import MAX_LABEL, DataError, LongLabelError
from vse_ens.system import open_regular

_MAGIC = b"SQLite format 3\0"
_LOGS = ("-wal", "-journal")
_MAX_TEXT = 1 << 20  # bytes of one value
_TABLE = re.compile(r"CREATE TABLE\b", re.IGNORECASE)  # not VIEW, not VIRTUAL TABLE
_ORDINARY = 0  # kind of a column that is neither generated nor one of a virtual table
_ATTEMPTS = 5
_MAX_DEPTH = 100  # of tags inside tags
_MAX_PATH = 4_096  # characters of the path of a folder, which all its pictures repeat
_MAX_PATHS = 1 << 28  # characters of the paths of all tags
# Steps of SQLite's machine: a catalog needs one or two for a byte. Tables without keys may join to any number of rows.
_STEPS, _STEPS_OF_A_BYTE, _STEPS_AT_ONCE = 50_000_000, 50, 100_000


class Catalog:
    """A database that is open for reading."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._tables: dict[str, set[str]] = {}

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query; a damaged database raises a `DataError`."""
        with _readable(self.path):
            # `yield from` would close the cursor, which it cannot without the database.
            for row in self._connection.execute(query, values):  # noqa: UP028
                yield row

    def tables(self, schema: str = "main") -> set[str]:
        """Return the names of the tables that only store values.

        Views, virtual tables and tables with generated columns are left out, since they can compute without end.
        """
        if schema not in self._tables:
            rows = list(self.rows(f"SELECT name, sql FROM {schema}.sqlite_schema WHERE type = 'table'"))  # noqa: S608
            names = {str(name) for name, sql in rows if _TABLE.match(str(sql))}
            self._tables[schema] = {name for name in names if self._is_stored(name, schema)}
        return self._tables[schema]

    def _is_stored(self, table: str, schema: str) -> bool:
        quoted = table.replace('"', '""')
        return all(row[6] == _ORDINARY for row in self.rows(f'PRAGMA {schema}.table_xinfo("{quoted}")'))

    def need(self, tables: Sequence[str], program: str, schema: str = "main") -> None:
        """Raise a `DataError` if the database lacks a table that a program's catalog has."""
        missing = [name for name in tables if name not in self.tables(schema)]
        if missing:
            raise DataError(
                f"{self.path} is not a readable catalog of {program}: it has no table {missing[0]}, "
                f"or one with generated columns, which are not read"
            )


@contextmanager
def open_catalog(path: Path, attached: Mapping[str, Path] | None = None) -> Iterator[Catalog]:
    """Open a database, and others under the names of ``attached``."""
    with tempfile.TemporaryDirectory(prefix="vse-", ignore_cleanup_errors=True) as folder:
        with _readable(path):
            connection = sqlite3.connect(_address(path, Path(folder)), uri=True)
        try:
            connection.text_factory = lambda text: text.decode(errors="replace")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_TEXT)
            sizes = (_state(one)[0][0] for one in (path, *(attached or {}).values()))
            calls = count((_STEPS + _STEPS_OF_A_BYTE * sum(sizes)) // _STEPS_AT_ONCE, -1)
            connection.set_progress_handler(lambda: next(calls) < 0, _STEPS_AT_ONCE)
            with _readable(path):
                for pragma in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
                    connection.execute(f"PRAGMA {pragma}")
                connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
            for name, other in (attached or {}).items():
                with _readable(other):
                    connection.execute(f"ATTACH ? AS {name}", [_address(other, Path(folder))])
            yield Catalog(path, connection)
        finally:
            connection.close()


def is_database(glance: Glance, tables: Sequence[str]) -> bool:
    """Return whether a file is a database that has these tables."""
    if not glance.head.startswith(_MAGIC):
        return False
    try:
        with open_catalog(glance.path) as catalog:
            return set(tables) <= catalog.tables()
    except DataError:
        return False


def common_root(folders: Iterable[object]) -> str:
    """Return the folder that contains all given folders, with ``/``; empty if there is none."""
    names = [str(folder).replace("\\", "/").rstrip("/") or "/" for folder in folders]
    try:
        return os.path.commonpath(names).replace("\\", "/") if names else ""
    except ValueError:  # absolute and relative folders, or several drives
        return ""


def _address(path: Path, folder: Path) -> str:
    """Return the URI to open: that of the file, or of a copy in a temporary folder."""
    _check(path)
    if not any(size for size, _ in _state(path)[1:]):  # no log
        return f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    copy = folder / path.name
    for _ in range(_ATTEMPTS):
        before = _state(path)
        try:
            if sum(size for size, _ in before) > shutil.disk_usage(folder).free:
                raise DataError(
                    f"{path} is in use, and there is no room in {folder.parent} for a copy; close its program"
                )
            _copy(path, copy)
            for log in _LOGS:
                with suppress(FileNotFoundError):
                    _copy(Path(f"{path}{log}"), Path(f"{copy}{log}"))
        except OSError as error:
            raise unreadable(path, error) from None
        if _state(path) == before:
            return f"{copy.absolute().as_uri()}?mode=rw"
    raise DataError(f"{path} is being written; wait for its program to finish, or close it")


def _copy(path: Path, copy: Path) -> None:
    with os.fdopen(open_regular(path), "rb") as file, copy.open("wb") as to:
        shutil.copyfileobj(file, to)


def _check(path: Path) -> None:
    try:
        if not read_regular(path, len(_MAGIC)).startswith(_MAGIC):
            raise DataError(f"{path} is not a SQLite database")
    except OSError as error:
        raise unreadable(path, error) from None


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
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
            raise DataError(f"{path} is damaged: its tables join to far more rows than they have") from None
        raise DataError(f"{path} cannot be read as a database: {reason}; close its program and try again") from None


class CatalogCollection(ImageList):
    """A catalog in a database; its pictures are at absolute paths."""

    program: ClassVar[str]
    tables: ClassVar[tuple[str, ...]]
    """The tables that a catalog of the program has."""
    folders: ClassVar[tuple[tuple[str, str], ...]] = ()
    """The tables and columns with paths of folders."""

    def __init__(self, path: Path, options: OpenOptions | None = None) -> None:
        super().__init__(path, options)
        self.database = path

    @contextmanager
    def catalog(self, attached: Mapping[str, Path] | None = None) -> Iterator[Catalog]:
        """Open the database, which must have the tables, and others under the names of ``attached``."""
        with open_catalog(self.database, attached) as catalog:
            catalog.need(self.tables, self.program)
            for table, column in self.folders:
                for (longest,) in catalog.rows(f"SELECT max(length({column})) FROM {table}"):  # noqa: S608  # our names
                    if (longest or 0) > _MAX_PATH:
                        raise DataError(f"{self.path} has a folder with a path of more than {_MAX_PATH:,} characters")
            yield catalog

    @abstractmethod
    def find_root(self) -> str:
        """Return the folder that ids are relative to; empty if ids are whole paths."""

    @abstractmethod
    def read(self, root: str) -> Iterator[Item]:
        """Yield images with some of their labels; the rows of an image follow each other."""

    @cached_property
    def root(self) -> Path:
        """The folder that ids are relative to."""
        return Path(self._root or "/")

    @cached_property
    def _root(self) -> str:
        return self.find_root()

    def entries(self) -> Iterator[tuple[Item, None]]:
        """Yield every image with all its labels."""
        before = _state(self.path)[0]
        for image, group in groupby(self.read(self._root), key=lambda item: item.image):
            rows = list(group)
            labels = tuple(dict.fromkeys(label for row in rows for label in row.labels))
            yield Item(image, labels, rows[0].picture), None
        if self._root:
            self.notes.append(f"image ids are paths below {self._root}")
        if _state(self.path)[0] != before:
            self.notes.append(f"{self.path} changed while it was read; read it again for the newest labels")


def located(root: str, path: str, label: str | None) -> Item:
    """Return an image at a path, with an id relative to the root; without a root the path is the id."""
    path = path.replace("\\", "/")
    labels = () if label is None else (label,)
    if not root:
        return Item(path, labels, path)
    return Item(path.removeprefix(root).lstrip("/"), labels)


def tag_name(value: object) -> str | None:
    """Return a tag as a label, or None if it is none; raise a `DataError` for a long one, before it is repeated."""
    label = as_label(value)
    if label is not None and len(label) > MAX_LABEL:
        raise LongLabelError(label)
    return label


def tag_paths(rows: Iterable[tuple[Any, ...]], skip: Callable[[str], bool] | None = None) -> dict[Any, str]:
    """Return each tag's path such as ``place|beach`` from rows of (id, id of the parent, name).

    A tag without a name is left out of paths, and so is a parent that does not exist. ``skip`` leaves out a tag and all
    below it.
    """
    known = {number: (parent, tag_name(name)) for number, parent, name in rows}
    paths, total = {}, 0
    for number in known:
        parts: list[str] = []
        at: Any = number
        for _ in range(_MAX_DEPTH):  # parents of a damaged catalog may form a circle
            if at not in known:
                break
            at, name = known[at]
            if name is not None:
                parts.append(name)
        path = tag_name("|".join(reversed(parts)))
        total += len(path or "")
        if total > _MAX_PATHS:
            raise DataError(f"the tags inside tags have more than {_MAX_PATHS:,} characters together")
        if path and not (skip is not None and skip(path)):
            paths[number] = path
    return paths
