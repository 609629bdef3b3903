"""HTML tables; a cell may show an interval and the value of the paper below its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from vse_ens.errors import ConfigError

Value = str | int | float | None


@dataclass(frozen=True)
class Column:
    """A heading, and the format specification of its numbers, such as ``".4f"``."""

    name: str
    format: str = ""
    right: bool = False
    """Whether text is aligned to the right, as numbers are."""


@dataclass(frozen=True)
class Cell:
    """A value with annotations; None is shown as a dash."""

    ours: Value
    paper: Value = None
    """The value in the paper."""
    interval: tuple[float, float] | None = None
    """Lower and upper end of an interval."""
    best: bool = False
    """Whether to highlight it."""
    note: str = ""
    """A short note below the value."""


@dataclass(frozen=True)
class Table:
    """A table; the first cell of each row is the row heading."""

    caption: str
    columns: Sequence[str | Column]
    rows: Sequence[Sequence[Value | Cell]]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ConfigError(
                    f"a row of the table {self.caption!r} has {len(row)} cells for {len(self.columns)} columns"
                )

    def html(self) -> str:
        """Return the table as HTML; on narrow screens it scrolls sideways and the first column stays visible."""
        columns = [column if isinstance(column, Column) else Column(column) for column in self.columns]
        rows = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in self.rows]
        numeric = [
            column.right or any(isinstance(row[index].ours, int | float) for row in rows)
            for index, column in enumerate(columns)
        ]
        heads = "".join(
            f'<th scope="col"{_class(number=number)}>{escape(column.name)}</th>'
            for column, number in zip(columns, numeric, strict=True)
        )
        lines = "\n".join(
            "<tr>"
            + "".join(
                _cell(cell, column.format, number, name=index == 0)
                for index, (cell, column, number) in enumerate(zip(row, columns, numeric, strict=True))
            )
            + "</tr>"
            for row in rows
        )
        return (
            f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(self.caption)}"><table>'
            f"<caption><span>{escape(self.caption)}</span></caption>\n<thead><tr>{heads}</tr></thead>\n"
            f"<tbody>\n{lines}\n</tbody></table></div>"
        )


def shown(value: Value, style: str = "") -> str:
    """Format a value as text, not escaped; by default with thousands separators and three decimals."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if style:
        return format(value, style)
    return f"{value:,}" if isinstance(value, int) or abs(value) >= 1e15 else f"{value:,.3f}"


def _cell(cell: Cell, style: str, number: bool, name: bool) -> str:
    text = escape(shown(cell.ours, style))
    if name:
        # Long names without spaces, such as lists of settings, may wrap after these characters.
        text = text.replace(",", ",<wbr>").replace(":", ":<wbr>")
    parts = [f"<strong>{text}</strong>" if cell.best else text]
    if cell.interval is not None:
        low, high = (escape(shown(end, style)) for end in cell.interval)
        parts.append(f'<small class="interval">{low} to {high}</small>')
    if cell.paper is not None:
        parts.append(f'<small class="paper">paper {escape(shown(cell.paper, style))}</small>')
    if cell.note:
        parts.append(f"<small>{escape(cell.note)}</small>")
    tag, scope = ("th", ' scope="row"') if name else ("td", "")
    return f"<{tag}{scope}{_class(number=number, best=cell.best)}>{''.join(parts)}</{tag}>"


def _class(**names: bool) -> str:
    chosen = " ".join(name for name, holds in names.items() if holds)
    return f' class="{chosen}"' if chosen else ""
