"""Files of image features in, one row an image out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.columns import as_ids, choose, listed
from vse_ens.data.feature_files import FeatureFile, open_features
from vse_ens.data.growing import GrowingArray, as_numpy
from vse_ens.data.numbering import Numbering, is_blank
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError, MissingPartError

Floats = NDArray[np.float32]

_SHOWN = 3


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
    - A value a row, in the columns ``image``, ``feature`` and ``value``: what is not listed is 0. Needs scipy.

    Every image must have features; the file may hold more images than that.
    """
    file = open_features(path)
    if len(file.columns) < 2:
        raise DataError(f"{path} has no feature column: all it has is {listed(file.columns)}")
    image = choose(file.name, file.columns).image
    others = [place for place in range(len(file.columns)) if place != image]
    by_name = {file.columns[place].strip().casefold(): place for place in others}
    rows = _Rows(file, image, images)
    if by_name.keys() == {"feature", "value"}:
        return _sparse(rows, by_name["feature"], by_name["value"])
    if file.types is not None and len(others) == 1 and _is_list(file.types[others[0]]):
        return _dense(rows, _list_blocks(rows, others[0]))
    return _dense(rows, _column_blocks(rows, others))


class _Rows:
    """The rows of a file with their images by number; -1 and a count for those that are not asked for."""

    def __init__(self, file: FeatureFile, image: int, images: Vocabulary) -> None:
        self.file = file
        self.images = images
        self.start = 0
        self._image = image
        self._ignored = Numbering("image")

    @property
    def ignored(self) -> int:
        return len(self._ignored)

    def batches(self) -> Iterator[tuple[NDArray[np.int64], list[pa.Array]]]:
        """Image numbers and all columns of some rows, of which the first is row ``start`` of the file."""
        for columns in self.file.batches():
            ids = self.ids(columns, self._image)
            numbers = self.images.numbers(ids.to_pylist(), missing="minus-one")
            self._ignored.numbers(ids.filter(pa.array(numbers < 0)))
            yield numbers, columns
            self.start += len(ids)

    def ids(self, columns: list[pa.Array], place: int) -> pa.Array:
        """A column of ids, none of them blank."""
        name = self.file.columns[place]
        ids = as_ids(columns[place], self.file.name, name)
        if not pa.types.is_large_string(ids.type):
            raise DataError(f"column {name!r} of {self.file.name} holds lists, but ids are text or whole numbers")
        blank = np.flatnonzero(is_blank(ids.fill_null("")))
        if len(blank):
            raise self.fault(blank[0], f"has no id in column {name!r}; fill it in or remove it")
        return ids

    def numbers(self, columns: list[pa.Array], place: int) -> Floats:
        """A column of finite numbers."""
        name = self.file.columns[place]
        values, kind = columns[place], columns[place].type
        if self.file.types is None:
            values = pc.utf8_trim_whitespace(values)
        elif not _is_number(kind):
            raise DataError(
                f"column {name!r} of {self.file.name} holds {kind}, but features are numbers; "
                "leave it out or turn it into numbers"
            )
        try:
            floats = _floats(values)
        except pa.ArrowInvalid:
            row = next(row for row in range(len(values)) if not _converts(values[row]))
            raise self.fault(
                row,
                f"has {values[row].as_py()!r} in column {name!r}, but features are numbers; mend it, or leave the "
                "column out or turn it into numbers",
            ) from None
        self.check_finite(floats[:, None], [name])
        return floats

    def check_finite(self, block: Floats, names: Sequence[str]) -> None:
        """Every number of a block of rows is finite."""
        finite = np.isfinite(block)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            found = "no number" if np.isnan(block[row, column]) else "a number too large"
            raise self.fault(row, f"has {found} in column {names[column]!r}; features must be finite")

    def check_complete(self, has_features: NDArray[np.bool_]) -> None:
        """Every image has features."""
        without = np.flatnonzero(~has_features)
        if len(without):
            shown = ", ".join(map(repr, self.images.ids(without[:_SHOWN])))
            raise DataError(
                f"{self.file.name} has no features for {len(without):,} of {len(self.images):,} images "
                f"({shown}{', ...' if len(without) > _SHOWN else ''}); add them, or leave those images out of the pairs"
            )

    def fault(self, row: int, what: str) -> DataError:
        """What is wrong with a row of the batch at hand."""
        return DataError(f"{self.file.name}, {self.file.place(self.start + int(row))} {what}")


