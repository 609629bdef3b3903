"""Buildings, and what stands in streets, parks and on sports grounds."""

from __future__ import annotations

from functools import partial

from tools.illustrations.canvas import Color, Pen, circle, clear, dark, pale
from tools.illustrations.glyph import Glyph

_WINDOW = "#cfe6ee"
_WOOD = "#a27b52"


def windows(
    p: Pen, x0: float, y0: float, x1: float, y1: float, columns: int, rows: int, color: Color = _WINDOW
) -> None:
    """Draw rows of windows inside a rectangle."""
    dx, dy = (x1 - x0) / columns, (y1 - y0) / rows
    for column in range(columns):
        for row in range(rows):
            x, y = x0 + column * dx, y0 + row * dy
            p.box(color, x + dx * 0.22, y + dy * 0.25, x + dx * 0.78, y + dy * 0.8)


def house(p: Pen, color: Color, roof: Color = "#b5573f") -> None:
    """Draw a house."""
    p.shadow(0.62)
    p.box("#8a6a58", 0.22, 0.7, 0.34, 1.02)
    p.box(color, -0.5, 0, 0.5, 0.6)
    p.poly(roof, (-0.6, 0.58), (0.6, 0.58), (0.3, 0.95), (-0.3, 0.95))
    p.box("#7a5540", -0.08, 0, 0.1, 0.34, 0.02)
    for x in (-0.38, 0.2):
        p.box("#ffffff", x - 0.02, 0.24, x + 0.2, 0.48)
        p.box(_WINDOW, x, 0.26, x + 0.18, 0.46)


def block(p: Pen, color: Color, floors: int = 5, columns: int = 4) -> None:
    """Draw a building with many windows."""
    p.box(color, -0.34, 0, 0.34, 1.0)
    p.box(dark(color, 0.12), 0.22, 0, 0.34, 1.0)
    p.box(pale(color, 0.3), -0.36, 0.97, 0.36, 1.0)
    windows(p, -0.31, 0.16, 0.31, 0.95, columns, floors)
    p.box("#6a5a54", -0.08, 0, 0.08, 0.13)


def shop(p: Pen, color: Color) -> None:
    """Draw a shop with an awning."""
    p.box("#efe4d2", -0.6, 0, 0.6, 1.0)
    windows(p, -0.56, 0.62, 0.56, 0.98, 3, 1)
    p.box(_WINDOW, -0.5, 0.08, 0.12, 0.4)
    p.box("#7a5540", 0.24, 0, 0.46, 0.42)
    for at in range(8):
        p.poly(
            color if at % 2 else "#ffffff",
            (-0.62 + at * 0.155, 0.6),
            (-0.465 + at * 0.155, 0.6),
            (-0.45 + at * 0.155, 0.44),
            (-0.64 + at * 0.155, 0.44),
        )


def stall(p: Pen, color: Color) -> None:
    """Draw a market stall."""
    p.shadow(0.6)
    for x in (-0.55, 0.55):
        p.line(_WOOD, 0.03, (x, 0), (x, 0.75))
    p.box(_WOOD, -0.6, 0.1, 0.6, 0.36)
    for at in range(9):
        p.oval(("#e0574a", "#f2a33a", "#7fae5a", "#f2c84b", "#b5527f")[at % 5], -0.5 + at * 0.125, 0.39, 0.07)
    for at in range(8):
        p.poly(
            color if at % 2 else "#fffaf0",
            (-0.52 + at * 0.13, 0.98),
            (-0.39 + at * 0.13, 0.98),
            (-0.34 + at * 0.16, 0.7),
            (-0.64 + at * 0.16, 0.7),
        )


def church(p: Pen, color: Color) -> None:
    """Draw a church."""
    p.shadow(0.5)
    p.box(color, -0.2, 0, 0.5, 0.36)
    p.poly("#9a5a48", (-0.2, 0.36), (0.54, 0.36), (0.46, 0.52), (-0.2, 0.52))
    p.box(pale(color, 0.2), -0.42, 0, -0.14, 0.62)
    p.poly("#7d5a52", (-0.46, 0.62), (-0.1, 0.62), (-0.28, 0.92))
    p.line("#d9b45a", 0.015, (-0.28, 0.9), (-0.28, 1.0))
    p.line("#d9b45a", 0.015, (-0.32, 0.96), (-0.24, 0.96))
    p.oval("#f7f2e4", -0.28, 0.5, 0.06)
    p.box("#7a5540", -0.33, 0, -0.23, 0.18, 0.04)
    for x in (0.0, 0.2, 0.38):
        p.box("#7fa8c4", x, 0.12, x + 0.07, 0.28, 0.03)


def castle(p: Pen, color: Color) -> None:
    """Draw a castle."""
    p.box(color, -0.5, 0, 0.5, 0.45)
    for x, top in ((-0.5, 0.72), (0.5, 0.72), (0.0, 0.88)):
        p.box(pale(color, 0.1), x - 0.13, 0, x + 0.13, top)
        for at in range(3):
            p.box(pale(color, 0.1), x - 0.15 + at * 0.11, top, x - 0.08 + at * 0.11, top + 0.05)
        p.box("#4a4a58", x - 0.025, top - 0.2, x + 0.025, top - 0.1, 0.02)
    p.line("#6a5a4c", 0.012, (0, 0.9), (0, 1.08))
    p.poly("#d9473c", (0, 1.08), (0.16, 1.04), (0, 0.99))
    p.box("#5a4638", -0.08, 0, 0.08, 0.24, 0.06)


