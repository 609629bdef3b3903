"""Hostile catalogs of Lightroom, digiKam, darktable and Hydrus: tables that multiply, circles, odd values."""

from __future__ import annotations

import itertools
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.support import dataset_files as made

from benchmarks.robustness.attacks.attack import Attack, Case, Outcome, all_limited
from vse_ens.data.io.read import read

_TREE = {"a.jpg": ["place|beach", "sea"], "d/b.jpg": ["sea"]}
_HASHES = {"0a" * 32: ["character:alice", "solo"], "0b" * 32: ["solo"]}


class _Program(NamedTuple):
    """A program's catalog: how it is made, its files, and its tables with the columns that are joined."""

    make: Callable[[Path], Path]
    files: tuple[str, ...]
    tables: dict[str, tuple[str, tuple[str, ...]]]
    """The file and the columns of each table."""
    tags: tuple[str, str, str, str, str] | None = None
    """The table of nested tags: its file, its name, and the columns of the id, the parent and the name."""


_LIGHTROOM = "Lightroom Catalog.lrcat"
_PROGRAMS = {
    "lightroom": _Program(
        lambda folder: made.lightroom(folder, _TREE),
        (_LIGHTROOM,),
        {
            "Adobe_images": (_LIGHTROOM, ("id_local", "rootFile")),
            "AgLibraryFile": (_LIGHTROOM, ("id_local", "folder", "idx_filename")),
            "AgLibraryFolder": (_LIGHTROOM, ("id_local", "pathFromRoot", "rootFolder")),
            "AgLibraryRootFolder": (_LIGHTROOM, ("id_local", "absolutePath")),
            "AgLibraryKeyword": (_LIGHTROOM, ("id_local", "parent", "name")),
            "AgLibraryKeywordImage": (_LIGHTROOM, ("id_local", "image", "tag")),
        },
        (_LIGHTROOM, "AgLibraryKeyword", "id_local", "parent", "name"),
    ),
    "digikam": _Program(
        lambda folder: made.digikam(folder, _TREE),
        ("digikam4.db",),
        {
            "AlbumRoots": ("digikam4.db", ("id", "identifier", "specificPath")),
            "Albums": ("digikam4.db", ("id", "albumRoot", "relativePath")),
            "Images": ("digikam4.db", ("id", "album", "name", "status")),
            "ImageTags": ("digikam4.db", ("imageid", "tagid")),
            "Tags": ("digikam4.db", ("id", "pid", "name")),
        },
        ("digikam4.db", "Tags", "id", "pid", "name"),
    ),
    "darktable": _Program(
        lambda folder: made.darktable(folder, _TREE),
        ("library.db", "data.db"),
        {
            "film_rolls": ("library.db", ("id", "folder")),
            "images": ("library.db", ("id", "film_id", "filename")),
            "tagged_images": ("library.db", ("imgid", "tagid")),
            "tags": ("data.db", ("id", "name")),
        },
    ),
    "hydrus": _Program(
        lambda folder: made.hydrus(folder, _HASHES),
        ("client.db", "client.master.db", "client.mappings.db"),
        {
            "files_info": ("client.db", ("hash_id", "size", "mime")),
            "current_files_2": ("client.db", ("hash_id", "timestamp_ms")),
            "hashes": ("client.master.db", ("hash_id", "hash")),
            "namespaces": ("client.master.db", ("namespace_id", "namespace")),
            "subtags": ("client.master.db", ("subtag_id", "subtag")),
            "tags": ("client.master.db", ("tag_id", "namespace_id", "subtag_id")),
            "current_mappings_5": ("client.mappings.db", ("tag_id", "hash_id")),
        },
    ),
}


def _sql(folder: Path, file: str, *statements: str) -> None:
    with closing(sqlite3.connect(folder / file)) as connection:
        for one in statements:
            connection.execute(one)
        connection.commit()


_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"


def _without_keys(folder: Path, program: _Program, count: int) -> None:
    """Give every table ``count`` rows with the same ids, so that a join has as many as their product."""
    for table, (file, columns) in program.tables.items():
        kept = ", ".join(columns)
        _sql(
            folder,
            file,
            f"CREATE TABLE other AS SELECT {kept} FROM {table} LIMIT 1",
            f"DROP TABLE {table}",
            f"CREATE TABLE {table} AS {_NUMBERS.format(count=count)} SELECT {kept} FROM n, other",
            "DROP TABLE other",
        )


def _deep_tags(folder: Path, program: _Program, count: int) -> None:
    """Add ``count`` tags, each below the same chain of a hundred: together they have far more text than the file."""
    assert program.tags is not None
    file, table, number, parent, name = program.tags
    _sql(
        folder,
        file,
        f"{_NUMBERS.format(count=count)} INSERT INTO {table} ({number}, {parent}, {name}) "
        f"SELECT 1000 + i, 1000 + min(i - 1, 90), 'xxxxxxxxx' FROM n",
    )


def _circle(folder: Path, program: _Program) -> None:
    """Make every tag lie below the next one, and the last below the first."""
    assert program.tags is not None
    file, table, number, parent, _ = program.tags
    next_one = f"(SELECT min(o.{number}) FROM {table} o WHERE o.{number} > {table}.{number})"
    _sql(folder, file, f"UPDATE {table} SET {parent} = {next_one}")
    _sql(folder, file, f"UPDATE {table} SET {parent} = (SELECT min({number}) FROM {table}) WHERE {parent} IS NULL")


