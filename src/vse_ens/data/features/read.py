"""Read image features, or the scores of another tagger, into one row per image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.arrow import GrowingArray, as_numpy, strings_to_arrow
from vse_ens.data.features.arrays import FeatureFile, open_features
from vse_ens.data.features.files import is_number, may_be_number
from vse_ens.data.features.table import FeatureTable
from vse_ens.data.io.columns import choose_columns, format_names, to_ids
from vse_ens.data.io.id_index import IdIndex, is_blank
from vse_ens.errors import DataError

Floats = NDArray[np.float32]
# Columns that are brought into the order of the images at a time.
_COLUMNS = 64


def read_features(path: str | Path) -> FeatureTable:
    """Read the features of images; docs/features.md lists the formats.

    - One image per row: its id, in a column with a known name or else the first, and a number in every other column.
    - The same with one other column: lists of numbers (parquet), or text such as ``[0.1,0.2]``, as pgvector prints it.
    - One value per row, in the columns ``image``, ``feature`` and ``value``; values that are not listed are 0.
    - One array with a row per image: npy, npz, safetensors or a folder of clip-retrieval.
    """
    rows = _Rows(open_features(path))
    by_name = {rows.file.columns[column].strip().casefold(): column for column in rows.others}
    if by_name.keys() == {"feature", "value"}:
        return _triples(rows, by_name["feature"], by_name["value"])
    if len(rows.others) == 1 and _holds_vectors(rows, rows.others[0]):
        return _dense(rows, _vectors(rows, rows.others[0]), None)
    names = [rows.file.columns[index] for index in rows.others]
    return _dense(rows, _columns(rows), names if rows.file.has_names else None)


def read_scores(path: str | Path) -> FeatureTable:
    """Read the tags that another tagger gives to images, with their scores, as sparse features named by the tags.

    - One tag per row, in the columns ``image``, ``tag`` and ``score``; without scores, each is 1.
    - One image per row, and a column of scores per tag.
    """
    rows = _Rows(open_features(path, triples=True))
    first = next((columns for _, columns in rows.batches() if len(columns[0])), [])
    tags = [column for column in rows.others if first and not _is_numeric(first[column])]
    rows = _Rows(rows.file)
    if len(rows.others) <= 2 and tags:
        return _triples(rows, tags[0], next((column for column in rows.others if column != tags[0]), None))
    features = IdIndex("feature")
    columns = features.numbers(strings_to_arrow([rows.file.columns[index] for index in rows.others]))

    def values() -> Values:
        for numbers, block in _distinct(rows, _columns(rows)):
            images, used = np.nonzero(block)
            yield numbers[images], columns[used], block[images, used]

    return _sparse(rows, values(), features)


Blocks = Iterable[tuple[NDArray[np.int64], Floats]]
Values = Iterable[tuple[NDArray[np.int64], NDArray[np.int64], Floats]]


class _Rows:
    """The rows of a file with their images by number."""

    def __init__(self, file: FeatureFile) -> None:
        if len(file.columns) < 2:
            raise DataError(f"{file.name} has no feature column: it has only {format_names(file.columns)}")
        self.file = file
        self.images = IdIndex("image")
        self.start = 0
        self._image = choose_columns(file.name, file.columns).image
        self.others = [column for column in range(len(file.columns)) if column != self._image]

    def batches(self) -> Iterator[tuple[NDArray[np.int64], list[pa.Array]]]:
        """Yield the image numbers and all columns of some rows, the first of which is row ``start`` of the file."""
        for columns in self.file.batches():
            if len(columns[0]):
                yield self.images.numbers(self.ids(columns, self._image)), columns
                self.start += len(columns[0])

    def ids(self, columns: list[pa.Array], index: int) -> pa.Array:
        """Return a column of ids, none of them blank."""
        name = self.file.columns[index][:60]
        ids = to_ids(columns[index], self.file.name, name)
        blank = np.flatnonzero(is_blank(ids.fill_null("")))
        if len(blank):
            raise self.error(blank[0], f"has no id in column {name!r}; fill it in or remove it")
        return ids

    def numbers(self, columns: list[pa.Array], index: int) -> Floats:
        """Return a column of finite numbers."""
        name = self.file.columns[index][:60]
        values, kind = columns[index], columns[index].type
        if self.file.types is None:
            floats = self.parse(pc.utf8_trim_whitespace(values), name)
        elif is_number(kind):
            floats = _as_floats(values)
        else:
            raise DataError(
                f"column {name!r} of {self.file.name} holds {kind}, but features are numbers; "
                "drop it or convert it to numbers"
            )
        self.check_finite(floats[:, None], [name])
        return floats

    def parse(self, texts: pa.Array, name: str, width: int = 1) -> Floats:
        """Return the numbers that texts stand for, ``width`` of them per row."""
        try:
            return _as_floats(texts)
        except pa.ArrowInvalid:
            bad = next(number for number in range(len(texts)) if not _converts(texts[number]))
            raise self.error(
                bad // width,
                f"has {texts[bad].as_py()[:60]!r} in column {name!r}, but features are numbers; fix it, or drop the "
                "column or convert it to numbers",
            ) from None

    def check_finite(self, block: Floats, names: Sequence[str]) -> None:
        """Raise unless every number of a block of rows is finite."""
        finite = np.isfinite(block)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            value = "no number" if np.isnan(block[row, column]) else "an infinite number"
            name = names[column] if len(names) == block.shape[1] else f"{names[0]}[{column}]"
            raise self.error(row, f"has {value} in column {name!r}; features must be finite")

    def error(self, row: int, reason: str) -> DataError:
        """Return an error in a row of the current batch."""
        return DataError(f"{self.file.name}, {self.file.locate(self.start + int(row))} {reason}")


# --- one image per row --------------------------------------------------------------------------------------------


def _dense(rows: _Rows, blocks: Blocks, names: Sequence[str] | None) -> FeatureTable:
    order, found, width = GrowingArray(np.int64), GrowingArray(np.float32), 0
    for numbers, block in _distinct(rows, blocks):
        width = block.shape[1]
        order.extend(numbers)
        found.extend(block.reshape(-1))
    if not width:
        raise _empty(rows)
    images, new_number = rows.images.finish()
    matrix, row_of = found.release().reshape(-1, width), np.argsort(new_number[order.view()])
    if not np.all(np.diff(row_of) == 1):
        for first in range(0, width, _COLUMNS):  # in place, since a copy of all could be larger than the RAM
            matrix[:, first : first + _COLUMNS] = matrix[row_of, first : first + _COLUMNS]
    return FeatureTable(images, matrix, names)


def _distinct(rows: _Rows, blocks: Blocks) -> Blocks:
    """Yield the blocks; an image that occurred before, in this block or another, is an error."""
    seen = GrowingArray(np.int64)
    for numbers, block in blocks:
        seen.extend(numbers)
        if len(rows.images) < len(seen):
            every = seen.release()
            _, firsts, inverse = np.unique(every, return_index=True, return_inverse=True)
            again = int(np.argmax(firsts[inverse] != np.arange(len(every))))
            vocabulary, new_number = rows.images.finish()
            image = vocabulary.id(int(new_number[every[again]]))
            lines = [rows.file.locate(row) for row in (int(firsts[inverse[again]]), again)]
            raise DataError(
                f"{rows.file.name} has image {image!r} in {lines[0]} and again in {lines[1]}; keep one of them"
            )
        yield numbers, block


def _empty(rows: _Rows) -> DataError:
    return DataError(f"{rows.file.name} has no rows of features")


def _columns(rows: _Rows) -> Blocks:
    for numbers, columns in rows.batches():
        yield numbers, np.stack([rows.numbers(columns, index) for index in rows.others], axis=1)


def _holds_vectors(rows: _Rows, index: int) -> bool:
    """Return whether a column holds lists, or text such as ``[0.1,0.2]``."""
    types = rows.file.types
    if types is not None and _is_list(types[index]):
        return True
    first = next((columns[index][0].as_py() for columns in rows.file.batches() if len(columns[index])), None)
    return isinstance(first, str) and first.strip().startswith("[")


def _vectors(rows: _Rows, index: int) -> Blocks:
    name, width = rows.file.columns[index][:60], None
    for numbers, columns in rows.batches():
        lists = columns[index]
        if _is_text(lists.type):
            lists = pc.split_pattern(pc.utf8_trim(pc.fill_null(lists, ""), " \t[]"), ",")
        elif not is_number(lists.type.value_type):
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
        values = lists.flatten()
        floats = (
            rows.parse(pc.utf8_trim_whitespace(values), name, width) if _is_text(values.type) else _as_floats(values)
        )
        block = floats.reshape(len(lists), width)
        rows.check_finite(block, [name])
        yield numbers, block


# --- one value per row --------------------------------------------------------------------------------------------


def _triples(rows: _Rows, feature: int, value: int | None) -> FeatureTable:
    features = IdIndex("feature")

    def values() -> Values:
        for numbers, columns in rows.batches():
            given = np.ones(len(numbers), np.float32) if value is None else rows.numbers(columns, value)
            yield numbers, features.numbers(rows.ids(columns, feature)), given

    return _sparse(rows, values(), features)


def _sparse(rows: _Rows, values: Values, features: IdIndex) -> FeatureTable:
    from scipy.sparse import csr_array

    image_numbers, feature_numbers, found = GrowingArray(np.int64), GrowingArray(np.int64), GrowingArray(np.float32)
    for images, columns, block in values:
        image_numbers.extend(images)
        feature_numbers.extend(columns)
        found.extend(block)
    vocabulary, new_image = rows.images.finish()
    names, new_feature = features.finish()
    entries = (
        new_image[image_numbers.release()].astype(np.int64),
        new_feature[feature_numbers.release()].astype(np.int64),
    )
    if not len(vocabulary):
        raise _empty(rows)
    matrix = csr_array((found.release(), entries), shape=(len(vocabulary), len(names)))
    matrix.sum_duplicates()  # older versions of SciPy keep them
    if matrix.nnz < len(entries[0]):
        keys = np.sort(entries[0] * len(names) + entries[1])
        image, column = divmod(int(keys[np.argmax(keys[1:] == keys[:-1])]), len(names))
        raise DataError(
            f"{rows.file.name} has more than one value for feature {names.id(column)!r} of image "
            f"{vocabulary.id(image)!r}; keep one of them"
        )
    return FeatureTable(vocabulary, matrix, list(names))


# --- types --------------------------------------------------------------------------------------------------------


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_numeric(column: pa.Array) -> bool:
    return is_number(column.type) or (_is_text(column.type) and may_be_number(column[0].as_py() or ""))


def _as_floats(values: pa.Array) -> Floats:
    """Return values as float32; nulls become NaN, and values that are too large infinite."""
    floats: Floats = as_numpy(values.cast(pa.float32(), safe=False).fill_null(np.nan))
    return floats


def _converts(value: pa.Scalar) -> bool:
    try:
        value.cast(pa.float32())
    except pa.ArrowInvalid:
        return False
    return True
