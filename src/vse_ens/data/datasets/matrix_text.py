"""Matrices of 0 and 1 written as text, a row a line, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.datasets.common import Meter, counted, readable
from vse_ens.errors import DataError

_BLOCK = 1 << 23
_SPACE = b" \t\r\n"
# What a byte is: the digits 0 and 1, which stand for themselves, the end of a line, white space, or none of these.
_END, _BETWEEN, _ODD = 2, 3, 4
_KINDS = np.full(256, _ODD, np.uint8)
_KINDS[np.frombuffer(b"01\n \t\r", np.uint8)] = [0, 1, _END, _BETWEEN, _BETWEEN, _BETWEEN]


class Rows(NamedTuple):
    """Consecutive rows of a matrix, the first of which is row ``start``, counted from 0."""

    start: int
    values: NDArray[np.bool_]


def zero_one_rows(path: Path, width: int, height: int, meter: Meter) -> Iterator[Rows]:
    """The rows of a text of ``height`` lines with ``width`` times 0 or 1 each; anything else is an error."""
    start = blank = 0
    with readable(path), path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            block += stream.readline()
            content = block.rstrip(_SPACE)
            if content:
                rows = None if blank else _parse(content, width)
                if rows is None:
                    raise _fault(path, content, width, start, blank)
                if start + len(rows) > height:
                    raise DataError(
                        f"{path}, line {height + 1:,} is one too many for {height:,} images; it and the image list do "
                        f"not belong together"
                    )
                yield Rows(start, rows)
                start += len(rows)
            # Blank lines may end the file, but nothing may follow them.
            if block.count(b"\n", len(content)) > 1 or not content:
                blank = blank or start + 1
            meter.at(stream)
    if start < height:
        raise DataError(f"{path} ends after line {start:,}, but there are {height:,} images; fetch it again")
    meter.done(path)


def _parse(content: bytes, width: int) -> NDArray[np.bool_] | None:
    """The rows of whole lines, or None if anything is out of place."""
    kinds = _KINDS[np.frombuffer(content, np.uint8)]
    digits = kinds <= 1
    if (kinds == _ODD).any() or (digits[1:] & digits[:-1]).any():
        return None
    starts = np.concatenate([[0], np.flatnonzero(kinds == _END) + 1])
    widths = np.add.reduceat(digits, starts, dtype=np.int64)
    return kinds[digits].view(bool).reshape(-1, width) if (widths == width).all() else None


def _fault(path: Path, content: bytes, width: int, start: int, blank: int) -> DataError:
    """What is wrong with the first line that is not as it should be."""
    if blank:
        return DataError(f"{path}, line {blank:,} is blank; fetch it again")
    for line, text in enumerate(content.split(b"\n"), start + 1):
        values = text.split()
        odd = next((value for value in values if value not in (b"0", b"1")), None)
        if odd is not None:
            shown = odd[:20].decode(errors="backslashreplace")
            return DataError(f"{path}, line {line:,} has {shown!r} where 0 or 1 should be; mend it, or fetch it again")
        if len(values) != width:
            count = counted(len(values), "value")
            return DataError(f"{path}, line {line:,} has {count} where there are {width:,} labels; fetch it again")
    return DataError(f"{path} is not a matrix of 0 and 1 from line {start + 1:,} on; fetch it again")
