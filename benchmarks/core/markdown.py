"""The text of a report as Markdown: headings, paragraphs, lists and tables. Charts are left to the HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from textwrap import fill

from vse_ens.report.html import Block, Code, Details, Facts, Note, Page, Paragraph
from vse_ens.report.tables import Cell, Column, Table, shown

_WIDTH = 120


@dataclass(frozen=True)
class Bullets:
    """A bulleted list."""

    items: Iterable[str]

    def html(self) -> str:
        """Return the block as HTML."""
        return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in self.items) + "</ul>"


def page_markdown(page: Page, level: int = 1) -> str:
    """Return a page with its title as a heading of a ``level``."""
    parts = [f"{'#' * level} {page.title}"]
    if page.lead:
        parts.append(_wrapped(page.lead))
    for section in page.sections:
        parts.append(f"{'#' * (level + 1)} {_escape(section.heading)}")
        parts += blocks_markdown(section.blocks)
    return "\n\n".join(parts) + "\n"


def blocks_markdown(blocks: tuple[Block, ...]) -> Iterator[str]:
    """Yield the text of blocks that have one."""
    for block in blocks:
        match block:
            case Paragraph(text):
                yield _wrapped(text)
            case Note(text):
                yield _wrapped(text, "> ", "> ")
            case Bullets(items):
                yield "\n".join(_wrapped(item, "- ", "  ") for item in items)
            case Code(text):
                yield f"```\n{text}\n```"
            case Facts(rows):
                yield "\n".join(_wrapped(f"{name}: {text}", "- ", "  ") for name, text in rows)
            case Details():
                yield from blocks_markdown(block.blocks)
            case Table():
                yield table_markdown(block)


def table_markdown(table: Table) -> str:
    """Return a table below its caption; an interval, the paper's value and a note follow the value of a cell."""
    columns = [column if isinstance(column, Column) else Column(column) for column in table.columns]
    lines = [_row(column.name for column in columns), _row("---" for _ in columns)]
    for row in table.rows:
        cells = (cell if isinstance(cell, Cell) else Cell(cell) for cell in row)
        lines.append(_row(_cell(cell, column.format) for cell, column in zip(cells, columns, strict=True)))
    return (f"{_wrapped(table.caption)}\n\n" if table.caption else "") + "\n".join(lines)


def _cell(cell: Cell, style: str) -> str:
    text = shown(cell.ours, style)
    parts = [f"**{text}**" if cell.best else text]
    if cell.interval is not None:
        low, high = (shown(end, style) for end in cell.interval)
        parts[0] += f" ({low} to {high})"
    if cell.paper is not None:
        parts.append(f"paper {shown(cell.paper, style)}")
    return ", ".join(parts) + (f" ({cell.note})" if cell.note else "")


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_escape(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _wrapped(text: str, first: str = "", following: str = "") -> str:
    return fill(_escape(text), _WIDTH, initial_indent=first, subsequent_indent=following, break_long_words=False)


def _escape(text: str) -> str:
    """Keep characters that Markdown would take for markup outside of tables."""
    return text.replace("<", "&lt;")
