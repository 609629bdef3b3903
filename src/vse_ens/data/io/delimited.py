"""CSV, TSV and other delimited text, read strictly: every line has as many fields as the first.

Arrow's parser accepts a quoted field that continues after its closing quote, and a stray quote may swallow lines. So
the bytes are checked on their way to it. If every opening quote follows a separator or line end, and every closing
quote precedes one, the text has only one reading. From the first quote that breaks this rule on, Python's strict, slow
parser reads the text.

Arrow gets block after block: given the stream, it would read ahead in a thread that may outlive the interpreter.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from vse_ens.data.arrow import as_arrow, strings_to_arrow
from vse_ens.data.io.dialect import Dialect, csv_reader, unlimited_field_size
from vse_ens.data.io.formats import MAX_LINE_BYTES, PairsFile
from vse_ens.data.io.guess import FALSE, TRUE
from vse_ens.data.io.records import Readable, RecordError, find_row_lines, find_text_error, records
from vse_ens.data.io.source import BATCH_ROWS, Batch
from vse_ens.errors import DataError

# Bytes parsed at a time.
_BLOCK = 1 << 20
_LF, _CR = 10, 13


class DelimitedSource:
    """The rows of a delimited text file; every field is text."""

    unit = "line"
    expected_rows = 1 << 16

    def __init__(self, file: PairsFile, dialect: Dialect) -> None:
        self.name = str(file.path)
        self._file = file
        self.dialect = dialect
        self.columns = dialect.columns
        self._blank_lines = 0

    @property
    def notes(self) -> Sequence[str]:
        """How the dialect was detected, and the number of blank lines."""
        blank = f"skipped {self._blank_lines:,} blank line{'s' if self._blank_lines > 1 else ''}"
        return (*self.dialect.notes, *([blank] if self._blank_lines else []))

    def batches(self) -> Iterator[Batch]:
        """Yield all rows except the header, in order."""
        hot = self.dialect.one_hot
        columns = [self.columns.image, *(hot or [self.columns.label])]
        table = TextTable(self._file, self.dialect, columns, _BLOCK)
        header = int(self.dialect.header)
        for arrays in table.batches():
            images, *labels = (array.slice(header) for array in arrays)
            yield Batch(images, self._flagged(labels) if hot else labels[0])
            header = 0
        if self.dialect.header and table.rows == 1:
            raise DataError(f"{self.name} has a header and no pair below it")
        self._blank_lines = table.blank_lines

    def _flagged(self, columns: Sequence[pa.Array]) -> pa.Array:
        """Return the names of the columns that have 1, as a list per row."""
        names = [self.columns.names[index] for index in self.dialect.one_hot]
        for name, column in zip(names, columns, strict=True):
            others = set(column.unique().to_pylist()).difference(TRUE, FALSE)
            if others:
                has = f"{self.name} has {min(others)!r} in column {name!r}"
                raise DataError(f"{has}, where 0 or 1 should be; fix it, or give --label-column")
        true = pa.array(TRUE, pa.large_string())
        flags = np.column_stack([pc.is_in(column, true).to_numpy(zero_copy_only=False) for column in columns])
        _, labels = np.nonzero(flags)
        ends = np.concatenate([[0], np.cumsum(flags.sum(axis=1))])
        return pa.LargeListArray.from_arrays(as_arrow(ends), pa.array(names, pa.large_string()).take(pa.array(labels)))

    def line_numbers(self, rows: Sequence[int]) -> list[int]:
        """Return the line on which each row starts."""
        return find_row_lines(self._file, self.dialect, rows)


@dataclass
class TextTable:
    """Columns of a delimited text as arrays of text; ``rows`` and ``blank_lines`` count what was read so far."""

    file: PairsFile
    dialect: Dialect
    columns: Sequence[int] | None
    block_bytes: int
    rows: int = 0
    blank_lines: int = 0

    def batches(self) -> Iterator[list[pa.Array]]:
        """Yield all rows in order, one array per column, or raise an error that names a line."""
        with self.file.open_text() as stream:
            blocks = WholeRecords(stream, self.dialect.separator, self.dialect.quote, self.block_bytes)
            width = 0
            try:
                for block in blocks:
                    if not block.strip(b"\r\n"):
                        continue
                    width = width or self._width(block)
                    for batch in self._parse(block, width).to_batches():
                        self.rows += len(batch)
                        yield batch.columns
                self.blank_lines = blocks.lines - self.rows
                if blocks.rest is not None:
                    yield from self._strict_batches(blocks.rest, width)
            except (pa.ArrowException, RecordError) as error:
                found = find_text_error(self.file, self.dialect)
                raise found or DataError(f"{self.file.path} cannot be read as delimited text: {error}") from None
        if not self.rows:
            raise DataError(f"{self.file.path} is empty")

    def _width(self, block: bytes) -> int:
        text = io.StringIO(block.decode(errors="replace"), newline="")
        with unlimited_field_size():
            first = next(row for row in csv_reader(text, self.dialect.separator, self.dialect.quote) if row)
        self._check_width(1, len(first), 0)
        return len(first)

    def _check_width(self, line: int, found: int, expected: int) -> None:
        if found <= max(self.columns or (0,)) or expected not in (0, found):
            raise RecordError(line, f"has {found} fields", "fix it")

    def _parse(self, block: bytes, width: int) -> pa.Table:
        names = [f"f{index}" for index in range(width)]
        included = names if self.columns is None else [names[index] for index in self.columns]
        quote: Any = self.dialect.quote or False
        return pa_csv.read_csv(
            pa.BufferReader(block),
            read_options=pa_csv.ReadOptions(column_names=names, block_size=len(block) + 1, use_threads=False),
            parse_options=pa_csv.ParseOptions(
                delimiter=self.dialect.separator, quote_char=quote, newlines_in_values=bool(quote)
            ),
            convert_options=pa_csv.ConvertOptions(
                include_columns=included, column_types=dict.fromkeys(included, pa.large_string()), null_values=[]
            ),
        )

    def _strict_batches(self, stream: Readable, width: int) -> Iterator[list[pa.Array]]:
        rows: list[list[str]] = []
        for line, row in records(stream, self.dialect, strict=True):
            if not row:
                self.blank_lines += 1
                continue
            self._check_width(line, len(row), width)
            width = len(row)
            rows.append(row)
            if len(rows) == BATCH_ROWS:
                yield self._to_arrow(rows, width)
                rows = []
        if rows:
            yield self._to_arrow(rows, width)

    def _to_arrow(self, rows: list[list[str]], width: int) -> list[pa.Array]:
        self.rows += len(rows)
        columns = range(width) if self.columns is None else self.columns
        return [strings_to_arrow([row[column] for row in rows]) for column in columns]


class WholeRecords:
    """A delimited text in blocks of bytes that end with a record, as long as its quotes have only one reading.

    ``lines`` counts the lines of these blocks, including blank ones; a line end within quotes does not count. ``rest``
    is the text from the first block on whose quotes are out of place; None if there is none. A record that is too long
    raises a `RecordError`.
    """

    def __init__(self, stream: IO[bytes], separator: str, quote: str | None, block_bytes: int) -> None:
        self.lines = 0
        self.rest: Readable | None = None
        self._stream = stream
        self._block_bytes = block_bytes
        self._quote = quote.encode() if quote else None
        self._may_adjoin_quote = np.zeros(256, dtype=bool)
        self._may_adjoin_quote[[_LF, _CR, ord(separator), *(self._quote or b"")]] = True
        self._inside = False
        self._last = _LF
        self._well_quoted = True

    def __iter__(self) -> Iterator[bytes]:
        pending: list[bytes] = []
        while block := self._stream.read(self._block_bytes):
            if self._last == _CR and not self._inside and block[0] == _LF:
                self._last, block = _LF, block[1:]  # the line ended in the previous block
                if not block:
                    continue
            lines, end = self._check(block)
            if not self._well_quoted:
                break
            if end:
                yield b"".join([*pending, block[:end]])
                pending = []
                self.lines += lines
            pending.append(block[end:])
            if sum(map(len, pending)) > MAX_LINE_BYTES:
                raise RecordError(self.lines + 1, f"is longer than {MAX_LINE_BYTES:,} bytes", "split it")
        if block or self._inside:
            self.rest = _Joined([*pending, block], self._stream)
        elif rest := b"".join(pending):
            self.lines += 1
            yield rest + b"\n"  # Arrow refuses a first block without a line end

    def _check(self, block: bytes) -> tuple[int, int]:
        """Check the quotes of a block; return its number of lines that end, and the position after the last of them."""
        if self._quote is not None and not self._inside and self._last == self._quote[0]:
            # The previous block ended with a closing quote.
            self._well_quoted &= bool(self._may_adjoin_quote[block[0]])
        if self._inside or (self._quote is not None and self._quote in block):
            lines, end = self._check_quotes(np.frombuffer(block, np.uint8))
        else:
            lines = block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")
            end = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        self._last = block[-1]
        return lines, end

    def _check_quotes(self, block: NDArray[np.uint8]) -> tuple[int, int]:
        is_quote = block == ord(self._quote or b"")
        before = np.concatenate([np.array([self._last], np.uint8), block[:-1]])
        quotes = np.flatnonzero(is_quote)
        opening, closing = quotes[int(self._inside) :: 2], quotes[int(not self._inside) :: 2]
        after = block[closing[closing + 1 < len(block)] + 1]
        self._well_quoted &= bool(self._may_adjoin_quote[before[opening]].all() and self._may_adjoin_quote[after].all())
        # Inside quotes where the number of quotes so far is odd; eight bits of the count are enough.
        inside = (np.cumsum(is_quote, dtype=np.uint8) + np.uint8(self._inside)) & 1
        is_end = ((block == _CR) | (block == _LF)) & (inside == 0)
        ends = np.flatnonzero(is_end)
        self._inside = bool(inside[-1])
        lines = int(np.count_nonzero(is_end & ~((block == _LF) & (before == _CR))))
        return lines, int(ends[-1]) + 1 if len(ends) else 0


class _Joined:
    """Some bytes, and the rest of a stream after them."""

    def __init__(self, parts: list[bytes], stream: IO[bytes]) -> None:
        self._parts = [part for part in parts if part]
        self._stream = stream

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most ``size`` of the stream."""
        return self._parts.pop(0) if self._parts else self._stream.read(size)