def tower(p: Pen, color: Color, top: str = "roof") -> None:
    """Draw a tower: with a roof, a clock, a light or a cabin."""
    p.poly(color, (-0.13, 0), (0.13, 0), (0.1, 0.78), (-0.1, 0.78))
    if top == "light":
        for y in (0.16, 0.44):
            p.poly(
                "#d9473c",
                (-0.122 + y * 0.03, y),
                (0.122 - y * 0.03, y),
                (0.112 - y * 0.03, y + 0.14),
                (-0.112 + y * 0.03, y + 0.14),
            )
        p.box("#fff0a8", -0.07, 0.78, 0.07, 0.9)
        p.poly("#c23f36", (-0.1, 0.9), (0.1, 0.9), (0, 1.0))
    elif top == "cabin":
        p.poly("#6b8da6", (-0.12, 0.78), (0.12, 0.78), (0.17, 0.93), (-0.17, 0.93))
        p.box("#5a6470", -0.14, 0.93, 0.14, 0.96)
        p.line("#5a6470", 0.012, (0, 0.96), (0, 1.06))
    else:
        p.poly("#8f4f44", (-0.13, 0.78), (0.13, 0.78), (0, 1.02))
        p.oval("#fffaf0", 0, 0.66, 0.065)
        p.line("#3a3a44", 0.012, (0, 0.66), (0, 0.7))
        p.line("#3a3a44", 0.012, (0, 0.66), (0.03, 0.66))
    for y in (0.2, 0.42):
        p.box("#4d5a6b", -0.02, y, 0.02, y + 0.08, 0.01)


def windmill(p: Pen, color: Color) -> None:
    """Draw a windmill."""
    p.poly(color, (-0.17, 0), (0.17, 0), (0.1, 0.6), (-0.1, 0.6))
    p.poly("#8f4f44", (-0.12, 0.6), (0.12, 0.6), (0, 0.74))
    for x, y in ((0.36, 0.86), (-0.36, 0.36), (0.25, 0.25), (-0.25, 0.97)):
        p.line("#f4efe4", 0.05, (0, 0.61), (x, y))
    p.oval("#5a4638", 0, 0.61, 0.03)
    p.box("#7a5540", -0.05, 0, 0.05, 0.15)


def tent(p: Pen, color: Color) -> None:
    """Draw a tent."""
    p.shadow(0.8)
    p.poly(color, (-0.85, 0), (0.85, 0), (0.1, 1.0))
    p.poly(dark(color, 0.15), (0.1, 1.0), (0.85, 0), (0.35, 0))
    p.poly("#4a3f44", (-0.25, 0), (0.25, 0), (0.08, 0.7))


def bridge(p: Pen, color: Color) -> None:
    """Draw a bridge of three arches."""
    p.box(color, -2.2, 0.55, 2.2, 0.8)
    p.box(pale(color, 0.2), -2.2, 0.78, 2.2, 0.9)
    for x in (-2.1, -0.72, 0.72, 2.1):
        p.box(dark(color, 0.08), x - 0.13, 0, x + 0.13, 0.6)
    for x in (-1.4, 0.0, 1.4):
        p.blob(dark(color, 0.3), (x - 0.55, 0.28), (x - 0.35, 0.52), (x, 0.6), (x + 0.35, 0.52), (x + 0.55, 0.28))
        p.blob(clear("#9fc8dc", 0.9), (x - 0.52, 0.2), (x - 0.32, 0.46), (x, 0.54), (x + 0.32, 0.46), (x + 0.52, 0.2))


def jetty(p: Pen, color: Color) -> None:
    """Draw a wooden jetty."""
    p.poly(color, (-0.5, 0), (0.5, 0), (0.24, 0.9), (-0.24, 0.9))
    for y in (0.12, 0.28, 0.44, 0.6, 0.76):
        half = 0.5 - y * 0.29
        p.line(dark(color, 0.2), 0.014, (-half, y), (half, y))
    for x in (-0.5, 0.5):
        p.box(dark(color, 0.25), x - 0.05, -0.12, x + 0.05, 0.2)


def fountain(p: Pen, color: Color) -> None:
    """Draw a fountain."""
    for x in (-0.4, -0.2, 0.2, 0.4):
        p.curve(clear("#dff3fb", 0.9), 0.04, (0, 0.95), (x * 0.6, 0.95), (x, 0.4))
    p.box(color, -0.06, 0.1, 0.06, 0.62)
    p.oval(pale(color, 0.2), 0, 0.6, 0.24, 0.06)
    p.oval(dark(color, 0.12), 0, 0.12, 0.7, 0.16)
    p.oval(color, 0, 0.2, 0.7, 0.15)
    p.oval("#a9d6e8", 0, 0.22, 0.6, 0.1)


def statue(p: Pen, color: Color) -> None:
    """Draw a statue on a plinth."""
    p.box(dark(color, 0.1), -0.24, 0, 0.24, 0.1)
    p.box(color, -0.18, 0.1, 0.18, 0.34)
    p.blob(color, (-0.13, 0.34), (-0.15, 0.65), (-0.08, 0.84), (0.08, 0.84), (0.14, 0.6), (0.13, 0.34))
    p.line(color, 0.06, (0.08, 0.78), (0.26, 0.96))
    p.oval(color, 0, 0.92, 0.08, 0.09)


def column(p: Pen, color: Color) -> None:
    """Draw a column."""
    p.box(dark(color, 0.06), -0.13, 0, 0.13, 0.06)
    p.box(color, -0.09, 0.06, 0.09, 0.92)
    for x in (-0.05, 0.0, 0.05):
        p.line(dark(color, 0.12), 0.012, (x, 0.08), (x, 0.9))
    p.box(dark(color, 0.06), -0.14, 0.92, 0.14, 1.0)


