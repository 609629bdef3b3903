"""HTML reports: one file without external resources, for any screen, light or dark, and for print.

    page = Page("Four models on one split", "A short summary of the comparison.")
    page.add(Section("Accuracy", Paragraph("..."), Table(...), LineChart(...)))
    page.write("report.html")

All text is escaped: no markup in it is interpreted.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Literal, Protocol

from vse_ens import __version__
from vse_ens.storage.atomic import write_text

# The browser must not fetch or run anything but the page's own script and pictures.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

# Colors are variables: one set for light screens and print, one for dark screens. Series colors after Okabe and Ito
# (2008) are distinguishable with any color vision; shapes and dashes differ as well.
SERIES = 8
"""Number of different series colors."""
CHART_STYLE = "\n" + Path(__file__).with_name("chart.css").read_text(encoding="utf-8")
"""The part of the style sheet that charts need."""
STYLE = CHART_STYLE + Path(__file__).with_name("page.css").read_text(encoding="utf-8")


class Block(Protocol):
    """Content of a section: text, a table or a chart."""

    def html(self) -> str:
        """Return HTML with all text escaped."""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of text."""

    text: str

    def html(self) -> str:
        """Return the block as HTML."""
        return f"<p>{escape(self.text)}</p>"


@dataclass(frozen=True)
class Note:
    """A highlighted note or warning."""

    text: str
    kind: Literal["info", "warning"] = "info"

    def html(self) -> str:
        """Return the block as HTML."""
        word = {"info": "Note", "warning": "Warning"}[self.kind]
        return f'<p class="note {self.kind}" role="note"><strong>{word}:</strong> {escape(self.text)}</p>'


@dataclass(frozen=True)
class Code:
    """Preformatted text, such as a command."""

    text: str

    def html(self) -> str:
        """Return the block as HTML."""
        return f'<pre tabindex="0"><code>{escape(self.text)}</code></pre>'


@dataclass(frozen=True)
class Facts:
    """A list of names with descriptions."""

    rows: Iterable[tuple[str, str]]

    def html(self) -> str:
        """Return the block as HTML."""
        pairs = (f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in self.rows)
        return f'<dl class="facts">{"".join(pairs)}</dl>'


class Details:
    """Blocks that are hidden until the summary is clicked."""

    def __init__(self, summary: str, *blocks: Block) -> None:
        self.summary = summary
        self.blocks = blocks

    def html(self) -> str:
        """Return the block as HTML."""
        inside = "".join(block.html() for block in self.blocks)
        return f"<details><summary>{escape(self.summary)}</summary>{inside}</details>"


class Columns:
    """Blocks beside each other where the screen is wide enough."""

    def __init__(self, *blocks: Block) -> None:
        self.blocks = blocks

    def html(self) -> str:
        """Return the block as HTML."""
        return '<div class="columns">' + "".join(f"<div>{block.html()}</div>" for block in self.blocks) + "</div>"


class Section:
    """A heading with blocks."""

    def __init__(self, heading: str, *blocks: Block) -> None:
        self.heading = heading
        self.blocks = blocks


@dataclass
class Page:
    """A report: a title, a short summary, and sections."""

    title: str
    lead: str = ""
    sections: list[Section] = field(default_factory=list)
    style: str = ""
    """Further rules of the style sheet."""
    script: str = ""
    """JavaScript that runs at the end of the page; the browser runs no other."""
    pictures: bool = False
    """Whether the page shows pictures, which may be ``data:`` URLs or on other servers."""
    head: list[Block] = field(default_factory=list)
    """Blocks between the summary and the contents."""

    @property
    def _policy(self) -> str:
        digest = b64encode(sha256(self.script.encode()).digest()).decode()
        script = f"; script-src 'sha256-{digest}'" if self.script else ""
        return _POLICY + script + ("; img-src data: https: http:" if self.pictures else "")

    def add(self, *sections: Section) -> Page:
        """Append sections and return the page."""
        self.sections += sections
        return self

    def html(self) -> str:
        """Return the whole document."""
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
        head = "".join(block.html() for block in self.head)
        script = f"<script>{self.script}</script>" if self.script else ""
        contents = f'<nav aria-label="Contents"><ul>{links}</ul></nav>' if len(names) > 1 else ""
        return (
            "<!doctype html>\n"
            '<html lang="en"><head><meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{self._policy}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f'<meta name="generator" content="vse-ens {escape(__version__)}">\n'
            f"<title>{escape(self.title)}</title>\n<style>{STYLE}{self.style}</style></head>\n"
            f"<body><header><h1>{escape(self.title)}</h1>{lead}{head}{contents}</header>\n"
            f"<main>\n{bodies}\n</main>\n"
            f"<footer><p>Written by vse-ens {escape(__version__)}.</p></footer>{script}</body></html>\n"
        )

    def write(self, path: str | Path) -> None:
        """Write the document, atomically."""
        # An id may contain half of a surrogate pair, which UTF-8 cannot encode: its number is shown instead.
        write_text(Path(path), self.html(), errors="xmlcharrefreplace")


def in_notebook(html: str) -> str:
    """Return HTML of a block with the style sheet of reports, for the output of a notebook's cell.

    Rules are nested, so that they hold for this block only. It has a background of its own, since the theme of a
    notebook may differ from that of the system.
    """
    own = "background:var(--paper);color:var(--ink);padding:.5rem 1rem;border-radius:.3rem"
    return (
        f'<div class="vse-ens-report"><style>.vse-ens-report{{{STYLE.replace(":root", "&")}{own}}}</style>{html}</div>'
    )
