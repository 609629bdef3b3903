"""Files of image features as tables: every column of them, a batch of rows at a time.

The rows of a file of image features: checked ids and numbers, and a sentence about what is wrong with one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from vse_ens.data.io.buffers import as_arrow, as_numpy
from vse_ens.data.io.columns import are_known, as_ids
from vse_ens.data.io.delimited import QuoteCheckedStream
from vse_ens.data.io.dialect import Dialect, rows_of, sniff
from vse_ens.data.io.formats import BOM, PairsFile, detect_format
from vse_ens.data.io.id_index import IdIndex, is_blank
from vse_ens.data.io.source import lines_of_rows, text_fault
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError

# Bytes parsed at a time: enough that a wide table has many rows in it, and a line of a million numbers fits.
_BLOCK = 1 << 24
# Numbers decoded at a time: many rows of a narrow table, few of a wide one.
_BATCH_NUMBERS = 1 << 22


class FeatureFile(Protocol):
    """A table that can be gone through once more to tell where a row was."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of its columns."""

    @property
    def types(self) -> Sequence[pa.DataType] | None:
        """What its columns hold, where the file says so; None for text."""

    def batches(self) -> Iterator[list[pa.Array]]:
        """All rows in order, an array a column; those of a text file hold text."""

    def place(self, row: int) -> str:
        """Where a row, counted from 0, is in the file."""


def open_features(path: str | Path) -> FeatureFile:
    """The table in a csv, tsv, txt or parquet file, gzipped or not."""
    file = detect_format(path)
    if file.format == "parquet":
        return _Parquet(file)
    if file.format == "jsonl":
        raise DataError(f"{path} is jsonl, but features are read from csv, tsv, txt or parquet; convert it first")
    return _Text(file)


class _Text:
    types = None

    def __init__(self, file: PairsFile) -> None:
        self.name = str(file.path)
        self._file = file
        try:
            dialect = sniff(file, 0, 1, False, None, '"')
        except DataError:
            raise DataError(f"{file.path} has no feature column beside the image ids; give every line some") from None
        first = _first_row(file, dialect)
        self._dialect = replace(dialect, header=_is_header(first))
        self.columns = first if self._dialect.header else [str(place) for place in range(len(first))]

    def batches(self) -> Iterator[list[pa.Array]]:
        """All rows but the header."""
        skipped = not self._dialect.header
        with self._file.open() as stream:
            text = QuoteCheckedStream(stream, self._dialect.separator, self._dialect.quote)
            try:
                for batch in self._parse(text):
                    yield batch.columns if skipped else batch.slice(1).columns
                    skipped = True
            except pa.ArrowInvalid as error:
                fault = text_fault(self._file, self._dialect)
                raise fault or DataError(f"{self.name} cannot be read as delimited text: {error}") from None
        if not text.well_quoted and (fault := text_fault(self._file, self._dialect)):
            raise fault

    def place(self, row: int) -> str:
        """The physical line."""
        return f"line {lines_of_rows(self._file, self._dialect, [row])[0]}"

    def _parse(self, text: QuoteCheckedStream) -> Any:
        quote: Any = self._dialect.quote or False
        columns = {f"f{place}": pa.large_string() for place in range(len(self.columns))}
        return pa_csv.open_csv(
            text,
            read_options=pa_csv.ReadOptions(autogenerate_column_names=True, block_size=_BLOCK),
            parse_options=pa_csv.ParseOptions(
                delimiter=self._dialect.separator, quote_char=quote, newlines_in_values=bool(quote)
            ),
            convert_options=pa_csv.ConvertOptions(column_types=columns, null_values=[]),
        )


