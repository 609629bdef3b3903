"""The sheet of drawings, ``drawings.svg``, and a painter for them.

``python -m tools.illustrations`` writes the sheet. It is SVG of four elements with plain numbers and colors, so that
Pillow can paint it. Each drawing is an inner ``svg`` element. Its id is a kind and a name: ``label.palm-tree``,
``person.chef``, ``worn.hat``, ``sky.night``. ``data-`` attributes say how it changes a picture, ``class`` has flags.
``data-mix="skin 0.8"`` marks a shape that has 80 % of a color that can be replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from PIL import Image

WIDTH, HEIGHT = 400, 300
"""The size of a picture in units."""
# The scale of drawings that fill a picture, and of others: units, or heights, per number of the sheet.
_LAYER, _FIGURE = 0.2, 0.002

Color = tuple[int, ...]
"""Red, green, blue, and opacity if it is not opaque."""
_NUMBERS = {"ellipse": ("cx", "cy", "rx", "ry"), "rect": ("x", "y", "width", "height", "rx")}


class Shape(NamedTuple):
    """One element of a drawing."""

    kind: str
    numbers: tuple[float, ...]
    color: Color
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
    """Return all drawings by id; the one with an empty id has the colors of people and of describing words."""
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
    color, opacity = color_of(element.get("fill") or element.attrib["stroke"]), element.get("opacity")
    if opacity:
        color = (*color, round(255 * float(opacity)))
    part, _, share = element.get("data-mix", "").partition(" ")
    return Shape(kind, numbers, color, float(element.get("stroke-width", 0)), part, float(share or 0))


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

    def layer(self, drawing: Drawing, flip: bool = False) -> None:
        """Paint a drawing over the whole picture."""
        across = -_LAYER if flip else _LAYER
        for shape in drawing.shapes:
            self._paint(shape, shape.color, WIDTH if flip else 0.0, 0.0, across, _LAYER)

    def paint(self, drawing: Drawing, x: float, y: float, height: float, **colors: Color) -> None:
        """Paint a figure of a height that stands at a point; ``colors`` replace those of the drawing."""
        scale = height * _FIGURE
        for shape in drawing.shapes:
            color = shape.color
            if shape.part in colors:
                own = color_of(drawing.data[shape.part])
                change = [shape.share * (new - old) for new, old in zip(colors[shape.part], own, strict=True)]
                color = (*(min(255, max(0, round(a + b))) for a, b in zip(color, change, strict=False)), *color[3:])
            self._paint(shape, color, x, y, scale, scale)

    def _paint(self, shape: Shape, color: Color, x: float, y: float, across: float, down: float) -> None:
        """Paint a shape with its origin at a point; ``across`` and ``down`` are units per number."""
        numbers = shape.numbers
        if shape.kind == "ellipse":
            a, b, c, d = numbers
            numbers = (a - c, b - d, a + c, b + d)
        elif shape.kind == "rect":
            a, b, c, d, _ = numbers
            numbers = (a, b, a + c, b + d)
        points = [
            (self._scale * (x + across * a), self._scale * (y + down * b))
            for a, b in zip(numbers[::2], numbers[1::2], strict=True)
        ]
        if shape.kind == "polygon":
            self._draw.polygon(points, fill=color)
        elif shape.kind == "polyline":
            width = max(1, round(self._scale * max(shape.width * down, 0.6)))
            self._draw.line(points, fill=color, width=width, joint="curve")
            for one, other in (points[0], points[-1]) if len(color) == 3 else ():  # round ends
                self._draw.ellipse([one - width / 2, other - width / 2, one + width / 2, other + width / 2], fill=color)
        else:
            (left, top), (right, bottom) = points
            box = [min(left, right), top, max(left, right), bottom]
            if shape.kind == "ellipse":
                self._draw.ellipse(box, fill=color)
            else:
                self._draw.rounded_rectangle(box, radius=shape.numbers[4] * self._scale * down, fill=color)
