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
class Bullets:
    """A bulleted list."""

    items: Iterable[str]

    def html(self) -> str:
        """Return the block as HTML."""
        return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in self.items) + "</ul>"


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


@dataclass(frozen=True)
class Details:
    """Blocks that are hidden until the summary is clicked."""

    summary: str
    blocks: tuple[Block, ...]

    def __init__(self, summary: str, *blocks: Block) -> None:
        object.__setattr__(self, "summary", summary)
        object.__setattr__(self, "blocks", blocks)

    def html(self) -> str:
        """Return the block as HTML."""
        inside = "".join(block.html() for block in self.blocks)
        return f"<details><summary>{escape(self.summary)}</summary>{inside}</details>"


@dataclass(frozen=True)
class Columns:
    """Blocks beside each other where the screen is wide enough."""

    blocks: tuple[Block, ...]

    def __init__(self, *blocks: Block) -> None:
        object.__setattr__(self, "blocks", blocks)

    def html(self) -> str:
        """Return the block as HTML."""
        return '<div class="columns">' + "".join(f"<div>{block.html()}</div>" for block in self.blocks) + "</div>"


@dataclass(frozen=True)
class Section:
    """A heading with blocks."""

    heading: str
    blocks: tuple[Block, ...]

    def __init__(self, heading: str, *blocks: Block) -> None:
        object.__setattr__(self, "heading", heading)
        object.__setattr__(self, "blocks", blocks)


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


# Style sheet. Colours are variables: one set for light screens and print, one for dark screens.

# Series colours after Okabe and Ito (2008), distinguishable with any colour vision; shapes and dashes differ as well.
_LIGHT = ("#0072b2", "#c44e00", "#00805d", "#a84a85", "#8a6a00", "#2b8cc4", "#5a4fb0", "#4d4d4d")
_DARK = ("#56b4e9", "#ff9248", "#2fc79b", "#e59ac6", "#f0c04a", "#9fd4f5", "#b3a8ff", "#c9c9c9")

SERIES = len(_LIGHT)
"""Number of different series colours."""


def _variables(colours: tuple[str, ...], **others: str) -> str:
    series = {f"series-{number}": colour for number, colour in enumerate(colours)}
    return "".join(f"--{name}:{value};" for name, value in (others | series).items())


_LIGHT_THEME = _variables(
    _LIGHT,
    paper="#ffffff",
    raised="#f5f7f9",
    ink="#1b2127",
    faint="#5a6672",
    line="#d5dce2",
    accent="#0b63a5",
    best="#e4f3ec",
    info="#0b63a5",
    warning="#a34700",
)
_DARK_THEME = _variables(
    _DARK,
    paper="#14181c",
    raised="#1c2228",
    ink="#e7ebee",
    faint="#a0abb5",
    line="#37414a",
    accent="#7cc0f5",
    best="#17352a",
    info="#7cc0f5",
    warning="#ffab66",
)

_SERIES_RULES = "".join(f".s{number}{{--own:var(--series-{number})}}" for number in range(SERIES))

CHART_STYLE = f"""
:root{{color-scheme:light dark;{_LIGHT_THEME}}}
@media (prefers-color-scheme:dark){{:root{{{_DARK_THEME}}}}}
@media print{{:root{{{_LIGHT_THEME}}}}}
{_SERIES_RULES}
.chart text{{font-size:13px;fill:var(--faint);font-family:inherit}}
.chart text.name{{fill:var(--ink);font-weight:600}}
.chart text.value{{fill:var(--ink)}}
.grid{{stroke:var(--line);stroke-width:1}}
.axis{{stroke:var(--faint);stroke-width:1}}
.curve{{fill:none;stroke:var(--own);stroke-width:2.25;stroke-linejoin:round;stroke-linecap:round}}
.level{{stroke:var(--own);stroke-width:1.25;stroke-dasharray:2 4;opacity:.8}}
.band{{fill:var(--own);opacity:.15}}
.mark{{fill:var(--own);stroke:var(--paper);stroke-width:1}}
.bar{{fill:var(--own)}}
.whisker{{stroke:var(--ink);stroke-width:1.5}}
"""
"""The part of the style sheet that charts need."""

