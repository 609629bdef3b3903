"""A canvas of 400 by 300 units and a pen with coordinates of its own, drawn large and made smaller at the end."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

WIDTH, HEIGHT = 400, 300

Colour = str | tuple[int, ...]
Point = tuple[float, float]
_MAX_SIDE = 2_600  # of the large drawing


def rgb(colour: Colour) -> tuple[int, ...]:
    """Return the components of a colour such as ``#ff8800``."""
    if isinstance(colour, tuple):
        return colour
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))


def mix(one: Colour, other: Colour, share: float) -> tuple[int, ...]:
    """Return a colour between two, ``share`` of the way to the second."""
    return tuple(round(a + (b - a) * share) for a, b in zip(rgb(one)[:3], rgb(other)[:3], strict=True))


def dark(colour: Colour, share: float = 0.2) -> tuple[int, ...]:
    """Return a darker colour."""
    return mix(colour, "#23233a", share)


def pale(colour: Colour, share: float = 0.3) -> tuple[int, ...]:
    """Return a lighter colour."""
    return mix(colour, "#ffffff", share)


def clear(colour: Colour, alpha: float) -> tuple[int, ...]:
    """Return a transparent colour; ``alpha`` 1 is opaque."""
    return (*rgb(colour)[:3], round(255 * alpha))


class Dice:
    """Random numbers that depend on a text only."""

    def __init__(self, *seed: object) -> None:
        self._seed = "\0".join(map(str, seed)).encode("utf-8", "surrogatepass")
        self._numbers = self._draw()

    def _draw(self) -> Iterator[float]:
        count = 0
        while True:
            digest = hashlib.blake2b(self._seed, digest_size=64, salt=count.to_bytes(8, "big")).digest()
            yield from (int.from_bytes(digest[at : at + 4], "big") / 2**32 for at in range(0, 64, 4))
            count += 1

    def __call__(self, low: float = 0.0, high: float = 1.0) -> float:
        """Return the next number, between ``low`` and ``high``."""
        return low + (high - low) * next(self._numbers)

    def pick(self, options: Sequence[str]) -> str:
        """Return one of some options."""
        return options[int(self() * len(options))]


class Canvas:
    """The large drawing; coordinates are units, and y points down."""

    def __init__(self, size: int) -> None:
        from PIL import Image, ImageDraw

        self._size = size
        self._scale = min(3.0 if size <= 640 else 2.0, _MAX_SIDE / size) * size / WIDTH
        self.image = Image.new("RGB", (round(WIDTH * self._scale), round(HEIGHT * self._scale)), "#ffffff")
        self._draw = ImageDraw.Draw(self.image, "RGBA")

    def finished(self) -> Image.Image:
        """Return the drawing in its final size."""
        from PIL import Image

        height = max(1, round(self._size * HEIGHT / WIDTH))
        return self.image.resize(
            (self._size, height), Image.Resampling.BOX if self._size > 640 else Image.Resampling.LANCZOS
        )

    def polygon(self, points: Sequence[Point], colour: Colour) -> None:
        """Fill a polygon."""
        self._draw.polygon([(x * self._scale, y * self._scale) for x, y in points], fill=rgb(colour))

    def ellipse(self, x: float, y: float, rx: float, ry: float, colour: Colour) -> None:
        """Fill an ellipse around a centre."""
        s = self._scale
        self._draw.ellipse([(x - rx) * s, (y - ry) * s, (x + rx) * s, (y + ry) * s], fill=rgb(colour))

    def rectangle(self, x0: float, y0: float, x1: float, y1: float, colour: Colour, radius: float = 0) -> None:
        """Fill a rectangle with round corners."""
        s = self._scale
        box = [min(x0, x1) * s, min(y0, y1) * s, max(x0, x1) * s, max(y0, y1) * s]
        self._draw.rounded_rectangle(box, radius=radius * s, fill=rgb(colour))

    def line(self, points: Sequence[Point], colour: Colour, width: float) -> None:
        """Draw a line with round ends."""
        s = self._scale
        scaled = [(x * s, y * s) for x, y in points]
        thick = max(1, round(width * s))
        self._draw.line(scaled, fill=rgb(colour), width=thick, joint="curve")
        if len(rgb(colour)) == 3:
            for x, y in (scaled[0], scaled[-1]):
                self._draw.ellipse([x - thick / 2, y - thick / 2, x + thick / 2, y + thick / 2], fill=rgb(colour))

    def gradient(
        self, top: float, bottom: float, first: Colour, last: Colour, x0: float = 0, x1: float = WIDTH
    ) -> None:
        """Fill a band with a vertical change of colour."""
        s = self._scale
        start, end = round(top * s), round(bottom * s)
        for row in range(start, end):
            share = (row - start) / max(1, end - start - 1)
            self._draw.line([x0 * s, row, x1 * s, row], fill=mix(first, last, share), width=1)

    def tint(self, colour: Colour, share: float) -> None:
        """Change all colours towards one."""
        from PIL import Image, ImageDraw

        self.image = Image.blend(self.image, Image.new("RGB", self.image.size, rgb(colour)[:3]), share)
        self._draw = ImageDraw.Draw(self.image, "RGBA")

    def glow(self, x: float, y: float, radius: float, colour: Colour, strength: float = 0.5) -> None:
        """Draw a soft light."""
        steps = 14
        for step in range(steps):
            self.ellipse(
                x, y, radius * (1 - step / steps), radius * (1 - step / steps), clear(colour, strength / steps * 1.6)
            )


