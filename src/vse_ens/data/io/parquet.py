"""Parquet files and Arrow tables: columns with types, read batch by batch."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from shutil import copyfileobj
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from vse_ens.data.io.columns import Column, as_ids, choose
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
        columns = choose(self.name, names, image, label)
        self._columns = [names[columns.image], names[columns.label]]
        self.notes: Sequence[str] = columns.notes

    def batches(self) -> Iterator[Batch]:
        """All rows in order."""
        with self._open() as parquet:
            image, label = self._columns
            # One thread: decoding is a small part of reading, and a second one would double the memory held for it.
            for batch in parquet.iter_batches(BATCH_ROWS, columns=self._columns, use_threads=False):
                yield Batch(
                    as_ids(batch.column(image), self.name, image), as_ids(batch.column(label), self.name, label)
                )

    def places(self, rows: Sequence[int]) -> list[int]:
        """Rows counted from 1."""
        return [row + 1 for row in rows]

    @contextmanager
    def _open(self) -> Iterator[Any]:
        with self._file.open() as stream, tempfile.TemporaryFile() as unzipped:
            seekable: IO[bytes] = stream
            if self._file.gzipped:
                copyfileobj(stream, unzipped, 1 << 20)
                seekable = unzipped
            try:
                with pq.ParquetFile(
                    seekable, pre_buffer=False, buffer_size=1 << 16, page_checksum_verification=True
                ) as parquet:
                    yield parquet
            except (pa.ArrowException, OSError) as error:
                reason = " ".join(str(error).split())
                raise DataError(f"{self.name} is a damaged Parquet file ({reason}); write or fetch it again") from None


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
        """All rows in order."""
        image, label = self._table.column_names
        for batch in self._table.to_batches(max_chunksize=BATCH_ROWS):
            yield Batch(as_ids(batch.column(0), self.name, image), as_ids(batch.column(1), self.name, label))

    def places(self, rows: Sequence[int]) -> list[int]:
        """Rows counted from 1."""
        return [row + 1 for row in rows]
