"""Parquet files and Arrow tables: typed columns, read in batches."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from shutil import copyfileobj
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from vse_ens.data.io.columns import Column, choose_columns, to_ids
from vse_ens.data.io.formats import PairsFile
from vse_ens.data.io.source import BATCH_ROWS, Batch
from vse_ens.errors import DataError


class ParquetSource:
    """Two columns of a Parquet file."""

    unit = "row"

    def __init__(self, file: PairsFile, image: Column, label: Column) -> None:
        self.name = str(file.path)
        self._file = file
        with self._open() as parquet:
            names = parquet.schema_arrow.names
            self.expected_rows = parquet.metadata.num_rows
        if not self.expected_rows:
            raise DataError(f"{self.name} is empty: it has columns but no rows")
        self.columns = choose_columns(self.name, names, image, label)
        self._columns = [self.columns.image_name, self.columns.label_name]
        self.notes: Sequence[str] = self.columns.notes

    def batches(self) -> Iterator[Batch]:
        """Yield all rows in order."""
        with self._open() as parquet:
            image, label = self._columns
            # One thread: decoding is a small part of reading, and a second one would double its RAM.
            for batch in parquet.iter_batches(BATCH_ROWS, columns=self._columns, use_threads=False):
                yield Batch(
                    to_ids(batch.column(image), self.name, image), to_ids(batch.column(label), self.name, label)
                )

    def line_numbers(self, rows: Sequence[int]) -> list[int]:
        """Return ``rows`` counted from 1."""
        return [row + 1 for row in rows]

    @contextmanager
    def _open(self) -> Iterator[Any]:
        with self._file.open() as stream, tempfile.TemporaryFile() as decompressed:
            seekable: IO[bytes] = stream
            if self._file.gzipped:
                copyfileobj(stream, decompressed, 1 << 20)
                seekable = decompressed
            try:
                with pq.ParquetFile(
                    seekable, pre_buffer=False, buffer_size=1 << 16, page_checksum_verification=True
                ) as parquet:
                    yield parquet
            except (pa.ArrowException, OSError) as error:
                raise damaged_parquet(self.name, error) from None


class TableSource:
    """Two columns of an Arrow table."""

    unit = "row"

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
            yield Batch(to_ids(batch.column(0), self.name, image), to_ids(batch.column(1), self.name, label))

    def line_numbers(self, rows: Sequence[int]) -> list[int]:
        """Return ``rows`` counted from 1."""
        return [row + 1 for row in rows]


def damaged_parquet(name: object, error: Exception) -> DataError:
    """Return an error that names a Parquet file which Arrow cannot read."""
    reason = " ".join(str(error).split())
    return DataError(f"{name} is a damaged Parquet file ({reason}); write or download it again")