STYLE = f"""{CHART_STYLE}*{{box-sizing:border-box}}
body{{margin:0 auto;padding:1.5rem clamp(1rem,4vw,3rem);max-width:76rem;background:var(--paper);color:var(--ink);
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif;overflow-wrap:break-word}}
h1{{font-size:clamp(1.5rem,4.5vw,2.1rem);line-height:1.2;margin:.5rem 0 .75rem;text-wrap:balance}}
h2{{font-size:1.3rem;line-height:1.3;margin:2.5rem 0 .75rem;padding-top:1rem;border-top:1px solid var(--line)}}
p,ul,.facts,.note{{max-width:48rem}}
p{{margin:.6rem 0}}
.lead{{font-size:1.1rem;color:var(--faint)}}
a{{color:var(--accent)}}
nav ul{{display:flex;flex-wrap:wrap;gap:.3rem 1.25rem;list-style:none;margin:1rem 0 0;padding:0;max-width:none}}
.note{{border-left:4px solid var(--info);background:var(--raised);padding:.6rem .9rem;border-radius:0 .3rem .3rem 0}}
.note strong{{color:var(--info)}}
.note.warning{{border-color:var(--warning)}}
.note.warning strong{{color:var(--warning)}}
pre{{overflow-x:auto;background:var(--raised);border:1px solid var(--line);border-radius:.3rem;padding:.7rem .9rem;
font-size:.9rem}}
code{{font-family:ui-monospace,"SF Mono",Menlo,"DejaVu Sans Mono",monospace}}
.facts{{margin:.8rem 0}}
.facts div{{display:grid;grid-template-columns:minmax(7rem,11rem) 1fr;gap:0 1rem;padding:.25rem 0}}
.facts dt{{color:var(--faint)}}
.facts dd{{margin:0;overflow-wrap:anywhere}}
.scroll{{overflow-x:auto;margin:1rem 0}}
table{{border-collapse:separate;border-spacing:0;font-variant-numeric:tabular-nums;font-size:.95rem}}
caption{{text-align:left;color:var(--faint);padding:0 0 .5rem;font-size:.9rem}}
caption span{{display:block;position:sticky;left:0;max-width:min(48rem,calc(100vw - 2.5rem))}}
th,td{{text-align:left;vertical-align:top;padding:6px 14px 6px 0;line-height:22px;
border-bottom:1px solid var(--line)}}
th+th,td{{padding-left:6px}}
thead th{{vertical-align:bottom;font-size:.85rem;border-bottom:2px solid var(--line);white-space:nowrap}}
tbody th{{font-weight:600;position:sticky;left:0;background:var(--paper);max-width:14rem;min-width:6.5rem}}
.number{{text-align:right;white-space:nowrap}}
td.best{{background:var(--best)}}
td small,th small{{display:block;color:var(--faint);font-weight:400;font-size:.78rem;line-height:18px}}
td small:not(.interval,.paper),th small{{white-space:normal}}
small.paper{{color:var(--accent)}}
figure{{margin:1.25rem 0;max-width:60rem}}
figcaption{{font-weight:600;margin-bottom:.25rem}}
.legend{{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;list-style:none;margin:.25rem 0 .5rem;padding:0;font-size:.9rem;
max-width:none}}
.legend li{{display:flex;align-items:center;gap:.4rem;overflow-wrap:anywhere}}
.legend svg{{height:14px;flex:none}}
.chart{{display:block;width:100%;height:auto}}
.narrow{{display:none}}
@container (max-width:640px){{.wide{{display:none}}.narrow{{display:block;max-width:27rem}}}}
@media (max-width:640px){{.wide{{display:none}}.narrow{{display:block}}
.facts div{{grid-template-columns:1fr}}th,td{{padding-right:10px}}tbody th{{max-width:8.5rem}}}}
.columns{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:0 2.5rem;
align-items:start}}
.columns>div{{min-width:0;container-type:inline-size}}
[hidden]{{display:none!important}}
details{{margin:.5rem 0}}
summary{{cursor:pointer;color:var(--accent);font-size:.9rem}}
footer{{margin-top:3rem;border-top:1px solid var(--line);color:var(--faint);font-size:.85rem}}
:focus-visible{{outline:2px solid var(--accent);outline-offset:2px}}
@media print{{body{{max-width:none;padding:0;font-size:10pt}}nav,summary{{display:none}}.scroll{{overflow:visible}}
table,thead th,caption{{font-size:8pt}}th,td{{padding:2pt 4pt 2pt 0;line-height:1.3}}
td small,th small{{font-size:6.5pt;line-height:1.2}}
thead th,small.interval{{white-space:normal}}
figure,tr,.note{{break-inside:avoid}}h2{{break-after:avoid}}.bar,.mark,td.best{{print-color-adjust:exact;
-webkit-print-color-adjust:exact}}}}
"""