def arch(p: Pen, color: Color) -> None:
    """Draw an arch."""
    for x in (-0.4, 0.4):
        p.box(color, x - 0.1, 0, x + 0.1, 0.6)
    for px, py in circle(0, 0.58, 0.4, 40)[:21]:
        p.oval(color, px, py, 0.1)


def fence(p: Pen, color: Color) -> None:
    """Draw a fence."""
    for y in (0.35, 0.7):
        p.box(color, -2.2, y, 2.2, y + 0.12)
    for at in range(9):
        x = -2.1 + at * 0.52
        p.poly(dark(color, 0.06), (x, 0), (x + 0.18, 0), (x + 0.18, 0.88), (x + 0.09, 1.0), (x, 0.88))


def wall(p: Pen, color: Color) -> None:
    """Draw a wall of stones or bricks."""
    p.box(color, -2.0, 0, 2.0, 1.0)
    for row in range(4):
        for at in range(8):
            p.box(
                dark(color, 0.04 + 0.06 * ((at * 3 + row) % 3)),
                -1.97 + at * 0.5 - 0.2 * (row % 2),
                row * 0.25 + 0.02,
                -1.52 + at * 0.5 - 0.2 * (row % 2),
                row * 0.25 + 0.22,
                0.03,
            )


def bench(p: Pen, color: Color) -> None:
    """Draw a bench."""
    p.shadow(0.9)
    for x in (-0.7, 0.7):
        p.line("#5a5f6a", 0.09, (x, 0), (x, 0.9))
    for y in (0.42, 0.64, 0.82):
        p.box(color, -0.9, y, 0.9, y + 0.14, 0.03)


def lamp_post(p: Pen, color: Color) -> None:
    """Draw a street lamp."""
    p.canvas.glow(p.x, p.y - 0.88 * p.scale, 0.3 * p.scale, "#ffe9a8", 0.4)
    p.line(color, 0.03, (0, 0), (0, 0.82))
    p.poly("#fff1bd", (-0.05, 0.82), (0.05, 0.82), (0.075, 0.95), (-0.075, 0.95))
    p.poly(color, (-0.09, 0.95), (0.09, 0.95), (0, 1.02))


def traffic_light(p: Pen, color: Color) -> None:
    """Draw a traffic light."""
    p.line(color, 0.045, (0, 0), (0, 0.6))
    p.box(color, -0.1, 0.55, 0.1, 1.0, 0.04)
    for y, light in ((0.92, "#e0473c"), (0.78, "#f2c14e"), (0.64, "#5fb56a")):
        p.oval(light, 0, y, 0.055)


def sign(p: Pen, color: Color) -> None:
    """Draw a road sign."""
    p.line("#8f949c", 0.045, (0, 0), (0, 0.7))
    p.oval("#ffffff", 0, 0.8, 0.21)
    p.oval(color, 0, 0.8, 0.19)
    p.oval("#ffffff", 0, 0.8, 0.13)


def signpost(p: Pen, color: Color) -> None:
    """Draw a signpost."""
    p.line(_WOOD, 0.06, (0, 0), (0, 1.0))
    p.poly(color, (-0.05, 0.92), (0.4, 0.92), (0.52, 0.83), (0.4, 0.74), (-0.05, 0.74))
    p.poly(pale(color, 0.2), (0.05, 0.68), (-0.36, 0.68), (-0.48, 0.59), (-0.36, 0.5), (0.05, 0.5))


def flag(p: Pen, color: Color) -> None:
    """Draw a flag."""
    p.line("#8a8f98", 0.025, (0, 0), (0, 1.0))
    p.blob(color, (0.01, 0.98), (0.2, 1.0), (0.46, 0.94), (0.46, 0.7), (0.2, 0.74), (0.01, 0.7))
    p.blob(pale(color, 0.75), (0.01, 0.89), (0.2, 0.91), (0.46, 0.86), (0.46, 0.78), (0.2, 0.82), (0.01, 0.8))


def crane(p: Pen, color: Color) -> None:
    """Draw a crane."""
    p.box(color, -0.04, 0, 0.04, 0.9)
    p.line(color, 0.035, (-0.26, 0.86), (0.66, 0.86))
    p.line(dark(color, 0.2), 0.012, (-0.26, 0.86), (0, 1.0), (0.66, 0.86))
    p.box("#6a6d75", -0.28, 0.78, -0.18, 0.86)
    p.line("#55585f", 0.01, (0.5, 0.86), (0.5, 0.5))
    p.box("#c9694b", 0.42, 0.42, 0.58, 0.5)


def scaffolding(p: Pen, color: Color) -> None:
    """Draw scaffolding at a wall."""
    p.box("#c9a58a", -0.4, 0, 0.4, 0.95)
    for x in (-0.45, 0, 0.45):
        p.line(color, 0.025, (x, 0), (x, 1.0))
    for y in (0.25, 0.55, 0.85):
        p.line(color, 0.03, (-0.48, y), (0.48, y))


def ferris_wheel(p: Pen, color: Color) -> None:
    """Draw a Ferris wheel."""
    for x in (-0.25, 0.25):
        p.line("#6a7484", 0.03, (x, 0), (0, 0.55))
    for x, y in circle(0, 0.55, 0.42, 10):
        p.line(clear(color, 0.9), 0.014, (0, 0.55), (x, y))
    ring = circle(0, 0.55, 0.42, 40)
    p.line(color, 0.022, *ring, ring[0])
    for at, (x, y) in enumerate(circle(0, 0.55, 0.42, 10)):
        p.oval(("#e0574a", "#f2c14e", "#5a9ad9", "#6aae6f", "#e07fa8")[at % 5], x, y - 0.03, 0.05)


