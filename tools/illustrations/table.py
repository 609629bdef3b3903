"""Food, drinks and other things that lie on a table."""

from __future__ import annotations

from functools import partial

from tools.illustrations.canvas import Color, Pen, circle, clear, dark, pale
from tools.illustrations.glyph import Glyph, glyphs


def cup(p: Pen, color: Color) -> None:
    """Draw a cup of something hot."""
    for x in (-0.1, 0.1):
        p.curve(clear("#ffffff", 0.8), 0.05, (x, 0.75), (x + 0.07, 0.88), (x - 0.03, 1.0))
    p.oval("#f4efe6", 0, 0.05, 0.55, 0.08)
    p.oval(color, 0.36, 0.38, 0.16)
    p.oval("#f4efe6", 0.36, 0.38, 0.08)
    p.poly(color, (-0.36, 0.64), (0.36, 0.64), (0.24, 0.06), (-0.24, 0.06))
    p.oval("#7a4f34", 0, 0.64, 0.36, 0.07)


def glass(p: Pen, color: Color, kind: str = "tumbler") -> None:
    """Draw a glass with a drink."""
    if kind == "wine":
        p.oval("#e4edf0", 0, 0.03, 0.22, 0.04)
        p.line("#e4edf0", 0.04, (0, 0.03), (0, 0.42))
        p.blob(clear("#e8f3f6", 0.9), (-0.2, 0.98), (-0.25, 0.65), (0, 0.4), (0.25, 0.65), (0.2, 0.98))
        p.blob(color, (-0.225, 0.75), (-0.2, 0.56), (0, 0.42), (0.2, 0.56), (0.225, 0.75))
    elif kind == "beer":
        p.box("#f2d58a", 0.2, 0.2, 0.42, 0.62, 0.1)
        p.box(color, -0.26, 0, 0.26, 0.74, 0.05)
        for x in (-0.18, 0.0, 0.18):
            p.oval("#fffaf0", x, 0.8, 0.14)
    elif kind == "cocktail":
        p.line("#e4edf0", 0.04, (0, 0.03), (0, 0.5))
        p.oval("#e4edf0", 0, 0.03, 0.2, 0.04)
        p.poly(color, (-0.36, 0.9), (0.36, 0.9), (0, 0.45))
        p.oval("#f2c14e", 0.3, 0.92, 0.13)
        p.line("#d9473c", 0.035, (-0.05, 0.6), (-0.24, 1.1))
    elif kind == "flute":
        p.oval("#e4edf0", 0, 0.03, 0.15, 0.03)
        p.line("#e4edf0", 0.035, (0, 0.03), (0, 0.4))
        p.poly(color, (-0.11, 0.98), (0.11, 0.98), (0.04, 0.38), (-0.04, 0.38))
    else:
        p.poly(clear("#e8f3f6", 0.95), (-0.26, 0.95), (0.26, 0.95), (0.2, 0), (-0.2, 0))
        p.poly(color, (-0.24, 0.7), (0.24, 0.7), (0.19, 0.04), (-0.19, 0.04))


def bottle(p: Pen, color: Color) -> None:
    """Draw a bottle."""
    p.box(color, -0.16, 0, 0.16, 0.62, 0.08)
    p.poly(color, (-0.16, 0.58), (0.16, 0.58), (0.06, 0.74), (-0.06, 0.74))
    p.box(color, -0.06, 0.7, 0.06, 0.96)
    p.box("#f4ead2", -0.16, 0.2, 0.16, 0.44)
    p.box(dark(color, 0.3), -0.07, 0.92, 0.07, 1.0, 0.02)


def plate(p: Pen, color: Color, topping: Color = "", greens: bool = True) -> None:
    """Draw a plate with food."""
    p.oval("#d9dde2", 0, 0.26, 1.0, 0.26)
    p.oval("#ffffff", 0, 0.32, 1.0, 0.26)
    p.oval("#eef1f3", 0, 0.33, 0.74, 0.18)
    p.blob(color, (-0.5, 0.36), (-0.36, 0.66), (0, 0.78), (0.36, 0.66), (0.5, 0.36), (0, 0.26))
    if topping:
        for x, y in ((-0.2, 0.6), (0.12, 0.66), (0.24, 0.5), (-0.04, 0.5)):
            p.oval(topping, x, y, 0.1, 0.07)
    if greens:
        p.oval("#7fae5a", 0.46, 0.42, 0.14, 0.09)
        p.oval("#6a9a4c", 0.56, 0.46, 0.1, 0.07)


def bowl(p: Pen, color: Color, inside: Color = "#e8a05c") -> None:
    """Draw a bowl."""
    p.oval(inside, 0, 0.62, 0.7, 0.22)
    for x, y, shade in ((-0.3, 0.7, 0.15), (0.0, 0.76, 0.3), (0.3, 0.7, 0.1)):
        p.oval(pale(inside, shade), x, y, 0.2, 0.13)
    p.blob(color, (-0.74, 0.62), (-0.55, 0.2), (0, 0.02), (0.55, 0.2), (0.74, 0.62), (0, 0.48))


def fruit(p: Pen, color: Color) -> None:
    """Draw round fruit."""
    p.oval(dark(color, 0.08), 0.34, 0.36, 0.36)
    p.oval(color, -0.2, 0.42, 0.42)
    p.oval(pale(color, 0.4), -0.34, 0.56, 0.1, 0.08)
    p.line("#7a5a3c", 0.06, (-0.2, 0.8), (-0.14, 0.96))
    p.oval("#6fa35f", 0.0, 0.92, 0.14, 0.07)


def banana(p: Pen, color: Color) -> None:
    """Draw bananas."""
    for dy in (0.0, 0.22):
        p.blob(
            dark(color, 0.1 * (dy == 0)),
            (-0.85, 0.7 + dy),
            (-0.5, 0.25 + dy),
            (0.1, 0.08 + dy),
            (0.7, 0.3 + dy),
            (0.8, 0.5 + dy),
            (0.1, 0.4 + dy),
            (-0.4, 0.55 + dy),
        )


