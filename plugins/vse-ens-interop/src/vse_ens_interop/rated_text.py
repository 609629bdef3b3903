"""Delimited text with a rating per pair, and what formats that are tables of pairs have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.arrow import as_arrow, as_numpy
from vse_ens.data.collections.base import Item
from vse_ens.data.io.delimited import TextTable
from vse_ens.data.io.dialect import Dialect
from vse_ens.data.io.formats import PairsFile
from vse_ens.data.io.records import find_row_lines
from vse_ens.data.io.source import Batch, Source
from vse_ens.errors import DataError

_BLOCK = 1 << 20


class TableCollection:
    """What all tables have in common; a format adds its name and `source`."""

    format: str

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root = path if path.is_dir() else path.parent
        self.notes: Sequence[str] = ()

    def source(self) -> Source:
        """Return the rows."""
        raise NotImplementedError

    def items(self, on_progress: Callable[[int, int | None], None] | None = None) -> Iterator[Item]:
        """Yield every row as an item, which is slow; an image with several rows comes several times."""
        source, done = self.source(), 0
        for images, labels in source.batches():
            for image, given in zip(images.to_pylist(), labels.to_pylist(), strict=True):
                done += 1
                yield Item(image, tuple(given) if isinstance(given, list) else (given,))
                if on_progress is not None:
                    on_progress(done, None)
        self.notes = source.notes


class RatedRows:
    """The image and the label column of a delimited text, without the rows whose rating is too low."""

    unit = "line"
    expected_rows = 1 << 16

    def __init__(self, file: PairsFile, dialect: Dialect, rating: int | None, minimum: float | None) -> None:
        self.name = str(file.path)
        self.dialect = dialect
        self._file = file
        self._rating = rating
        self._minimum = minimum
        self._rows = self._kept = 0

    @property
    def notes(self) -> Sequence[str]:
        """How the columns were chosen, and how many rows were rated highly enough."""
        return [*self.dialect.notes, *self._rating_note()]

    def _rating_note(self) -> list[str]:
        if self._rating is None:
            return []
        if self._minimum is None:
            return ["took every row as a pair, whatever its rating; set min_rating to take the higher ones only"]
        return [
            f"took {self._kept:,} of {self._rows:,} rows as pairs: those with a rating of {self._minimum:g} or more"
        ]

    def batches(self) -> Iterator[Batch]:
        """Yield the rows that count, in order."""
        self._rows = self._kept = 0
        for images, labels, kept in self._read():
            self._rows += len(images)
            if kept is not None:
                images, labels = images.take(kept), labels.take(kept)
            self._kept += len(images)
            yield Batch(images, labels)
        if self._rows and not self._kept:
            raise DataError(f"{self.name} has no rating of {self._minimum:g} or more; set a lower min_rating")

    def line_numbers(self, rows: Sequence[int]) -> list[int]:
        """Return the lines of rows that count."""
        numbers: list[int] = []
        start = 0
        for images, _, kept in self._read():
            numbers.extend((start + (np.arange(len(images)) if kept is None else as_numpy(kept))).tolist())
            start += len(images)
        return self._lines([numbers[row] for row in rows])

    def _lines(self, rows: Sequence[int]) -> list[int]:
        return find_row_lines(self._file, self.dialect, rows)

    def _read(self) -> Iterator[tuple[pa.Array, pa.Array, pa.Array | None]]:
        """Yield all rows except the header with the positions of those that count; None if all do."""
        columns = [self.dialect.columns.image, self.dialect.columns.label]
        minimum = None if self._rating is None else self._minimum
        if self._rating is not None and minimum is not None:
            columns.append(self._rating)
        header, start = int(self.dialect.header), 0
        table = TextTable(self._file, self.dialect, columns, _BLOCK)
        for read in table.batches():
            images, labels, *ratings = (column.slice(header) for column in read)
            header = 0
            kept = None if minimum is None else self._high(ratings[0], start, minimum)
            start += len(images)
            yield images, labels, kept
        if not start:
            raise DataError(f"{self.name} has a header and no pair below it")

    def _high(self, ratings: pa.Array, start: int, minimum: float) -> pa.Array:
        try:
            numbers: NDArray[np.float64] = as_numpy(pc.cast(pc.utf8_trim_whitespace(ratings), pa.float64()))
        except pa.ArrowInvalid:
            row, text = next((row, text) for row, text in enumerate(ratings.to_pylist()) if not _is_number(text))
            line = self._lines([start + row])[0]
            raise DataError(f"{self.name}, line {line} has the rating {text[:40]!r}, which is not a number") from None
        return as_arrow(np.flatnonzero(numbers >= minimum))


def _is_number(text: str) -> bool:
    try:
        pc.cast(pa.scalar(text.strip(), pa.large_string()), pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def only_file(path: Path, fits: Callable[[str], bool], none: str) -> Path:
    """Return a path that is a file, or the only file of a folder whose name fits."""
    if not path.is_dir():
        return path
    found = sorted(file for file in path.iterdir() if fits(file.name))
    if len(found) != 1:
        raise DataError(f"{path} has {' and '.join(file.name for file in found[:3]) or none}; name one file")
    return found[0]


def lines_of(path: Path, count: int) -> list[str] | None:
    """Return the lines of a text file of names, without white space around them, if it has exactly ``count``."""
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            lines = [line.strip() for line in islice(file, count + 1)]
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8; re-encode it, or move it away") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    return lines if len(lines) == count else None


def distinct(names: Sequence[str], numbers: Sequence[str]) -> list[str]:
    """Return names that are all different: a blank one is its number, and one that occurs twice has it appended."""
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    return [
        number if not name.strip() else name if seen[name] == 1 else f"{name} ({number})"
        for name, number in zip(names, numbers, strict=True)
    ]