class Pen:
    """Draws in units of its own: x to the right, y up from the point where a thing stands."""

    def __init__(self, canvas: Canvas, x: float, y: float, scale: float, dice: Dice, flip: bool = False) -> None:
        self.canvas = canvas
        self.x, self.y, self.scale = x, y, scale
        self.dice = dice
        self._sign = -1 if flip else 1

    def at(self, x: float, y: float, scale: float = 1.0, flip: bool = False) -> Pen:
        """Return a pen at another place, in units of this one."""
        px, py = self._point(x, y)
        return Pen(self.canvas, px, py, self.scale * scale, self.dice, (self._sign < 0) != flip)

    def _point(self, x: float, y: float) -> Point:
        return self.x + self._sign * x * self.scale, self.y - y * self.scale

    def poly(self, colour: Colour, *points: Point) -> None:
        """Fill a polygon."""
        self.canvas.polygon([self._point(*one) for one in points], colour)

    def oval(self, colour: Colour, x: float, y: float, rx: float, ry: float | None = None) -> None:
        """Fill an ellipse, or a circle."""
        self.canvas.ellipse(*self._point(x, y), rx * self.scale, (rx if ry is None else ry) * self.scale, colour)

    def box(self, colour: Colour, x0: float, y0: float, x1: float, y1: float, radius: float = 0) -> None:
        """Fill a rectangle."""
        (a, b), (c, d) = self._point(x0, y0), self._point(x1, y1)
        self.canvas.rectangle(a, b, c, d, colour, radius * self.scale)

    def line(self, colour: Colour, width: float, *points: Point) -> None:
        """Draw a line."""
        self.canvas.line([self._point(*one) for one in points], colour, max(0.6, width * self.scale))

    def blob(self, colour: Colour, *points: Point) -> None:
        """Fill a smooth shape through some points."""
        self.canvas.polygon([self._point(*one) for one in smooth(points)], colour)

    def curve(self, colour: Colour, width: float, *points: Point) -> None:
        """Draw a smooth line through some points."""
        self.canvas.line(
            [self._point(*one) for one in smooth(points, closed=False)], colour, max(0.6, width * self.scale)
        )

    def shadow(self, width: float = 0.4) -> None:
        """Draw the shadow on the ground."""
        self.oval(clear("#202040", 0.16), 0, 0.0, width, width * 0.16)


def smooth(points: Sequence[Point], closed: bool = True, steps: int = 8) -> list[Point]:
    """Return many points of a smooth curve through a few (Catmull-Rom)."""
    count = len(points)
    found: list[Point] = []
    for at in range(count if closed else count - 1):
        if closed:
            a, b, c, d = (points[(at + offset) % count] for offset in (-1, 0, 1, 2))
        else:
            a, b, c, d = (points[min(max(at + offset, 0), count - 1)] for offset in (-1, 0, 1, 2))
        for step in range(steps):
            t = step / steps
            found.append(
                tuple(  # type: ignore[arg-type]
                    0.5 * (2 * q + (r - p) * t + (2 * p - 5 * q + 4 * r - s) * t**2 + (3 * q - p - 3 * r + s) * t**3)
                    for p, q, r, s in zip(a, b, c, d, strict=True)
                )
            )
    return found if closed else [*found, points[-1]]


def circle(x: float, y: float, radius: float, count: int, turn: float = 0.0) -> list[Point]:
    """Return points on a circle."""
    return [
        (x + radius * math.cos(turn + 2 * math.pi * at / count), y + radius * math.sin(turn + 2 * math.pi * at / count))
        for at in range(count)
    ]