def bunch(p: Pen, color: Color) -> None:
    """Draw grapes or berries."""
    for row, count in enumerate((4, 3, 2, 1)):
        for at in range(count):
            p.oval(dark(color, 0.06 * ((row + at) % 3)), (at - (count - 1) / 2) * 0.26, 0.76 - row * 0.2, 0.16)
    p.line("#7a5a3c", 0.05, (0, 0.85), (0.05, 1.05))


def carrot(p: Pen, color: Color) -> None:
    """Draw a long vegetable with leaves."""
    p.poly(color, (-0.3, 0.7), (0.25, 0.78), (0.95, 0.1))
    p.poly(dark(color, 0.1), (-0.7, 0.5), (-0.3, 0.75), (0.45, 0.0))
    for x, y in ((-0.6, 0.95), (-0.35, 1.05), (-0.1, 1.0)):
        p.oval("#6fa35f", x, y, 0.1, 0.22)


def cabbage(p: Pen, color: Color) -> None:
    """Draw a leafy vegetable."""
    for x, y, r in ((-0.4, 0.36, 0.36), (0.4, 0.36, 0.36), (0.0, 0.5, 0.46)):
        p.oval(dark(color, 0.08 * (x != 0)), x, y, r)
    p.curve(pale(color, 0.5), 0.05, (0, 0.1), (-0.05, 0.5), (0.08, 0.85))
    p.curve(pale(color, 0.5), 0.04, (0, 0.4), (0.25, 0.6))


def pumpkin(p: Pen, color: Color) -> None:
    """Draw a ribbed vegetable or fruit."""
    for x in (-0.4, 0.4, -0.2, 0.2, 0.0):
        p.oval(dark(color, abs(x) * 0.3), x, 0.42, 0.34, 0.42)
    p.box("#6f8a4c", -0.06, 0.8, 0.08, 1.0, 0.03)


def bread(p: Pen, color: Color) -> None:
    """Draw a loaf."""
    p.blob(color, (-0.85, 0.2), (-0.75, 0.68), (0, 0.92), (0.75, 0.68), (0.85, 0.2), (0, 0.04))
    for x in (-0.45, 0.0, 0.45):
        p.line(pale(color, 0.5), 0.08, (x - 0.1, 0.5), (x + 0.12, 0.74))


def croissant(p: Pen, color: Color) -> None:
    """Draw a croissant."""
    p.blob(
        color, (-0.9, 0.12), (-0.6, 0.62), (0, 0.85), (0.6, 0.62), (0.9, 0.12), (0.45, 0.26), (0, 0.34), (-0.45, 0.26)
    )
    for x in (-0.4, -0.13, 0.13, 0.4):
        p.line(dark(color, 0.2), 0.05, (x, 0.34), (x * 1.2, 0.72))


def cake(p: Pen, color: Color, candles: int = 0, tiers: int = 1) -> None:
    """Draw a cake."""
    p.oval("#e9edf0", 0, 0.06, 0.85, 0.1)
    top = 0.06
    for tier in range(tiers):
        half = 0.66 - tier * 0.2
        height = 0.52 if tiers == 1 else 0.3
        p.box(color, -half, top, half, top + height, 0.06)
        p.box(pale(color, 0.6), -half, top + height * 0.66, half, top + height + 0.04, 0.06)
        for at in range(5):
            p.oval(pale(color, 0.6), -half + half * 0.2 + at * half * 0.4, top + height * 0.66, half * 0.13)
        top += height
    for at in range(candles):
        x = -0.36 + at * 0.72 / max(1, candles - 1)
        p.box(("#e0574a", "#5a94c4", "#f2c14e", "#6aae7a")[at % 4], x - 0.03, top, x + 0.03, top + 0.22)
        p.oval("#f9a83c", x, top + 0.3, 0.05, 0.08)
    if not candles:
        p.oval("#d9433b", 0, top + 0.1, 0.1)


def cheese(p: Pen, color: Color) -> None:
    """Draw a piece of cheese."""
    p.poly(pale(color, 0.25), (-0.8, 0.3), (0.5, 0.95), (0.8, 0.6))
    p.poly(color, (-0.8, 0.0), (0.8, 0.0), (0.8, 0.6), (-0.8, 0.3))
    for x, y in ((-0.2, 0.2), (0.3, 0.34), (0.55, 0.12)):
        p.oval(dark(color, 0.14), x, y, 0.1, 0.08)


def pizza(p: Pen, color: Color) -> None:
    """Draw a pizza."""
    p.oval("#d9a05c", 0, 0.42, 1.0, 0.42)
    p.oval(color, 0, 0.44, 0.86, 0.34)
    for x, y in ((-0.5, 0.46), (-0.15, 0.6), (0.25, 0.36), (0.5, 0.52), (-0.15, 0.28)):
        p.oval("#d9473c", x, y, 0.13, 0.075)
    for x, y in ((0.05, 0.46), (-0.35, 0.34), (0.4, 0.62)):
        p.oval("#6a9a4c", x, y, 0.07, 0.035)


def burger(p: Pen, color: Color) -> None:
    """Draw a hamburger or a sandwich."""
    p.box(color, -0.6, 0, 0.6, 0.2, 0.08)
    p.box("#7a4a34", -0.64, 0.2, 0.64, 0.36, 0.06)
    p.box("#f2c14e", -0.64, 0.36, 0.64, 0.43)
    p.box("#7fae5a", -0.68, 0.42, 0.68, 0.52, 0.05)
    p.blob(color, (-0.64, 0.5), (-0.5, 0.82), (0, 0.98), (0.5, 0.82), (0.64, 0.5))


def ice_cream(p: Pen, color: Color) -> None:
    """Draw an ice cream."""
    p.poly("#d9a864", (-0.2, 0.52), (0.2, 0.52), (0, 0))
    p.oval("#fff0da", -0.13, 0.62, 0.19)
    p.oval(color, 0.13, 0.62, 0.19)
    p.oval("#a9d6c4", 0, 0.82, 0.18)


