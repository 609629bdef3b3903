"""Arrays that grow at their end in place: `realloc` moves pages, so that no second copy is ever held."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class GrowingArray:
    """A one-dimensional array of which the length need not be known; views of it do not outlive the next `extend`."""

    def __init__(self, dtype: Any, expected: int = 1024) -> None:
        self._room = np.empty(max(expected, 1), dtype)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def extend(self, values: NDArray[Any]) -> None:
        """Put ``values`` at the end."""
        needed = self._used + len(values)
        if needed > len(self._room):
            # NumPy fills the new room with zeros, so that all of it is resident: an eighth more, not twice as much.
            self._room.resize(needed + needed // 8, refcheck=False)
        self._room[self._used : needed] = values
        self._used = needed

    def view(self) -> NDArray[Any]:
        """What is held, without a copy."""
        return self._room[: self._used]

    def release(self) -> NDArray[Any]:
        """The array itself, cut to its length and no longer held here."""
        array, self._room, self._used = self._room, np.empty(1, self._room.dtype), self._used
        array.resize(self._used, refcheck=False)
        self._used = 0
        return array


class GrowingStrings:
    """Text that is only ever appended to, held as Arrow holds it: bytes, and where each string starts."""

    def __init__(self) -> None:
        self._bytes = GrowingArray(np.uint8)
        self._starts = GrowingArray(np.int64)
        self._starts.extend(np.zeros(1, np.int64))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def extend(self, strings: pa.LargeStringArray) -> None:
        """Put ``strings``, none of them null, at the end."""
        _, starts_buffer, text_buffer = strings.buffers()
        if not len(strings):
            return
        starts = np.frombuffer(starts_buffer, np.int64)[strings.offset : strings.offset + len(strings) + 1]
        first, last = int(starts[0]), int(starts[-1])
        shift = len(self._bytes) - first
        if last > first:
            self._bytes.extend(np.frombuffer(text_buffer, np.uint8)[first:last])
        self._starts.extend(starts[1:] + shift)

    def arrow(self) -> pa.LargeStringArray:
        """What is held, without a copy; not to be used after the next `extend`."""
        return pa.LargeStringArray.from_buffers(
            len(self), pa.py_buffer(self._starts.view()), pa.py_buffer(self._bytes.view())
        )


def as_arrow(numbers: NDArray[Any]) -> pa.Array:
    """The Arrow array over the memory of ``numbers``; `pa.array` would import pandas wherever it is installed."""
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), [None, pa.py_buffer(numbers)])


def as_numpy(numbers: pa.Array) -> NDArray[Any]:
    """The NumPy array over the memory of whole ``numbers``, none of them null; `to_numpy` would import pandas too."""
    values = np.frombuffer(numbers.buffers()[1], numbers.type.to_pandas_dtype())
    return values[numbers.offset : numbers.offset + len(numbers)]
