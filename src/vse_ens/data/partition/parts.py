"""The input of a partition, a folder of Parquet files, and the images of each shard."""

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
from vse_ens.data.arrow import as_arrow, as_numpy
from vse_ens.data.io.columns import Column, choose_columns
from vse_ens.data.io.parquet import damaged_parquet, pair_batches
from vse_ens.data.io.source import Batch
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError
from vse_ens.kernels.arrays import Csr


@dataclass(frozen=True)
class PartFiles:
    """Parquet files, local or in any store that Arrow reads, and the columns to read."""

    name: str
    filesystem: Any
    files: tuple[Any, ...]
    image: Column = None
    label: Column = None

    @classmethod
    def find(cls, source: str | Path, image: Column = None, label: Column = None) -> PartFiles:
        """Return all ``.parquet`` files below a folder, given as a path or as a URI such as ``s3://bucket/pairs``."""
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
            raise DataError(f"{name} has no Parquet files, nor pictures or annotations; check the path")
        return cls(name, filesystem, tuple(files), image, label)

    @property
    def fingerprint(self) -> str:
        """A digest of the names, sizes and times of the files, and of the columns."""
        entries = [(one.path, one.size, one.mtime_ns) for one in self.files]
        return hashlib.blake2b(repr((entries, self.image, self.label)).encode(), digest_size=16).hexdigest()

    @property
    def rows(self) -> int:
        """The number of rows of all files."""
        return sum(int(pq.read_metadata(one.path, filesystem=self.filesystem).num_rows) for one in self.files)

    def batches(self) -> Iterator[Batch]:
        """Yield the ids of all pairs, file by file."""
        for one in self.files:
            try:
                yield from self._batches(one.path)
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                raise damaged_parquet(one.path, error) from None

    def _batches(self, path: str) -> Iterator[Batch]:
        with self.filesystem.open_input_file(path) as stream, pq.ParquetFile(stream) as parquet:
            names = parquet.schema_arrow.names
            columns = choose_columns(path, names, self.image, self.label)
            row = 0
            for images, labels in pair_batches(parquet, path, columns):
                pairs = _flatten(images, labels)
                if pairs.images.null_count or pairs.labels.null_count:
                    raise DataError(f"{path} has an empty image or label id in rows {row + 1} to {row + len(images)}")
                row += len(images)
                yield pairs


def _flatten(images: pa.Array, labels: pa.Array) -> Batch:
    """Return one row per pair, also for lists of labels."""
    if not pa.types.is_large_list(labels.type):
        return Batch(images, labels)
    lengths = as_numpy(pc.list_value_length(labels).fill_null(0))
    return Batch(images.take(as_arrow(np.repeat(np.arange(len(images)), lengths))), labels.flatten())


def shard_images(images: int, shard: int, shards: int) -> NDArray[np.int64]:
    """Return the numbers of a shard's images: every ``shards``-th one.

    Neighboring ids are often similar images. This spreads them, so that each shard is a fair sample.
    """
    return np.arange(shard, images, shards)


def numbered(rows: Csr, labels: int) -> Annotations:
    """Return pairs by number as `Annotations` with the numbers as ids."""
    return Annotations.trusted(number_ids(len(rows.indptr) - 1, "image"), number_ids(labels, "label"), *rows)


def number_ids(count: int, kind: str) -> Vocabulary:
    """Return the ids 0, 1, ... with leading zeros, so that the number of an id is the id itself."""
    digits = pa.array(np.arange(count)).cast(pa.large_string())
    return Vocabulary.trusted(pc.utf8_lpad(digits, len(str(count)), "0"), kind)
