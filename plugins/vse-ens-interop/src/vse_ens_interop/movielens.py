"""MovieLens: ``ratings.csv``, ``u.data`` or ``ratings.dat``; users are images and films labels.

A rating of 4 or more makes a pair, unless another minimum is set: the usual choice for suggestions without ratings.
Films are known by their number; with ``title`` as the label column, by their title in the file of films beside.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from vse_ens.data.annotations import Annotations
from vse_ens.data.arrow import strings_to_arrow
from vse_ens.data.collections.base import OpenOptions
from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import is_file, read_bytes
from vse_ens.data.io.columns import ColumnChoice
from vse_ens.data.io.dialect import Dialect, unlimited_field_size
from vse_ens.data.io.formats import PairsFile
from vse_ens.data.io.source import Batch, Source
from vse_ens.errors import ConfigError, DataError
from vse_ens.storage.atomic import replace_files
from vse_ens_interop.rated_text import RatedRows, TableCollection, distinct

DEFAULT_MINIMUM = 4.0
_COLUMNS = ("userId", "movieId", "rating", "timestamp")
_CSV_HEADER = re.compile(rb'(?:\xef\xbb\xbf)?"?userId"?,"?movieId"?,"?rating"?(?:,"?timestamp"?)?\r?\n')
_ROWS = {
    "u.data": re.compile(rb"\d+\t\d+\t[\d.]+\t\d+\r?\n"),
    "ratings.dat": re.compile(rb"\d+::\d+::[\d.]+::\d+\r?\n"),
}
# The file of films beside each file of ratings, with the column of titles.
_FILMS = {"ratings.csv": "movies.csv", "u.data": "u.item", "ratings.dat": "movies.dat"}
_USERS = "users.csv"
"""The names of users, which only the files of `write` have."""


def detect(glance: Glance) -> bool:
    """Return whether a file is one of the three, or a folder has one of them."""
    if glance.is_folder:
        return any(name in glance.names and detect(Glance(glance.path / name)) for name in _FILMS)
    if glance.path.name in _ROWS:
        return _ROWS[glance.path.name].match(glance.head) is not None
    return glance.path.suffix == ".csv" and _CSV_HEADER.match(glance.head) is not None


def open(path: Path, options: OpenOptions) -> MovieLens:  # noqa: A001  # the interface of formats
    """Return the ratings of a file, or of a folder that has it."""
    if not path.is_dir():
        return MovieLens(path, path, options)
    found = [path / name for name in _FILMS if is_file(path / name)]
    if not found:
        raise DataError(f"{path} has none of {', '.join(_FILMS)}; name the file of ratings")
    return MovieLens(path, found[0], options)


@dataclass(frozen=True)
class _DoubleColons(PairsFile):
    """A file whose separator has two characters, which no parser takes, as text with tabs."""

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        yield io.BytesIO(read_bytes(self.path).replace(b"::", b"\t"))


class MovieLens(TableCollection):
    """The ratings of a file that are high enough."""

    format = "movielens"

    def __init__(self, path: Path, file: Path, options: OpenOptions) -> None:
        super().__init__(path)
        self._path = file
        self._options = options
        label = options.label_columns[0] if options.label_columns else "movieId"
        if label not in ("movieId", "title") or len(options.label_columns) > 1 or options.image_column is not None:
            raise ConfigError(f"{path} is movielens, whose label column is movieId or title; leave other columns out")
        self._titles = label == "title"

    def source(self) -> Source:
        """Return the rows."""
        kind = self._path.name if self._path.name in _ROWS else "ratings.csv"
        file = (_DoubleColons if kind == "ratings.dat" else PairsFile)(self._path, "csv", gzipped=False)
        columns = ColumnChoice(0, 1, (), _COLUMNS)
        is_csv = kind == "ratings.csv"
        dialect = Dialect("," if is_csv else "\t", '"' if is_csv else None, is_csv, columns, ())
        minimum = DEFAULT_MINIMUM if self._options.min_rating is None else self._options.min_rating
        rows = RatedRows(file, dialect, 2, minimum)
        if not self._titles:
            return rows
        users = self._path.parent / _USERS
        return _Named(rows, _titles(self._path.parent / _FILMS[kind]), _names(users) if is_file(users) else None)


class _Named:
    """Rows with names in place of numbers."""

    def __init__(self, rows: RatedRows, films: dict[str, str], users: dict[str, str] | None) -> None:
        self.name, self.unit, self.expected_rows = rows.name, rows.unit, rows.expected_rows
        self._rows = rows
        self._films = _Lookup(films)
        self._users = _Lookup(users) if users is not None else None

    @property
    def notes(self) -> Sequence[str]:
        """The notes of the rows, and the number of films without a title."""
        missing = self._films.missing
        return [*self._rows.notes, *([f"{missing:,} ratings are of films without a title"] if missing else [])]

    def batches(self) -> Iterator[Batch]:
        """Yield the rows that count, in order."""
        self._films.missing = 0
        for images, labels in self._rows.batches():
            yield Batch(images if self._users is None else self._users.of(images), self._films.of(labels))

    def line_numbers(self, rows: Sequence[int]) -> list[int]:
        """Return the lines of rows that count."""
        return self._rows.line_numbers(rows)


class _Lookup:
    """Names by number, for whole arrays; a number without a name stays as it is."""

    def __init__(self, names: dict[str, str]) -> None:
        self._keys, self._values = strings_to_arrow(list(names)), strings_to_arrow(list(names.values()))
        self.missing = 0

    def of(self, numbers: pa.Array) -> pa.Array:
        found = self._values.take(pc.index_in(numbers, self._keys))
        self.missing += found.null_count
        return pc.coalesce(found, numbers)


def _titles(path: Path) -> dict[str, str]:
    if not is_file(path):
        raise DataError(f"{path} is missing, so films have no titles; leave the label column out to use their numbers")
    return _names(path)


def _names(path: Path) -> dict[str, str]:
    """Return the second column of a file by the first; two films of one title have their numbers appended."""
    content = read_bytes(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")  # the older sets
    separator = {".dat": "::", ".item": "|"}.get(path.suffix)
    rows: Iterator[Sequence[str]]
    if separator is None:
        rows = csv.reader(io.StringIO(text, newline=""))
        next(rows, None)
    else:
        rows = (line.split(separator) for line in text.splitlines())
    try:
        with unlimited_field_size():
            found = {row[0]: row[1] for row in rows if len(row) > 1}
    except csv.Error as error:
        raise DataError(f"{path} cannot be read ({error}); download it again") from None
    return dict(zip(found, distinct(list(found.values()), list(found)), strict=True))


def write(path: Path, data: Annotations, test: Annotations | None = None) -> list[Path]:
    """Write a folder with ``ratings.csv``, where every pair is a rating of 5, and the names of films and users.

    Numbers start at 1. Reading it again with ``title`` as the label column gives the ids back.
    """
    if test is not None:
        raise ConfigError("movielens has no file for held-out pairs; convert them alone")
    path.mkdir(parents=True, exist_ok=True)
    files = [path / "ratings.csv", path / "movies.csv", path / _USERS]
    with replace_files(*files) as (ratings, films, users):
        with _csv(ratings, _COLUMNS) as writer:
            for image in range(len(data.images)):
                writer.writerows((image + 1, label + 1, "5.0", 0) for label in data.label_numbers(image).tolist())
        with _csv(films, ("movieId", "title", "genres")) as writer:
            writer.writerows((number, one, "(no genres listed)") for number, one in enumerate(data.labels, 1))
        with _csv(users, ("userId", "name")) as writer:
            writer.writerows(enumerate(data.images, 1))
    return files


@contextmanager
def _csv(path: Path, header: Sequence[str]) -> Iterator[Any]:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        yield writer
