"""A canvas of 400 by 300 units that records shapes, and a pen with coordinates of its own."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 400, 300

Color = str | tuple[int, ...]
Point = tuple[float, float]


def rgb(color: Color) -> tuple[int, ...]:
    """Return the components of a color such as ``#ff8800``."""
    if isinstance(color, tuple):
        return color
    return tuple(int(color[at : at + 2], 16) for at in (1, 3, 5))


def mix(one: Color, other: Color, share: float) -> tuple[int, ...]:
    """Return a color between two, ``share`` of the way to the second."""
    return tuple(round(a + (b - a) * share) for a, b in zip(rgb(one)[:3], rgb(other)[:3], strict=True))


def dark(color: Color, share: float = 0.2) -> tuple[int, ...]:
    """Return a darker color."""
    return mix(color, "#23233a", share)


def pale(color: Color, share: float = 0.3) -> tuple[int, ...]:
    """Return a lighter color."""
    return mix(color, "#ffffff", share)


def clear(color: Color, alpha: float) -> tuple[int, ...]:
    """Return a transparent color; ``alpha`` 1 is opaque."""
    return (*rgb(color)[:3], round(255 * alpha))


class Dice:
    """Random numbers that depend on texts only."""

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


class Shape(NamedTuple):
    """One filled shape, or a line with a width."""

    kind: str
    """``polygon``, ``ellipse``, ``rect`` or ``polyline``."""
    numbers: tuple[float, ...]
    """Points x, y of a polygon or line; center and radii; left, top, width, height and the radius of the corners."""
    color: tuple[int, ...]
    width: float = 0.0


class Canvas:
    """Records shapes; y points down."""

    def __init__(self) -> None:
        self.shapes: list[Shape] = []

    def polygon(self, points: Sequence[Point], color: Color) -> None:
        """Fill a polygon."""
        self.shapes.append(Shape("polygon", tuple(number for point in points for number in point), rgb(color)))

    def ellipse(self, x: float, y: float, rx: float, ry: float, color: Color) -> None:
        """Fill an ellipse around a center."""
        self.shapes.append(Shape("ellipse", (x, y, rx, ry), rgb(color)))

    def rectangle(self, x0: float, y0: float, x1: float, y1: float, color: Color, radius: float = 0) -> None:
        """Fill a rectangle with round corners."""
        box = (min(x0, x1), min(y0, y1), abs(x1 - x0), abs(y1 - y0), radius)
        self.shapes.append(Shape("rect", box, rgb(color)))

    def line(self, points: Sequence[Point], color: Color, width: float) -> None:
        """Draw a line with round ends."""
        numbers = tuple(number for point in points for number in point)
        self.shapes.append(Shape("polyline", numbers, rgb(color), width=width))

    def gradient(self, top: float, bottom: float, first: Color, last: Color) -> None:
        """Fill a band with a vertical change of color, in steps that the eye does not see."""
        steps = max(abs(a - b) for a, b in zip(rgb(first), rgb(last), strict=True)) or 1
        for step in range(steps):
            start = top + (bottom - top) * step / steps
            self.rectangle(0, start, WIDTH, bottom, mix(first, last, step / max(1, steps - 1)))

    def tint(self, color: Color, share: float) -> None:
        """Change all colors toward one."""
        self.rectangle(0, 0, WIDTH, HEIGHT, clear(color, share))

    def glow(self, x: float, y: float, radius: float, color: Color, strength: float = 0.5) -> None:
        """Draw a soft light."""
        steps = 14
        for step in range(steps):
            self.ellipse(
                x, y, radius * (1 - step / steps), radius * (1 - step / steps), clear(color, strength / steps * 1.6)
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

    def poly(self, color: Color, *points: Point) -> None:
        """Fill a polygon."""
        self.canvas.polygon([self._point(*one) for one in points], color)

    def oval(self, color: Color, x: float, y: float, rx: float, ry: float | None = None) -> None:
        """Fill an ellipse, or a circle."""
        self.canvas.ellipse(*self._point(x, y), rx * self.scale, (rx if ry is None else ry) * self.scale, color)

    def box(self, color: Color, x0: float, y0: float, x1: float, y1: float, radius: float = 0) -> None:
        """Fill a rectangle."""
        (a, b), (c, d) = self._point(x0, y0), self._point(x1, y1)
        self.canvas.rectangle(a, b, c, d, color, radius * self.scale)

    def line(self, color: Color, width: float, *points: Point) -> None:
        """Draw a line."""
        self.canvas.line([self._point(*one) for one in points], color, max(0.6, width * self.scale))

    def blob(self, color: Color, *points: Point) -> None:
        """Fill a smooth shape through some points."""
        self.canvas.polygon([self._point(*one) for one in smooth(points)], color)

    def curve(self, color: Color, width: float, *points: Point) -> None:
        """Draw a smooth line through some points."""
        self.canvas.line(
            [self._point(*one) for one in smooth(points, closed=False)], color, max(0.6, width * self.scale)
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