# One folder of a megabyte, which the ids of 20,000 images begin with.
_LONG = "'/' || hex(zeroblob(500000))"
_MANY = _NUMBERS.format(count=20_000)
_LONG_PATHS = {
    "lightroom": (
        f"UPDATE AgLibraryFolder SET pathFromRoot = {_LONG} WHERE id_local = 1",
        f"{_MANY} INSERT INTO AgLibraryFile (id_local, folder, idx_filename) SELECT 100 + i, 1, i || '.jpg' FROM n",
        f"{_MANY} INSERT INTO Adobe_images (id_local, id_global, rootFile) SELECT 100 + i, 'x' || i, 100 + i FROM n",
    ),
    "digikam": (
        f"UPDATE Albums SET relativePath = {_LONG} WHERE id = 1",
        f"{_MANY} INSERT INTO Images SELECT 100 + i, 1, i || '.jpg', 1, 1 FROM n WHERE i < 900 OR i > 902",
    ),
    "darktable": (
        f"UPDATE film_rolls SET folder = {_LONG} WHERE id = 1",
        f"{_MANY} INSERT INTO images (id, film_id, filename) SELECT 100 + i, 1, i || '.jpg' FROM n",
    ),
}
# In place of a value of any column.
_ODD = (
    "NULL",
    "x'ff00'",
    "1e999",
    "-9223372036854775808",
    "char(0, 55296)",
    "'../../x'",
    "''",
    "hex(zeroblob(400000))",
)


def _odd(folder: Path, program: _Program, table: str, column: str, value: str) -> None:
    """Put an odd value into a column, without the keys and types that would refuse it."""
    file, columns = program.tables[table]
    kept = ", ".join(columns)
    changed = ", ".join(f"{value} AS {one}" if one == column else one for one in columns)
    _sql(
        folder,
        file,
        f"CREATE TABLE other AS SELECT {kept} FROM {table}",
        f"DROP TABLE {table}",
        f"CREATE TABLE {table} AS SELECT {changed} FROM other",
    )


def _exchange(folder: Path, file: str, kind: str) -> None:
    """Put something else in the place of a file of the catalog."""
    path = folder / file
    if kind == "a database of a terabyte":
        with path.open("r+b") as opened:
            opened.truncate(1 << 40)
        return
    if kind == "a log of a terabyte":
        with Path(f"{path}-wal").open("wb") as opened:
            opened.truncate(1 << 40)
        return
    if kind.startswith("a log"):
        Path(f"{path}-journal").write_bytes(b"x")
        Path(f"{path}-wal").symlink_to("/dev/zero")
        return
    path.unlink()
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    elif kind == "a link to itself":
        path.symlink_to(path.name)
    else:
        path.symlink_to("/dev/zero")


_PLACES = (
    "a pipe",
    "a folder",
    "a device",
    "a link to itself",
    "a log that is a device",
    "a log of a terabyte",
    "a database of a terabyte",
)


def _read(name: str, change: Callable[[Path], None]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "catalog"
        folder.mkdir()
        path = _PROGRAMS[name].make(folder)
        change(folder)
        read(path, format=name)


def _cases() -> Iterator[Case]:
    for name, program in _PROGRAMS.items():
        for count in (100, 3_000):
            same = partial(_without_keys, program=program, count=count)
            yield f"{name}: tables of {count:,} rows with one id", partial(_read, name, same)
        if program.tags is not None:
            yield (
                f"{name}: a million deep tags",
                partial(_read, name, partial(_deep_tags, program=program, count=1_000_000)),
            )
            yield f"{name}: tags in a circle", partial(_read, name, partial(_circle, program=program))
        if name in _LONG_PATHS:
            long = _statements(program.files[0], _LONG_PATHS[name])
            yield f"{name}: a folder of a megabyte", partial(_read, name, long)
        for table, (file, columns) in program.tables.items():
            for column, value in itertools.product(columns, _ODD):
                change = partial(_odd, program=program, table=table, column=column, value=value)
                yield f"{name}: {value} in {table}.{column}", partial(_read, name, change)
            yield f"{name}: no {table}", partial(_read, name, _statements(file, [f"DROP TABLE {table}"]))
            computed = f"CREATE INDEX computed ON {table} (hex(zeroblob(100000000)))"
            yield f"{name}: an index of {table} that computes", partial(_read, name, _index(file, table, computed))
        for file, kind in itertools.product(program.files, _PLACES):
            yield f"{name}: {kind} in place of {file}", partial(_read, name, partial(_exchange, file=file, kind=kind))


def _statements(file: str, statements: Iterable[str]) -> Callable[[Path], None]:
    return lambda folder: _sql(folder, file, *statements)


def _index(file: str, table: str, text: str) -> Callable[[Path], None]:
    """Write an index into the schema without computing it."""

    def change(folder: Path) -> None:
        row = f"VALUES ('index', 'computed', '{table}', 0, '{text}')"
        with closing(sqlite3.connect(folder / file)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute(f"INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) {row}")
            connection.commit()

    return change


def catalogs(times: int) -> Outcome:
    """Read every hostile catalog, each in a process of limited time and memory."""
    return all_limited(itertools.islice(_cases(), times), seconds=15, ram=2 << 30)


CATALOGS = {
    "catalogs": Attack(
        "catalogs of Lightroom, digiKam, darktable and Hydrus: joins that multiply, circles, odd values, other files",
        catalogs,
        10_000,
        8,
    )
}
