"""CSV, TSV and other delimited text, read strictly: every line has as many fields as the first.

Whether the quotes of a delimited text are where they belong.

The fast parser takes a quoted field that goes on after its closing quote as it comes, and a stray quote may swallow
lines. So the bytes are watched on their way to it: where every opening quote follows a separator or line end, and every
closing quote comes before one, the text can be read in one way only. Any other text is left to a strict, slow parser.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from vse_ens.data.io.dialect import Dialect
from vse_ens.data.io.formats import BOM, PairsFile
from vse_ens.data.io.source import Batch, count_blank_lines, lines_of_rows, text_fault
from vse_ens.errors import DataError

# Bytes parsed at a time; a line that is longer is taken for a fault.
_BLOCK = 1 << 20


class DelimitedSource:
    """The rows of a delimited text file, everything in them text."""

    unit = "line"
    expected_rows = 1 << 16

    def __init__(self, file: PairsFile, dialect: Dialect) -> None:
        self.name = str(file.path)
        self._file = file
        self._dialect = dialect
        self._blank_lines = 0

    @property
    def notes(self) -> Sequence[str]:
        """How the file was taken, and how many blank lines it has."""
        blank = f"passed over {self._blank_lines:,} blank line{'s' if self._blank_lines > 1 else ''}"
        return (*self._dialect.notes, *([blank] if self._blank_lines else []))

    def batches(self) -> Iterator[Batch]:
        """All rows but the header, in order."""
        rows = 0
        with self._file.open() as stream:
            text = QuoteCheckedStream(stream, self._dialect.separator, self._dialect.quote)
            try:
                for images, labels in self._parse(text):
                    header = int(self._dialect.header and not rows)
                    rows += len(images)
                    yield Batch(images.slice(header), labels.slice(header))
            except pa.ArrowException as error:
                raise self._fault() or self._unexplained(error) from None
        if not text.well_quoted and (fault := self._fault()):
            raise fault
        if self._dialect.header and rows == 1:
            raise DataError(f"{self.name} has a header and no pair below it")
        self._blank_lines = text.lines - rows if text.well_quoted else count_blank_lines(self._file, self._dialect)

    def places(self, rows: Sequence[int]) -> list[int]:
        """The physical line each row starts on."""
        return lines_of_rows(self._file, self._dialect, rows)

    def _fault(self) -> DataError | None:
        return text_fault(self._file, self._dialect)

    def _unexplained(self, error: pa.ArrowException) -> DataError:
        if "straddl" in str(error):
            return DataError(f"{self.name} has a line of more than {_BLOCK:,} bytes; write it in several")
        return DataError(f"{self.name} cannot be read as delimited text: {error}")

    def _parse(self, text: QuoteCheckedStream) -> Iterator[tuple[pa.Array, pa.Array]]:
        columns = [f"f{self._dialect.columns.image}", f"f{self._dialect.columns.label}"]
        quote: Any = self._dialect.quote or False
        reader = pa_csv.open_csv(
            text,
            read_options=pa_csv.ReadOptions(autogenerate_column_names=True, block_size=_BLOCK),
            parse_options=pa_csv.ParseOptions(
                delimiter=self._dialect.separator, quote_char=quote, newlines_in_values=bool(quote)
            ),
            convert_options=pa_csv.ConvertOptions(
                include_columns=columns, column_types=dict.fromkeys(columns, pa.large_string()), null_values=[]
            ),
        )
        for batch in reader:
            yield batch.column(0), batch.column(1)


_LF, _CR = 10, 13


class QuoteCheckedStream:
    """A byte stream that keeps count of line ends and an eye on quotes as it is read."""

    def __init__(self, stream: IO[bytes], separator: str, quote: str | None) -> None:
        self._stream = stream
        self._quote = quote.encode() if quote else None
        self._beside_quotes = np.zeros(256, dtype=bool)
        self._beside_quotes[[_LF, _CR, ord(separator), *(self._quote or b"")]] = True
        self._inside = False
        self._last = _LF
        self._started = False
        self._line_ends = 0
        self._well_quoted = True
        self.closed = False

    @property
    def well_quoted(self) -> bool:
        """Whether all quotes so far are where they belong, and none is open."""
        return self._well_quoted and not self._inside

    @property
    def lines(self) -> int:
        """Lines so far, blank ones included; a line end within quotes ends no line."""
        return self._line_ends

    def read(self, size: int) -> bytes:
        """The next bytes, without a byte order mark, and with an end to the last line."""
        block = self._stream.read(size)
        if not self._started:
            self._started = True
            block = block.removeprefix(BOM)
        if len(block) < size and (block or bytes([self._last]))[-1:] not in b"\r\n":
            block += (
                b"\n"  # a short read is the last one, and the parser does not take a first block without a line end
            )
        if block:
            self._watch(block)
        return block

    def close(self) -> None:
        """Nothing to do: whoever opened the stream closes it."""

    def _watch(self, block: bytes) -> None:
        if self._quote is not None and not self._inside and self._last == self._quote[0]:
            # The block before ended with a closing quote.
            self._well_quoted &= bool(self._beside_quotes[block[0]])
        if self._inside or (self._quote is not None and self._quote in block):
            self._watch_quotes(np.frombuffer(block, np.uint8))
        else:
            split_crlf = self._last == _CR and block[0] == _LF
            self._line_ends += block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n") - split_crlf
        self._last = block[-1]

    def _watch_quotes(self, block: NDArray[np.uint8]) -> None:
        is_quote = block == ord(self._quote or b"")
        before = np.concatenate([np.array([self._last], np.uint8), block[:-1]])
        places = np.flatnonzero(is_quote)
        opening, closing = places[int(self._inside) :: 2], places[int(not self._inside) :: 2]
        after = block[closing[closing + 1 < len(block)] + 1]
        self._well_quoted &= bool(self._beside_quotes[before[opening]].all() and self._beside_quotes[after].all())
        # Inside where the number of quotes so far is odd; eight bits of the count are enough for that.
        inside = (np.cumsum(is_quote, dtype=np.uint8) + np.uint8(self._inside)) & 1
        ends = (block == _CR) | ((block == _LF) & (before != _CR))
        self._line_ends += int(np.count_nonzero(ends & (inside == 0)))
        self._inside = bool(inside[-1])
