"""Files of image features in, one row an image out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.features.files import FeatureRows, Floats, as_floats, is_number, open_features
from vse_ens.data.io.buffers import GrowingArray, as_arrow, as_numpy
from vse_ens.data.io.columns import choose, listed
from vse_ens.data.io.id_index import IdIndex
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError


class FeatureTable(NamedTuple):
    """Image features in the order of a vocabulary of images."""

    matrix: Any
    """float32, one row an image: an array, or a scipy CSR matrix where the file lists single values."""
    names: Sequence[str]
    """What each column of the matrix is called."""
    ignored: int
    """How many images of the file are not in the vocabulary."""


def read_features(path: str | Path, images: Vocabulary) -> FeatureTable:
    """Read the features of ``images`` from a csv, tsv, txt or parquet file, gzipped or not, in one of three layouts.

    - An image a row: its id, in a column with a known name or else the first, and a number in every other column.
    - The same with one other column, of lists of numbers, all of one length (parquet).
    - A value a row, in the columns ``image``, ``feature`` and ``value``: what is not listed is 0.

    Every image must have features; the file may hold more images than that.
    """
    file = open_features(path)
    if len(file.columns) < 2:
        raise DataError(f"{path} has no feature column: all it has is {listed(file.columns)}")
    image = choose(file.name, file.columns).image
    others = [place for place in range(len(file.columns)) if place != image]
    by_name = {file.columns[place].strip().casefold(): place for place in others}
    rows = FeatureRows(file, image, images)
    if by_name.keys() == {"feature", "value"}:
        return _sparse(rows, by_name["feature"], by_name["value"])
    if file.types is not None and len(others) == 1 and _is_list(file.types[others[0]]):
        return _dense(rows, _list_blocks(rows, others[0]))
    return _dense(rows, _column_blocks(rows, others))


# --- an image a row -----------------------------------------------------------------------------------------------

Blocks = Iterator[tuple[NDArray[np.int64], Floats, Sequence[str]]]


def _dense(rows: FeatureRows, blocks: Blocks) -> FeatureTable:
    matrix, names = np.zeros((len(rows.images), 0), np.float32), list[str]()
    row_of = np.full(len(rows.images), -1)
    for numbers, block, found_names in blocks:
        if not names:
            names, matrix = list(found_names), np.zeros((len(rows.images), block.shape[1]), np.float32)
        used = np.flatnonzero(numbers >= 0)
        _note_rows(rows, row_of, numbers[used], rows.start + used)
        matrix[numbers[used]] = block[used]
    rows.check_complete(row_of >= 0)
    return FeatureTable(matrix, names, rows.ignored)


def _note_rows(
    rows: FeatureRows, row_of: NDArray[np.int64], numbers: NDArray[np.int64], places: NDArray[np.int64]
) -> None:
    """Note in which row each image is; one that was seen before, in this batch or another, is an error."""
    before = row_of[numbers]
    row_of[numbers] = places
    last = row_of[numbers]
    again = np.flatnonzero((before >= 0) | (last != places))
    if len(again):
        one = again[0]
        first, second = (before[one], places[one]) if before[one] >= 0 else (places[one], last[one])
        file = rows.file
        raise DataError(
            f"{file.name} has image {rows.images.id(int(numbers[one]))!r} in {file.place(int(first))} and again in "
            f"{file.place(int(second))}; keep one of them"
        )


def _column_blocks(rows: FeatureRows, places: Sequence[int]) -> Blocks:
    names = [rows.file.columns[place] for place in places]
    for numbers, columns in rows.batches():
        yield numbers, np.stack([rows.numbers(columns, place) for place in places], axis=1), names


def _list_blocks(rows: FeatureRows, place: int) -> Blocks:
    name, width = rows.file.columns[place], None
    for numbers, columns in rows.batches():
        lists = columns[place]
        if not is_number(lists.type.value_type):
            raise DataError(f"column {name!r} of {rows.file.name} holds {lists.type}, but features are numbers")
        lengths = as_numpy(pc.list_value_length(lists).fill_null(0))
        width = int(lengths[0]) if width is None else width
        other = np.flatnonzero(lengths != width)
        if len(other):
            raise rows.fault(
                other[0], f"has {lengths[other[0]]} numbers in column {name!r} where row 1 has {width}; mend it"
            )
        if not width:
            raise DataError(f"column {name!r} of {rows.file.name} holds empty lists; there must be a number in each")
        names = [f"{name}[{number}]" for number in range(width)]
        block = as_floats(lists.flatten()).reshape(len(lists), width)
        rows.check_finite(block, names)
        yield numbers, block, names


# --- a value a row ------------------------------------------------------------------------------------------------


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
    vocabulary, places = features.finish()
    entries = (image_numbers.release(), places[feature_numbers.release()].astype(np.int64))
    matrix = csr_array((values.release(), entries), shape=(len(rows.images), len(vocabulary)))
    if matrix.nnz < len(entries[0]):
        image, column = _first_twice(*entries)
        raise DataError(
            f"{rows.file.name} has more than one value for feature {vocabulary.id(column)!r} of image "
            f"{rows.images.id(image)!r}; keep one of them"
        )
    return FeatureTable(matrix, list(vocabulary), rows.ignored)


def _first_twice(images: NDArray[np.int64], features: NDArray[np.int64]) -> tuple[int, int]:
    order = np.lexsort((features, images))
    same = (np.diff(images[order]) == 0) & (np.diff(features[order]) == 0)
    one = order[int(np.argmax(same))]
    return int(images[one]), int(features[one])


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))
