"""The matrix of image features, dense or sparse, and reading a file into one row per image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.arrow import GrowingArray, as_arrow, as_numpy
from vse_ens.data.features.files import FeatureRows, Floats, as_floats, is_number, open_features
from vse_ens.data.io.columns import choose_columns, format_names
from vse_ens.data.io.id_index import IdIndex
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError


def plain_features(features: Any) -> Any:
    """Return features as a C-ordered float32 array or a float32 SciPy CSR matrix in canonical format.

    Features that have this form already are returned as they are. The input is never changed.
    """
    is_sparse = hasattr(features, "tocsr")
    try:
        with np.errstate(over="ignore"):  # values too large for float32 become infinite, which is checked below
            plain: Any = (
                features.tocsr().astype(np.float32, copy=False)
                if is_sparse
                else np.ascontiguousarray(features, dtype=np.float32)
            )
    except (TypeError, ValueError):
        raise DataError(
            f"image features must be a 2-d array or a SciPy sparse matrix of numbers, got {type(features).__name__}"
        ) from None
    if is_sparse and not plain.has_canonical_format:
        plain = plain.copy()
        plain.sum_duplicates()
    if not np.isfinite(plain.data if is_sparse else plain).all():
        raise DataError("the image features contain NaN or infinite values; replace them first")
    return plain


def squared_lengths(plain: Any) -> NDArray[np.float64]:
    """Return the squared norm of every row of `plain_features`."""
    if isinstance(plain, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", plain, plain, dtype=np.float64))
    rows = np.repeat(np.arange(plain.shape[0]), np.diff(plain.indptr))
    squares = np.square(plain.data, dtype=np.float64)
    return np.bincount(rows, squares, minlength=plain.shape[0]).astype(np.float64, copy=False)


class FeatureTable(NamedTuple):
    """Image features in the order of a vocabulary of images."""

    matrix: Any
    """One float32 row per image: an array, or a SciPy CSR matrix if the file lists single values."""
    names: Sequence[str]
    """The name of each column of the matrix."""
    ignored: int
    """The number of images in the file that are not in the vocabulary."""


def read_features(path: str | Path, images: Vocabulary) -> FeatureTable:
    """Read the features of ``images`` from a csv, tsv, txt or parquet file, gzipped or not, in one of three layouts.

    - One image per row: its id, in a column with a known name or else the first, and a number in every other column.
    - The same with one other column, of lists of numbers of the same length (parquet).
    - One value per row, in the columns ``image``, ``feature`` and ``value``; values that are not listed are 0.

    Every image must have features. Other images in the file are ignored and counted.
    """
    file = open_features(path)
    if len(file.columns) < 2:
        raise DataError(f"{path} has no feature column: it has only {format_names(file.columns)}")
    image = choose_columns(file.name, file.columns).image
    others = [column for column in range(len(file.columns)) if column != image]
    by_name = {file.columns[column].strip().casefold(): column for column in others}
    rows = FeatureRows(file, image, images)
    if by_name.keys() == {"feature", "value"}:
        return _sparse(rows, by_name["feature"], by_name["value"])
    if file.types is not None and len(others) == 1 and _is_list(file.types[others[0]]):
        return _dense(rows, _list_blocks(rows, others[0]))
    return _dense(rows, _column_blocks(rows, others))


# --- one image per row --------------------------------------------------------------------------------------------

Blocks = Iterator[tuple[NDArray[np.int64], Floats, Sequence[str]]]


def _dense(rows: FeatureRows, blocks: Blocks) -> FeatureTable:
    matrix, names = np.zeros((len(rows.images), 0), np.float32), list[str]()
    row_of = np.full(len(rows.images), -1)
    for numbers, block, block_names in blocks:
        if not names:
            names, matrix = list(block_names), np.zeros((len(rows.images), block.shape[1]), np.float32)
        used = np.flatnonzero(numbers >= 0)
        _record_rows(rows, row_of, numbers[used], rows.start + used)
        matrix[numbers[used]] = block[used]
    rows.check_complete(row_of >= 0)
    return FeatureTable(matrix, names, rows.ignored)


def _record_rows(
    rows: FeatureRows, row_of: NDArray[np.int64], numbers: NDArray[np.int64], file_rows: NDArray[np.int64]
) -> None:
    """Record the row of each image; an image that occurred before, in this batch or another, is an error."""
    before = row_of[numbers]
    row_of[numbers] = file_rows
    last = row_of[numbers]
    repeated = np.flatnonzero((before >= 0) | (last != file_rows))
    if len(repeated):
        one = repeated[0]
        first, second = (before[one], file_rows[one]) if before[one] >= 0 else (file_rows[one], last[one])
        file = rows.file
        raise DataError(
            f"{file.name} has image {rows.images.id(int(numbers[one]))!r} in {file.locate(int(first))} and again in "
            f"{file.locate(int(second))}; keep one of them"
        )


def _column_blocks(rows: FeatureRows, indices: Sequence[int]) -> Blocks:
    names = [rows.file.columns[index] for index in indices]
    for numbers, columns in rows.batches():
        yield numbers, np.stack([rows.numbers(columns, index) for index in indices], axis=1), names


def _list_blocks(rows: FeatureRows, index: int) -> Blocks:
    name, width = rows.file.columns[index], None
    for numbers, columns in rows.batches():
        lists = columns[index]
        if not is_number(lists.type.value_type):
            raise DataError(f"column {name!r} of {rows.file.name} holds {lists.type}, but features are numbers")
        lengths = as_numpy(pc.list_value_length(lists).fill_null(0))
        width = int(lengths[0]) if width is None else width
        other = np.flatnonzero(lengths != width)
        if len(other):
            raise rows.error(
                other[0], f"has {lengths[other[0]]} numbers in column {name!r} where row 1 has {width}; fix it"
            )
        if not width:
            raise DataError(f"column {name!r} of {rows.file.name} holds empty lists; each needs a number")
        names = [f"{name}[{number}]" for number in range(width)]
        block = as_floats(lists.flatten()).reshape(len(lists), width)
        rows.check_finite(block, names)
        yield numbers, block, names


# --- one value per row --------------------------------------------------------------------------------------------


def _sparse(rows: FeatureRows, feature: int, value: int) -> FeatureTable:
    from scipy.sparse import csr_array

    features = IdIndex("feature")
    image_numbers, feature_numbers = GrowingArray(np.int64), GrowingArray(np.int64)
    values = GrowingArray(np.float32)
    for numbers, columns in rows.batches():
        used = np.flatnonzero(numbers >= 0)
        image_numbers.extend(numbers[used])
        feature_numbers.extend(features.numbers(rows.ids(columns, feature).take(as_arrow(used))))
        values.extend(rows.numbers(columns, value)[used])
    rows.check_complete(np.bincount(image_numbers.view(), minlength=len(rows.images)) > 0)
    vocabulary, new_feature = features.finish()
    entries = (image_numbers.release(), new_feature[feature_numbers.release()].astype(np.int64))
    matrix = csr_array((values.release(), entries), shape=(len(rows.images), len(vocabulary)))
    matrix.sum_duplicates()  # older versions of SciPy keep them
    if matrix.nnz < len(entries[0]):
        image, column = _first_repeated(*entries)
        raise DataError(
            f"{rows.file.name} has more than one value for feature {vocabulary.id(column)!r} of image "
            f"{rows.images.id(image)!r}; keep one of them"
        )
    return FeatureTable(matrix, list(vocabulary), rows.ignored)


def _first_repeated(images: NDArray[np.int64], features: NDArray[np.int64]) -> tuple[int, int]:
    order = np.lexsort((features, images))
    same = (np.diff(images[order]) == 0) & (np.diff(features[order]) == 0)
    one = order[int(np.argmax(same))]
    return int(images[one]), int(features[one])


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))
