"""Files of image features as tables: every column of them, a batch of rows at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from vse_ens.data.columns import are_known
from vse_ens.data.diagnose import lines_of_rows, text_fault
from vse_ens.data.formats import BOM, PairsFile, recognise
from vse_ens.data.header import Dialect, examine, rows_of
from vse_ens.data.quoting import WatchedText
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
    file = recognise(path)
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
            dialect = examine(file, 0, 1, False, None, '"')
        except DataError:
            raise DataError(f"{file.path} has no feature column beside the image ids; give every line some") from None
        first = _first_row(file, dialect)
        self._dialect = replace(dialect, header=_is_header(first))
        self.columns = first if self._dialect.header else [str(place) for place in range(len(first))]

    def batches(self) -> Iterator[list[pa.Array]]:
        """All rows but the header."""
        skipped = not self._dialect.header
        with self._file.open() as stream:
            text = WatchedText(stream, self._dialect.separator, self._dialect.quote)
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

    def _parse(self, text: WatchedText) -> Any:
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
