"""Named arrays in one safetensors file: written as a stream, read as a memory map.

The safetensors library reads a copy of every array for NumPy, so that a model would have to fit into memory; hence the
little there is to the format is done here. A file is 8 bytes of header length, a JSON header that gives the type, shape
and place of every array, and the arrays, which fill the rest without gaps.
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

BLOCK_BYTES = 1 << 20
"""How much is written or checked at a time: it stays in the processor's cache. A multiple of every item size."""

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
# The data start on a cache line.
_ALIGNMENT = 64
# The library refuses longer headers, and so a damaged length is not taken for a reason to parse the whole file.
_LONGEST_HEADER = 100_000_000


class Tensor(NamedTuple):
    """Type, shape, and place in the file of one array."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


def shapes(arrays: Mapping[str, NDArray[Any]] | Mapping[str, Tensor]) -> dict[str, dict[str, Any]]:
    """The type and shape of each array, for a JSON document."""
    return {name: {"dtype": array.dtype.name, "shape": list(array.shape)} for name, array in arrays.items()}


def write_tensors(sink: Sink, arrays: Mapping[str, NDArray[Any]], *, finite: bool) -> None:
    """Write a safetensors file; with ``finite``, a number that is not is a ModelError."""
    header: dict[str, Any] = {}
    place = 0
    # Larger items first, so that every array begins at a multiple of its item size; by name where that is equal.
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    for name, array in ordered:
        kind = _NAMES.get(array.dtype.newbyteorder("<"))
        if kind is None or name == "__metadata__":
            raise ModelError(f"the array {name!r} of type {array.dtype} cannot be saved; convert or rename it")
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [place, place + array.nbytes]}
        place += array.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    sink.write(len(text).to_bytes(8, "little") + text)
    for name, array in ordered:
        for block in _blocks(array):
            if finite and not _is_finite(block):
                raise ModelError(
                    f"the array {name!r} holds numbers that are not finite; a model with them is not saved"
                )
            sink.write(block.view(np.uint8).data)


def read_header(mapped: memoryview) -> dict[str, Tensor]:
    """The arrays of a safetensors file; a ValueError that says what is wrong unless they fill it exactly."""
    length = int.from_bytes(mapped[:8], "little")
    start = 8 + length
    if len(mapped) < 8 or length > _LONGEST_HEADER or start > len(mapped):
        raise ValueError("the header is longer than the file")
    try:
        header = json.loads(bytes(mapped[8:start]))
        header.pop("__metadata__", None)
        tensors = {name: _tensor(start, **found) for name, found in header.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError("the header cannot be read") from error
    place = start
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        if tensor.begin != place or tensor.end - place != math.prod(tensor.shape) * tensor.dtype.itemsize:
            raise ValueError(f"the array {name!r} is not where its type and shape put it")
        if place % tensor.dtype.itemsize:
            raise ValueError(f"the array {name!r} does not begin at a multiple of its item size")
        place = tensor.end
    if place != len(mapped):
        raise ValueError("the arrays do not fill the file")
    return tensors


def map_tensors(mapped: memoryview, tensors: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    """The arrays in a memory map, which are read-only if the map is; no byte of them is touched."""
    return {name: np.ndarray(t.shape, t.dtype, buffer=mapped, offset=t.begin) for name, t in tensors.items()}


def not_finite(tensors: Mapping[str, Tensor], start: int, block: memoryview) -> str | None:
    """The name of an array of which this block, read at ``start`` of the file, holds a number that is not finite."""
    for name, tensor in tensors.items():
        begin, end = max(tensor.begin, start), min(tensor.end, start + len(block))
        if begin < end and not _is_finite(np.frombuffer(block[begin - start : end - start], tensor.dtype)):
            return name
    return None


def _tensor(start: int, dtype: str, shape: list[int], data_offsets: list[int]) -> Tensor:
    begin, end = data_offsets
    if any(type(number) is not int or number < 0 for number in (*shape, begin, end)):
        raise ValueError("a shape or an offset is not a whole number")
    return Tensor(_TYPES[dtype], tuple(shape), start + begin, start + end)


def _blocks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The items in C order, little-endian, a block at a time."""
    flat = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C").reshape(-1)
    step = BLOCK_BYTES // flat.itemsize
    for start in range(0, len(flat), step):
        yield flat[start : start + step]


def _is_finite(block: NDArray[Any]) -> bool:
    return block.dtype.kind != "f" or bool(np.isfinite(block).all())