def egg(p: Pen, color: Color) -> None:
    """Draw eggs."""
    for x, shade in ((-0.3, 0.0), (0.3, 0.06), (0.0, 0.03)):
        p.oval(dark(color, shade), x, 0.42 if x else 0.36, 0.27, 0.36)


def candle(p: Pen, color: Color) -> None:
    """Draw a burning candle."""
    p.canvas.glow(p.x, p.y - 0.85 * p.scale, 0.7 * p.scale, "#ffdf8a", 0.4)
    p.oval("#c9a45c", 0, 0.05, 0.3, 0.06)
    p.box(color, -0.13, 0.06, 0.13, 0.66, 0.03)
    p.blob("#f9a83c", (-0.08, 0.74), (0, 1.0), (0.08, 0.74), (0, 0.67))


def jar(p: Pen, color: Color) -> None:
    """Draw a jar."""
    p.box(color, -0.32, 0, 0.32, 0.74, 0.1)
    p.box("#f7f0e0", -0.32, 0.2, 0.32, 0.48)
    p.box("#b5854c", -0.3, 0.74, 0.3, 0.92, 0.04)


def carton(p: Pen, color: Color) -> None:
    """Draw a carton."""
    p.box(color, -0.28, 0, 0.28, 0.72)
    p.poly(pale(color, 0.3), (-0.28, 0.72), (0.28, 0.72), (0.18, 0.94), (-0.18, 0.94))
    p.box("#5a94c4", -0.28, 0.2, 0.28, 0.42)


def pot(p: Pen, color: Color) -> None:
    """Draw a cooking pot."""
    for x in (-0.62, 0.62):
        p.oval(dark(color, 0.2), x, 0.46, 0.13, 0.08)
    p.box(color, -0.52, 0, 0.52, 0.66, 0.1)
    p.oval(dark(color, 0.12), 0, 0.66, 0.54, 0.1)
    p.oval(pale(color, 0.3), 0, 0.7, 0.5, 0.1)
    p.oval(dark(color, 0.3), 0, 0.84, 0.08)


def pan(p: Pen, color: Color) -> None:
    """Draw a frying pan with an egg."""
    p.line("#5a4030", 0.14, (0.6, 0.35), (1.4, 0.5))
    p.oval(color, 0, 0.3, 0.72, 0.28)
    p.oval(dark(color, 0.2), 0, 0.34, 0.62, 0.2)
    p.oval("#ffffff", -0.05, 0.38, 0.34, 0.12)
    p.oval("#f5b53c", -0.05, 0.42, 0.13, 0.07)


def teapot(p: Pen, color: Color) -> None:
    """Draw a teapot."""
    p.curve(color, 0.1, (0.4, 0.3), (0.68, 0.5), (0.74, 0.8))
    p.oval(color, -0.5, 0.42, 0.2)
    p.oval("#f4efe6", -0.5, 0.42, 0.11)
    p.oval(color, 0, 0.4, 0.48, 0.4)
    p.oval(dark(color, 0.15), 0, 0.78, 0.24, 0.06)
    p.oval(dark(color, 0.15), 0, 0.9, 0.07)


def cutlery(p: Pen, color: Color) -> None:
    """Draw a fork and a knife."""
    p.line(color, 0.06, (-0.2, 0), (-0.2, 0.7))
    for x in (-0.3, -0.2, -0.1):
        p.line(color, 0.04, (x, 0.62), (x, 0.96))
    p.line(color, 0.06, (0.2, 0), (0.2, 0.4))
    p.blob(pale(color, 0.3), (0.13, 0.4), (0.13, 0.9), (0.22, 1.0), (0.28, 0.6), (0.27, 0.4))


def spoon(p: Pen, color: Color) -> None:
    """Draw a spoon."""
    p.line(color, 0.07, (0, 0), (0, 0.7))
    p.oval(color, 0, 0.82, 0.14, 0.19)


def laptop(p: Pen, color: Color) -> None:
    """Draw a laptop."""
    p.poly(color, (-0.75, 0.02), (0.75, 0.02), (0.62, 0.2), (-0.62, 0.2))
    p.box("#3a3f4a", -0.6, 0.2, 0.6, 1.0, 0.04)
    p.box("#8fc4dd", -0.54, 0.26, 0.54, 0.94)
    for y, end in ((0.8, 0.3), (0.66, 0.1), (0.52, 0.36)):
        p.box("#f4f8fa", -0.44, y, end, y + 0.06)


def monitor(p: Pen, color: Color) -> None:
    """Draw a monitor."""
    p.box("#8f98a3", -0.08, 0.04, 0.08, 0.28)
    p.box("#8f98a3", -0.3, 0, 0.3, 0.06, 0.02)
    p.box(color, -0.7, 0.24, 0.7, 1.0, 0.04)
    p.box("#7fb0d4", -0.63, 0.3, 0.63, 0.93)
    p.poly("#a9d6a8", (-0.63, 0.3), (0.63, 0.3), (0.63, 0.44), (0.1, 0.62), (-0.3, 0.46))


def phone(p: Pen, color: Color) -> None:
    """Draw a telephone."""
    p.box(color, -0.3, 0, 0.3, 1.0, 0.08)
    p.box("#9fd0e4", -0.24, 0.12, 0.24, 0.9)
    p.oval("#e9edf0", 0, 0.06, 0.03)


def keyboard(p: Pen, color: Color) -> None:
    """Draw a keyboard."""
    p.box(color, -1.1, 0.05, 1.1, 0.8, 0.08)
    for row in range(3):
        for at in range(9):
            p.box("#5a606c", -0.98 + at * 0.22, 0.14 + row * 0.21, -0.82 + at * 0.22, 0.28 + row * 0.21, 0.02)


def paper(p: Pen, color: Color) -> None:
    """Draw paper with writing, and a pen."""
    p.poly(dark(color, 0.06), (-0.6, 0), (0.3, 0.06), (0.26, 0.98), (-0.64, 0.92))
    p.poly(color, (-0.5, 0.04), (0.4, 0.04), (0.4, 0.96), (-0.5, 0.96))
    for y in (0.24, 0.42, 0.6, 0.78):
        p.line("#9aaabb", 0.035, (-0.4, y), (0.3 - 0.2 * (y < 0.3), y))
    p.line("#d9574f", 0.08, (0.4, 0.15), (0.8, 0.7))


