"""What every reader turns its input into: batches of ids, and where each row was.

What exactly is wrong with an input, and on which line: the slow walk that is taken only once something is.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.io.dialect import Dialect, any_field_length, rows_of, spell
from vse_ens.data.io.formats import PairsFile
from vse_ens.data.io.id_index import is_blank
from vse_ens.errors import DataError

# Enough rows to make a batch worth its calls, few enough that a batch is small beside what is kept of it.
BATCH_ROWS = 1 << 15


class Batch(NamedTuple):
    """Some rows: an image id each, and a label id or a list of them each; large strings, or large lists of those."""

    images: pa.Array
    labels: pa.Array


class Source(Protocol):
    """An input that can be gone through more than once: a second time only to tell what was wrong."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def unit(self) -> str:
        """What its rows are counted in: "line" or "row"."""

    @property
    def expected_rows(self) -> int:
        """How many rows there will be, or a guess."""

    @property
    def notes(self) -> Sequence[str]:
        """What a user should know, complete once the last batch was taken."""

    def batches(self) -> Iterator[Batch]:
        """All rows in order; what cannot be read is a `DataError`."""

    def places(self, rows: Sequence[int]) -> list[int]:
        """The line (or row, counted from 1) of each of these rows, which are counted from 0 and rising."""


_SHOWN = 5


def blank_ids(source: Source) -> DataError:
    """How many rows have a null or blank id, and where the first of them are."""
    first: list[int] = []
    kinds: set[str] = set()
    count = start = 0
    for images, labels in source.batches():
        blank_image, blank_label = _blank_rows(images), _blank_rows(labels)
        kinds.update(kind for kind, rows in (("image", blank_image), ("label", blank_label)) if rows.any())
        rows = np.flatnonzero(blank_image | blank_label)
        first.extend((start + rows[: _SHOWN - len(first)]).tolist())
        count += len(rows)
        start += len(images)
    unit = source.unit if count == 1 else f"{source.unit}s"
    places = ", ".join(map(str, source.places(first))) + (", ..." if count > _SHOWN else "")
    return DataError(
        f"{source.name} has a blank {' or '.join(sorted(kinds))} id on {count:,} {unit} ({places}); "
        f"fill in or remove {'it' if count == 1 else 'them'}"
    )


def text_fault(file: PairsFile, dialect: Dialect) -> DataError | None:
    """The first thing wrong with a delimited text: a byte, a quote, or a line with too many or too few fields."""
    width = 0
    try:
        for line, row in _records(file, dialect, strict=True):
            width = width or len(row)
            if row and len(row) != width:
                return DataError(
                    f"{file.path}, line {line} has {_fields(len(row))} where line 1 has {width} (split at "
                    f"{spell(dialect.separator)}); mend it, or put a field that holds the separator in quotes"
                )
    except _BadByteError as error:
        return DataError(
            f"{file.path}, line {error.line} is not UTF-8 (byte 0x{error.byte:02x}); re-encode the file, for example "
            f"with iconv -f LATIN1 -t UTF-8"
        )
    except _BadQuoteError as error:
        return DataError(
            f"{file.path}, line {error.line} has a quote that {error.reason}; mend it, or say quote=None "
            f"(--quote '' on the command line) if {dialect.quote} is an ordinary character in this file"
        )
    return None


def lines_of_rows(file: PairsFile, dialect: Dialect, rows: Sequence[int]) -> list[int]:
    """The physical line on which each of these rows starts, the header not counted as one."""
    wanted = {row + dialect.header for row in rows}
    filled = (line for line, fields in _records(file, dialect) if fields)
    return [line for row, line in enumerate(filled) if row in wanted]


def count_blank_lines(file: PairsFile, dialect: Dialect) -> int:
    """How many lines have nothing in them."""
    return sum(not fields for _, fields in _records(file, dialect))


class _BadByteError(Exception):
    def __init__(self, line: int, byte: int) -> None:
        super().__init__(line, byte)
        self.line = line
        self.byte = byte


class _BadQuoteError(Exception):
    def __init__(self, line: int, reason: str) -> None:
        super().__init__(line, reason)
        self.line = line
        self.reason = reason


def _records(file: PairsFile, dialect: Dialect, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Every row and the physical line it starts on; a blank line is a row without fields."""
    with file.open() as stream, any_field_length():
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
        rows = rows_of(_checked(text), dialect.separator, dialect.quote, strict)
        while True:
            line = rows.line_num + 1
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                never_closed = "unexpected end" in str(error)
                reason = "is never closed" if never_closed else "is followed by more of the same field"
                raise _BadQuoteError(line, reason) from None
            yield line, row


def _checked(lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        if not line.isascii():
            for character in line:
                if 0xDC80 <= ord(character) <= 0xDCFF:  # how surrogateescape writes a byte that is not UTF-8
                    raise _BadByteError(number, ord(character) - 0xDC00)
        yield line


def _blank_rows(ids: pa.Array) -> NDArray[np.bool_]:
    """Where an id, or any id of a list, is null or blank; a null list is an empty one."""
    if pa.types.is_large_list(ids.type):
        rows = np.zeros(len(ids), dtype=bool)
        rows[np.asarray(pc.list_parent_indices(ids))[_blank_rows(ids.flatten())]] = True
        return rows
    return is_blank(ids.fill_null(""))


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"
