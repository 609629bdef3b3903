"""Delimited text with positions: read it, and change fields without touching the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from vse_ens.data.collections.base import FileChange
from vse_ens.data.collections.files import BOM, count_of, decode_text
from vse_ens.data.collections.text_edits import spliced
from vse_ens.errors import DataError


class CsvText:
    """The fields of a CSV file with a header, and changes of them."""

    def __init__(self, path: Path, content: bytes, separator: str) -> None:
        self.path = path
        self._bom = BOM if content.startswith(BOM) else b""
        self._text = decode_text(path, content)
        self._separator = separator
        self._spans: list[list[tuple[int, int]]] = []
        self._splices: list[tuple[int, int, str]] = []
        self._newline = "\r\n" if "\r\n" in self._text[: 1 << 20] else "\n"
        parsed = self._parse()
        if not parsed:
            raise DataError(f"{path} is empty")
        self.header = parsed[0]
        self.rows = parsed[1:]
        """The fields of every row below the header."""

    def line(self, row: int) -> int:
        """Return the line on which a row starts."""
        return self._text.count("\n", 0, self._spans[row + 1][0][0]) + 1

    def set(self, row: int, column: int, value: str) -> None:
        """Replace a field."""
        start, end = self._spans[row + 1][column]
        self._splices.append((start, end, self._quoted(value)))

    def add_column(self, name: str, values: Mapping[int, str]) -> None:
        """Add a last column with the values of some rows; it is empty in the others."""
        for number, spans in enumerate(self._spans):
            value = values.get(number - 1, "") if number else name
            end = spans[-1][1]
            self._splices.append((end, end, self._separator + self._quoted(value)))

    def change(self) -> Iterator[FileChange]:
        """Yield the change of the file, if there is one."""
        after = spliced(self._text, self._splices)
        if after != self._text:
            yield FileChange(self.path, self._bom + self._text.encode(), self._bom + after.encode())

    def _quoted(self, value: str) -> str:
        if any(character in value for character in (self._separator, '"', "\n", "\r")):
            return '"' + value.replace('"', '""') + '"'
        return value

    def _parse(self) -> list[list[str]]:
        """Return all rows; blank lines are left out, and a row of another length is an error."""
        field = re.compile(rf'"((?:[^"]|"")*)"|([^{re.escape(self._separator)}\r\n"]*)')
        rows: list[list[str]] = []
        text, position = self._text, 0
        while position < len(text):
            if text[position] in "\r\n":
                position += 1
                continue
            row, spans = [], []
            while True:
                match = field.match(text, position)
                if match is None:
                    raise self._error(position, "has a quote that is never closed")
                row.append(match[1].replace('""', '"') if match[1] is not None else match[2])
                spans.append(match.span())
                position = match.end()
                if position == len(text) or text[position] in "\r\n":
                    break
                if text[position] != self._separator:
                    raise self._error(position, "has a quote inside a field")
                position += 1
            if rows and len(row) != len(rows[0]):
                raise self._error(spans[0][0], f"has {count_of(len(row), 'field')} where the header has {len(rows[0])}")
            rows.append(row)
            self._spans.append(spans)
        return rows

    def _error(self, position: int, reason: str) -> DataError:
        return DataError(f"{self.path}, line {self._text.count(chr(10), 0, position) + 1} {reason}; fix it")
