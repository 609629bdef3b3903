"""CSV, TSV and other delimited text, read strictly: every line has as many fields as the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from vse_ens.data.diagnose import count_blank_lines, lines_of_rows, text_fault
from vse_ens.data.formats import PairsFile
from vse_ens.data.header import Dialect
from vse_ens.data.quoting import WatchedText
from vse_ens.data.source import Batch
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
            text = WatchedText(stream, self._dialect.separator, self._dialect.quote)
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

    def _parse(self, text: WatchedText) -> Iterator[tuple[pa.Array, pa.Array]]:
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
