"""Python's CSV parser with a limit on the size of a record: exact about quotes and lines, and slow."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Protocol

from vse_ens.data.io.dialect import Dialect, csv_reader, unlimited_field_size
from vse_ens.data.io.formats import MAX_LINE_BYTES, has_control_codes

# Blank lines in a row that are read; a billion of them would take minutes.
MAX_BLANK_LINES = 1_000_000
_BLOCK = 1 << 16


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
