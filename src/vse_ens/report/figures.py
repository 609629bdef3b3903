"""What every chart is made of around its drawing: a caption, a legend, and the figures themselves in a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from vse_ens.report.tables import Table


@dataclass(frozen=True)
class Size:
    """A drawing's width and height, in pixels at its natural scale."""

    width: int
    height: int
    name: str
    ticks: int
    """About how many numbers an axis has room for."""


WIDE = Size(900, 420, "wide", 9)
NARROW = Size(360, 320, "narrow", 5)


def figure(
    title: str,
    description: str,
    legend: Sequence[tuple[str, str]],
    draw: Callable[[Size], tuple[str, int]],
    data: Table,
) -> str:
    """A chart drawn twice, for wide and for narrow screens, of which the page shows one.

    ``draw`` gives the inside of an SVG of that width, and its height; ``legend`` has a sample and a name each.
    """
    names = "".join(f"<li>{sample}<span>{escape(name)}</span></li>" for sample, name in legend)
    drawings = "".join(_drawing(title, description, size, *draw(size)) for size in (WIDE, NARROW))
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        + (f'<ul class="legend">{names}</ul>' if names else "")
        + drawings
        + f"<details><summary>The figures behind this chart</summary>{data.html()}</details></figure>"
    )


def text(x: float, y: float, words: str, anchor: str = "start", name: str = "", turned: bool = False) -> str:
    """Words in a drawing."""
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    kind = f' class="{name}"' if name else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}{turn}>{escape(words)}</text>'


def _drawing(title: str, description: str, size: Size, inside: str, height: int) -> str:
    return (
        f'<svg class="chart {size.name}" viewBox="0 0 {size.width} {height}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{inside}</svg>"
    )
