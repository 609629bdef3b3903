"""CSV, TSV and other delimited text, read strictly: every line has as many fields as the first.

Arrow's parser accepts a quoted field that continues after its closing quote, and a stray quote may swallow lines. So
the bytes are checked on their way to it. If every opening quote follows a separator or line end, and every closing
quote precedes one, the text has only one reading. Any other text is parsed again by Python's strict, slow parser.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from vse_ens.data.io.diagnose import count_blank_lines, find_row_lines, find_text_error
from vse_ens.data.io.dialect import Dialect
from vse_ens.data.io.formats import BOM, PairsFile
from vse_ens.data.io.source import Batch
from vse_ens.errors import DataError

# Bytes parsed at a time; a longer line is an error.
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
        rows = 0
        with self._file.open() as stream:
            text = QuoteCheckedStream(stream, self.dialect.separator, self.dialect.quote)
            try:
                for images, labels in self._parse(text):
                    header = int(self.dialect.header and not rows)
                    rows += len(images)
                    yield Batch(images.slice(header), labels.slice(header))
            except pa.ArrowException as error:
                raise self._find_error() or self._unknown_error(error) from None
        if not text.well_quoted and (found := self._find_error()):
            raise found
        if self.dialect.header and rows == 1:
            raise DataError(f"{self.name} has a header and no pair below it")
        self._blank_lines = text.lines - rows if text.well_quoted else count_blank_lines(self._file, self.dialect)

    def line_numbers(self, rows: Sequence[int]) -> list[int]:
        """Return the line on which each row starts."""
        return find_row_lines(self._file, self.dialect, rows)

    def _find_error(self) -> DataError | None:
        return find_text_error(self._file, self.dialect)

    def _unknown_error(self, error: pa.ArrowException) -> DataError:
        if "straddl" in str(error):
            return DataError(f"{self.name} has a line of more than {_BLOCK:,} bytes; split it into several")
        return DataError(f"{self.name} cannot be read as delimited text: {error}")

    def _parse(self, text: QuoteCheckedStream) -> Iterator[tuple[pa.Array, pa.Array]]:
        columns = [f"f{self.dialect.columns.image}", f"f{self.dialect.columns.label}"]
        quote: Any = self.dialect.quote or False
        reader = pa_csv.open_csv(
            text,
            read_options=pa_csv.ReadOptions(autogenerate_column_names=True, block_size=_BLOCK),
            parse_options=pa_csv.ParseOptions(
                delimiter=self.dialect.separator, quote_char=quote, newlines_in_values=bool(quote)
            ),
            convert_options=pa_csv.ConvertOptions(
                include_columns=columns, column_types=dict.fromkeys(columns, pa.large_string()), null_values=[]
            ),
        )
        for batch in reader:
            yield batch.column(0), batch.column(1)


class QuoteCheckedStream:
    """A byte stream that counts line ends and checks the positions of quotes as it is read."""

    def __init__(self, stream: IO[bytes], separator: str, quote: str | None) -> None:
        self._stream = stream
        self._quote = quote.encode() if quote else None
        self._may_adjoin_quote = np.zeros(256, dtype=bool)
        self._may_adjoin_quote[[_LF, _CR, ord(separator), *(self._quote or b"")]] = True
        self._inside = False
        self._last = _LF
        self._started = False
        self._line_ends = 0
        self._well_quoted = True
        self.closed = False

    @property
    def well_quoted(self) -> bool:
        """Whether all quotes so far are next to a separator or line end, and none is open."""
        return self._well_quoted and not self._inside

    @property
    def lines(self) -> int:
        """The number of lines so far, including blank ones; a line end within quotes does not count."""
        return self._line_ends

    def read(self, size: int) -> bytes:
        """Return the next bytes, without a byte order mark, and with a line end after the last line."""
        block = self._stream.read(size)
        if not self._started:
            self._started = True
            block = block.removeprefix(BOM)
        if len(block) < size and (block or bytes([self._last]))[-1:] not in b"\r\n":
            # A short read is the last one, and the parser rejects a first block without a line end.
            block += b"\n"
        if block:
            self._check(block)
        return block

    def close(self) -> None:
        """Do nothing: the caller closes the stream it opened."""

    def _check(self, block: bytes) -> None:
        if self._quote is not None and not self._inside and self._last == self._quote[0]:
            # The previous block ended with a closing quote.
            self._well_quoted &= bool(self._may_adjoin_quote[block[0]])
        if self._inside or (self._quote is not None and self._quote in block):
            self._check_quotes(np.frombuffer(block, np.uint8))
        else:
            split_crlf = self._last == _CR and block[0] == _LF
            self._line_ends += block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n") - split_crlf
        self._last = block[-1]

    def _check_quotes(self, block: NDArray[np.uint8]) -> None:
        is_quote = block == ord(self._quote or b"")
        before = np.concatenate([np.array([self._last], np.uint8), block[:-1]])
        quotes = np.flatnonzero(is_quote)
        opening, closing = quotes[int(self._inside) :: 2], quotes[int(not self._inside) :: 2]
        after = block[closing[closing + 1 < len(block)] + 1]
        self._well_quoted &= bool(self._may_adjoin_quote[before[opening]].all() and self._may_adjoin_quote[after].all())
        # Inside quotes where the number of quotes so far is odd; eight bits of the count are enough.
        inside = (np.cumsum(is_quote, dtype=np.uint8) + np.uint8(self._inside)) & 1
        ends = (block == _CR) | ((block == _LF) & (before != _CR))
        self._line_ends += int(np.count_nonzero(ends & (inside == 0)))
        self._inside = bool(inside[-1])
