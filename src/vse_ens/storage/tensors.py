"""Named arrays in one safetensors file: written as a stream, read as a memory map.

The safetensors library copies every array that it reads into NumPy, so a model would have to fit into RAM. The format
is small enough to read here: 8 bytes of header length, a JSON header with the type, shape and offsets of every array,
and the arrays, contiguous up to the end of the file.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import ModelError

NOT_FINITE = "contains numbers that are not finite or beyond 1e15"

BLOCK_BYTES = 1 << 20
"""Bytes written or checked at a time: few enough for the processor's cache, and a multiple of every item size."""

Sink = io.RawIOBase | io.BufferedIOBase

_TYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}
# The data begin on a cache line.
_ALIGNMENT = 64
# An artifact has a few dozen arrays of about 100 bytes each. The limit of the library is 100 MB.
_MAX_HEADER_BYTES = 1 << 20
MAX_NUMBER = 1e15
"""The largest absolute value in a model. Products of two such numbers, and sums of them, are still finite."""


class Tensor(NamedTuple):
    """Type, shape, and offsets in the file of one array."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


def shapes(arrays: Mapping[str, NDArray[Any]] | Mapping[str, Tensor]) -> dict[str, dict[str, Any]]:
    """Return the type and shape of each array, for a JSON document."""
    return {name: {"dtype": array.dtype.name, "shape": list(array.shape)} for name, array in arrays.items()}


def write_tensors(sink: Sink, arrays: Mapping[str, NDArray[Any]], *, finite: bool) -> None:
    """Write a safetensors file; with ``finite``, raise a ModelError for NaN and numbers beyond `MAX_NUMBER`."""
    header: dict[str, Any] = {}
    offset = 0
    # Larger items first, then by name, so that every array begins at a multiple of its item size.
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    for name, array in ordered:
        kind = _NAMES.get(array.dtype.newbyteorder("<"))
        if kind is None or name == "__metadata__":
            raise ModelError(f"the array {name!r} of type {array.dtype} cannot be saved; convert or rename it")
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    sink.write(len(text).to_bytes(8, "little") + text)
    for name, array in ordered:
        for block in _blocks(array):
            if finite and not is_finite(block):
                raise ModelError(f"the array {name!r} {NOT_FINITE}, so the model is not saved")
            sink.write(block.view(np.uint8).data)


def read_header(mapped: memoryview) -> dict[str, Tensor]:
    """Return the arrays of a safetensors file; raise a ValueError with the fault unless they fill it exactly."""
    length = int.from_bytes(mapped[:8], "little")
    start = 8 + length
    if length > _MAX_HEADER_BYTES or start > len(mapped):
        raise ValueError("the header is longer than the file")
    try:
        header = json.loads(bytes(mapped[8:start]))
        header.pop("__metadata__", None)
        tensors = {name: _tensor(start, **fields) for name, fields in header.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError("the header cannot be read") from error
    offset = start
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        if tensor.begin != offset or tensor.end - offset != math.prod(tensor.shape) * tensor.dtype.itemsize:
            raise ValueError(f"the offsets of the array {name!r} do not match its type and shape")
        if offset % tensor.dtype.itemsize:
            raise ValueError(f"the array {name!r} does not begin at a multiple of its item size")
        offset = tensor.end
    if offset != len(mapped):
        raise ValueError("the arrays do not fill the file")
    return tensors


def map_tensors(mapped: memoryview, tensors: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Return the arrays in a memory map without reading them; they are read-only if the map is."""
    return {name: np.ndarray(t.shape, t.dtype, buffer=mapped, offset=t.begin) for name, t in tensors.items()}


def not_finite(tensors: Mapping[str, Tensor], start: int, block: memoryview) -> str | None:
    """Return the name of an array with a number that is not finite in this block, read at offset ``start``."""
    for name, tensor in tensors.items():
        begin, end = max(tensor.begin, start), min(tensor.end, start + len(block))
        if begin < end and not is_finite(np.frombuffer(block[begin - start : end - start], tensor.dtype)):
            return name
    return None


def _tensor(start: int, dtype: str, shape: list[int], data_offsets: list[int]) -> Tensor:
    begin, end = data_offsets
    if any(type(number) is not int or number < 0 for number in (*shape, begin, end)):
        raise ValueError("a shape or an offset is not a whole number")
    return Tensor(_TYPES[dtype], tuple(shape), start + begin, start + end)


def _blocks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield the items in C order, little-endian, in blocks."""
    flat = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C").reshape(-1)
    step = BLOCK_BYTES // flat.itemsize
    for start in range(0, len(flat), step):
        yield flat[start : start + step]


def is_finite(numbers: NDArray[Any]) -> bool:
    """Whether no number is NaN, infinite or beyond `MAX_NUMBER`; True for integers."""
    if numbers.dtype.kind != "f" or not numbers.size:
        return True
    # Minimum and maximum need no temporary array, and are NaN if any number is.
    return float(numbers.min()) >= -MAX_NUMBER and float(numbers.max()) <= MAX_NUMBER