def carousel(p: Pen, color: Color) -> None:
    """Draw a carousel."""
    p.box("#b5723f", -0.5, 0, 0.5, 0.1)
    for x in (-0.36, -0.12, 0.12, 0.36):
        p.line("#e8c65a", 0.022, (x, 0.1), (x, 0.66))
        p.oval("#ffffff" if x < 0 else "#b58a6a", x, 0.34, 0.1, 0.07)
    for at in range(6):
        p.poly(color if at % 2 else "#fff4dc", (-0.56 + at * 0.187, 0.62), (-0.373 + at * 0.187, 0.62), (0, 0.96))
    p.poly("#d9473c", (0, 1.06), (0.12, 1.02), (0, 0.97))


def roller_coaster(p: Pen, color: Color) -> None:
    """Draw a roller coaster."""
    for x, y in ((-0.9, 0.5), (-0.5, 0.95), (-0.1, 0.45), (0.3, 0.75), (0.7, 0.35)):
        p.line("#b9bec8", 0.02, (x, 0), (x, y))
    p.curve(color, 0.05, (-1.1, 0.2), (-0.8, 0.7), (-0.5, 0.95), (-0.1, 0.42), (0.3, 0.76), (0.75, 0.3), (1.1, 0.2))
    p.box("#4c88c9", -0.62, 0.92, -0.36, 1.04, 0.04)


def goal(p: Pen, color: Color) -> None:
    """Draw a goal with its net."""
    for at in range(9):
        p.line(clear("#ffffff", 0.6), 0.01, (-1.0 + at * 0.25, 0), (-1.0 + at * 0.25, 0.95))
    for y in (0.2, 0.4, 0.6, 0.8):
        p.line(clear("#ffffff", 0.6), 0.01, (-1, y), (1, y))
    p.line(color, 0.06, (-1.0, 0), (-1.0, 1.0), (1.0, 1.0), (1.0, 0))


def net(p: Pen, color: Color) -> None:
    """Draw the net of a court."""
    for at in range(17):
        p.line(clear("#ffffff", 0.7), 0.012, (-2.4 + at * 0.3, 0.1), (-2.4 + at * 0.3, 0.9))
    for y in (0.3, 0.5, 0.7):
        p.line(clear("#ffffff", 0.7), 0.012, (-2.4, y), (2.4, y))
    p.line("#ffffff", 0.06, (-2.4, 0.92), (2.4, 0.92))
    for x in (-2.4, 2.4):
        p.line(color, 0.08, (x, 0), (x, 1.0))


def hoop(p: Pen, color: Color) -> None:
    """Draw a basketball hoop."""
    p.line("#6a7484", 0.04, (0.3, 0), (0.3, 0.8), (0.12, 0.84))
    p.box("#ffffff", -0.2, 0.7, 0.2, 1.0, 0.01)
    p.box(color, -0.08, 0.76, 0.08, 0.88)
    p.box("#ffffff", -0.06, 0.78, 0.06, 0.86)
    p.line(color, 0.025, (-0.12, 0.7), (0.12, 0.7))
    p.poly(clear("#ffffff", 0.7), (-0.11, 0.69), (0.11, 0.69), (0.06, 0.55), (-0.06, 0.55))


def slide(p: Pen, color: Color) -> None:
    """Draw a playground slide."""
    p.shadow(0.7)
    for x in (-0.5, -0.3):
        p.line("#5a9ac9", 0.035, (x, 0), (x, 0.95))
    for y in (0.2, 0.4, 0.6):
        p.line("#5a9ac9", 0.025, (-0.5, y), (-0.3, y))
    p.curve(color, 0.12, (-0.3, 0.82), (0.0, 0.62), (0.35, 0.2), (0.75, 0.08))


def swing(p: Pen, color: Color) -> None:
    """Draw swings."""
    for x in (-0.6, 0.6):
        p.line(color, 0.05, (x - 0.14, 0), (x, 0.95), (x + 0.14, 0))
    p.line(color, 0.05, (-0.6, 0.95), (0.6, 0.95))
    for x, seat in ((-0.25, "#e0574a"), (0.25, "#4c9bc9")):
        for dx in (-0.09, 0.09):
            p.line("#8f949c", 0.014, (x + dx, 0.95), (x + dx, 0.3))
        p.box(seat, x - 0.12, 0.26, x + 0.12, 0.32, 0.02)


def seesaw(p: Pen, color: Color) -> None:
    """Draw a seesaw."""
    p.poly("#6a7484", (-0.3, 0), (0.3, 0), (0, 0.5))
    p.line(color, 0.16, (-1.6, 0.15), (1.6, 0.85))
    for x, y in ((-1.4, 0.3), (1.4, 0.95)):
        p.line("#33343d", 0.08, (x, y), (x, y + 0.3))


def climbing_frame(p: Pen, color: Color) -> None:
    """Draw a climbing frame."""
    for at, x in enumerate((-0.5, -0.17, 0.17, 0.5)):
        p.line((color, "#f2b13c", "#5a9ad9", "#6aae6f")[at], 0.045, (x * 1.3, 0), (x, 0.9))
    for y in (0.3, 0.6, 0.9):
        p.line(color, 0.04, (-0.5 - (0.9 - y) * 0.16, y), (0.5 + (0.9 - y) * 0.16, y))


def umbrella(p: Pen, color: Color) -> None:
    """Draw a parasol."""
    p.shadow(0.5)
    p.line("#f2ede2", 0.03, (0, 0), (0, 0.9))
    for at in range(6):
        left, right = -0.6 + at * 0.2, -0.4 + at * 0.2
        p.poly(color if at % 2 else "#fff7ea", (left, 0.66), (right, 0.66), (0, 1.02))


