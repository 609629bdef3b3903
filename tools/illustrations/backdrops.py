"""What lies at the horizon: mountains, hills, forests and towns."""

from __future__ import annotations

from collections.abc import Callable

from tools.illustrations.buildings import block, house
from tools.illustrations.canvas import WIDTH, Canvas, Color, Dice, Pen, dark, mix, pale, smooth
from tools.illustrations.nature import bush, pine, reed, round_tree
from tools.illustrations.places import Place
from tools.illustrations.skies import HORIZON, SKIES, cloud

_PLANTS: dict[str, tuple[Callable[[Pen, Color], None], tuple[float, float], tuple[str, ...]]] = {
    "forest": (pine, (58, 92), ("#5c8a68", "#4f7d60", "#6b9670")),
    "trees": (round_tree, (56, 84), ("#7fae6c", "#8ab873", "#6f9f63")),
    "bushes": (bush, (26, 40), ("#7fae6c", "#8fb873", "#6f9f63")),
    "reeds": (reed, (34, 50), ("#9aa866", "#8a9a5c")),
}
_AUTUMN = ("#d98a45", "#e0a850", "#c96f45", "#b59a50")
_CITY = ("#9fb0c4", "#b4c0cc", "#8fa3ba", "#c4c9d4")
_TOWN = ("#e0b89a", "#d9a890", "#ecd2a8", "#c9b4a4", "#dcc0b4", "#b9c4c0")


def draw_backdrop(canvas: Canvas, place: Place, dice: Dice) -> None:
    """Draw the parts of a backdrop, the farthest first."""
    for name, draw in _BACKDROPS.items():
        if name in place.backdrop:
            draw(canvas, place, dice)
    for name, (plant, heights, colors) in _PLANTS.items():
        if name in place.backdrop:
            is_autumn = "autumn" in place.backdrop or place.light == "autumn"
            _row_of_plants(canvas, place, dice, plant, heights, _AUTUMN if is_autumn else colors)


def _haze(place: Place) -> float:
    return 0.55 if place.light == "mist" else 0.0


def _mountains(canvas: Canvas, place: Place, dice: Dice) -> None:
    low = SKIES[place.light][1]
    snowy = "snowy" in place.backdrop or place.ground == "snow"
    for layer, (base, peak) in enumerate((("#8fa5bf", 96), ("#7d95a8", 62))):
        x = dice(-60, -10)
        while x < WIDTH + 20:
            width, height = dice(90, 170), peak + dice(-14, 22)
            color = mix(mix(base, low, 0.3 - 0.2 * layer), "#ffffff", _haze(place))
            tip = (x + width / 2 + dice(-12, 12), HORIZON + 4 - height)
            canvas.polygon([(x, HORIZON + 6), tip, (x + width, HORIZON + 6)], color)
            canvas.polygon([(x + width * 0.55, HORIZON + 6), tip, (x + width, HORIZON + 6)], dark(color, 0.08))
            cap = 0.34 if snowy else 0.2
            left, right = (
                (tip[0] - cap * width / 2, tip[1] + cap * height),
                (tip[0] + cap * width / 2, tip[1] + cap * height),
            )
            canvas.polygon([left, tip, right, (tip[0] + 5, right[1] - 5), (tip[0] - 3, left[1] + 3)], "#fbfdff")
            x += width * dice(0.45, 0.75)


def _volcano(canvas: Canvas, place: Place, dice: Dice) -> None:
    _mountains(canvas, place, dice)
    canvas.polygon([(150, HORIZON + 6), (200, 62), (232, 62), (290, HORIZON + 6)], "#8a6f72")
    canvas.polygon([(200, 62), (232, 62), (222, 96), (212, 84), (205, 100)], "#ef7f4c")
    for at in range(4):
        cloud(canvas, 216 + at * 9, 50 - at * 11, 0.5 + at * 0.14, "#b4acb0")


def _dunes(canvas: Canvas, _: Place, dice: Dice) -> None:
    for base, color in ((20, "#eac88c"), (4, "#e2ba78")):
        _row_of_hills(canvas, dice, base, 24, color)


def _hills(canvas: Canvas, place: Place, dice: Dice) -> None:
    low = SKIES[place.light][1]
    for layer, color in enumerate(("#b4cfa0", "#9fc088")):
        shade = mix(color, low, 0.35 - 0.2 * layer) if place.ground != "snow" else mix("#e4eef4", low, 0.3)
        if place.ground in ("savannah", "autumn"):
            shade = mix("#d9c088", low, 0.35 - 0.2 * layer)
        _row_of_hills(canvas, dice, 24 - 12 * layer, 18, mix(shade, "#ffffff", _haze(place)))


def _cliff(canvas: Canvas, _: Place, dice: Dice) -> None:
    points = [
        (-5.0, HORIZON + 6.0),
        (-5.0, 78.0),
        (40.0, 84.0),
        (84.0, 100.0),
        (104.0, 130.0),
        (132.0, HORIZON + 6.0),
    ]
    points = points if dice() < 0.5 else [(WIDTH - x, y) for x, y in points]
    canvas.polygon(points, "#b9a58e")
    canvas.polygon([(x, y + 26) if 0 < at < 5 else (x, y) for at, (x, y) in enumerate(points)], "#a5917c")
    canvas.polygon(
        [points[1], points[2], points[3], (points[2][0], points[2][1] + 9), (points[1][0], points[1][1] + 9)],
        "#9fc088",
    )


