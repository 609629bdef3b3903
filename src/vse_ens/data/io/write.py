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
from vse_ens.errors import ConfigError
from vse_ens.storage.atomic import replace_file, replace_files


def write_parquet(files: Mapping[Path, Annotations]) -> None:
    """Write pairs as sorted ``image``, ``label`` columns: all files or none, and the same pairs as the same bytes."""
    with replace_files(*files) as partials:
        for partial, data in zip(partials, files.values(), strict=True):
            data.to_frame().write_parquet(partial)


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
    schema = pa.schema({"image": pa.large_string(), "label": pa.large_string()})
    written = 0
    with replace_file(path) as partial, pq.ParquetWriter(partial, schema) as file:
        for group in _groups(data):
            file.write_table(group)
            written += group.num_rows
            if progress:
                progress(written)


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
