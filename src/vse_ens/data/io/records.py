"""Python's CSV parser with a limit on the size of a record: exact about quotes and lines, and slow.

It also finds the line and the reason of an error, in a second pass over an input that could not be read.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.io.dialect import Dialect, csv_reader, describe_separator, unlimited_field_size
from vse_ens.data.io.formats import MAX_LINE_BYTES, PairsFile, has_control_codes
from vse_ens.data.io.id_index import is_blank
from vse_ens.data.io.source import Source
from vse_ens.errors import DataError

# Blank lines in a row that are read; a billion of them would take minutes.
MAX_BLANK_LINES = 1_000_000
_BLOCK = 1 << 16
# Line numbers that a message names.
_SHOWN = 5


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes; none at the end."""


class RecordError(Exception):
    """A record that cannot be read, with the line on which it starts and the reason, a predicate of that line."""

    def __init__(self, line: int, reason: str, advice: str) -> None:
        super().__init__(f"line {line} {reason}")
        self.line = line
        self.reason = reason
        self.advice = advice


def records(stream: Readable, dialect: Dialect, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield every row with the line on which it starts; a blank line is a row without fields.

    ``strict`` refuses bytes that are not UTF-8, and quotes that are out of place.
    """
    quote_advice = (
        f"fix it, or set quote=None (--quote '' on the command line) if {dialect.quote} is an ordinary character in "
        f"this file"
    )
    lines = _Lines(stream, "strict" if strict else "replace")
    blank = 0
    with unlimited_field_size():
        rows = csv_reader(lines, dialect.separator, dialect.quote, strict)
        while True:
            line = lines.start_record()
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                never_closed = "unexpected end" in str(error)
                reason = "is never closed" if never_closed else "is followed by more of the same field"
                raise RecordError(line, f"has a quote that {reason}", quote_advice) from None
            except _TooLongError as error:
                limit = f"{MAX_LINE_BYTES:,} bytes"
                if error.line == line:
                    raise RecordError(line, f"is longer than {limit}", "split it into several") from None
                raise RecordError(line, f"starts a quoted row that does not end within {limit}", quote_advice) from None
            blank = 0 if row else blank + 1
            if blank > MAX_BLANK_LINES:
                raise RecordError(line, f"follows {MAX_BLANK_LINES:,} blank lines", "remove them")
            yield line, row


def utf8_error(line: int, text: bytes) -> RecordError:
    """Return an error that names the first byte of a line that is not UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return RecordError(line, f"is not UTF-8 (byte 0x{text[error.start]:02x})", encoding_advice(text))
    raise ValueError("the line is UTF-8")


def encoding_advice(text: bytes) -> str:
    """Return what to do about bytes that are not UTF-8: text in an older encoding has no control codes."""
    if has_control_codes(text):
        return "this does not look like text, so check that it is the right file"
    return "re-encode the file, for example with iconv -f LATIN1 -t UTF-8"


class _TooLongError(Exception):
    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class _Lines:
    """The lines of a stream as text, and the size of the current record."""

    def __init__(self, stream: Readable, errors: str) -> None:
        self._stream = stream
        self._errors = errors
        self._lines: list[bytes] = []
        self._next = 0
        self._rest = b""
        self._number = 0
        self._record_bytes = 0
        self._ended = False

    def start_record(self) -> int:
        """Begin to count the bytes of a record, and return the number of its first line."""
        self._record_bytes = 0
        return self._number + 1

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._next == len(self._lines):
            self._fill()
        line = self._lines[self._next]
        self._next += 1
        self._number += 1
        self._record_bytes += len(line)
        if self._record_bytes > MAX_LINE_BYTES:
            raise _TooLongError(self._number)
        try:
            return line.decode(errors=self._errors)
        except UnicodeDecodeError:
            raise utf8_error(self._number, line) from None

    def _fill(self) -> None:
        """Read until a line is complete: it ends with a line end that is not half of ``\\r\\n``, or with the text."""
        parts = [self._rest]
        size = len(self._rest)
        while not self._ended:
            block = self._stream.read(_BLOCK)
            self._ended = not block
            parts.append(block)
            size += len(block)
            if b"\n" in block or b"\r" in block[:-1] or size > MAX_LINE_BYTES:
                break
        self._lines = b"".join(parts).splitlines(keepends=True)
        incomplete = not self._ended and len(self._lines) > 1 and not self._lines[-1].endswith(b"\n")
        self._next, self._rest = 0, self._lines.pop() if incomplete else b""
        if not self._lines:
            raise StopIteration


def blank_id_error(source: Source) -> DataError:
    """Return an error that says how many rows have a null or blank id, and where the first of them are."""
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
    numbers = ", ".join(map(str, source.line_numbers(first))) + (", ..." if count > _SHOWN else "")
    return DataError(
        f"{source.name} has a blank {' or '.join(sorted(kinds))} id on {count:,} {unit} ({numbers}); "
        f"fill in or remove {'it' if count == 1 else 'them'}"
    )


def find_text_error(file: PairsFile, dialect: Dialect) -> DataError | None:
    """Return the first error in a delimited text: a byte, a quote, or a line with too many or too few fields."""
    width = 0
    try:
        with file.open_text() as stream:
            for line, row in records(stream, dialect, strict=True):
                width = width or len(row)
                if row and len(row) != width:
                    return DataError(
                        f"{file.path}, line {line} has {_fields(len(row))} where line 1 has {width} (split at "
                        f"{describe_separator(dialect.separator)}); fix it, or put fields that contain the separator "
                        f"in quotes"
                    )
    except RecordError as error:
        return _record_error(file, error)
    return None


def find_row_lines(file: PairsFile, dialect: Dialect, rows: Sequence[int]) -> list[int]:
    """Return the line on which each of ``rows`` starts; the header is not counted as a row."""
    requested = {row + dialect.header for row in rows}
    found: list[int] = []
    with file.open_text() as stream:
        filled = (line for line, fields in records(stream, dialect) if fields)
        try:
            for row, line in enumerate(filled):
                if row in requested:
                    found.append(line)
                if len(found) == len(requested):
                    break  # lines further down have not been read yet and may be broken
        except RecordError as error:
            raise _record_error(file, error) from None
    return found


def _record_error(file: PairsFile, error: RecordError) -> DataError:
    return DataError(f"{file.path}, line {error.line} {error.reason}; {error.advice}")


def _blank_rows(ids: pa.Array) -> NDArray[np.bool_]:
    """Return the rows in which an id, or any id of a list, is null or blank; a null list is an empty one."""
    if pa.types.is_large_list(ids.type):
        rows = np.zeros(len(ids), dtype=bool)
        rows[np.asarray(pc.list_parent_indices(ids))[_blank_rows(ids.flatten())]] = True
        return rows
    return is_blank(ids.fill_null(""))


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"