class _Parquet:
    def __init__(self, file: PairsFile) -> None:
        self.name = str(file.path)
        self._file = file
        with self._file.open() as stream, self._parquet(stream) as parquet:
            self.columns = parquet.schema_arrow.names
            self.types = parquet.schema_arrow.types

    def batches(self) -> Iterator[list[pa.Array]]:
        """All rows."""
        with self._file.open() as stream, self._parquet(stream) as parquet:
            rows = parquet.metadata.num_rows
            numbers = sum(
                parquet.metadata.row_group(group).column(column).num_values
                for group in range(parquet.metadata.num_row_groups)
                for column in range(parquet.metadata.num_columns)
            )
            size = max(1, _BATCH_NUMBERS * rows // max(numbers, rows, 1))
            try:
                for batch in parquet.iter_batches(size, use_threads=False):
                    yield batch.columns
            except (pa.ArrowException, OSError) as error:
                raise self._damaged(error) from None

    def place(self, row: int) -> str:
        """Rows are counted from 1."""
        return f"row {row + 1}"

    def _parquet(self, stream: Any) -> Any:
        # Parquet is read from its end, which a gzip stream cannot be.
        seekable = io.BytesIO(stream.read()) if self._file.gzipped else stream
        try:
            return pq.ParquetFile(seekable, page_checksum_verification=True)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> DataError:
        reason = " ".join(str(error).split())
        return DataError(f"{self.name} is a damaged Parquet file ({reason}); write or fetch it again")


def _first_row(file: PairsFile, dialect: Dialect) -> list[str]:
    head, _ = file.head()
    text = io.StringIO(head.removeprefix(BOM).decode(errors="replace"), newline="")
    try:
        return next(row for row in rows_of(text, dialect.separator, dialect.quote) if row)
    except csv.Error as error:
        raise text_fault(file, dialect) or DataError(f"{file.path}, line 1 cannot be read: {error}") from None


def _is_header(first: Sequence[str]) -> bool:
    """Whether line 1 names columns: the images by a known name or (as pandas has it) none, or the others by words."""
    names_images = not first[0].strip() or are_known([first[0], "label"])
    return names_images or not all(_may_be_number(field) for field in first[1:])


def _may_be_number(field: str) -> bool:
    try:
        float(field.strip() or 0)
    except ValueError:
        return False
    return True


Floats = NDArray[np.float32]

_SHOWN = 3


class FeatureRows:
    """The rows of a file with their images by number; -1 and a count for those that are not asked for."""

    def __init__(self, file: FeatureFile, image: int, images: Vocabulary) -> None:
        self.file = file
        self.images = images
        self.start = 0
        self._image = image
        self._ignored = IdIndex("image")

    @property
    def ignored(self) -> int:
        """How many images so far are not asked for."""
        return len(self._ignored)

    def batches(self) -> Iterator[tuple[NDArray[np.int64], list[pa.Array]]]:
        """Image numbers and all columns of some rows, of which the first is row ``start`` of the file."""
        for columns in self.file.batches():
            if not len(columns[0]):
                continue
            ids = self.ids(columns, self._image)
            numbers = self.images.numbers(ids.to_pylist(), missing="minus-one")
            self._ignored.numbers(ids.take(as_arrow(np.flatnonzero(numbers < 0))))
            yield numbers, columns
            self.start += len(ids)

    def ids(self, columns: list[pa.Array], place: int) -> pa.Array:
        """A column of ids, none of them blank."""
        name = self.file.columns[place]
        ids = as_ids(columns[place], self.file.name, name)
        if not pa.types.is_large_string(ids.type):
            raise DataError(f"column {name!r} of {self.file.name} holds lists, but ids are text or whole numbers")
        blank = np.flatnonzero(is_blank(ids.fill_null("")))
        if len(blank):
            raise self.fault(blank[0], f"has no id in column {name!r}; fill it in or remove it")
        return ids

    def numbers(self, columns: list[pa.Array], place: int) -> Floats:
        """A column of finite numbers."""
        name = self.file.columns[place]
        values, kind = columns[place], columns[place].type
        if self.file.types is None:
            values = pc.utf8_trim_whitespace(values)
        elif not is_number(kind):
            raise DataError(
                f"column {name!r} of {self.file.name} holds {kind}, but features are numbers; "
                "leave it out or turn it into numbers"
            )
        try:
            floats = as_floats(values)
        except pa.ArrowInvalid:
            row = next(row for row in range(len(values)) if not _converts(values[row]))
            raise self.fault(
                row,
                f"has {values[row].as_py()!r} in column {name!r}, but features are numbers; mend it, or leave the "
                "column out or turn it into numbers",
            ) from None
        self.check_finite(floats[:, None], [name])
        return floats

    def check_finite(self, block: Floats, names: Sequence[str]) -> None:
        """Every number of a block of rows is finite."""
        finite = np.isfinite(block)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            found = "no number" if np.isnan(block[row, column]) else "an infinite number"
            raise self.fault(row, f"has {found} in column {names[column]!r}; features must be finite")

    def check_complete(self, has_features: NDArray[np.bool_]) -> None:
        """Every image has features."""
        without = np.flatnonzero(~has_features)
        if len(without):
            shown = ", ".join(map(repr, self.images.ids(without[:_SHOWN])))
            raise DataError(
                f"{self.file.name} has no features for {len(without):,} of {len(self.images):,} images "
                f"({shown}{', ...' if len(without) > _SHOWN else ''}); add them, or leave those images out of the pairs"
            )

    def fault(self, row: int, what: str) -> DataError:
        """What is wrong with a row of the batch at hand."""
        return DataError(f"{self.file.name}, {self.file.place(self.start + int(row))} {what}")


def is_number(kind: pa.DataType) -> bool:
    """Whether a type is one of numbers; true and false are 1 and 0."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def as_floats(values: pa.Array) -> Floats:
    """As float32; what is null becomes NaN, what is too large infinite."""
    floats: Floats = as_numpy(values.cast(pa.float32(), safe=False).fill_null(np.nan))
    return floats


def _converts(value: pa.Scalar) -> bool:
    try:
        value.cast(pa.float32())
    except pa.ArrowInvalid:
        return False
    return True
