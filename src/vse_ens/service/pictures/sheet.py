"""The sheet of drawings, ``drawings.svg``, and a painter for them.

``python -m tools.illustrations`` writes the sheet. It is SVG of four elements with plain numbers, so that Pillow can
paint it. Each drawing is an inner ``svg`` element. Its id is a kind and a name: ``label.palm-tree``, ``person.chef``,
``worn.hat``, ``sky.night``. ``data-`` attributes say how a label changes a picture, ``class`` has flags.
``data-mix="skin 0.8"`` marks a shape that has 80 % of a color that can be replaced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from PIL import Image

WIDTH, HEIGHT = 400, 300
"""The size of a picture in units."""
LAYER = 0.2
"""The scale of drawings that fill a picture: units per number of the sheet."""
FIGURE = 0.002
"""The scale of other drawings: heights per number of the sheet."""

Color = tuple[int, ...]
"""Red, green, blue, and opacity if it is not opaque."""
_NUMBERS = {"ellipse": ("cx", "cy", "rx", "ry"), "rect": ("x", "y", "width", "height", "rx")}


class Shape(NamedTuple):
    """One element of a drawing."""

    kind: str
    numbers: tuple[float, ...]
    color: Color
    end: Color = ()
    """The color at the bottom, if it changes."""
    width: float = 0.0
    part: str = ""
    """The name of the color that it takes a share of."""
    share: float = 0.0


class Drawing(NamedTuple):
    """A figure that stands at a point, or a layer of the size of the picture."""

    shapes: tuple[Shape, ...] = ()
    data: Mapping[str, str] = {}  # never changed
    flags: frozenset[str] = frozenset()


def color_of(text: str) -> Color:
    """Return the color of six hexadecimal digits, after ``#`` or not."""
    return tuple(bytes.fromhex(text.removeprefix("#")))


@cache
def read_sheet() -> Mapping[str, Drawing]:
    """Return all drawings by id; the one with an empty id has the palettes of people."""
    root = ET.parse(Path(__file__).with_name("drawings.svg")).getroot()  # noqa: S314  # a file of this package
    found = {"": Drawing(data=_data(root))}
    for element in root.iterfind("{*}svg"):
        flags = frozenset(element.get("class", "").split())
        found[element.attrib["id"]] = Drawing(tuple(map(_shape, element)), _data(element), flags)
    return found


def _data(element: ET.Element) -> dict[str, str]:
    return {name[5:]: value for name, value in element.items() if name.startswith("data-")}


def _shape(element: ET.Element) -> Shape:
    kind = element.tag.rpartition("}")[2]
    if kind in _NUMBERS:
        numbers = tuple(float(element.get(name, 0)) for name in _NUMBERS[kind])
    else:
        numbers = tuple(map(float, element.attrib["points"].split()))
    # A gradient is named after its two colors.
    first, *last = map(color_of, re.findall("[0-9a-f]{6}", element.get("fill") or element.attrib["stroke"]))
    opacity = element.get("opacity")
    color = (*first, round(255 * float(opacity))) if opacity else first
    part, _, share = element.get("data-mix", "").partition(" ")
    width = float(element.get("stroke-width", 0))
    return Shape(kind, numbers, color, last[0] if last else (), width, part, float(share or 0))


class Painter:
    """Paints drawings on a picture in units, with y down, larger than asked for and reduced at the end."""

    def __init__(self, size: int) -> None:
        from PIL import Image, ImageDraw

        self._size = size
        self._scale = (3.0 if size <= 640 else 2.0) * size / WIDTH
        self._image = Image.new("RGB", (round(WIDTH * self._scale), round(HEIGHT * self._scale)), "white")
        self._draw = ImageDraw.Draw(self._image, "RGBA")

    def finished(self) -> Image.Image:
        """Return the picture in its final size."""
        from PIL import Image

        size = (self._size, max(1, round(self._size * HEIGHT / WIDTH)))
        return self._image.resize(size, Image.Resampling.BOX if self._size > 640 else Image.Resampling.LANCZOS)

    def layer(self, drawing: Drawing, y: float = 0.0, flip: bool = False, **colors: Color) -> None:
        """Paint a drawing over the whole picture, or ``y`` units lower."""
        self.paint(drawing, WIDTH if flip else 0.0, y, LAYER, flip, **colors)

    def paint(self, drawing: Drawing, x: float, y: float, scale: float, flip: bool = False, **colors: Color) -> None:
        """Paint a drawing with its origin at a point; ``colors`` replace those of the drawing."""
        across = (-scale if flip else scale) * self._scale
        down, left, top = scale * self._scale, x * self._scale, y * self._scale
        for shape in drawing.shapes:
            numbers, color = shape.numbers, shape.color
            if shape.part in colors:
                own = color_of(drawing.data[shape.part])
                change = [shape.share * (new - old) for new, old in zip(colors[shape.part], own, strict=True)]
                color = (*(min(255, max(0, round(a + b))) for a, b in zip(color, change, strict=False)), *color[3:])
            if shape.kind in _NUMBERS:
                a, b, c, d = numbers[:4]
                if shape.kind == "ellipse":
                    a, b, c, d = a - c, b - d, 2 * c, 2 * d
                ends = sorted((left + across * a, left + across * (a + c)))
                box = [ends[0], top + down * b, ends[1], top + down * (b + d)]
                if shape.kind == "ellipse":
                    self._draw.ellipse(box, fill=color)
                elif shape.end:
                    self._gradient(box, color, shape.end)
                else:
                    self._draw.rounded_rectangle(box, radius=numbers[4] * down, fill=color)
                continue
            points = [(left + across * a, top + down * b) for a, b in zip(numbers[::2], numbers[1::2], strict=True)]
            if shape.kind == "polygon":
                self._draw.polygon(points, fill=color)
            else:
                self._line(points, color, max(1, round(max(shape.width * down, 0.6 * self._scale))))

    def _line(self, points: list[tuple[float, float]], color: Color, width: int) -> None:
        self._draw.line(points, fill=color, width=width, joint="curve")
        if len(color) == 3:  # round ends
            for x, y in (points[0], points[-1]):
                self._draw.ellipse([x - width / 2, y - width / 2, x + width / 2, y + width / 2], fill=color)

    def _gradient(self, box: list[float], first: Color, last: Color) -> None:
        start, end = round(box[1]), round(box[3])
        for row in range(start, end):
            share = (row - start) / max(1, end - start - 1)
            color = tuple(round(a + (b - a) * share) for a, b in zip(first, last, strict=True))
            self._draw.line([box[0], row, box[2], row], fill=color, width=1)
