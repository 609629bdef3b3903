"""Annotations from data frames and sparse matrices, and back to frames.

Frames of any library are converted to Arrow through narwhals; SciPy and pandas are not imported here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.arrow import as_arrow, as_backend, as_numpy
from vse_ens.data.io.columns import choose_columns
from vse_ens.data.io.ingest import ingest
from vse_ens.data.io.parquet import TableSource
from vse_ens.data.io.wide import WideRows
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError
from vse_ens.read_options import Layout


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
    """Return the pairs of a data frame: pandas, Polars, Arrow, or any other that narwhals or Arrow's interface reads.

    Lazy frames are collected; only the two columns are converted. Columns are chosen and lists of labels are
    recognized as in `vse_ens.data.io.read.read`.
    """
    name = f"the {type(frame).__module__.partition('.')[0]} {type(frame).__name__}"
    table, notes = _two_columns(frame, name, image, label)
    source = WideRows(TableSource(table, name, notes), layout, label_separator)
    return ingest(source, min_images_per_label, min_labels_per_image)


def to_frame(data: Annotations, backend: str = "arrow") -> Any:
    """Return the pairs as a frame with the columns ``image`` and ``label``, sorted, as `as_backend` does."""
    table = pa.table(
        {
            "image": data.images.arrow.take(as_arrow(data.image_numbers())),
            "label": data.labels.arrow.take(as_arrow(data.indices)),
        }
    )
    return as_backend(table, backend)


def from_matrix(matrix: Any, images: Iterable[str] | None = None, labels: Iterable[str] | None = None) -> Annotations:
    """Return the nonzero entries of a SciPy sparse matrix or array, images by labels, as pairs.

    Without names, ids are the row and column numbers as text. Rows and columns without a pair are kept.
    """
    if not hasattr(matrix, "tocsr") or len(getattr(matrix, "shape", ())) != 2:
        raise DataError(
            f"a sparse matrix with two dimensions is needed, got {type(matrix).__name__}; wrap it in csr_array"
        )
    rows = matrix.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()  # the caller's matrix must not change
        rows.sum_duplicates()
    values = rows.data
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise DataError(f"the matrix holds {np.count_nonzero(np.isnan(values)):,} NaN; replace them by 0 or 1")
    height, width = rows.shape
    image_ids, image_numbers = _vocabulary(images, height, "image", "rows")
    label_ids, label_numbers = _vocabulary(labels, width, "label", "columns")
    nonzero = values != 0
    row_numbers = np.repeat(np.arange(height), np.diff(rows.indptr))[nonzero]
    data = Annotations.from_numbers(
        image_ids, label_ids, image_numbers[row_numbers], label_numbers[rows.indices[nonzero]]
    )
    zeros = int(np.count_nonzero(~nonzero))
    merged = matrix.nnz - rows.nnz if matrix.format in ("coo", "csr", "csc") else 0
    notes = []
    if zeros:
        notes.append(f"skipped {zeros:,} explicit zero{'s' if zeros > 1 else ''}")
    if merged:
        notes.append(f"merged {merged:,} duplicate pair{'s' if merged > 1 else ''}")
    return replace(data, notes=tuple(notes))


def _two_columns(frame: Any, name: str, image: str | None, label: str | None) -> tuple[pa.Table, tuple[str, ...]]:
    """Return the two columns of a frame as an Arrow table, and notes on how they were chosen."""
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import NarwhalsError

    try:
        wrapped: Any = nw.from_native(_native(frame, name))
        names = wrapped.collect_schema().names()
        if not all(isinstance(one, str) for one in names):
            raise DataError(f"{name} has column names that are not text: {names[:5]}; rename them")
        columns = choose_columns(name, names, image, label)
        chosen = [names[columns.image], names[columns.label]]
        selected = wrapped.select(chosen)
        if isinstance(selected, nw.LazyFrame):
            selected = selected.collect("pyarrow")
        return selected.to_arrow().select(chosen), columns.notes  # pandas adds its index as a third column
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"{name} has a column of mixed types ({error}); convert it to text first") from None
    except NarwhalsError as error:
        raise DataError(f"{name} cannot be read: {' '.join(str(error).split())}") from None


def _native(frame: Any, name: str) -> Any:
    """Return a frame that narwhals accepts."""
    import narwhals.stable.v2 as nw

    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if isinstance(nw.from_native(frame, pass_through=True), nw.DataFrame | nw.LazyFrame):
        return frame
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    raise DataError(f"a data frame is needed, such as one of pandas, Polars or Arrow, got {name}")


def _vocabulary(names: Iterable[str] | None, count: int, kind: str, axis: str) -> tuple[Vocabulary, NDArray[np.uint32]]:
    """Return the vocabulary of the rows or columns of a matrix, and the number in it of each of them."""
    if names is None:
        ids = as_arrow(np.arange(count)).cast(pa.large_string())
    else:
        given = list(names)
        if len(given) != count:
            raise DataError(f"the matrix has {count:,} {axis}, but {len(given):,} {kind} names were given")
        vocabulary = Vocabulary.from_ids(given, kind)
        if len(vocabulary) != count:
            twice = next(one for index, one in enumerate(given) if one in given[:index])
            raise DataError(f"the {kind} name {twice!r} was given twice; the names of {axis} must be distinct")
        return vocabulary, vocabulary.numbers(given).astype(np.uint32)
    order = as_numpy(pc.sort_indices(ids))
    numbers = np.empty(count, np.uint32)
    numbers[order] = np.arange(count, dtype=np.uint32)
    return Vocabulary(ids.take(as_arrow(order)), kind), numbers
