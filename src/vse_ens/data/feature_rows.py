"""The rows of a file of image features: checked ids and numbers, and a sentence about what is wrong with one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.columns import as_ids
from vse_ens.data.feature_files import FeatureFile
from vse_ens.data.growing import as_arrow, as_numpy
from vse_ens.data.numbering import Numbering, is_blank
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError

Floats = NDArray[np.float32]

_SHOWN = 3


class FeatureRows:
    """The rows of a file with their images by number; -1 and a count for those that are not asked for."""

    def __init__(self, file: FeatureFile, image: int, images: Vocabulary) -> None:
        self.file = file
        self.images = images
        self.start = 0
        self._image = image
        self._ignored = Numbering("image")

    @property
    def ignored(self) -> int:
        """How many images so far are not asked for."""
        return len(self._ignored)

    def batches(self) -> Iterator[tuple[NDArray[np.int64], list[pa.Array]]]:
        """Image numbers and all columns of some rows, of which the first is row ``start`` of the file."""
        for columns in self.file.batches():
            if not len(columns[0]):
                continue
            ids = self.ids(columns, self._image)
            numbers = self.images.numbers(ids.to_pylist(), missing="minus-one")
            self._ignored.numbers(ids.take(as_arrow(np.flatnonzero(numbers < 0))))
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
        elif not is_number(kind):
            raise DataError(
                f"column {name!r} of {self.file.name} holds {kind}, but features are numbers; "
                "leave it out or turn it into numbers"
            )
        try:
            floats = as_floats(values)
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
            found = "no number" if np.isnan(block[row, column]) else "an infinite number"
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


def is_number(kind: pa.DataType) -> bool:
    """Whether a type is one of numbers; true and false are 1 and 0."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def as_floats(values: pa.Array) -> Floats:
    """As float32; what is null becomes NaN, what is too large infinite."""
    floats: Floats = as_numpy(values.cast(pa.float32(), safe=False).fill_null(np.nan))
    return floats


def _converts(value: pa.Scalar) -> bool:
    try:
        value.cast(pa.float32())
    except pa.ArrowInvalid:
        return False
    return True
