"""Tables: a caption, headings, and cells that may hold an interval and the paper's figure beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from vse_ens.errors import ConfigError

Value = str | int | float | None


@dataclass(frozen=True)
class Column:
    """A heading, and how the numbers under it are shown, as Python's `format` takes it: ``".4f"``."""

    name: str
    format: str = ""
    right: bool = False
    """Whether text under it is set flush right, as numbers are."""


@dataclass(frozen=True)
class Cell:
    """A value with what belongs to it; None is shown as a dash."""

    ours: Value
    paper: Value = None
    """The paper's figure for the same thing."""
    interval: tuple[float, float] | None = None
    """Between which figures it lies."""
    best: bool = False
    """Whether it is to stand out."""
    note: str = ""
    """A word or two below it."""


@dataclass(frozen=True)
class Table:
    """Rows under headings; the first cell of a row is its name."""

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
        """As HTML: on a narrow screen the table scrolls sideways and its first column stays."""
        columns = [column if isinstance(column, Column) else Column(column) for column in self.columns]
        rows = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in self.rows]
        numeric = [
            column.right or any(isinstance(row[place].ours, int | float) for row in rows)
            for place, column in enumerate(columns)
        ]
        heads = "".join(
            f'<th scope="col"{_class(number=number)}>{escape(column.name)}</th>'
            for column, number in zip(columns, numeric, strict=True)
        )
        lines = "\n".join(
            "<tr>"
            + "".join(
                _cell(cell, column.format, number, name=place == 0)
                for place, (cell, column, number) in enumerate(zip(row, columns, numeric, strict=True))
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
    """A value as text, not yet escaped; numbers without a style have thousands separators and three decimals."""
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
        # A long name without spaces, such as settings in a row, may go on in the next line.
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