def book(p: Pen, color: Color) -> None:
    """Draw a stack of books."""
    for y, shade, half in ((0.0, "#5a7fa8", 0.8), (0.3, color, 0.7), (0.58, "#e2b04a", 0.6)):
        p.box(shade, -half, y, half, y + 0.27, 0.04)
        p.box("#fffaf0", -half + 0.1, y + 0.06, half, y + 0.2)
        p.box(shade, -half, y, -half + 0.16, y + 0.27, 0.04)


def pencil(p: Pen, color: Color) -> None:
    """Draw pencils."""
    for x, shade in ((-0.3, "#5a94c4"), (0.0, color), (0.3, "#6aae7a")):
        p.box(shade, x - 0.09, 0, x + 0.09, 0.76)
        p.poly("#f2d9b0", (x - 0.09, 0.76), (x + 0.09, 0.76), (x, 1.0))
        p.poly("#3a3a44", (x - 0.03, 0.92), (x + 0.03, 0.92), (x, 1.0))


def globe(p: Pen, color: Color) -> None:
    """Draw a globe."""
    p.box("#a97c54", -0.26, 0, 0.26, 0.08, 0.03)
    p.box("#a97c54", -0.04, 0.05, 0.04, 0.22)
    p.oval("#c9a45c", 0, 0.58, 0.43)
    p.oval(color, 0, 0.58, 0.39)
    p.blob("#8fbf7a", (-0.26, 0.7), (-0.05, 0.84), (0.02, 0.62), (-0.12, 0.46))
    p.blob("#8fbf7a", (0.1, 0.5), (0.28, 0.62), (0.24, 0.38), (0.08, 0.34))


def gift(p: Pen, color: Color) -> None:
    """Draw presents."""
    p.box("#5a94c4", 0.1, 0, 0.72, 0.5)
    p.box("#f2c14e", 0.36, 0, 0.46, 0.5)
    p.box(color, -0.6, 0, 0.24, 0.7)
    p.box("#ffe7a8", -0.24, 0, -0.1, 0.7)
    p.box("#ffe7a8", -0.6, 0.3, 0.24, 0.4)
    for x in (-0.3, -0.04):
        p.oval("#ffe7a8", x, 0.78, 0.15, 0.1)


def ball(p: Pen, color: Color, kind: str = "beach") -> None:
    """Draw a ball."""
    p.shadow(0.5)
    p.oval(color, 0, 0.5, 0.5)
    if kind == "football":
        p.poly("#33343d", *circle(0, 0.5, 0.19, 5, 1.57))
        for x, y in circle(0, 0.5, 0.42, 5, 1.57):
            p.oval("#33343d", x, y, 0.08)
    elif kind == "basketball":
        p.line("#7a3f20", 0.03, (-0.5, 0.5), (0.5, 0.5))
        p.line("#7a3f20", 0.03, (0, 0), (0, 1.0))
        p.curve("#7a3f20", 0.03, (-0.35, 0.86), (-0.14, 0.5), (-0.35, 0.14))
        p.curve("#7a3f20", 0.03, (0.35, 0.86), (0.14, 0.5), (0.35, 0.14))
    else:
        p.blob(pale(color, 0.7), (0, 1.0), (-0.3, 0.8), (-0.34, 0.3), (0, 0.02), (-0.12, 0.5))
        p.blob("#f2c14e", (0, 1.0), (0.3, 0.8), (0.34, 0.3), (0, 0.02), (0.12, 0.5))


def bucket(p: Pen, color: Color) -> None:
    """Draw a bucket with a spade."""
    p.line("#8a6a48", 0.06, (0.2, 0.2), (0.55, 1.1))
    p.curve("#8f949c", 0.04, (-0.34, 0.7), (0, 1.02), (0.34, 0.7))
    p.poly(color, (-0.36, 0.72), (0.36, 0.72), (0.24, 0), (-0.24, 0))
    p.oval(dark(color, 0.15), 0, 0.72, 0.36, 0.08)


def basket(p: Pen, color: Color) -> None:
    """Draw a basket."""
    p.curve(dark(color, 0.2), 0.07, (-0.42, 0.5), (0, 1.02), (0.42, 0.5))
    for x, shade in ((-0.3, "#e0574a"), (0.0, "#f2c14e"), (0.28, "#7fae5a")):
        p.oval(shade, x, 0.54, 0.18)
    p.poly(color, (-0.6, 0.52), (0.6, 0.52), (0.45, 0), (-0.45, 0))
    for y in (0.14, 0.3):
        p.line(dark(color, 0.15), 0.03, (-0.5, y), (0.5, y))


def vase(p: Pen, color: Color) -> None:
    """Draw a vase with flowers."""
    for x, y, shade in ((-0.2, 0.8, "#f2a0b5"), (0.2, 0.82, "#f7d26a"), (0.0, 0.94, "#e86f7f")):
        p.line("#6a9a5a", 0.03, (0, 0.5), (x, y))
        p.oval(shade, x, y, 0.11)
    p.blob(
        color,
        (-0.14, 0.02),
        (-0.24, 0.26),
        (-0.1, 0.46),
        (-0.14, 0.56),
        (0.14, 0.56),
        (0.1, 0.46),
        (0.24, 0.26),
        (0.14, 0.02),
    )


def trophy(p: Pen, color: Color) -> None:
    """Draw a trophy."""
    p.box("#7a5a3c", -0.28, 0, 0.28, 0.16)
    p.box(color, -0.06, 0.14, 0.06, 0.4)
    for x in (-0.36, 0.36):
        p.oval(color, x, 0.7, 0.15)
        p.oval("#fbf3e0", x, 0.7, 0.08)
    p.blob(color, (-0.34, 0.98), (-0.3, 0.6), (0, 0.34), (0.3, 0.6), (0.34, 0.98))


