"""Write pairs to Parquet files, atomically and in RAM that does not grow with their number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vse_ens.data.annotations import Annotations
from vse_ens.data.arrow import as_arrow
from vse_ens.errors import ConfigError
from vse_ens.storage.atomic import replace_file, replace_files

_SCHEMA = pa.schema({"image": pa.large_string(), "label": pa.large_string()})
# Pairs per row group, approximately.
_GROUP_PAIRS = 1 << 20


def write_parquet(files: Mapping[Path, Annotations]) -> None:
    """Write several sets of pairs as sorted ``image``, ``label`` columns: all files or none.

    The same pairs give the same bytes.
    """
    with replace_files(*files) as partials:
        for partial, data in zip(partials, files.values(), strict=True):
            _write(partial, data)


def check_name(path: Path) -> None:
    """Raise unless a file name ends in .parquet."""
    if path.suffix != ".parquet":
        raise ConfigError(f"{path} must end in .parquet")


def write_pairs(path: Path, data: Annotations, progress: Callable[[int], None] | None = None) -> None:
    """Write sorted ``image``, ``label`` columns; ``progress`` is called with the number of pairs written."""
    check_name(path)
    with replace_file(path) as partial:
        _write(partial, data, progress)


def _write(path: Path, data: Annotations, progress: Callable[[int], None] | None = None) -> None:
    written = 0
    with pq.ParquetWriter(path, _SCHEMA) as file:
        for group in _groups(data):
            file.write_table(group)
            written += group.num_rows
            if progress:
                progress(written)


def _groups(data: Annotations) -> Iterator[pa.Table]:
    """Yield the pairs of as many whole images as make about a row group."""
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
