"""A folder of Parquet parts, local or in any store that Arrow reads: batches of pairs by id.

The pairs of one shard: images known by number alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import fs

from vse_ens.data.annotations import Annotations
from vse_ens.data.io.buffers import as_arrow, as_numpy
from vse_ens.data.io.columns import Column, as_ids, choose
from vse_ens.data.io.source import BATCH_ROWS, Batch
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError
from vse_ens.kernels.arrays import Csr


@dataclass(frozen=True)
class PartFiles:
    """The parts, and which of their columns are meant."""

    name: str
    filesystem: Any
    files: tuple[Any, ...]
    image: Column = None
    label: Column = None

    @classmethod
    def find(cls, source: str | Path, image: Column = None, label: Column = None) -> PartFiles:
        """All ``.parquet`` files under a folder, a path or an address such as ``s3://bucket/pairs``."""
        name = str(source)
        try:
            filesystem, path = fs.FileSystem.from_uri(name) if "://" in name else (fs.LocalFileSystem(), name)
            found = filesystem.get_file_info(fs.FileSelector(path, recursive=True))
        except (OSError, pa.ArrowException, ValueError) as error:
            raise DataError(f"{name} cannot be listed: {' '.join(str(error).split())}") from None
        files = sorted(
            (one for one in found if one.is_file and one.path.endswith(".parquet")), key=lambda one: one.path
        )
        if not files:
            raise DataError(f"{name} holds no .parquet file; name a folder of Parquet parts")
        return cls(name, filesystem, tuple(files), image, label)

    @property
    def fingerprint(self) -> str:
        """Of the names, sizes and times of the parts: other parts, another one."""
        listed = [(one.path, one.size, one.mtime_ns) for one in self.files]
        return hashlib.blake2b(repr((listed, self.image, self.label)).encode(), digest_size=16).hexdigest()

    @property
    def rows(self) -> int:
        """How many rows all parts have."""
        return sum(int(pq.read_metadata(one.path, filesystem=self.filesystem).num_rows) for one in self.files)

    def batches(self) -> Iterator[Batch]:
        """An image id and a label id for every pair, part by part."""
        for one in self.files:
            try:
                yield from self._batches(one.path)
            except (pa.ArrowException, OSError) as error:
                reason = " ".join(str(error).split())
                raise DataError(f"{one.path} is a damaged Parquet file ({reason}); write or fetch it again") from None

    def _batches(self, path: str) -> Iterator[Batch]:
        with self.filesystem.open_input_file(path) as stream, pq.ParquetFile(stream) as parquet:
            names = parquet.schema_arrow.names
            columns = choose(path, names, self.image, self.label)
            wanted = [names[columns.image], names[columns.label]]
            row = 0
            for batch in parquet.iter_batches(BATCH_ROWS, columns=wanted, use_threads=False):
                found = _pairs(*(as_ids(batch.column(name), path, name) for name in wanted))
                if found.images.null_count or found.labels.null_count:
                    raise DataError(f"{path} has an empty image or label id in rows {row + 1} to {row + len(batch)}")
                row += len(batch)
                yield found


def _pairs(images: pa.Array, labels: pa.Array) -> Batch:
    """A row for every pair, also where a row of the file has a list of labels."""
    if not pa.types.is_large_list(labels.type):
        return Batch(images, labels)
    lengths = as_numpy(pc.list_value_length(labels).fill_null(0))
    return Batch(images.take(as_arrow(np.repeat(np.arange(len(images)), lengths))), labels.flatten())


def shard_images(images: int, shard: int, shards: int) -> NDArray[np.int64]:
    """The numbers of a shard's images: every ``shards``-th one, so that neighbours, which are often alike, are spread
    over all shards and each is a fair sample.
    """
    return np.arange(shard, images, shards)


def numbered(rows: Csr, labels: int) -> Annotations:
    """Pairs by number as `Annotations`, their ids being the numbers."""
    return Annotations.trusted(_numbers(len(rows.indptr) - 1, "image"), _numbers(labels, "label"), *rows)


def _numbers(count: int, kind: str) -> Vocabulary:
    digits = pa.array(np.arange(count)).cast(pa.large_string())
    return Vocabulary.trusted(pc.utf8_lpad(digits, len(str(count)), "0"), kind)