def medal(p: Pen, color: Color) -> None:
    """Draw a medal."""
    p.poly("#d9473c", (-0.3, 1.0), (-0.08, 1.0), (0.06, 0.5), (-0.06, 0.5))
    p.poly("#4c7fc9", (0.3, 1.0), (0.08, 1.0), (-0.06, 0.5), (0.06, 0.5))
    p.oval(color, 0, 0.3, 0.3)
    p.oval(pale(color, 0.35), 0, 0.3, 0.2)


def shoes(p: Pen, color: Color) -> None:
    """Draw shoes."""
    for x in (-0.55, 0.55):
        p.blob(
            color,
            (x - 0.45, 0.12),
            (x - 0.42, 0.8),
            (x - 0.1, 0.8),
            (x + 0.12, 0.45),
            (x + 0.48, 0.3),
            (x + 0.46, 0.12),
        )
        p.box("#f4efe6", x - 0.46, 0.0, x + 0.48, 0.14, 0.05)


def glove(p: Pen, color: Color) -> None:
    """Draw a mitten."""
    p.oval(color, 0, 0.6, 0.28, 0.38)
    p.oval(color, 0.3, 0.5, 0.1, 0.2)
    p.box(pale(color, 0.5), -0.22, 0, 0.22, 0.24, 0.05)


def tools(p: Pen, color: Color) -> None:
    """Draw a hammer and a spanner."""
    p.line("#a97c54", 0.12, (-0.35, 0), (-0.35, 0.7))
    p.box(color, -0.62, 0.68, -0.05, 0.92, 0.04)
    p.line("#9aa3ae", 0.12, (0.35, 0.1), (0.35, 0.75))
    p.oval("#9aa3ae", 0.35, 0.84, 0.18)
    p.box("#f4efe6", 0.28, 0.86, 0.42, 1.05)


def saw(p: Pen, color: Color) -> None:
    """Draw a saw."""
    p.poly("#c9d0d6", (-0.9, 0.45), (0.4, 0.75), (0.4, 0.25), (-0.85, 0.3))
    for at in range(8):
        p.poly("#c9d0d6", (-0.8 + at * 0.15, 0.3), (-0.68 + at * 0.15, 0.29), (-0.74 + at * 0.15, 0.2))
    p.oval(color, 0.6, 0.5, 0.3, 0.36)
    p.oval("#f4efe6", 0.62, 0.5, 0.13, 0.17)


def long_tool(p: Pen, color: Color) -> None:
    """Draw a spade or a rake."""
    p.line("#a97c54", 0.05, (0, 0.2), (0.1, 1.0))
    p.poly(color, (-0.14, 0.32), (0.14, 0.3), (0.08, 0.0), (-0.08, 0.0))


def watering_can(p: Pen, color: Color) -> None:
    """Draw a watering can."""
    p.curve(dark(color, 0.1), 0.07, (-0.3, 0.6), (-0.65, 0.5), (-0.35, 0.12))
    p.line(color, 0.1, (0.25, 0.2), (0.8, 0.78))
    p.box(color, -0.38, 0, 0.36, 0.62, 0.06)
    p.curve(dark(color, 0.1), 0.06, (-0.26, 0.62), (0, 0.95), (0.28, 0.62))


def medicine(p: Pen, color: Color) -> None:
    """Draw medicine."""
    p.box(color, -0.5, 0, 0.02, 0.7, 0.08)
    p.box("#ffffff", -0.44, 0.7, -0.04, 0.9, 0.04)
    p.box("#ffffff", -0.4, 0.3, -0.08, 0.38)
    p.box("#ffffff", -0.28, 0.2, -0.2, 0.48)
    p.box("#f4f4f2", 0.2, 0.05, 0.7, 0.22, 0.08)
    p.box("#d9574f", 0.45, 0.05, 0.7, 0.22, 0.08)


def controller(p: Pen, color: Color) -> None:
    """Draw a game controller."""
    p.blob(
        color,
        (-0.8, 0.2),
        (-0.6, 0.75),
        (0, 0.65),
        (0.6, 0.75),
        (0.8, 0.2),
        (0.5, 0.2),
        (0.25, 0.4),
        (-0.25, 0.4),
        (-0.5, 0.2),
    )
    for x, shade in ((0.38, "#e0574a"), (0.54, "#6aae7a"), (-0.45, "#f4f4f2")):
        p.oval(shade, x, 0.56, 0.08)


def blocks(p: Pen, color: Color) -> None:
    """Draw building blocks."""
    for x, y, shade in ((-0.45, 0.0, "#5a94c4"), (0.1, 0.0, "#f2c14e"), (-0.18, 0.48, color)):
        p.box(shade, x - 0.24, y, x + 0.26, y + 0.46, 0.04)
        p.box(pale(shade, 0.3), x - 0.18, y + 0.06, x + 0.2, y + 0.4, 0.03)


def cushion(p: Pen, color: Color) -> None:
    """Draw a cushion."""
    p.blob(color, (-0.8, 0.05), (-0.65, 0.5), (-0.8, 0.95), (0, 0.8), (0.8, 0.95), (0.65, 0.5), (0.8, 0.05), (0, 0.18))
    p.line(pale(color, 0.4), 0.06, (-0.5, 0.5), (0.5, 0.5))


def small_box(p: Pen, color: Color) -> None:
    """Draw a small appliance."""
    p.box(color, -0.6, 0, 0.6, 0.9, 0.08)
    p.box("#4a4e58", -0.48, 0.16, 0.2, 0.74, 0.04)
    for y in (0.3, 0.5, 0.68):
        p.oval("#e9edf0", 0.4, y, 0.07)


def mask(p: Pen, color: Color) -> None:
    """Draw a mask."""
    p.blob(color, (-0.7, 0.85), (0, 0.75), (0.7, 0.85), (0.6, 0.4), (0.2, 0.3), (0, 0.42), (-0.2, 0.3), (-0.6, 0.4))
    for x in (-0.34, 0.34):
        p.oval("#fff7ea", x, 0.62, 0.16, 0.1)