def deckchair(p: Pen, color: Color) -> None:
    """Draw a deckchair."""
    p.shadow(0.6)
    p.line(_WOOD, 0.06, (-0.6, 0), (0.5, 0.4))
    p.line(_WOOD, 0.06, (0.55, 0), (-0.55, 0.95))
    p.curve(color, 0.13, (-0.5, 0.86), (-0.2, 0.4), (0.15, 0.2), (0.5, 0.38))
    p.curve(pale(color, 0.6), 0.04, (-0.5, 0.86), (-0.2, 0.4), (0.15, 0.2), (0.5, 0.38))


def hammock(p: Pen, color: Color) -> None:
    """Draw a hammock between two posts."""
    for x in (-0.95, 0.95):
        p.line(_WOOD, 0.06, (x, 0), (x, 1.0))
    p.blob(color, (-0.9, 0.86), (-0.5, 0.42), (0, 0.3), (0.5, 0.42), (0.9, 0.86), (0.4, 0.6), (-0.4, 0.6))


def gravestone(p: Pen, color: Color) -> None:
    """Draw gravestones."""
    for x, s in ((-0.5, 0.8), (0.4, 1.0)):
        p.box(color, x - 0.28 * s, 0, x + 0.28 * s, 0.95 * s, 0.24 * s)
        p.line(dark(color, 0.3), 0.05, (x, 0.45 * s), (x, 0.75 * s))
        p.line(dark(color, 0.3), 0.05, (x - 0.1 * s, 0.64 * s), (x + 0.1 * s, 0.64 * s))


def cross(p: Pen, color: Color) -> None:
    """Draw a cross."""
    p.box(color, -0.06, 0, 0.06, 1.0)
    p.box(color, -0.26, 0.6, 0.26, 0.72)


def waterfall(p: Pen, color: Color) -> None:
    """Draw a waterfall between rocks."""
    p.poly("#7d7f86", (-0.8, 0), (0.8, 0), (0.55, 0.9), (0.3, 1.0), (-0.35, 1.0), (-0.6, 0.85))
    p.poly(color, (-0.22, 0.98), (0.2, 0.98), (0.3, 0), (-0.3, 0))
    for x in (-0.14, 0.0, 0.13):
        p.line("#ffffff", 0.025, (x, 0.96), (x * 1.4, 0.05))
    for x in (-0.28, -0.1, 0.1, 0.28):
        p.oval("#ffffff", x, 0.02, 0.13, 0.07)


def stage_light(p: Pen, color: Color) -> None:
    """Draw a mast with floodlights."""
    p.line("#7a808a", 0.035, (0, 0), (0, 0.85))
    p.box("#5a606a", -0.22, 0.82, 0.22, 1.0, 0.02)
    for x in (-0.14, 0, 0.14):
        p.oval(color, x, 0.91, 0.055)


def windsock_runway(p: Pen, color: Color) -> None:
    """Draw a runway."""
    p.poly(color, (-1.8, 0), (1.8, 0), (0.35, 1.0), (-0.35, 1.0))
    for y, w, h in ((0.06, 0.16, 0.18), (0.36, 0.11, 0.14), (0.62, 0.07, 0.1)):
        p.box("#ffffff", -w / 2, y, w / 2, y + h)


def rails(p: Pen, color: Color) -> None:
    """Draw railway tracks."""
    for at in range(13):
        p.line("#8a7460", 0.16, (-2.9 + at * 0.5, 0.0), (-2.7 + at * 0.5, 0.8))
    for y in (0.15, 0.65):
        p.line(color, 0.1, (-3.1, y), (3.4, y))


def barrel(p: Pen, color: Color) -> None:
    """Draw a barrel."""
    p.blob(color, (-0.3, 0), (-0.38, 0.5), (-0.3, 1.0), (0.3, 1.0), (0.38, 0.5), (0.3, 0))
    for y in (0.22, 0.72):
        p.box("#5a5f6a", -0.36, y, 0.36, y + 0.08)


def treadmill(p: Pen, color: Color) -> None:
    """Draw a treadmill."""
    p.poly(color, (-0.8, 0), (0.7, 0), (0.7, 0.16), (-0.8, 0.1))
    p.line("#7a808a", 0.06, (0.45, 0.14), (0.62, 0.95))
    p.box("#3a3d48", 0.4, 0.88, 0.75, 1.0, 0.03)


def barbell(p: Pen, color: Color) -> None:
    """Draw a barbell."""
    p.line("#9aa0a8", 0.08, (-1.3, 0.5), (1.3, 0.5))
    for x in (-1.1, -0.9, 0.9, 1.1):
        p.box(color, x - 0.07, 0.02 if abs(x) < 1 else 0.16, x + 0.07, 0.98 if abs(x) < 1 else 0.84, 0.04)


def ski(p: Pen, color: Color) -> None:
    """Draw skis or boards stuck in the snow."""
    p.box(color, -0.16, 0, -0.05, 1.0, 0.05)
    p.box(dark(color, 0.1), 0.03, 0, 0.14, 0.96, 0.05)
    p.line("#55585f", 0.02, (0.26, 0), (0.24, 0.7))
    p.line("#55585f", 0.02, (-0.3, 0), (-0.28, 0.7))


def board(p: Pen, color: Color) -> None:
    """Draw a surfboard."""
    p.oval(color, 0, 0.5, 0.15, 0.5)
    p.box(pale(color, 0.7), -0.02, 0.06, 0.02, 0.94)