# --- an image a row -----------------------------------------------------------------------------------------------

Blocks = Iterator[tuple[NDArray[np.int64], Floats, Sequence[str]]]


def _dense(rows: _Rows, blocks: Blocks) -> FeatureTable:
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


def _note_rows(rows: _Rows, row_of: NDArray[np.int64], numbers: NDArray[np.int64], places: NDArray[np.int64]) -> None:
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


def _column_blocks(rows: _Rows, places: Sequence[int]) -> Blocks:
    names = [rows.file.columns[place] for place in places]
    for numbers, columns in rows.batches():
        yield numbers, np.stack([rows.numbers(columns, place) for place in places], axis=1), names


def _list_blocks(rows: _Rows, place: int) -> Blocks:
    name, width = rows.file.columns[place], -1
    for numbers, columns in rows.batches():
        lists = columns[place]
        if not _is_number(lists.type.value_type):
            raise DataError(f"column {name!r} of {rows.file.name} holds {lists.type}, but features are numbers")
        lengths = np.array(pc.list_value_length(lists).fill_null(0).to_pylist())
        if width < 0 and len(lengths):
            width = int(lengths[0])
        other = np.flatnonzero(lengths != width)
        if len(other):
            raise rows.fault(
                other[0], f"has {lengths[other[0]]} numbers in column {name!r} where row 1 has {width}; mend it"
            )
        if not width:
            raise DataError(f"column {name!r} of {rows.file.name} holds empty lists; there must be a number in each")
        names = [f"{name}[{number}]" for number in range(width)]
        block = _floats(lists.flatten()).reshape(len(lists), width)
        rows.check_finite(block, names)
        yield numbers, block, names


# --- a value a row ------------------------------------------------------------------------------------------------


def _sparse(rows: _Rows, feature: int, value: int) -> FeatureTable:
    try:
        from scipy.sparse import csr_array
    except ImportError:
        raise MissingPartError(
            f'{rows.file.name} lists features by name and value, which needs scipy: pip install "vse-ens[frames]"'
        ) from None
    features = Numbering("feature")
    image_numbers, feature_numbers = GrowingArray(np.int64), GrowingArray(np.int64)
    values = GrowingArray(np.float32)
    for numbers, columns in rows.batches():
        used = numbers >= 0
        image_numbers.extend(numbers[used])
        feature_numbers.extend(features.numbers(rows.ids(columns, feature).filter(pa.array(used))))
        values.extend(rows.numbers(columns, value)[used])
    vocabulary, places = features.finish()
    entries = (image_numbers.release(), places[feature_numbers.release()].astype(np.int64))
    rows.check_complete(np.bincount(entries[0], minlength=len(rows.images)) > 0)
    matrix = csr_array((values.release(), entries), shape=(len(rows.images), len(vocabulary)))
    if matrix.nnz < len(entries[0]):
        image, column = _first_twice(*entries)
        raise DataError(
            f"{rows.file.name} has feature {vocabulary.id(column)!r} of image {rows.images.id(image)!r} more than once; "
            "keep one of them"
        )
    return FeatureTable(matrix, list(vocabulary), rows.ignored)


def _first_twice(images: NDArray[np.int64], features: NDArray[np.int64]) -> tuple[int, int]:
    order = np.lexsort((features, images))
    same = (np.diff(images[order]) == 0) & (np.diff(features[order]) == 0)
    one = order[int(np.argmax(same))]
    return int(images[one]), int(features[one])


# --- numbers ------------------------------------------------------------------------------------------------------


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _floats(values: pa.Array) -> Floats:
    """As float32; what is null becomes NaN, what is too large infinite."""
    floats: Floats = as_numpy(values.cast(pa.float32(), safe=False).fill_null(np.nan))
    return floats


def _converts(value: pa.Scalar) -> bool:
    try:
        value.cast(pa.float32())
    except pa.ArrowInvalid:
        return False
    return True
