"""Results as short tables: text for a prompt, HTML for a notebook.

    class Answers(ResultList[Answer]):
        def _tables(self): return [Table(("label", "score"), [(one.label, one.score) for one in self])]

Numbers are rounded and long lists are cut, in what is shown only. All text is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import SupportsIndex, TypeVar, overload

Value = str | int | float | None
T = TypeVar("T")

MAX_ROWS = 20
"""Rows that are shown of each table."""
_MAX_TEXT = 80  # characters of a cell in text

# Colors follow the notebook, light or dark; lines and bars are translucent.
_STYLE = Path(__file__).with_name("display.css").read_text(encoding="utf-8").replace("\n", "")


@dataclass(frozen=True)
class Table:
    """Named columns and rows of values."""

    names: Sequence[str]
    rows: Sequence[Sequence[Value]]
    title: str = ""
    bars: Sequence[str] = ()
    """Columns of shares, from 0 to 1, that HTML shows with a bar."""
    more: int = 0
    """Rows that were cut."""
    note: str = ""
    """A sentence below the table."""

    def cut(self, most: int = MAX_ROWS) -> Table:
        """Return the table with at most ``most`` rows."""
        rows = list(self.rows)
        return replace(self, rows=rows[:most], more=self.more + max(0, len(rows) - most))

    def text(self) -> str:
        """Return the table as aligned text."""
        numeric = [any(isinstance(row[column], int | float) for row in self.rows) for column in range(len(self.names))]
        cells = [[short(value) for value in row] for row in self.rows]
        lines = aligned([list(self.names), *cells], numeric) if cells and any(self.names) else aligned(cells, numeric)
        return "\n".join([*([_printable(self.title)] if self.title else []), *lines, *map(_printable, self._after())])

    def html(self) -> str:
        """Return the table as HTML."""
        head = "".join(f"<th{_class(self.rows, index)}>{escape(name)}</th>" for index, name in enumerate(self.names))
        body = "".join(
            "<tr>" + "".join(self._cell(name, value) for name, value in zip(self.names, row, strict=True)) + "</tr>"
            for row in self.rows
        )
        caption = f"<caption>{_encodable(self.title)}</caption>" if self.title else ""
        heads = f"<thead><tr>{head}</tr></thead>" if any(self.names) and self.rows else ""
        after = "".join(f"<p>{_encodable(line)}</p>" for line in self._after())
        return f"<table>{caption}{heads}<tbody>{body}</tbody></table>{after}"

    def _cell(self, name: str, value: Value) -> str:
        text = _encodable(value if isinstance(value, str) else short(value))
        if not isinstance(value, int | float):
            return f"<td>{text}</td>"
        if name not in self.bars:
            return f'<td class="n">{text}</td>'
        return f'<td class="n bar" style="--share:{min(1.0, max(0.0, value)):.0%}">{text}</td>'

    def _after(self) -> list[str]:
        cut = [f"... and {self.more:,} more"] if self.more else []
        return [*cut, *([self.note] if self.note else [])]


class TableRepr:
    """A result that is shown as tables; a subclass defines `_tables`."""

    def _tables(self) -> Sequence[Table]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return "\n\n".join(table.cut().text() for table in self._tables())

    def _repr_html_(self) -> str:
        tables = "".join(table.cut().html() for table in self._tables())
        return f'<div class="vse-ens"><style>{_STYLE}</style>{tables}</div>'


class ResultList(TableRepr, list[T]):
    """A list that is shown as a table; so is a slice of it."""

    @overload
    def __getitem__(self, index: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> ResultList[T]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> T | ResultList[T]:
        if isinstance(index, slice):
            return type(self)(super().__getitem__(index))
        return super().__getitem__(index)

    def __repr__(self) -> str:
        return super().__repr__() if self else "[]"


def short(value: Value) -> str:
    """Return a value as short text: numbers rounded, control characters escaped, long text cut."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, int):
        return f"{value:,}"
    text = _printable(value)
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 3]}..."


def _printable(text: str) -> str:
    """Escape control characters: an id must not move the cursor."""
    return text if text.isprintable() else repr(text)[1:-1]


def rounded(value: float) -> str:
    """Return a number with three decimals; small and large ones with three digits."""
    return f"{value:.3f}" if value == 0 or 1e-3 <= abs(value) < 1e6 else f"{value:.3g}"


def aligned(rows: Sequence[Sequence[str]], right: Sequence[bool] | None = None) -> list[str]:
    """Align columns of text: to the right where ``right`` says so, which is all columns but the first by default."""
    if not rows:
        return []
    right = [column > 0 for column in range(len(rows[0]))] if right is None else right
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.rjust(width) if side else text.ljust(width)
            for text, width, side in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]


def _class(rows: Sequence[Sequence[Value]], column: int) -> str:
    return ' class="n"' if any(isinstance(row[column], int | float) for row in rows) else ""


def _encodable(text: str) -> str:
    """Escape text for HTML; half of a surrogate pair, which UTF-8 cannot encode, becomes its number."""
    return escape(text).encode("utf-8", "xmlcharrefreplace").decode()
