"""Rooms: walls, floors, and what is always on them."""

from __future__ import annotations

from collections.abc import Callable

from tools.illustrations.canvas import (
    HEIGHT,
    WIDTH,
    Canvas,
    Dice,
    clear,
    dark,
    mix,
    pale,
    smooth,
)
from tools.illustrations.places import Place
from tools.illustrations.skies import cloud

FLOOR = 196
"""Where the wall ends."""

_Decoration = Callable[[Canvas, Place, Dice], None]


def draw_room(canvas: Canvas, place: Place, dice: Dice) -> None:
    """Draw the walls and the floor of a room."""
    wall, floor, style = place.wall, place.floor, place.style
    canvas.gradient(0, FLOOR, pale(wall, 0.12), wall)
    canvas.gradient(FLOOR, HEIGHT, floor, dark(floor, 0.14))
    if style in _STYLES:
        _STYLES[style](canvas, place, dice)
    if style in ("skirting", "tiles", "panel", "garland", ""):
        canvas.rectangle(0, FLOOR - 5, WIDTH, FLOOR, pale(wall, 0.55))
    if style in ("skirting", "panel", "garland", "", "books", "bottles"):
        for at in range(-6, 16):
            middle = WIDTH / 2
            ends = [(middle + (at * 44 - middle) * 0.8, FLOOR), (middle + (at * 44 - middle) * 1.4, HEIGHT)]
            canvas.line(ends, clear(dark(floor, 0.25), 0.3), 1)


def _tiles(canvas: Canvas, place: Place, _: Dice) -> None:
    wall = place.wall
    line = clear(dark(wall, 0.2), 0.35)
    for y in range(90, FLOOR, 18):
        canvas.line([(0, y), (WIDTH, y)], line, 1)
    for x in range(0, WIDTH, 24):
        canvas.line([(x, 90), (x, FLOOR)], line, 1)


def _panel(canvas: Canvas, place: Place, _: Dice) -> None:
    wall = place.wall
    canvas.rectangle(0, 132, WIDTH, FLOOR, dark(wall, 0.1))
    canvas.rectangle(0, 128, WIDTH, 133, pale(wall, 0.35))


def _bottles(canvas: Canvas, _: Place, dice: Dice) -> None:
    for y in (58, 98):
        canvas.rectangle(60, y, 340, y + 5, "#8a6248")
        x = 66.0
        while x < 330:
            height = dice(16, 30)
            canvas.rectangle(
                x,
                y - height,
                x + 8,
                y,
                clear(dice.pick(("#5f9a6a", "#b5803f", "#a84a4f", "#c9a85a", "#6a8fb0")), 0.95),
                3,
            )
            x += dice(11, 17)
    canvas.glow(200, 70, 160, "#f2b878", 0.3)


def _books(canvas: Canvas, place: Place, dice: Dice) -> None:
    wall = place.wall
    for shelf in range(4):
        y = 34 + shelf * 42
        x = 0.0
        while x < WIDTH:
            width, height = dice(5, 10), dice(24, 34)
            canvas.rectangle(
                x,
                y - height,
                x + width - 1,
                y,
                mix(
                    dice.pick(("#b5523f", "#4f7a9a", "#c99a4a", "#6a8f6a", "#7a5f8a", "#a9745a", "#dccdb0")),
                    wall,
                    0.25,
                ),
            )
            x += width
        canvas.rectangle(0, y, WIDTH, y + 5, "#8a6444")


def _arches(canvas: Canvas, place: Place, _: Dice) -> None:
    wall = place.wall
    for x in (-10, 126, 262):
        canvas.rectangle(x + 18, 76, x + 132, FLOOR, dark(wall, 0.1))
        canvas.ellipse(x + 75, 78, 57, 60, dark(wall, 0.1))
        canvas.rectangle(x, 20, x + 18, FLOOR, pale(wall, 0.25))


def _stage(canvas: Canvas, _: Place, dice: Dice) -> None:
    for x, color in ((60, "#f2c86a"), (150, "#e07fa8"), (250, "#7fb0e0"), (340, "#b58ae0")):
        canvas.polygon([(x - 4, 0), (x + 4, 0), (x + dice(20, 60), 236), (x - dice(20, 60), 236)], clear(color, 0.26))
    canvas.rectangle(0, FLOOR + 2, WIDTH, FLOOR + 12, "#54466e")
    canvas.gradient(FLOOR + 12, HEIGHT, "#4a3d62", "#382f4c")


