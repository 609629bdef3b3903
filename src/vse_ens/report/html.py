"""A page of sections: one file without outside addresses or scripts, for wide, narrow, dark, light and paper.

    page = Page("Four models on one split", "What was compared, in a sentence or two.")
    page.add(Section("Accuracy", Paragraph("..."), Table(...), LineChart(...)))
    page.write("report.html")

Whatever is given as text is shown as that text: nothing in it is markup.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Literal, Protocol

from vse_ens import __version__
from vse_ens.errors import DataError
from vse_ens.report.style import STYLE

# What the page itself forbids a browser: to fetch or run anything.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class Block(Protocol):
    """Something a section holds: text, a table, a chart."""

    def html(self) -> str:
        """As HTML, every text escaped."""


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str

    def html(self) -> str:
        """As HTML."""
        return f"<p>{escape(self.text)}</p>"


@dataclass(frozen=True)
class Note:
    """A remark that must not be overlooked."""

    text: str
    kind: Literal["info", "warning"] = "info"

    def html(self) -> str:
        """As HTML."""
        word = {"info": "Note", "warning": "Warning"}[self.kind]
        return f'<p class="note {self.kind}" role="note"><strong>{word}:</strong> {escape(self.text)}</p>'


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: Iterable[str]

    def html(self) -> str:
        """As HTML."""
        return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in self.items) + "</ul>"


@dataclass(frozen=True)
class Code:
    """Text as a machine reads it, such as a command."""

    text: str

    def html(self) -> str:
        """As HTML."""
        return f'<pre tabindex="0"><code>{escape(self.text)}</code></pre>'


@dataclass(frozen=True)
class Facts:
    """Names and what they are."""

    rows: Iterable[tuple[str, str]]

    def html(self) -> str:
        """As HTML."""
        pairs = (f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in self.rows)
        return f'<dl class="facts">{"".join(pairs)}</dl>'


@dataclass(frozen=True)
class Fold:
    """Blocks behind a line that opens them."""

    summary: str
    blocks: tuple[Block, ...]

    def __init__(self, summary: str, *blocks: Block) -> None:
        object.__setattr__(self, "summary", summary)
        object.__setattr__(self, "blocks", blocks)

    def html(self) -> str:
        """As HTML."""
        inside = "".join(block.html() for block in self.blocks)
        return f"<details><summary>{escape(self.summary)}</summary>{inside}</details>"


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    heading: str
    blocks: tuple[Block, ...]

    def __init__(self, heading: str, *blocks: Block) -> None:
        object.__setattr__(self, "heading", heading)
        object.__setattr__(self, "blocks", blocks)


@dataclass
class Page:
    """A report: a title, a lead in a sentence or two, and sections in order."""

    title: str
    lead: str = ""
    sections: list[Section] = field(default_factory=list)

    def add(self, *sections: Section) -> Page:
        """Add sections at the end."""
        self.sections += sections
        return self

    def html(self) -> str:
        """The whole document."""
        names = [f"section-{number}" for number in range(1, len(self.sections) + 1)]
        links = "".join(
            f'<li><a href="#{name}">{escape(section.heading)}</a></li>'
            for name, section in zip(names, self.sections, strict=True)
        )
        bodies = "\n".join(
            f'<section aria-labelledby="{name}"><h2 id="{name}">{escape(section.heading)}</h2>\n'
            + "\n".join(block.html() for block in section.blocks)
            + "</section>"
            for name, section in zip(names, self.sections, strict=True)
        )
        lead = f'<p class="lead">{escape(self.lead)}</p>' if self.lead else ""
        contents = f'<nav aria-label="Contents"><ul>{links}</ul></nav>' if len(names) > 1 else ""
        return (
            "<!doctype html>\n"
            '<html lang="en"><head><meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f'<meta name="generator" content="vse-ens {escape(__version__)}">\n'
            f"<title>{escape(self.title)}</title>\n<style>{STYLE}</style></head>\n"
            f"<body><header><h1>{escape(self.title)}</h1>{lead}{contents}</header>\n"
            f"<main>\n{bodies}\n</main>\n"
            f"<footer><p>Written by vse-ens {escape(__version__)}.</p></footer></body></html>\n"
        )

    def write(self, path: str | Path) -> None:
        """Write the document, whole or not at all."""
        path = Path(path)
        partial = path.with_name(f".{path.name}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # An id may hold half of a surrogate pair, which UTF-8 cannot: it is shown by its number.
            partial.write_text(self.html(), encoding="utf-8", errors="xmlcharrefreplace")
            partial.replace(path)
        except OSError as error:
            raise DataError(f"{path} could not be written: {error.strerror or error}") from error
        finally:
            partial.unlink(missing_ok=True)
