"""Pairs out to files, whole or not at all.

Pairs to a Parquet file, piece by piece: memory does not follow the number of pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vse_ens.data.annotations import Annotations
from vse_ens.data.io.buffers import as_arrow
from vse_ens.errors import ConfigError, DataError


def write_parquet(files: Mapping[Path, Annotations]) -> None:
    """Write pairs as sorted ``image``, ``label`` columns: all files or none, and the same pairs as the same bytes."""
    waiting: dict[Path, Path] = {}
    try:
        for path, data in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            waiting[path] = path.with_name(f".{path.name}.partial")
            data.to_frame().write_parquet(waiting[path])
        for path, partial in waiting.items():
            partial.replace(path)
    except OSError as error:
        raise DataError(f"{path} could not be written: {error.strerror or error}") from error
    finally:
        for partial in waiting.values():
            partial.unlink(missing_ok=True)


_GROUP_PAIRS = 1 << 20


def check_name(path: Path) -> None:
    """Refuse a file name that does not say Parquet, before anything is read."""
    if path.suffix != ".parquet":
        raise ConfigError(f"{path} must end in .parquet")


def write_pairs(path: Path, data: Annotations, progress: Callable[[int], None] | None = None) -> None:
    """Write sorted ``image``, ``label`` columns; the file appears under its name when it is complete.

    ``progress`` is called with the number of pairs done.
    """
    check_name(path)
    partial = path.with_name(f".{path.name}.partial")
    written = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with pq.ParquetWriter(partial, pa.schema({"image": pa.large_string(), "label": pa.large_string()})) as file:
                for group in _groups(data):
                    file.write_table(group)
                    written += group.num_rows
                    if progress:
                        progress(written)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"{path} could not be written: {error.strerror or error}") from error


def _groups(data: Annotations) -> Iterator[pa.Table]:
    """Whole images, as many as make about a row group."""
    first = 0
    while first < len(data.images):
        end = int(np.searchsorted(data.indptr, data.indptr[first] + _GROUP_PAIRS, side="right")) - 1
        end = min(max(end, first + 1), len(data.images))
        images = np.repeat(np.arange(first, end), data.labels_per_image[first:end])
        labels = data.indices[data.indptr[first] : data.indptr[end]]
        yield pa.table(
            {"image": data.images.arrow.take(as_arrow(images)), "label": data.labels.arrow.take(as_arrow(labels))}
        )
        first = end