def _curtain(canvas: Canvas, _: Place, __: Dice) -> None:
    for at in range(16):
        canvas.rectangle(at * 25, 0, at * 25 + 25, FLOOR, "#a5363f" if at % 2 else "#93303a")
    canvas.rectangle(0, 0, WIDTH, 26, "#b5454c")
    for at in range(10):
        canvas.ellipse(at * 44 + 4, 26, 22, 12, "#b5454c")
    canvas.rectangle(0, FLOOR, WIDTH, FLOOR + 8, "#8a5a3c")


def _garland(canvas: Canvas, _: Place, __: Dice) -> None:
    for at in range(13):
        x = at * 33 - 4
        y = 18 + 10 * (1 - abs((at % 6) - 3) / 3)
        canvas.polygon(
            [(x, y), (x + 24, y), (x + 12, y + 22)], ("#e8776a", "#f2c14e", "#7fb8a0", "#7fa8d9", "#c98ab8")[at % 5]
        )


def _court(canvas: Canvas, _place: Place, dice: Dice) -> None:
    for left in range(-40, WIDTH, 40):
        canvas.line([(left, FLOOR), (left - 50, HEIGHT)], clear("#b5803f", 0.5), 1.2)
    canvas.line([(0, 226), (WIDTH, 226)], "#fbf4e4", 2)
    for _ in range(90):
        x, y = dice(0, WIDTH), dice(96, FLOOR - 8)
        canvas.ellipse(x, y, 3.2, 3.6, dice.pick(("#f2cba8", "#c98d62", "#8a5a3e", "#d9574f", "#4f86b5", "#f2c14e")))


def _shelves(canvas: Canvas, _: Place, dice: Dice) -> None:
    for row in range(4):
        y = 60 + row * 36
        x = 4.0
        while x < WIDTH - 6:
            width = dice(9, 16)
            canvas.rectangle(
                x,
                y - dice(14, 26),
                x + width - 2,
                y,
                pale(dice.pick(("#e0705a", "#f2b84c", "#6aa877", "#5a94c4", "#c98ab0", "#efe6d4")), 0.25),
                2,
            )
            x += width
        canvas.rectangle(0, y, WIDTH, y + 5, "#c2c8c6")


def _glass(canvas: Canvas, _: Place, __: Dice) -> None:
    canvas.gradient(30, FLOOR - 14, "#a9d3ea", "#e4f2f7")
    cloud(canvas, 110, 70, 0.9, "#ffffff")
    cloud(canvas, 300, 96, 0.7, "#ffffff")
    for x in range(0, WIDTH + 1, 66):
        canvas.rectangle(x - 2, 26, x + 2, FLOOR - 12, "#f4f7f8")
    canvas.rectangle(0, FLOOR - 16, WIDTH, FLOOR, "#c9d3d9")


def _underwater(canvas: Canvas, _place: Place, dice: Dice) -> None:
    canvas.gradient(0, HEIGHT, "#58b4d0", "#245a82")
    for x in (60, 170, 300):
        canvas.polygon([(x, 0), (x + 40, 0), (x + 100, HEIGHT), (x - 10, HEIGHT)], clear("#ffffff", 0.1))
    canvas.polygon(
        [
            *smooth([(0, 262), (100, 252), (220, 266), (320, 254), (WIDTH, 262)], closed=False),
            (WIDTH, HEIGHT),
            (0, HEIGHT),
        ],
        "#d9c08f",
    )
    for _ in range(26):
        canvas.ellipse(dice(0, WIDTH), dice(10, 240), dice(1, 3.4), dice(1, 3.4), clear("#ffffff", 0.4))


_STYLES: dict[str, _Decoration] = {
    "tiles": _tiles,
    "panel": _panel,
    "bottles": _bottles,
    "books": _books,
    "arches": _arches,
    "stage": _stage,
    "curtain": _curtain,
    "garland": _garland,
    "court": _court,
    "shelves": _shelves,
    "glass": _glass,
    "underwater": _underwater,
}
