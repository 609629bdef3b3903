"""Read matrices of 0 and 1 that are written as text, one row per line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.published.common import FileProgress, count_of, readable
from vse_ens.errors import DataError

_BLOCK = 1 << 23
_SPACE = b" \t\r\n"
# The class of a byte: the digits 0 and 1 (0 and 1), a line end, a blank, or anything else.
_LINE_END, _BLANK, _OTHER = 2, 3, 4
_CLASSES = np.full(256, _OTHER, np.uint8)
_CLASSES[np.frombuffer(b"01\n \t\r", np.uint8)] = [0, 1, _LINE_END, _BLANK, _BLANK, _BLANK]


class Rows(NamedTuple):
    """Consecutive rows of a matrix, from row ``start`` on, counted from 0."""

    start: int
    values: NDArray[np.bool_]


def zero_one_rows(path: Path, width: int, height: int, progress: FileProgress) -> Iterator[Rows]:
    """Yield the rows of a text of ``height`` lines with ``width`` values of 0 or 1 each; anything else is an error."""
    start = blank = 0
    with readable(path), path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            block += stream.readline()
            content = block.rstrip(_SPACE)
            if content:
                rows = None if blank else _parse(content, width)
                if rows is None:
                    raise _find_error(path, content, width, start, blank)
                if start + len(rows) > height:
                    raise DataError(
                        f"{path}, line {height + 1:,} is one too many for {height:,} images; it does not belong to "
                        f"this image list"
                    )
                yield Rows(start, rows)
                start += len(rows)
            # Blank lines may end the file, but nothing may follow them.
            if block.count(b"\n", len(content)) > 1 or not content:
                blank = blank or start + 1
            progress.update(stream)
    if start < height:
        raise DataError(f"{path} ends after line {start:,}, but there are {height:,} images; download it again")
    progress.finish(path)


def _parse(content: bytes, width: int) -> NDArray[np.bool_] | None:
    """Return the rows of complete lines, or None if there is an error in them."""
    classes = _CLASSES[np.frombuffer(content, np.uint8)]
    digits = classes <= 1
    if (classes == _OTHER).any() or (digits[1:] & digits[:-1]).any():
        return None
    starts = np.concatenate([[0], np.flatnonzero(classes == _LINE_END) + 1])
    widths = np.add.reduceat(digits, starts, dtype=np.int64)
    return classes[digits].view(bool).reshape(-1, width) if (widths == width).all() else None


def _find_error(path: Path, content: bytes, width: int, start: int, blank: int) -> DataError:
    """Return the first error in some lines."""
    if blank:
        return DataError(f"{path}, line {blank:,} is blank; download it again")
    for line, text in enumerate(content.split(b"\n"), start + 1):
        values = text.split()
        invalid = next((value for value in values if value not in (b"0", b"1")), None)
        if invalid is not None:
            shown = invalid[:20].decode(errors="backslashreplace")
            return DataError(f"{path}, line {line:,} has {shown!r} where 0 or 1 should be; fix or download it again")
        if len(values) != width:
            count = count_of(len(values), "value")
            return DataError(f"{path}, line {line:,} has {count} where there are {width:,} labels; download it again")
    return DataError(f"{path} is not a matrix of 0 and 1 from line {start + 1:,} on; download it again")
