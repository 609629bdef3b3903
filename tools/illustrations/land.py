"""Land, water and weather."""

from __future__ import annotations

from tools.illustrations.canvas import (
    HEIGHT,
    WIDTH,
    Canvas,
    Dice,
    clear,
    dark,
    pale,
    smooth,
)
from tools.illustrations.places import Place
from tools.illustrations.skies import HORIZON

SHORE = 208
"""Where land begins before a sea or a lake."""

GROUNDS: dict[str, tuple[str, str]] = {
    "grass": ("#a5c87f", "#7fae63"),
    "lawn": ("#aed486", "#86b968"),
    "forest": ("#8fae6c", "#6f8f56"),
    "autumn": ("#d9b878", "#c2985a"),
    "sand": ("#f4dfb2", "#e8c98f"),
    "desert": ("#f0cf94", "#dcae6c"),
    "savannah": ("#e3ca86", "#cba95e"),
    "snow": ("#fbfdff", "#dfeaf3"),
    "rocky": ("#b5b0a6", "#94918c"),
    "street": ("#b9bcc2", "#a4a8b0"),
    "cobble": ("#d6cab8", "#bdae99"),
    "quay": ("#c9b99f", "#a99a84"),
    "deck": ("#c99f6e", "#a97f54"),
    "pitch": ("#8fcb74", "#6fae58"),
    "court": ("#d98f62", "#c4784c"),
    "tiles": ("#efe6d6", "#dccdb4"),
    "platform": ("#c4c4c0", "#a8a8a6"),
    "tarmac": ("#a9d08a", "#8fb873"),
    "soil": ("#cdb08a", "#ad8d68"),
}


def draw_land(canvas: Canvas, place: Place, dice: Dice) -> None:
    """Draw the ground in front of water and of what stands at the horizon."""
    top, low = GROUNDS[place.ground]
    start = {"sea": SHORE, "lake": SHORE, "open": 268, "pool": HORIZON}.get(place.water, HORIZON)
    if place.water in ("sea", "lake"):
        curve = [
            (0.0, start + dice(-4, 6)),
            (130.0, start + dice(-6, 8)),
            (270.0, start + dice(-6, 8)),
            (WIDTH, start + dice(-4, 6)),
        ]
        edge = smooth(curve, closed=False)
        if place.ground == "sand":
            canvas.polygon([*((x, y - 5) for x, y in edge), (WIDTH, HEIGHT), (0, HEIGHT)], clear("#ffffff", 0.8))
        canvas.polygon([*edge, (WIDTH, HEIGHT), (0, HEIGHT)], top)
        start += 12
    canvas.gradient(start, HEIGHT, top, low)
    _draw_ground(canvas, place, dice, start)


def draw_river(canvas: Canvas) -> None:
    """Draw a river that runs through the land."""
    river = smooth(
        [(190.0, HORIZON), (170.0, 178.0), (235.0, 205.0), (150.0, 250.0), (120.0, HEIGHT + 4.0)], closed=False
    )
    bank = [(x + 26 + (y - HORIZON) * 1.05, y) for x, y in river]
    canvas.polygon([*river, *reversed(bank)], "#86bcd6")
    for x, y in river[6::9]:
        canvas.line([(x + 22, y), (x + 48, y)], clear("#ffffff", 0.6), 1.5)


def draw_pool(canvas: Canvas, dice: Dice) -> None:
    """Draw a swimming pool."""
    canvas.polygon([(60, 196), (350, 196), (420, 262), (-10, 262)], "#fbfaf4")
    canvas.polygon([(68, 200), (342, 200), (404, 257), (4, 257)], "#6fc4de")
    for _ in range(9):
        x, y = dice(70, 330), dice(206, 252)
        canvas.line([(x, y), (x + 9, y - 2), (x + 20, y)], clear("#ffffff", 0.7), 1.6)


def draw_water(canvas: Canvas, place: Place, dice: Dice) -> None:
    """Draw the sea or a lake behind the shore."""
    end = HEIGHT if place.water == "open" else SHORE + 14
    colors = {"night": ("#2c3f72", "#3f5a94"), "sunset": ("#d9947c", "#7d83b8")}.get(place.light)
    first, last = colors or (("#5fa8cc", "#8fd0dc") if place.water != "lake" else ("#7fb4cc", "#a9d3dd"))
    canvas.gradient(HORIZON, end, first, last)
    for _ in range(26 if place.water == "open" else 15):
        x, y = dice(-10, WIDTH), dice(HORIZON + 4, end - 4)
        size = 5 + (y - HORIZON) / 6
        canvas.line([(x, y), (x + size, y - 1.2), (x + 2 * size, y)], clear("#ffffff", 0.5), 1.3)
    if place.light in ("sunset", "night"):
        for at in range(7):
            y = HORIZON + 4 + at * 6
            canvas.line(
                [(286 - at, y), (314 + at, y)], clear("#ffe6b0" if place.light == "sunset" else "#f4f0d8", 0.6), 1.6
            )


def draw_waves(canvas: Canvas, dice: Dice) -> None:
    """Draw large waves."""
    for y in (184, 198):
        x = dice(-30, 20)
        while x < WIDTH:
            canvas.polygon(smooth([(x, y), (x + 14, y - 10), (x + 30, y - 6), (x + 44, y)]), pale("#5fa8cc", 0.2))
            canvas.line(smooth([(x, y), (x + 14, y - 10), (x + 30, y - 6)], closed=False), "#ffffff", 2)
            x += dice(50, 90)