def _island(canvas: Canvas, _: Place, dice: Dice) -> None:
    x = dice(90, 310)
    canvas.polygon(
        smooth(
            [
                (x - 50, HORIZON + 4),
                (x - 20, HORIZON - 20),
                (x + 14, HORIZON - 12),
                (x + 50, HORIZON + 4),
                (x, HORIZON + 7),
            ]
        ),
        "#8fb58a",
    )


def _city(canvas: Canvas, place: Place, dice: Dice) -> None:
    _row_of_blocks(canvas, dice, (60, 132), _CITY, place.light)


def _town(canvas: Canvas, place: Place, dice: Dice) -> None:
    _row_of_blocks(canvas, dice, (84, 126), _TOWN, place.light)


def _houses(canvas: Canvas, place: Place, dice: Dice) -> None:
    _hills(canvas, place, dice)
    x = dice(-10, 10)
    while x < WIDTH:
        size = dice(50, 74)
        house(
            Pen(canvas, x + size / 2, HORIZON + 8, size, dice),
            dice.pick(("#f2dfbf", "#efc9a4", "#e3b796", "#f7ecd9", "#d9cfc0")),
            dice.pick(("#b5573f", "#a8664c", "#8a6a5c")),
        )
        x += size * dice(1.0, 1.25)


def _station(canvas: Canvas, _: Place, __: Dice) -> None:
    canvas.rectangle(0, 70, WIDTH, HORIZON + 6, "#c4b4a4")
    for x in range(20, WIDTH, 62):
        canvas.rectangle(x, 96, x + 36, HORIZON - 8, "#bfd6df", 14)
    canvas.polygon([(-5, 74), (WIDTH + 5, 74), (WIDTH + 5, 60), (-5, 60)], "#7d6a64")


def _stands(canvas: Canvas, _: Place, dice: Dice) -> None:
    canvas.rectangle(0, 84, WIDTH, HORIZON + 8, "#8f98ac")
    for row in range(6):
        x = dice(0, 6)
        while x < WIDTH:
            y = 92 + row * 11
            canvas.ellipse(x, y, 3.1, 3.4, dice.pick(("#f2cba8", "#c98d62", "#8a5a3e", "#e6b58c")))
            canvas.rectangle(
                x - 3.6,
                y + 3,
                x + 3.6,
                y + 9,
                dice.pick(("#d9574f", "#f4f0e6", "#4f86b5", "#f2c14e", "#6aa877", "#5a5f78")),
                2,
            )
            x += dice(8, 11)
    canvas.rectangle(0, HORIZON - 2, WIDTH, HORIZON + 9, "#e9ecef")


_BACKDROPS: dict[str, Callable[[Canvas, Place, Dice], None]] = {
    "mountains": _mountains,
    "volcano": _volcano,
    "dunes": _dunes,
    "hills": _hills,
    "cliff": _cliff,
    "island": _island,
    "city": _city,
    "town": _town,
    "houses": _houses,
    "station": _station,
    "stands": _stands,
}


def _row_of_hills(canvas: Canvas, dice: Dice, base: float, height: float, color: Color) -> None:
    points = [(x, HORIZON + 8 - base - dice(0, height)) for x in range(-40, WIDTH + 81, 60)]
    canvas.polygon([*smooth(points, closed=False), (WIDTH + 80, HORIZON + 14), (-40, HORIZON + 14)], color)


def _row_of_blocks(
    canvas: Canvas, dice: Dice, heights: tuple[float, float], colors: tuple[str, ...], light: str
) -> None:
    x = dice(-14, 0)
    while x < WIDTH:
        height = dice(*heights)
        pen = Pen(canvas, x + height * 0.34, HORIZON + 8, height, dice)
        color = dice.pick(colors)
        block(
            pen,
            mix(color, "#3a4470", 0.55) if light == "night" else color,
            floors=4 + int(height / 30),
            columns=3 + int(dice() * 2),
        )
        if light == "night":
            for _ in range(10):
                wx, wy = pen.x + dice(-0.28, 0.28) * height, HORIZON - dice(0.12, 0.9) * height
                canvas.rectangle(wx, wy, wx + 4, wy + 5, "#ffe39a")
        x += height * dice(0.66, 0.8)


def _row_of_plants(
    canvas: Canvas,
    place: Place,
    dice: Dice,
    plant: Callable[[Pen, Color], None],
    heights: tuple[float, float],
    colors: tuple[str, ...],
) -> None:
    x = dice(-12, 6)
    while x < WIDTH + 10:
        height = dice(*heights)
        color = mix(dice.pick(colors), SKIES[place.light][1], 0.25 + _haze(place))
        pen = Pen(canvas, x, HORIZON + dice(4, 9), height, dice)
        plant(pen, pale(color, 0.6) if place.ground == "snow" else color)
        x += height * dice(0.34, 0.6)


BACKDROPS: tuple[str, ...] = (*_BACKDROPS, *_PLANTS)
"""The parts of backdrops, the farthest first."""
