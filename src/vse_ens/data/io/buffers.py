"""Arrays and lists of strings that grow in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vse_ens.data.arrow import string_buffers


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
