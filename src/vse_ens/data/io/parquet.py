"""Parquet files and Arrow tables: typed columns, read in batches."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from shutil import copyfileobj
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from vse_ens.data.io.columns import Column, ColumnChoice, choose_columns, to_ids
from vse_ens.data.io.formats import PairsFile
from vse_ens.data.io.source import BATCH_ROWS, Batch, CountedRows
from vse_ens.errors import DataError


class ParquetSource(CountedRows):
    """Two columns of a Parquet file."""

    def __init__(self, file: PairsFile, image: Column, label: Column) -> None:
        self.name = str(file.path)
        self._file = file
        with self._open() as parquet:
            names = parquet.schema_arrow.names
            self.expected_rows = parquet.metadata.num_rows
        if not self.expected_rows:
            raise DataError(f"{self.name} is empty: it has columns but no rows")
        self.columns = choose_columns(self.name, names, image, label)
        self.notes: Sequence[str] = self.columns.notes

    def batches(self) -> Iterator[Batch]:
        """Yield all rows in order."""
        with self._open() as parquet:
            yield from pair_batches(parquet, self.name, self.columns)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        with open_parquet(self._file, pre_buffer=False, buffer_size=1 << 16) as parquet:
            yield parquet


@contextmanager
def open_parquet(file: PairsFile, **options: Any) -> Iterator[Any]:
    """Open a Parquet file, gzipped or not; Arrow's errors inside the caller's block name the file."""
    with file.open() as stream, tempfile.TemporaryFile() as decompressed:
        seekable: IO[bytes] = stream
        if file.gzipped:
            copyfileobj(stream, decompressed, 1 << 20)
            seekable = decompressed
        try:
            with pq.ParquetFile(seekable, page_checksum_verification=True, **options) as parquet:
                yield parquet
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last: a column name is not UTF-8
            raise damaged_parquet(file.path, error) from None


def pair_batches(parquet: Any, source: str, columns: ColumnChoice) -> Iterator[Batch]:
    """Yield the ids in two columns of an open Parquet file."""
    names = parquet.schema_arrow.names
    chosen = [names[columns.image], names[columns.label]]
    # Columns are selected by name, and others may have the same name: all of them are read, name by name.
    distinct = list(dict.fromkeys(chosen))
    read = [index for name in distinct for index, one in enumerate(names) if one == name]
    image, label = read.index(columns.image), read.index(columns.label)
    # One thread: decoding is a small part of reading, and a second one would double its RAM.
    for batch in parquet.iter_batches(BATCH_ROWS, columns=distinct, use_threads=False):
        yield Batch(
            to_ids(batch.column(image), source, chosen[0]), to_ids(batch.column(label), source, chosen[1], lists=True)
        )


class TableSource(CountedRows):
    """Two columns of an Arrow table."""

    def __init__(self, table: pa.Table, name: str, notes: Sequence[str] = ()) -> None:
        self.name = name
        self.notes = notes
        self.expected_rows = table.num_rows
        self._table = table
        if not table.num_rows:
            raise DataError(f"{name} is empty")

    def batches(self) -> Iterator[Batch]:
        """Yield all rows in order."""
        image, label = self._table.column_names
        for batch in self._table.to_batches(max_chunksize=BATCH_ROWS):
            yield Batch(
                to_ids(batch.column(0), self.name, image), to_ids(batch.column(1), self.name, label, lists=True)
            )


def damaged_parquet(name: object, error: Exception) -> DataError:
    """Return an error that names a Parquet file which Arrow cannot read."""
    reason = " ".join(str(error).split())
    return DataError(f"{name} is a damaged Parquet file ({reason}); write or download it again")