def _draw_ground(canvas: Canvas, place: Place, dice: Dice, start: float) -> None:
    ground = place.ground
    _, low = GROUNDS[ground]
    if ground in ("grass", "lawn", "forest", "autumn", "savannah", "tarmac"):
        for _ in range(60):
            x, y = dice(0, WIDTH), dice(start + 6, HEIGHT)
            size = 1.5 + (y - start) / 40
            canvas.line([(x, y), (x + size * 0.4, y - size * 1.6)], dark(low, 0.08), 0.9)
        if ground == "autumn":
            for _ in range(60):
                x, y = dice(0, WIDTH), dice(start + 8, HEIGHT)
                canvas.ellipse(x, y, 3.2, 1.6, dice.pick(("#d9803c", "#c95f44", "#e6b04c", "#a86a3c")))
    elif ground in ("sand", "desert", "snow", "rocky"):
        for _ in range(44):
            x, y = dice(0, WIDTH), dice(start + 6, HEIGHT)
            canvas.ellipse(x, y, dice(1, 3.5), dice(0.5, 1.2), clear(dark(low, 0.12), 0.5))
    elif ground == "street":
        canvas.gradient(start, start + 16, "#cfc9c0", "#c4beb4")
        canvas.gradient(start + 16, 276, "#8d929c", "#7d828d")
        for x in range(-10, WIDTH, 58):
            canvas.polygon([(x, 232), (x + 30, 232), (x + 28, 237), (x - 2, 237)], "#f2eee2")
        canvas.gradient(276, HEIGHT, "#d4cec4", "#c2bbb0")
    elif ground in ("cobble", "quay", "tiles", "platform", "court"):
        for row in range(8):
            y = start + 6 + row * row * 1.7 + row * 5
            canvas.line([(0, y), (WIDTH, y)], clear(dark(low, 0.2), 0.35), 1)
        if ground in ("cobble", "tiles"):
            for at in range(-6, 15):
                canvas.line(
                    [(200 + (at * 46 - 200) * 0.55, start), (200 + (at * 46 - 200) * 1.5, HEIGHT)],
                    clear(dark(low, 0.2), 0.3),
                    1,
                )
        if ground == "court":
            for line in (
                [(40, 176), (360, 176), (420, 286), (-20, 286), (40, 176)],
                [(200, 176), (200, 286)],
                [(20, 222), (380, 222)],
            ):
                canvas.line(line, "#ffffff", 2)
    elif ground == "pitch":
        for at in range(8):
            if at % 2:
                canvas.polygon(
                    [(at * 50, start), (at * 50 + 50, start), (at * 62 - 20, HEIGHT), (at * 62 - 90, HEIGHT)],
                    clear("#ffffff", 0.1),
                )
        for line in ([(0, 182), (WIDTH, 182)], [(120, 182), (90, 226), (310, 226), (280, 182)]):
            canvas.line(line, "#ffffff", 2)
    elif ground == "deck":
        canvas.rectangle(0, start, WIDTH, start + 4, "#8a6644")
        for x in range(0, WIDTH, 34):
            canvas.line([(x, start + 4), (x - 8, HEIGHT)], "#a07548", 1.2)


def draw_road(canvas: Canvas, road: str, start: float) -> None:
    """Draw a road or a path, from ``start`` to the front."""
    if road == "path":
        canvas.polygon(
            smooth(
                [
                    (196, start),
                    (212, start),
                    (240, 214),
                    (196, 246),
                    (252, HEIGHT + 20),
                    (120, HEIGHT + 20),
                    (140, 250),
                    (206, 212),
                ]
            ),
            "#d9ce9d",
        )
        return
    canvas.polygon([(194, start), (208, start), (330, HEIGHT), (90, HEIGHT)], "#8d929c")
    for y in range(int(start) + 8, HEIGHT, 24):
        width = (y - start) / 32
        canvas.polygon(
            [(202 - width / 2, y), (202 + width / 2, y), (203 + width / 2, y + 10), (203 - width / 2, y + 10)],
            "#f4efdf",
        )


def draw_snowfall(canvas: Canvas, dice: Dice) -> None:
    """Draw falling snow."""
    for _ in range(70):
        canvas.ellipse(dice(0, WIDTH), dice(0, HEIGHT), dice(0.8, 2.2), dice(0.8, 2.2), clear("#ffffff", 0.9))


def draw_weather(canvas: Canvas, light: str, dice: Dice) -> None:
    """Draw rain and mist in front of everything, and the light."""
    if light in ("rain", "storm"):
        for _ in range(90):
            x, y = dice(-10, WIDTH), dice(-10, HEIGHT)
            canvas.line([(x, y), (x - 3, y + 11)], clear("#eef5fa", 0.6), 1)
    if light == "mist":
        for y, share in ((118, 0.3), (150, 0.45), (186, 0.4), (226, 0.25)):
            canvas.ellipse(dice(100, 300), y, 330, 22, clear("#f7faf9", share))
    tints: dict[str, tuple[str, float]] = {
        "night": ("#1c2450", 0.26),
        "sunset": ("#f29a5c", 0.13),
        "rain": ("#6f8296", 0.12),
        "storm": ("#49566e", 0.16),
        "autumn": ("#e8b060", 0.07),
    }
    if light in tints:
        canvas.tint(*tints[light])