def sledge(p: Pen, color: Color) -> None:
    """Draw a sledge."""
    p.curve("#7a808a", 0.08, (-1.0, 0.06), (0.7, 0.06), (1.1, 0.4))
    for x in (-0.6, 0.3):
        p.line(color, 0.1, (x, 0.1), (x, 0.6))
    p.box(color, -0.9, 0.6, 0.8, 0.8, 0.05)


def dune(p: Pen, color: Color) -> None:
    """Draw a dune."""
    p.blob(color, (-1.6, 0.0), (-0.6, 0.6), (0.1, 1.0), (0.8, 0.5), (1.6, 0.0))
    p.blob(dark(color, 0.14), (0.1, 1.0), (0.3, 0.5), (0.7, 0.02), (1.6, 0.0), (0.8, 0.5))


def ladder(p: Pen, color: Color) -> None:
    """Draw a ladder."""
    for x in (-0.13, 0.13):
        p.line(color, 0.035, (x + 0.06, 0), (x - 0.06, 1.0))
    for at in range(7):
        y = 0.1 + at * 0.13
        p.line(color, 0.028, (-0.13 + 0.06 - y * 0.12, y), (0.13 + 0.06 - y * 0.12, y))


def diving_board(p: Pen, color: Color) -> None:
    """Draw a diving board."""
    p.line("#9aa3ae", 0.06, (-0.5, 0), (-0.4, 0.9))
    p.box(color, -0.6, 0.88, 0.8, 0.98, 0.03)


def spiral(p: Pen, color: Color) -> None:
    """Draw a water slide."""
    p.line("#9aa3ae", 0.05, (-0.4, 0), (-0.4, 0.95))
    p.curve(color, 0.14, (-0.4, 0.9), (0.2, 0.8), (0.3, 0.6), (-0.2, 0.5), (-0.1, 0.3), (0.6, 0.06))


def ring(p: Pen, color: Color) -> None:
    """Draw a ring that floats."""
    p.oval(color, 0, 0.5, 0.9, 0.5)
    p.oval("#9ad4e8", 0, 0.54, 0.45, 0.22)
    for x in (-0.7, 0.5):
        p.box("#ffffff", x, 0.35, x + 0.2, 0.62, 0.05)


def buoy(p: Pen, color: Color) -> None:
    """Draw a buoy."""
    p.poly(color, (-0.3, 0.06), (0.3, 0.06), (0.12, 0.8), (-0.12, 0.8))
    p.box("#ffffff", -0.21, 0.34, 0.21, 0.52)
    p.oval("#f7e08a", 0, 0.88, 0.12)


def anchor(p: Pen, color: Color) -> None:
    """Draw an anchor."""
    p.line(color, 0.1, (0, 0.08), (0, 0.85))
    p.line(color, 0.08, (-0.25, 0.68), (0.25, 0.68))
    p.curve(color, 0.1, (-0.45, 0.38), (-0.3, 0.12), (0, 0.05), (0.3, 0.12), (0.45, 0.38))
    p.oval(color, 0, 0.9, 0.1)


def banner(p: Pen, color: Color) -> None:
    """Draw the arch of a finish line."""
    for x in (-1.3, 1.3):
        p.line("#8f949c", 0.06, (x, 0), (x, 0.95))
    p.box(color, -1.35, 0.7, 1.35, 1.0)
    for at in range(18):
        for row in range(2):
            if (at + row) % 2:
                p.box("#33343d", -1.35 + at * 0.15, 0.7 + row * 0.15, -1.2 + at * 0.15, 0.85 + row * 0.15)


def dome(p: Pen, color: Color) -> None:
    """Draw a dome."""
    p.box("#e6dac4", -0.5, 0, 0.5, 0.5)
    for x in (-0.36, -0.12, 0.12, 0.36):
        p.box("#7fa8c4", x - 0.06, 0.12, x + 0.06, 0.4, 0.05)
    p.blob(color, (-0.5, 0.5), (-0.4, 0.78), (0, 0.94), (0.4, 0.78), (0.5, 0.5))
    p.line("#d9b45a", 0.03, (0, 0.92), (0, 1.05))


def dragon(p: Pen, color: Color) -> None:
    """Draw a paper dragon on poles."""
    for x in (-1.2, -0.4, 0.4, 1.1):
        p.line("#a97c54", 0.04, (x, 0), (x, 0.6))
    p.curve(color, 0.26, (-1.5, 0.5), (-0.9, 0.85), (-0.3, 0.55), (0.3, 0.85), (0.9, 0.62))
    for x, y in ((-1.1, 0.92), (-0.6, 0.86), (0.0, 0.86), (0.5, 0.98)):
        p.poly("#f2c14e", (x - 0.1, y), (x + 0.1, y), (x, y + 0.18))
    p.oval(color, 1.15, 0.72, 0.3, 0.24)
    p.oval("#ffffff", 1.22, 0.82, 0.08)
    p.oval("#33343d", 1.24, 0.82, 0.04)
    p.poly("#f2c14e", (1.4, 0.7), (1.62, 0.62), (1.4, 0.55))


