"""Read files of image features in batches of rows, with checked ids and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.arrow import as_arrow, as_numpy
from vse_ens.data.io.columns import has_known_names, to_ids
from vse_ens.data.io.delimited import TextTable
from vse_ens.data.io.dialect import Dialect, OneColumnError, sniff
from vse_ens.data.io.formats import PairsFile, detect_format
from vse_ens.data.io.id_index import IdIndex, is_blank
from vse_ens.data.io.parquet import open_parquet
from vse_ens.data.io.records import RecordError, find_row_lines, find_text_error, records
from vse_ens.data.io.source import BATCH_ROWS
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError

Floats = NDArray[np.float32]

# Bytes parsed at a time: many rows of a wide table, and a line of a million numbers fits.
_BLOCK = 1 << 24
# Numbers decoded at a time: many rows of a narrow table, few of a wide one.
_BATCH_NUMBERS = 1 << 22
# Image ids that a message names.
_SHOWN = 3


class TextFeatures:
    """A table in a text file, whose columns are text."""

    types = None

    def __init__(self, file: PairsFile) -> None:
        self.name = str(file.path)
        self._file = file
        try:
            dialect = sniff(file, 0, 1, False, None, '"')
        except OneColumnError:
            raise DataError(f"{file.path} has no feature column besides the image ids; add one") from None
        first = _first_row(file, dialect)
        self._dialect = replace(dialect, header=_is_header(first))
        self.columns = first if self._dialect.header else [str(index) for index in range(len(first))]

    def batches(self) -> Iterator[list[pa.Array]]:
        """Yield all rows except the header."""
        header = int(self._dialect.header)
        for columns in TextTable(self._file, self._dialect, None, _BLOCK).batches():
            yield [column.slice(header) for column in columns]
            header = 0

    def locate(self, row: int) -> str:
        """Return the line of a row, which is counted from 0, for a message."""
        return f"line {find_row_lines(self._file, self._dialect, [row])[0]}"


class ParquetFeatures:
    """A table in a Parquet file."""

    def __init__(self, file: PairsFile) -> None:
        self.name = str(file.path)
        self._file = file
        with open_parquet(file) as parquet:
            self.columns = parquet.schema_arrow.names
            self.types = parquet.schema_arrow.types

    def batches(self) -> Iterator[list[pa.Array]]:
        """Yield all rows."""
        with open_parquet(self._file) as parquet:
            # The metadata of columns would have the numbers per row, but Arrow aborts the process if they are damaged.
            first = next(parquet.iter_batches(1, use_threads=False), None)
            numbers = 1 if first is None else sum(_numbers(column) for column in first.columns)
            size = min(BATCH_ROWS, max(1, _BATCH_NUMBERS // max(numbers, 1)))
            for batch in parquet.iter_batches(size, use_threads=False):
                yield batch.columns

    def locate(self, row: int) -> str:
        """Return the number of a row, which is counted from 0, for a message."""
        return f"row {row + 1}"


FeatureFile = TextFeatures | ParquetFeatures


def open_features(path: str | Path) -> FeatureFile:
    """Open a csv, tsv, txt or parquet file, gzipped or not."""
    file = detect_format(path)
    if file.format == "parquet":
        return ParquetFeatures(file)
    if file.format == "jsonl":
        raise DataError(f"{path} is jsonl, but features are read from csv, tsv, txt or parquet; convert it first")
    return TextFeatures(file)


def _first_row(file: PairsFile, dialect: Dialect) -> list[str]:
    with file.open_text() as stream:
        try:
            return next(row for _, row in records(stream, dialect, strict=True) if row)
        except (RecordError, StopIteration):
            raise find_text_error(file, dialect) or DataError(f"{file.path} is empty") from None


def _is_header(first: Sequence[str]) -> bool:
    """Return whether line 1 names the columns: a known or (as pandas writes it) empty name of the first, or words."""
    names_images = not first[0].strip() or has_known_names([first[0], "label"])
    return names_images or not all(_may_be_number(field) for field in first[1:])


def _may_be_number(field: str) -> bool:
    try:
        float(field.strip() or 0)
    except ValueError:
        return False
    return True


class FeatureRows:
    """The rows of a file with their images by number; other images are numbered -1 and counted."""

    def __init__(self, file: FeatureFile, image: int, images: Vocabulary) -> None:
        self.file = file
        self.images = images
        self.start = 0
        self._image = image
        self._ignored = IdIndex("image")

    @property
    def ignored(self) -> int:
        """The number of other images so far."""
        return len(self._ignored)

    def batches(self) -> Iterator[tuple[NDArray[np.int64], list[pa.Array]]]:
        """Yield the image numbers and all columns of some rows, the first of which is row ``start`` of the file."""
        for columns in self.file.batches():
            if not len(columns[0]):
                continue
            ids = self.ids(columns, self._image)
            numbers = self.images.numbers(ids.to_pylist(), missing="minus-one")
            self._ignored.numbers(ids.take(as_arrow(np.flatnonzero(numbers < 0))))
            yield numbers, columns
            self.start += len(ids)

    def ids(self, columns: list[pa.Array], index: int) -> pa.Array:
        """Return a column of ids, none of them blank."""
        name = self.file.columns[index]
        ids = to_ids(columns[index], self.file.name, name)
        blank = np.flatnonzero(is_blank(ids.fill_null("")))
        if len(blank):
            raise self.error(blank[0], f"has no id in column {name!r}; fill it in or remove it")
        return ids

    def numbers(self, columns: list[pa.Array], index: int) -> Floats:
        """Return a column of finite numbers."""
        name = self.file.columns[index]
        values, kind = columns[index], columns[index].type
        if self.file.types is None:
            values = pc.utf8_trim_whitespace(values)
        elif not is_number(kind):
            raise DataError(
                f"column {name!r} of {self.file.name} holds {kind}, but features are numbers; "
                "drop it or convert it to numbers"
            )
        try:
            floats = as_floats(values)
        except pa.ArrowInvalid:
            row = next(row for row in range(len(values)) if not _converts(values[row]))
            raise self.error(
                row,
                f"has {values[row].as_py()!r} in column {name!r}, but features are numbers; fix it, or drop the "
                "column or convert it to numbers",
            ) from None
        self.check_finite(floats[:, None], [name])
        return floats

    def check_finite(self, block: Floats, names: Sequence[str]) -> None:
        """Raise unless every number of a block of rows is finite."""
        finite = np.isfinite(block)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            value = "no number" if np.isnan(block[row, column]) else "an infinite number"
            raise self.error(row, f"has {value} in column {names[column]!r}; features must be finite")

    def check_complete(self, has_features: NDArray[np.bool_]) -> None:
        """Raise unless every image has features."""
        without = np.flatnonzero(~has_features)
        if len(without):
            shown = ", ".join(map(repr, self.images.ids(without[:_SHOWN])))
            raise DataError(
                f"{self.file.name} has no features for {len(without):,} of {len(self.images):,} images "
                f"({shown}{', ...' if len(without) > _SHOWN else ''}); add them, or remove those images from the pairs"
            )

    def error(self, row: int, reason: str) -> DataError:
        """Return an error in a row of the current batch."""
        return DataError(f"{self.file.name}, {self.file.locate(self.start + int(row))} {reason}")


def _numbers(column: pa.Array) -> int:
    """Return how many numbers a column holds, those in lists included."""
    return len(column.flatten()) if pa.types.is_nested(column.type) and hasattr(column, "values") else len(column)


def is_number(kind: pa.DataType) -> bool:
    """Return whether a type is numeric; true and false count as 1 and 0."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def as_floats(values: pa.Array) -> Floats:
    """Return values as float32; nulls become NaN, and values that are too large infinite."""
    floats: Floats = as_numpy(values.cast(pa.float32(), safe=False).fill_null(np.nan))
    return floats


def _converts(value: pa.Scalar) -> bool:
    try:
        value.cast(pa.float32())
    except pa.ArrowInvalid:
        return False
    return True
