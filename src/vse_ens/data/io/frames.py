"""Frames and sparse matrices in, `Annotations` out; none of the libraries they come from is imported here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.io.buffers import as_arrow, as_numpy
from vse_ens.data.io.columns import choose
from vse_ens.data.io.ingest import ingest
from vse_ens.data.io.parquet import TableSource
from vse_ens.data.io.wide import Layout, WideRows
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError


def from_frame(
    frame: Any,
    *,
    image: str | None = None,
    label: str | None = None,
    layout: Layout | None = None,
    label_separator: str | None = None,
    min_images_per_label: int = 1,
    min_labels_per_image: int = 1,
) -> Annotations:
    """The pairs in a pandas, Polars or Arrow frame, or in any other that speaks Arrow's stream interface.

    The columns are chosen, and lists of labels understood, as `vse_ens.data.io.read.read` does it.
    """
    name = f"the {type(frame).__module__.partition('.')[0]} {type(frame).__name__}"
    table, notes = _two_columns(frame, name, image, label)
    source = WideRows(TableSource(table, name, notes), layout, label_separator)
    return ingest(source, min_images_per_label, min_labels_per_image)


def from_matrix(matrix: Any, images: Iterable[str] | None = None, labels: Iterable[str] | None = None) -> Annotations:
    """The pairs where a scipy sparse matrix or array, images by labels, is not zero.

    Without names, ids are the numbers of rows and columns as text. Rows and columns without a pair are kept.
    """
    if not hasattr(matrix, "tocsr") or len(getattr(matrix, "shape", ())) != 2:
        raise DataError(
            f"a sparse matrix with two dimensions is needed, got {type(matrix).__name__}; wrap it in csr_array"
        )
    rows = matrix.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()  # the caller's matrix stays as it is
        rows.sum_duplicates()
    values = rows.data
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise DataError(f"the matrix holds {np.count_nonzero(np.isnan(values)):,} NaN; put 0 or 1 in their place")
    height, width = rows.shape
    image_ids, image_places = _named(images, height, "image", "rows")
    label_ids, label_places = _named(labels, width, "label", "columns")
    known = values != 0
    row_numbers = np.repeat(np.arange(height), np.diff(rows.indptr))[known]
    data = Annotations.from_numbers(image_ids, label_ids, image_places[row_numbers], label_places[rows.indices[known]])
    zeros = int(np.count_nonzero(~known))
    merged = matrix.nnz - rows.nnz if matrix.format in ("coo", "csr", "csc") else 0
    notes = []
    if zeros:
        notes.append(f"passed over {zeros:,} explicit zero{'s' if zeros > 1 else ''}")
    if merged:
        notes.append(f"merged {merged:,} duplicate pair{'s' if merged > 1 else ''}")
    return replace(data, notes=tuple(notes))


def _two_columns(frame: Any, name: str, image: str | None, label: str | None) -> tuple[pa.Table, tuple[str, ...]]:
    """The two columns of a frame as an Arrow table; no other column is converted."""
    library = type(frame).__module__.partition(".")[0]
    if library == "polars" and hasattr(frame, "collect_schema"):
        names = frame.collect_schema().names()
    elif hasattr(frame, "columns") and hasattr(frame, "__getitem__") and library in ("pandas", "polars"):
        names = list(frame.columns)
    else:
        frame = _as_table(frame, name)
        names = frame.column_names
    if not all(isinstance(one, str) for one in names):
        raise DataError(f"{name} has column names that are not text: {names[:5]}; rename them")
    columns = choose(name, names, image, label)
    chosen = [names[columns.image], names[columns.label]]
    if library == "polars":
        picked = frame.select(chosen)
        return (picked.collect() if hasattr(picked, "collect") else picked).to_arrow(), columns.notes
    if isinstance(frame, pa.Table):
        return frame.select(chosen), columns.notes
    try:
        return pa.Table.from_pandas(frame[chosen], preserve_index=False), columns.notes
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"{name} has a column of mixed types ({error}); convert it to text first") from None


def _as_table(frame: Any, name: str) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    raise DataError(f"a pandas, Polars or Arrow frame is needed, got {name}")


def _named(names: Iterable[str] | None, count: int, kind: str, axis: str) -> tuple[Vocabulary, NDArray[np.uint32]]:
    """The vocabulary of the rows or columns of a matrix, and the number of each of them in it."""
    if names is None:
        ids = as_arrow(np.arange(count)).cast(pa.large_string())
    else:
        given = list(names)
        if len(given) != count:
            raise DataError(f"the matrix has {count:,} {axis}, but {len(given):,} {kind} names were given")
        vocabulary = Vocabulary.from_ids(given, kind)
        if len(vocabulary) != count:
            twice = next(one for place, one in enumerate(given) if one in given[:place])
            raise DataError(f"the {kind} name {twice!r} was given twice; the names of {axis} must be distinct")
        return vocabulary, vocabulary.numbers(given).astype(np.uint32)
    order = as_numpy(pc.sort_indices(ids))
    places = np.empty(count, np.uint32)
    places[order] = np.arange(count, dtype=np.uint32)
    return Vocabulary(ids.take(as_arrow(order)), kind), places
