"""Tables of image features: delimited text and Parquet, in batches of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from vse_ens.data.io.columns import has_known_names
from vse_ens.data.io.delimited import TextTable
from vse_ens.data.io.dialect import Dialect, OneColumnError, sniff
from vse_ens.data.io.formats import PairsFile, detect_format
from vse_ens.data.io.parquet import open_parquet
from vse_ens.data.io.records import RecordError, find_row_lines, find_text_error, records
from vse_ens.data.io.source import BATCH_ROWS
from vse_ens.errors import DataError

# Bytes parsed at a time: many rows of a wide table, and a line of a million numbers fits.
_BLOCK = 1 << 24
# Numbers decoded at a time: many rows of a narrow table, few of a wide one.
BATCH_NUMBERS = 1 << 22


READABLE = "csv, tsv, txt, parquet, npy, npz or safetensors"


class TextFeatures:
    """A table in a text file, whose columns are text."""

    types = None

    def __init__(self, file: PairsFile, *, triples: bool = False) -> None:
        self.name = str(file.path)
        self._file = file
        try:
            dialect = sniff(file, 0, 1, False, None, '"')
        except OneColumnError:
            raise DataError(f"{file.path} has no feature column besides the image ids; add one") from None
        first = _first_row(file, dialect)
        is_triple = triples and len(first) == 3 and may_be_number(first[2])
        self.has_names = not is_triple and _is_header(first)
        self._dialect = replace(dialect, header=self.has_names)
        self.columns = first if self.has_names else [str(index) for index in range(len(first))]

    def batches(self) -> Iterator[list[pa.Array]]:
        """Yield all rows except the header."""
        header = int(self.has_names)
        for columns in TextTable(self._file, self._dialect, None, _BLOCK).batches():
            yield [column.slice(header) for column in columns]
            header = 0

    def locate(self, row: int) -> str:
        """Return the line of a row, which is counted from 0, for a message."""
        return f"line {find_row_lines(self._file, self._dialect, [row])[0]}"


class ParquetFeatures:
    """A table in a Parquet file."""

    has_names = True

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
            size = min(BATCH_ROWS, max(1, BATCH_NUMBERS // max(numbers, 1)))
            for batch in parquet.iter_batches(size, use_threads=False):
                yield batch.columns

    def locate(self, row: int) -> str:
        """Return the number of a row, which is counted from 0, for a message."""
        return f"row {row + 1}"


def open_table(path: Path, *, triples: bool = False) -> TextFeatures | ParquetFeatures:
    """Open a csv, tsv, txt or parquet file, gzipped or not.

    A text with three columns, of which the third starts with a number, has no header if ``triples`` are expected.
    """
    file = detect_format(path)
    if file.format == "parquet":
        return ParquetFeatures(file)
    if file.format == "jsonl":
        raise DataError(f"{path} is jsonl, but features are read from {READABLE}; convert it first")
    return TextFeatures(file, triples=triples)


def _first_row(file: PairsFile, dialect: Dialect) -> list[str]:
    with file.open_text() as stream:
        try:
            return next(row for _, row in records(stream, dialect, strict=True) if row)
        except (RecordError, StopIteration):
            raise find_text_error(file, dialect) or DataError(f"{file.path} is empty") from None


def _is_header(first: Sequence[str]) -> bool:
    """Return whether line 1 names the columns: a known or (as pandas writes it) empty name of the first, or words."""
    names_images = not first[0].strip() or has_known_names([first[0], "label"])
    return names_images or not all(may_be_number(field) for field in first[1:])


def may_be_number(field: str) -> bool:
    """Return whether a field is a number, or a vector as pgvector prints it."""
    try:
        float(field.strip().removeprefix("[").partition(",")[0] or 0)
    except ValueError:
        return False
    return True


def is_number(kind: pa.DataType) -> bool:
    """Return whether a type is numeric; true and false count as 1 and 0."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _numbers(column: pa.Array) -> int:
    """Return how many numbers a column holds, those in lists included."""
    return len(column.flatten()) if pa.types.is_nested(column.type) and hasattr(column, "values") else len(column)