BUILDINGS: dict[str, Glyph] = {
    "finish line": Glyph(banner, "ground", 86, 2.8, "#ffffff"),
    "dome": Glyph(dome, "far", 104, 1.1, "#7fa89a"),
    "dragon": Glyph(dragon, "ground", 74, 3.2, "#d9473c"),
    "building": Glyph(block, "far", 120, 0.7, "#d9b8a0"),
    "architecture": Glyph(block, "far", 116, 0.7, "#c9c0b4"),
    "office building": Glyph(partial(block, floors=7), "far", 140, 0.7, "#9fb4c4"),
    "hotel": Glyph(partial(block, floors=6), "far", 132, 0.7, "#e3c9a0"),
    "town hall": Glyph(partial(tower, top="clock"), "far", 150, 0.4, "#d9c3a0"),
    "balcony": Glyph(block, "far", 118, 0.7, "#e0c4a4"),
    "window": Glyph(block, "far", 112, 0.7, "#d4c2b4"),
    "shop": Glyph(shop, "far", 104, 1.2, "#5a9a8f"),
    "awning": Glyph(stall, "ground", 84, 1.2, "#d9674c"),
    "bar": Glyph(shop, "far", 100, 1.2, "#8f4f6b"),
    "cafe": Glyph(shop, "far", 100, 1.2, "#c9574a"),
    "petrol station": Glyph(shop, "far", 84, 1.2, "#d9473c"),
    "market stall": Glyph(stall, "ground", 92, 1.2, "#d9574f"),
    "market": Glyph(stall, "ground", 88, 1.2, "#5a9a6a"),
    "house": Glyph(house, "far", 96, 1.2, "#f0e0c4"),
    "village": Glyph(house, "far", 76, 1.2, "#f4e6cf"),
    "cottage": Glyph(partial(house, roof="#8a7458"), "far", 84, 1.2, "#fbf3e4"),
    "cabin": Glyph(partial(house, roof="#6a5a4c"), "far", 78, 1.2, "#b58a5c"),
    "hut": Glyph(partial(house, roof="#7a6a58"), "far", 70, 1.2, "#a97c50"),
    "farm": Glyph(partial(house, roof="#7a4a3c"), "far", 96, 1.2, "#c9584a"),
    "barn": Glyph(partial(house, roof="#7a4a3c"), "far", 104, 1.2, "#b84f42"),
    "stable": Glyph(partial(house, roof="#6a5a4c"), "far", 84, 1.2, "#a9724c"),
    "winery": Glyph(house, "far", 92, 1.2, "#efe0bf"),
    "hangar": Glyph(partial(house, roof="#8f98a3"), "far", 90, 1.2, "#c4ccd4"),
    "greenhouse": Glyph(partial(house, roof="#bfe0d4"), "far", 74, 1.2, "#d9f0e6"),
    "roof": Glyph(house, "far", 80, 1.2, "#f2e3c8"),
    "chimney": Glyph(house, "far", 84, 1.2, "#ecd9bb"),
    "school": Glyph(house, "far", 92, 1.2, "#e8c9a0"),
    "church": Glyph(church, "far", 128, 1.0, "#efe6d6"),
    "chapel": Glyph(church, "far", 92, 1.0, "#fbf7ee"),
    "cathedral": Glyph(church, "far", 150, 1.0, "#d9cdb8"),
    "steeple": Glyph(church, "far", 128, 1.0, "#e6dac4"),
    "bell tower": Glyph(tower, "far", 140, 0.4, "#e3d3b4"),
    "clock tower": Glyph(tower, "far", 150, 0.4, "#d8c09a"),
    "tower": Glyph(tower, "far", 142, 0.4, "#cdbfae"),
    "lighthouse": Glyph(partial(tower, top="light"), "far", 136, 0.4, "#fbfaf5"),
    "control tower": Glyph(partial(tower, top="cabin"), "far", 120, 0.4, "#c9ced6"),
    "castle": Glyph(castle, "far", 118, 1.3, "#c4b8a4"),
    "ruin": Glyph(castle, "far", 84, 1.3, "#b0a692"),
    "sandcastle": Glyph(castle, "front", 44, 1.3, "#e6c384"),
    "windmill": Glyph(windmill, "far", 118, 0.7, "#e9ddc8"),
    "tent": Glyph(tent, "ground", 66, 1.7, "#e08a4a"),
    "camping": Glyph(tent, "ground", 60, 1.7, "#5f9a8f"),
    "campsite": Glyph(tent, "ground", 56, 1.7, "#7a9ac9"),
    "sleeping bag": Glyph(tent, "ground", 50, 1.7, "#c9604a"),
    "festival": Glyph(tent, "ground", 70, 1.7, "#b56fa8"),
    "bridge": Glyph(bridge, "water", 46, 4.4, "#b9a48c"),
    "footbridge": Glyph(bridge, "water", 32, 4.4, "#a27b52"),
    "jetty": Glyph(jetty, "front", 60, 1.0, "#a98058"),
    "pier": Glyph(jetty, "front", 66, 1.0, "#9a7650"),
    "quay": Glyph(wall, "front", 22, 4.0, "#a8a29a"),
    "fountain": Glyph(fountain, "ground", 72, 1.4, "#b9b4aa"),
    "square": Glyph(fountain, "ground", 64, 1.4, "#c4bcae"),
    "statue": Glyph(statue, "ground", 96, 0.5, "#a9b0b0"),
    "monument": Glyph(statue, "ground", 112, 0.5, "#b4ab9a"),
    "sculpture": Glyph(statue, "ground", 88, 0.5, "#d9d4ca"),
    "marble": Glyph(statue, "ground", 84, 0.5, "#efece6"),
    "column": Glyph(column, "ground", 110, 0.3, "#ded6c6"),
    "arch": Glyph(arch, "ground", 96, 1.0, "#d0c4b0"),
    "gate": Glyph(arch, "ground", 92, 1.0, "#b9a88f"),
    "courtyard": Glyph(arch, "far", 90, 1.0, "#d9cbb0"),
    "tunnel": Glyph(arch, "ground", 84, 1.0, "#7d7f86"),
    "fence": Glyph(fence, "ground", 34, 4.4, "#e9ddc8"),
    "pasture": Glyph(fence, "ground", 32, 4.4, "#b58a5c"),
    "zoo": Glyph(fence, "ground", 36, 4.4, "#8f7a5c"),
    "wall": Glyph(wall, "ground", 46, 4.0, "#c9937a"),
    "brick": Glyph(wall, "front", 24, 4.0, "#c9745a"),
    "concrete": Glyph(wall, "front", 22, 4.0, "#b9b9b9"),
    "bench": Glyph(bench, "ground", 34, 1.9, "#b5794c"),
    "street lamp": Glyph(lamp_post, "ground", 112, 0.3, "#4a5060"),
    "lantern": Glyph(lamp_post, "front", 56, 0.4, "#5a4a3c"),
    "traffic light": Glyph(traffic_light, "ground", 100, 0.3, "#3f444f"),
    "road sign": Glyph(sign, "ground", 80, 0.5, "#d9473c"),
    "signpost": Glyph(signpost, "ground", 66, 1.0, "#c99a5c"),
    "flag": Glyph(flag, "ground", 96, 0.6, "#d9574f"),
    "parade": Glyph(flag, "ground", 86, 0.6, "#5a7fc9"),
    "crane": Glyph(crane, "far", 150, 1.0, "#f0a83c"),
    "construction site": Glyph(scaffolding, "far", 116, 1.0, "#7a808a"),
    "scaffolding": Glyph(scaffolding, "far", 120, 1.0, "#8a8f98"),
    "ferris wheel": Glyph(ferris_wheel, "far", 140, 1.0, "#d98aa8"),
    "funfair": Glyph(ferris_wheel, "far", 120, 1.0, "#7a9ad9"),
    "carousel": Glyph(carousel, "ground", 88, 1.1, "#e0705a"),
    "roller coaster": Glyph(roller_coaster, "far", 104, 2.2, "#d9574f"),
    "goal": Glyph(goal, "ground", 56, 2.1, "#ffffff"),
    "net": Glyph(net, "ground", 32, 4.8, "#8f949c"),
    "tennis court": Glyph(net, "ground", 32, 4.8, "#6a7484"),
    "volleyball": Glyph(net, "ground", 44, 4.8, "#6a7484"),
    "basketball hoop": Glyph(hoop, "ground", 130, 0.6, "#e0603f"),
    "slide": Glyph(slide, "ground", 72, 1.4, "#e8623f"),
    "playground": Glyph(swing, "ground", 78, 1.6, "#d9803f"),
    "swing": Glyph(swing, "ground", 80, 1.6, "#b5793f"),
    "seesaw": Glyph(seesaw, "ground", 30, 3.4, "#e8b83c"),
    "climbing frame": Glyph(climbing_frame, "ground", 76, 1.4, "#d9574f"),
    "umbrella": Glyph(umbrella, "ground", 84, 1.2, "#e0705a"),
    "deckchair": Glyph(deckchair, "ground", 44, 1.4, "#4c9bc9"),
    "folding chair": Glyph(deckchair, "ground", 42, 1.4, "#6aa877"),
    "hammock": Glyph(hammock, "ground", 56, 2.0, "#d9a05c"),
    "gravestone": Glyph(gravestone, "front", 36, 1.6, "#a8acb0"),
    "cemetery": Glyph(gravestone, "front", 34, 1.6, "#b4b2ac"),
    "cross": Glyph(cross, "far", 60, 0.5, "#d9b45a"),
    "waterfall": Glyph(waterfall, "far", 130, 1.6, "#cfeaf4"),
    "floodlight": Glyph(stage_light, "far", 130, 0.5, "#fff6cc"),
    "stadium": Glyph(stage_light, "far", 120, 0.5, "#fff6cc"),
    "runway": Glyph(windsock_runway, "front", 66, 3.6, "#6f747e"),
    "railway track": Glyph(rails, "front", 20, 6.0, "#8f949c"),
    "barrel": Glyph(barrel, "front", 46, 0.8, "#a9724c"),
    "wine cellar": Glyph(barrel, "front", 48, 0.8, "#8f5f40"),
    "treadmill": Glyph(treadmill, "ground", 72, 1.6, "#4a4f5c"),
    "barbell": Glyph(barbell, "front", 34, 2.7, "#33363f"),
    "ski": Glyph(ski, "ground", 82, 0.6, "#e0574a"),
    "skiing": Glyph(ski, "ground", 80, 0.6, "#4c88c9"),
    "skier": Glyph(ski, "ground", 84, 0.6, "#f2b13c"),
    "snowboard": Glyph(board, "ground", 76, 0.4, "#8f6fc4"),
    "snowboarding": Glyph(board, "ground", 76, 0.4, "#4cb0a8"),
    "snowboarder": Glyph(board, "ground", 76, 0.4, "#e07f4c"),
    "surfboard": Glyph(board, "ground", 96, 0.35, "#f2c84b"),
    "surfing": Glyph(board, "ground", 92, 0.35, "#58b0c9"),
    "sledge": Glyph(sledge, "front", 30, 2.2, "#b5793f"),
    "sand dune": Glyph(dune, "far", 52, 3.2, "#e6bf82"),
    "ladder": Glyph(ladder, "ground", 110, 0.4, "#c9a05c"),
    "diving board": Glyph(diving_board, "ground", 60, 1.6, "#f4f4f2"),
    "water slide": Glyph(spiral, "ground", 110, 1.2, "#f2a03c"),
    "inflatable ring": Glyph(ring, "front", 26, 1.9, "#e8615a"),
    "buoy": Glyph(buoy, "water", 34, 0.7, "#e0503e"),
    "anchor": Glyph(anchor, "front", 44, 1.0, "#5a6472"),
}
"""Glyphs of buildings and outdoor things, by label."""