def binoculars(p: Pen, color: Color) -> None:
    """Draw binoculars or a camera."""
    for x in (-0.3, 0.3):
        p.poly(color, (x - 0.28, 0.0), (x + 0.28, 0.0), (x + 0.18, 0.95), (x - 0.18, 0.95))
        p.oval("#9fd0e4", x, 0.06, 0.24, 0.12)
    p.box(dark(color, 0.1), -0.2, 0.4, 0.2, 0.7)


def hat(p: Pen, color: Color) -> None:
    """Draw a hat."""
    p.oval(color, 0, 0.2, 0.9, 0.2)
    p.blob(color, (-0.5, 0.25), (-0.42, 0.8), (0, 0.95), (0.42, 0.8), (0.5, 0.25))
    p.box(dark(color, 0.3), -0.5, 0.24, 0.5, 0.42)


def coil(p: Pen, color: Color) -> None:
    """Draw a coil of rope."""
    for y in (0.2, 0.42, 0.64):
        p.oval(dark(color, 0.2), 0, y, 0.8, 0.24)
        p.oval(color, 0, y + 0.06, 0.76, 0.2)
    p.oval(dark(color, 0.35), 0, 0.72, 0.36, 0.1)


def accordion(p: Pen, color: Color) -> None:
    """Draw an accordion."""
    for at in range(6):
        p.box(pale(color, 0.2 * (at % 2)), -0.4 + at * 0.13, 0.05, -0.27 + at * 0.13, 0.95)
    p.box(dark(color, 0.2), -0.75, 0, -0.38, 1.0, 0.06)
    p.box(dark(color, 0.2), 0.36, 0, 0.75, 1.0, 0.06)
    for y in (0.15, 0.3, 0.45, 0.6, 0.75):
        p.box("#fbf7ee", 0.48, y, 0.7, y + 0.1)


def spoked(p: Pen, color: Color) -> None:
    """Draw a wheel."""
    p.oval(color, 0, 0.5, 0.5)
    p.oval("#efe6d6", 0, 0.5, 0.4)
    for x, y in circle(0, 0.5, 0.42, 10):
        p.line(color, 0.03, (0, 0.5), (x, y))
    p.oval(color, 0, 0.5, 0.09)


