"""Conversions between NumPy, Arrow and Python, and arrays that grow in place.

Numbers are not copied, and pandas is not imported: `pyarrow.array` does that if it is installed, which takes longer
than reading a small file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vse_ens.errors import ConfigError, MissingPartError


def as_arrow(numbers: NDArray[Any]) -> pa.Array:
    """Return an Arrow array over the same memory."""
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), [None, pa.py_buffer(numbers)])


def as_numpy(numbers: pa.Array) -> NDArray[Any]:
    """Return a NumPy array over the same memory; ``numbers`` must not contain nulls."""
    values = np.frombuffer(numbers.buffers()[1], _dtype(numbers.type))
    return values[numbers.offset : numbers.offset + len(numbers)]


def string_buffers(strings: pa.LargeStringArray) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the ``len(strings) + 1`` offsets of a string array, and the UTF-8 bytes they point into."""
    if not len(strings):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    _, offsets, text = strings.buffers()
    used = np.frombuffer(offsets, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    return used, np.frombuffer(text or b"", np.uint8)


def _dtype(kind: pa.DataType) -> np.dtype[Any]:
    """Return the NumPy type of a numeric Arrow type; Arrow's own method imports pandas in older versions."""
    return np.dtype({"halffloat": "float16", "float": "float32"}.get(str(kind), str(kind)))


def strings_to_arrow(strings: Sequence[str | None]) -> pa.LargeStringArray:
    """Return Python strings as an Arrow array, with None as null."""
    encoded = [b"" if one is None else one.encode() for one in strings]
    validity = None
    if None in strings:
        valid = np.fromiter((one is not None for one in strings), bool, len(strings))
        validity = pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [validity, pa.py_buffer(_offsets(encoded)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), buffers)


def lists_to_arrow(lists: Sequence[Sequence[str | None] | None]) -> pa.LargeListArray:
    """Return lists of strings as an Arrow array; None becomes an empty list."""
    given = [one or () for one in lists]
    values = strings_to_arrow([text for one in given for text in one])
    return pa.LargeListArray.from_arrays(as_arrow(_offsets(given)), values)


def rows_to_frame(rows: Sequence[Sequence[Any]], types: Mapping[str, str], backend: str) -> Any:
    """Return rows as a frame as `as_backend` does; ``types`` are Arrow's names of the types of all columns."""
    columns = zip(*rows, strict=True) if rows else [()] * len(types)
    arrays = [
        strings_to_arrow(values) if kind == "large_string" else pa.array(values, pa.type_for_alias(kind))
        for values, kind in zip(columns, types.values(), strict=True)
    ]
    return as_backend(pa.table(arrays, list(types)), backend)


def as_backend(table: pa.Table, backend: str) -> Any:
    """Return an Arrow table as a frame of another library.

    ``backend`` is "arrow" for the table itself, "pandas", "polars" or another eager library that narwhals supports.
    """
    if backend in ("arrow", "pyarrow"):
        return table
    import narwhals.stable.v2 as nw

    try:
        return nw.from_arrow(table, backend=backend).to_native()  # type: ignore[arg-type]
    except ImportError as error:
        raise MissingPartError(f"a {backend} frame needs the package {backend}; install it") from error
    except (ValueError, AssertionError) as error:  # narwhals 2.0 asserts
        raise ConfigError(f"backend must be arrow, pandas or polars, got {backend!r}") from error


def _offsets(items: Sequence[Sequence[Any]]) -> NDArray[np.int64]:
    offsets = np.zeros(len(items) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, items), np.int64, len(items)), out=offsets[1:])
    return offsets


class GrowingArray:
    """A one-dimensional array of unknown length, grown by `realloc` so that no second copy is held.

    Views are valid until the next `extend`.
    """

    def __init__(self, dtype: Any, expected: int = 1024) -> None:
        self._buffer = np.empty(max(expected, 1), dtype)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def extend(self, values: NDArray[Any]) -> None:
        """Append ``values``."""
        needed = self._used + len(values)
        if needed > len(self._buffer):
            # NumPy zeroes the new part, which makes it resident: grow by an eighth instead of doubling.
            self._buffer.resize(needed + needed // 8, refcheck=False)
        self._buffer[self._used : needed] = values
        self._used = needed

    def view(self) -> NDArray[Any]:
        """Return the content without a copy."""
        return self._buffer[: self._used]

    def release(self) -> NDArray[Any]:
        """Return the array itself, cut to its length; this object is empty afterwards."""
        array, self._buffer = self._buffer, np.empty(1, self._buffer.dtype)
        array.resize(self._used, refcheck=False)
        self._used = 0
        return array


class GrowingStrings:
    """An append-only list of strings in Arrow's layout: UTF-8 bytes and the offset of each string."""

    def __init__(self) -> None:
        self._bytes = GrowingArray(np.uint8)
        self._offsets = GrowingArray(np.int64)
        self._offsets.extend(np.zeros(1, np.int64))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def extend(self, strings: pa.LargeStringArray) -> None:
        """Append ``strings``, which must not contain nulls."""
        offsets, text = string_buffers(strings)
        self._offsets.extend(offsets[1:] + (len(self._bytes) - offsets[0]))
        self._bytes.extend(text[offsets[0] : offsets[-1]])

    def arrow(self) -> pa.LargeStringArray:
        """Return the content without a copy; it is valid until the next `extend`."""
        return pa.LargeStringArray.from_buffers(
            len(self), pa.py_buffer(self._offsets.view()), pa.py_buffer(self._bytes.view())
        )