TABLE: dict[str, Glyph] = {
    "rope": Glyph(coil, "front", 24, 1.7, "#cdaa74"),
    "dog lead": Glyph(coil, "front", 16, 1.7, "#c9473c"),
    "saddle": Glyph(cushion, "front", 26, 1.7, "#8a5a3c"),
    "accordion": Glyph(accordion, "front", 38, 1.6, "#c9433a"),
    "wheel": Glyph(spoked, "front", 44, 1.1, "#5a4a40"),
    "bottle": Glyph(bottle, "table", 46, 0.5, "#5f8f6a"),
    "water bottle": Glyph(bottle, "table", 44, 0.5, "#7fc0dd"),
    "beer": Glyph(partial(glass, kind="beer"), "table", 36, 0.8, "#eab43c"),
    "wine": Glyph(partial(glass, kind="wine"), "table", 44, 0.6, "#a83a52"),
    "red wine": Glyph(partial(glass, kind="wine"), "table", 44, 0.6, "#96304a"),
    "white wine": Glyph(partial(glass, kind="wine"), "table", 44, 0.6, "#efe09a"),
    "champagne": Glyph(partial(glass, kind="flute"), "table", 44, 0.4, "#f3dd8f"),
    "cocktail": Glyph(partial(glass, kind="cocktail"), "table", 40, 0.8, "#f28a6a"),
    "plate": Glyph(plate, "table", 26, 2.0, "#e3b06a"),
    "restaurant": Glyph(partial(plate, topping="#d9574f"), "table", 26, 2.0, "#e8c07a"),
    "food": Glyph(partial(plate, topping="#d9574f"), "table", 26, 2.0, "#dba45c"),
    "breakfast": Glyph(partial(plate, topping="#ffffff"), "table", 26, 2.0, "#f5b53c"),
    "pasta": Glyph(partial(plate, topping="#d9473c"), "table", 26, 2.0, "#f2d58a"),
    "rice": Glyph(plate, "table", 26, 2.0, "#fbf8ef"),
    "meat": Glyph(plate, "table", 26, 2.0, "#a85f44"),
    "sausage": Glyph(plate, "table", 24, 2.0, "#c4694c"),
    "french fries": Glyph(plate, "table", 26, 2.0, "#f2c45a"),
    "sushi": Glyph(partial(plate, topping="#f28a6a"), "table", 24, 2.0, "#fbf8f2"),
    "chopstick": Glyph(cutlery, "table", 34, 0.7, "#b5794c"),
    "dessert": Glyph(partial(plate, topping="#c9577f", greens=False), "table", 26, 2.0, "#f7dfb8"),
    "pancake": Glyph(partial(plate, topping="#d9473c", greens=False), "table", 26, 2.0, "#e0a856"),
    "chocolate": Glyph(partial(cake, tiers=1), "table", 32, 1.4, "#7a4a34"),
    "barbecue": Glyph(partial(plate, topping="#7a3f2c"), "table", 28, 2.0, "#a85f44"),
    "bowl": Glyph(bowl, "table", 28, 1.5, "#7fa8c4"),
    "soup": Glyph(bowl, "table", 28, 1.5, "#e9e2d4"),
    "salad": Glyph(partial(bowl, inside="#8fbf5a"), "table", 30, 1.5, "#f2ede2"),
    "fruit bowl": Glyph(partial(bowl, inside="#e0703c"), "table", 32, 1.5, "#a9c4b0"),
    "popcorn": Glyph(partial(bowl, inside="#fbf0c9"), "table", 32, 1.5, "#d9473c"),
    "spice": Glyph(partial(bowl, inside="#d9803c"), "table", 24, 1.5, "#b58a5c"),
    "nut": Glyph(partial(bowl, inside="#a9724c"), "table", 22, 1.5, "#d9c7a8"),
    "flour": Glyph(partial(bowl, inside="#ffffff"), "table", 26, 1.5, "#c9a68a"),
    "banana": Glyph(banana, "table", 26, 1.8, "#f3cf4a"),
    "grape": Glyph(bunch, "table", 32, 1.1, "#7a4f9a"),
    "strawberry": Glyph(bunch, "table", 28, 1.1, "#e0474f"),
    "cherry": Glyph(bunch, "table", 26, 1.1, "#c22f44"),
    "carrot": Glyph(carrot, "table", 26, 1.8, "#ef8a3c"),
    "cucumber": Glyph(carrot, "table", 24, 1.8, "#5f9a55"),
    "pepper": Glyph(pumpkin, "table", 26, 1.3, "#d9473c"),
    "vegetable": Glyph(carrot, "table", 26, 1.8, "#e8944c"),
    "cabbage": Glyph(cabbage, "table", 28, 1.5, "#8fbf6a"),
    "lettuce": Glyph(cabbage, "table", 26, 1.5, "#9acb62"),
    "garlic": Glyph(pumpkin, "table", 22, 1.3, "#f7f1e6"),
    "onion": Glyph(pumpkin, "table", 24, 1.3, "#d9a05c"),
    "potato": Glyph(egg, "table", 24, 1.4, "#c9a06a"),
    "pumpkin": Glyph(pumpkin, "front", 36, 1.4, "#ee8a36"),
    "melon": Glyph(pumpkin, "table", 30, 1.4, "#7fae5a"),
    "coconut": Glyph(fruit, "front", 24, 1.3, "#7f5a40"),
    "egg": Glyph(egg, "table", 24, 1.4, "#f7ead6"),
    "bread": Glyph(bread, "table", 28, 1.8, "#d29a58"),
    "toast": Glyph(bread, "table", 26, 1.8, "#dba864"),
    "biscuit": Glyph(pizza, "table", 20, 2.0, "#e0b06a"),
    "gingerbread": Glyph(pizza, "table", 20, 2.0, "#b5723f"),
    "croissant": Glyph(croissant, "table", 24, 1.9, "#dc9c4e"),
    "sandwich": Glyph(burger, "table", 28, 1.4, "#e9c48a"),
    "hamburger": Glyph(burger, "table", 32, 1.4, "#dc9c50"),
    "cheese": Glyph(cheese, "table", 26, 1.7, "#f2c956"),
    "pizza": Glyph(pizza, "table", 28, 2.1, "#f5cf6a"),
    "cake": Glyph(cake, "table", 38, 1.4, "#e8a0a8"),
    "birthday cake": Glyph(partial(cake, candles=4), "table", 46, 1.4, "#f0a0b4"),
    "wedding cake": Glyph(partial(cake, tiers=3), "table", 62, 1.2, "#f9efe6"),
    "ice cream": Glyph(ice_cream, "table", 44, 0.6, "#f29ab0"),
    "candyfloss": Glyph(ice_cream, "front", 48, 0.6, "#f7a8c8"),
    "marshmallow": Glyph(ice_cream, "front", 36, 0.6, "#fff4f0"),
    "candle": Glyph(candle, "table", 40, 0.6, "#fbf3e0"),
    "honey": Glyph(jar, "table", 32, 0.8, "#eaa83c"),
    "soap": Glyph(jar, "table", 28, 0.8, "#a9d6c4"),
    "toothpaste": Glyph(carton, "table", 28, 0.7, "#e9f2f7"),
    "toothbrush": Glyph(pencil, "table", 30, 0.9, "#5ab0c9"),
    "milk": Glyph(carton, "table", 36, 0.7, "#fafcfd"),
    "juice": Glyph(glass, "table", 34, 0.6, "#f2a33a"),
    "lemonade": Glyph(glass, "table", 34, 0.6, "#f5e27a"),
    "drink": Glyph(glass, "table", 34, 0.6, "#e0705a"),
    "glass": Glyph(glass, "table", 34, 0.6, "#bcdcea"),
    "pot": Glyph(pot, "table", 36, 1.4, "#7d8794"),
    "kitchenware": Glyph(pot, "table", 34, 1.4, "#c9694b"),
    "frying pan": Glyph(pan, "table", 28, 2.2, "#4a4f5a"),
    "teapot": Glyph(teapot, "table", 36, 1.4, "#6a9ab5"),
    "kettle": Glyph(teapot, "table", 36, 1.4, "#b9c0c8"),
    "fork": Glyph(cutlery, "table", 34, 0.7, "#aab4be"),
    "knife": Glyph(cutlery, "table", 34, 0.7, "#9aa6b2"),
    "napkin": Glyph(cutlery, "table", 32, 0.7, "#c9a45c"),
    "spoon": Glyph(spoon, "table", 34, 0.4, "#aab4be"),
    "rolling pin": Glyph(spoon, "table", 34, 0.4, "#c99a5c"),
    "chopping board": Glyph(keyboard, "table", 20, 2.3, "#c99a64"),
    "laptop": Glyph(laptop, "table", 44, 1.5, "#c4ccd4"),
    "tablet computer": Glyph(phone, "table", 40, 0.7, "#3a3f4a"),
    "computer": Glyph(monitor, "table", 54, 1.4, "#33384a"),
    "monitor": Glyph(monitor, "table", 54, 1.4, "#2f333e"),
    "office": Glyph(monitor, "table", 52, 1.4, "#44506b"),
    "electronics": Glyph(monitor, "table", 46, 1.4, "#3a4250"),
    "keyboard": Glyph(keyboard, "table", 16, 2.3, "#8f98a3"),
    "computer mouse": Glyph(egg, "table", 14, 1.4, "#c4ccd4"),
    "printer": Glyph(small_box, "table", 36, 1.3, "#e4e9ee"),
    "microwave oven": Glyph(small_box, "table", 34, 1.3, "#d9dee4"),
    "coffee machine": Glyph(small_box, "table", 42, 1.3, "#b5573f"),
    "mobile phone": Glyph(phone, "table", 30, 0.6, "#33363f"),
    "telephone": Glyph(phone, "table", 30, 0.6, "#c9433a"),
    "remote control": Glyph(phone, "table", 26, 0.6, "#4a4f5c"),
    "passport": Glyph(phone, "table", 28, 0.6, "#7a2f3c"),
    "boarding pass": Glyph(paper, "table", 28, 1.2, "#eaf3f8"),
    "paper": Glyph(paper, "table", 30, 1.2, "#ffffff"),
    "notebook": Glyph(paper, "table", 32, 1.2, "#fbf3d9"),
    "newspaper": Glyph(paper, "table", 32, 1.2, "#eceae4"),
    "pen": Glyph(paper, "table", 28, 1.2, "#ffffff"),
    "picture book": Glyph(book, "table", 30, 1.6, "#e0705a"),
    "pencil": Glyph(pencil, "table", 32, 0.9, "#f2c14e"),
    "crayon": Glyph(pencil, "table", 30, 0.9, "#e0574a"),
    "chalk": Glyph(pencil, "table", 24, 0.9, "#fafafa"),
    "ruler": Glyph(pencil, "table", 32, 0.9, "#e0b06a"),
    "scissors": Glyph(tools, "table", 32, 1.2, "#d9574f"),
    "globe": Glyph(globe, "table", 46, 0.9, "#6aaed0"),
    "gift": Glyph(gift, "table", 36, 1.5, "#d9574f"),
    "ribbon": Glyph(gift, "table", 32, 1.5, "#c98ab0"),
    "ball": Glyph(ball, "front", 24, 1.1, "#e0574a"),
    "football": Glyph(partial(ball, kind="football"), "front", 26, 1.1, "#ffffff"),
    "football pitch": Glyph(partial(ball, kind="football"), "front", 22, 1.1, "#ffffff"),
    "basketball": Glyph(partial(ball, kind="basketball"), "front", 28, 1.1, "#e8833c"),
    "basketball court": Glyph(partial(ball, kind="basketball"), "front", 24, 1.1, "#e8833c"),
    "bucket": Glyph(bucket, "front", 34, 0.9, "#4c9bc9"),
    "spade": Glyph(bucket, "front", 34, 0.9, "#e0574a"),
    "basket": Glyph(basket, "front", 36, 1.3, "#c4935a"),
    "vase": Glyph(vase, "table", 46, 0.6, "#5a8fa8"),
    "antique": Glyph(vase, "table", 44, 0.6, "#b5833f"),
    "bouquet": Glyph(vase, "table", 46, 0.6, "#cfe3ea"),
    "trophy": Glyph(trophy, "front", 46, 0.9, "#efc34c"),
    "medal": Glyph(medal, "front", 34, 0.8, "#efc34c"),
    "ring": Glyph(medal, "front", 28, 0.8, "#efd27a"),
    "tool": Glyph(tools, "table", 34, 1.2, "#7d8794"),
    "hammer": Glyph(tools, "table", 36, 1.2, "#6a7480"),
    "spanner": Glyph(tools, "table", 34, 1.2, "#8f98a3"),
    "drill": Glyph(tools, "table", 36, 1.2, "#e0a03c"),
    "saw": Glyph(saw, "table", 26, 1.8, "#d9803f"),
    "plank": Glyph(keyboard, "table", 16, 2.3, "#c99a64"),
    "paint": Glyph(bucket, "front", 34, 0.9, "#8f6fc4"),
    "pipe": Glyph(long_tool, "front", 50, 0.4, "#8f98a3"),
    "rake": Glyph(long_tool, "front", 64, 0.4, "#b5573f"),
    "watering can": Glyph(watering_can, "front", 38, 1.5, "#5fa08f"),
    "medicine": Glyph(medicine, "table", 34, 1.3, "#e0803c"),
    "syringe": Glyph(medicine, "table", 30, 1.3, "#7fc0c4"),
    "bandage": Glyph(medicine, "table", 30, 1.3, "#e9d3b4"),
    "hospital": Glyph(medicine, "table", 32, 1.3, "#d9574f"),
    "game console": Glyph(controller, "table", 24, 1.7, "#3f444f"),
    "toy": Glyph(blocks, "front", 34, 1.2, "#e0574a"),
    "building block": Glyph(blocks, "front", 34, 1.2, "#6aae7a"),
    "puppet": Glyph(blocks, "front", 34, 1.2, "#c98ab0"),
    "cushion": Glyph(cushion, "front", 28, 1.7, "#d9906a"),
    "pillow": Glyph(cushion, "front", 28, 1.7, "#eef2f5"),
    "mask": Glyph(mask, "front", 30, 1.5, "#c95f9a"),
    "binoculars": Glyph(binoculars, "front", 28, 1.2, "#44505e"),
    "camera": Glyph(binoculars, "front", 26, 1.2, "#3a3d48"),
    "glove": Glyph(glove, "front", 30, 0.8, "#c9584a"),
    "boxing glove": Glyph(glove, "front", 32, 0.8, "#d9433b"),
    "hat": Glyph(hat, "front", 24, 1.8, "#8a5f44"),
    "straw hat": Glyph(hat, "front", 26, 1.8, "#d9a850"),
    "dumbbell": Glyph(tools, "front", 30, 1.2, "#33363f"),
    "engine": Glyph(small_box, "front", 40, 1.3, "#9aa3ae"),
}
"""Glyphs of food and small things, by label."""
TABLE |= glyphs(
    fruit,
    "table",
    26,
    1.4,
    {
        "apple": "#d9473c",
        "fruit": "#e0703c",
        "orange": "#f2953a",
        "lemon": "#f3d84a",
        "pear": "#b9c95a",
        "peach": "#f2b08a",
        "tomato": "#df4b3a",
    },
)
TABLE |= glyphs(
    cup,
    "table",
    30,
    1.0,
    {"cup": "#f4f6f8", "coffee": "#e9d5bd", "tea": "#cfe0c4", "mug": "#d9674c", "mulled wine": "#a83a4a"},
)
TABLE |= glyphs(
    shoes,
    "front",
    20,
    2.2,
    {
        "shoe": "#6a4a3c",
        "sandal": "#c99a64",
        "trainer": "#5a94c4",
        "boot": "#7a5540",
        "ballet shoe": "#f2b0bd",
        "ice skate": "#e9eef2",
    },
)
