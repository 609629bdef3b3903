"""Plants, stones, water and what is in the sky."""

from __future__ import annotations

import math
from functools import partial

from tools.illustrations.canvas import Color, Pen, circle, clear, dark, pale
from tools.illustrations.glyph import Glyph, glyphs

_TRUNK = "#8a6546"


def round_tree(p: Pen, color: Color, trunk: Color = _TRUNK, dots: Color = "") -> None:
    """Draw a tree with a round crown."""
    p.shadow(0.3)
    p.poly(trunk, (-0.045, 0), (0.045, 0), (0.03, 0.5), (-0.03, 0.5))
    for x, y, r in ((-0.18, 0.56, 0.2), (0.18, 0.56, 0.2), (0.0, 0.74, 0.25), (-0.1, 0.66, 0.2), (0.12, 0.68, 0.2)):
        p.oval(dark(color, 0.1) if x > 0 else color, x, y, r)
    p.oval(pale(color, 0.16), -0.08, 0.76, 0.14)
    for _ in range(12 if dots else 0):
        p.oval(dots, p.dice(-0.28, 0.28), p.dice(0.46, 0.9), 0.032)


def birch(p: Pen, color: Color) -> None:
    """Draw a birch."""
    p.shadow(0.2)
    p.box("#f3f1ea", -0.025, 0, 0.025, 0.75)
    for y in (0.1, 0.22, 0.33):
        p.box("#4a4a4a", -0.025, y, 0.008, y + 0.012)
    for x, y, r in ((-0.1, 0.55, 0.12), (0.11, 0.6, 0.13), (0, 0.8, 0.15), (-0.08, 0.7, 0.12)):
        p.oval(color, x, y, r, r * 1.2)


def pine(p: Pen, color: Color) -> None:
    """Draw a conifer."""
    p.shadow(0.24)
    p.box(_TRUNK, -0.03, 0, 0.03, 0.2)
    for y, half in ((0.12, 0.26), (0.36, 0.21), (0.6, 0.15)):
        p.poly(color, (-half, y), (half, y), (0, y + 0.4))
        p.poly(dark(color, 0.14), (0, y), (half, y), (0, y + 0.4))


def cypress(p: Pen, color: Color) -> None:
    """Draw a slender tree."""
    p.box(_TRUNK, -0.02, 0, 0.02, 0.12)
    p.blob(color, (-0.1, 0.1), (-0.11, 0.45), (0, 1.0), (0.11, 0.45), (0.1, 0.1))
    p.blob(dark(color, 0.12), (0.01, 0.1), (0.03, 0.6), (0.1, 0.4), (0.09, 0.1))


def palm(p: Pen, color: Color) -> None:
    """Draw a palm tree."""
    p.shadow(0.2)
    p.curve("#a27b52", 0.05, (0.0, 0.0), (0.03, 0.35), (0.1, 0.78))
    for x, y in ((-0.32, 0.72), (-0.26, 0.95), (0.02, 1.02), (0.36, 0.96), (0.44, 0.72), (0.24, 0.6)):
        p.blob(
            color if x < 0.1 else dark(color, 0.1),
            (0.1, 0.8),
            ((x + 0.1) / 2, (y + 0.92) / 2),
            (x, y - 0.1),
            ((x + 0.1) / 2, (y + 0.74) / 2),
        )
    for x in (0.07, 0.13):
        p.oval("#7a5236", x, 0.75, 0.03)


def willow(p: Pen, color: Color) -> None:
    """Draw a willow."""
    p.poly(_TRUNK, (-0.05, 0), (0.05, 0), (0.03, 0.6), (-0.03, 0.6))
    p.oval(color, 0, 0.78, 0.32, 0.2)
    for at in range(9):
        x = -0.34 + at * 0.085
        p.line(dark(color, 0.06 * (at % 3)), 0.06, (x, 0.75), (x * 1.12, 0.28 + 0.05 * (at % 2)))


def acacia(p: Pen, color: Color) -> None:
    """Draw an acacia."""
    p.shadow(0.3)
    for x in (-0.2, 0.05, 0.24):
        p.line(_TRUNK, 0.04, (0, 0), (0.0, 0.35), (x, 0.74))
    p.oval(color, 0, 0.82, 0.5, 0.11)
    p.oval(pale(color, 0.12), -0.1, 0.87, 0.3, 0.06)


def christmas_tree(p: Pen, color: Color) -> None:
    """Draw a decorated tree."""
    pine(p, color)
    for x, y, ball in (
        (-0.1, 0.22, "#e0574a"),
        (0.12, 0.2, "#f2c14e"),
        (0.0, 0.42, "#5a9ad9"),
        (-0.09, 0.5, "#f2c14e"),
        (0.07, 0.6, "#e0574a"),
        (0, 0.75, "#ffffff"),
    ):
        p.oval(ball, x, y, 0.032)
    star(p.at(0, 0.93, 0.16), "#f7d354")


def star(p: Pen, color: Color) -> None:
    """Draw a star."""
    outer, inner = circle(0, 0.5, 0.5, 5, math.pi / 2), circle(0, 0.5, 0.2, 5, math.pi / 2 + math.pi / 5)
    p.poly(color, *(point for pair in zip(outer, inner, strict=True) for point in pair))


def bush(p: Pen, color: Color) -> None:
    """Draw a bush."""
    for x, y, r in ((-0.5, 0.34, 0.36), (0.5, 0.34, 0.36), (0.0, 0.55, 0.44)):
        p.oval(dark(color, 0.1) if x > 0 else color, x, y, r)


def grass(p: Pen, color: Color) -> None:
    """Draw a tuft of grass."""
    for at in range(-3, 4):
        p.poly(
            dark(color, 0.05 * abs(at)), (at * 0.1 - 0.06, 0), (at * 0.1 + 0.06, 0), (at * 0.22, 1.0 - abs(at) * 0.13)
        )


def reed(p: Pen, color: Color) -> None:
    """Draw reeds."""
    for x, y in ((-0.2, 0.8), (-0.05, 1.0), (0.1, 0.85), (0.22, 0.95)):
        p.line(color, 0.025, (x * 0.6, 0), (x, y))
        p.oval("#8a5a34", x, y, 0.04, 0.11)


def wheat(p: Pen, color: Color) -> None:
    """Draw ears of wheat."""
    for x in (-0.3, -0.15, 0.0, 0.15, 0.3):
        p.line(dark(color, 0.1), 0.025, (x * 0.6, 0), (x, 0.75))
        p.oval(color, x, 0.84, 0.055, 0.17)


def fern(p: Pen, color: Color) -> None:
    """Draw a fern."""
    for x, y in ((-0.6, 0.5), (-0.35, 0.85), (0.0, 1.0), (0.35, 0.85), (0.6, 0.5)):
        p.blob(dark(color, 0.1 * (x > 0)), (0, 0), (x * 0.4 - 0.06, y * 0.7), (x, y), (x * 0.55 + 0.08, y * 0.5))


def flower(p: Pen, color: Color, heart: Color = "#f5cf53", petals: int = 6) -> None:
    """Draw flowers on stems."""
    for x, y, size in ((-0.24, 0.62, 0.8), (0.02, 0.82, 1.0), (0.27, 0.56, 0.75)):
        p.line("#5f9a55", 0.035, (x * 0.3, 0), (x, y))
        for px, py in circle(x, y, 0.1 * size, petals):
            p.oval(color, px, py, 0.075 * size)
        p.oval(heart, x, y, 0.06 * size)
    p.oval("#6fae62", -0.12, 0.2, 0.12, 0.05)
    p.oval("#5f9a55", 0.12, 0.24, 0.12, 0.05)


def tulip(p: Pen, color: Color) -> None:
    """Draw tulips."""
    for x, y in ((-0.24, 0.66), (0.02, 0.8), (0.26, 0.6)):
        p.line("#5f9a55", 0.035, (x * 0.5, 0), (x, y))
        p.poly(
            color,
            (x - 0.09, y + 0.16),
            (x - 0.045, y + 0.1),
            (x, y + 0.18),
            (x + 0.045, y + 0.1),
            (x + 0.09, y + 0.16),
            (x + 0.07, y - 0.02),
            (x - 0.07, y - 0.02),
        )


def lavender(p: Pen, color: Color) -> None:
    """Draw spikes of blossoms."""
    for x in (-0.3, -0.16, 0.0, 0.16, 0.3):
        p.line("#7a9a6a", 0.025, (x * 0.5, 0), (x, 0.6))
        for y in (0.55, 0.66, 0.77, 0.88):
            p.oval(color, x, y, 0.05, 0.06)


def sunflower(p: Pen, color: Color) -> None:
    """Draw a sunflower."""
    p.line("#5f9a55", 0.05, (0, 0), (0, 0.7))
    p.oval("#6fae62", -0.14, 0.3, 0.14, 0.06)
    p.oval("#5f9a55", 0.14, 0.38, 0.14, 0.06)
    for px, py in circle(0, 0.76, 0.17, 12):
        p.oval(color, px, py, 0.065)
    p.oval("#7a4f2c", 0, 0.76, 0.13)


def water_lily(p: Pen, color: Color) -> None:
    """Draw a water lily with its leaf."""
    p.oval("#6aa86a", 0, 0.2, 0.9, 0.2)
    for x in (-0.3, -0.15, 0.0, 0.15, 0.3):
        p.oval(color, x, 0.5 - abs(x) * 0.4, 0.13, 0.32)


def cactus(p: Pen, color: Color) -> None:
    """Draw a cactus."""
    p.shadow(0.24)
    p.box(color, -0.09, 0, 0.09, 0.98, 0.09)
    p.line(color, 0.12, (-0.28, 0.62), (-0.28, 0.4), (0, 0.36))
    p.line(color, 0.12, (0.28, 0.76), (0.28, 0.54), (0, 0.5))
    p.box(dark(color, 0.14), 0.02, 0.03, 0.05, 0.93, 0.02)


def vine(p: Pen, color: Color) -> None:
    """Draw a row of vines with grapes."""
    for x in (-0.8, 0, 0.8):
        p.line("#8a6a4c", 0.05, (x, 0), (x, 0.85))
    p.line("#8a6a4c", 0.03, (-0.95, 0.6), (0.95, 0.6))
    for at in range(9):
        p.oval(dark(color, 0.06 * (at % 3)), -0.88 + at * 0.22, 0.72 + 0.08 * (at % 2), 0.17)
    for x in (-0.55, 0.1, 0.6):
        for dx, dy in ((-0.06, 0), (0.06, 0), (0, -0.08), (0, 0.05)):
            p.oval("#7a4f9a", x + dx, 0.45 + dy, 0.06)


def houseplant(p: Pen, color: Color) -> None:
    """Draw a plant in a pot."""
    for x, y in ((-0.3, 0.7), (-0.15, 0.95), (0.05, 1.0), (0.22, 0.9), (0.34, 0.66)):
        p.blob(dark(color, 0.12 * (x > 0)), (0, 0.3), (x * 0.5 - 0.09, y * 0.75), (x, y), (x * 0.6 + 0.1, y * 0.65))
    p.poly("#c9724c", (-0.2, 0.36), (0.2, 0.36), (0.15, 0), (-0.15, 0))
    p.box("#b5623f", -0.22, 0.32, 0.22, 0.4)


def flowerpot(p: Pen, color: Color) -> None:
    """Draw flowers in a pot."""
    flower(p.at(0, 0.3, 0.75), color)
    p.poly("#c9724c", (-0.24, 0.38), (0.24, 0.38), (0.17, 0), (-0.17, 0))


def mushroom(p: Pen, color: Color) -> None:
    """Draw mushrooms."""
    for x, s in ((-0.16, 1.0), (0.3, 0.66)):
        p.box("#f3e8d6", x - 0.1 * s, 0, x + 0.1 * s, 0.5 * s, 0.05)
        p.blob(
            color,
            (x - 0.36 * s, 0.42 * s),
            (x - 0.28 * s, 0.75 * s),
            (x, 0.95 * s),
            (x + 0.28 * s, 0.75 * s),
            (x + 0.36 * s, 0.42 * s),
        )
        for dx, dy in ((-0.16, 0.6), (0.04, 0.74), (0.18, 0.56)):
            p.oval("#fff6ea", x + dx * s, dy * s, 0.05 * s)


def rock(p: Pen, color: Color) -> None:
    """Draw stones."""
    p.poly(dark(color, 0.12), (0.05, 0), (0.9, 0), (0.8, 0.4), (0.5, 0.62), (0.2, 0.5))
    p.poly(color, (-0.8, 0), (0.45, 0), (0.4, 0.5), (0.05, 0.98), (-0.4, 0.8), (-0.72, 0.4))
    p.poly(pale(color, 0.22), (-0.72, 0.4), (-0.4, 0.8), (0.05, 0.98), (-0.1, 0.55), (-0.45, 0.42))


def log(p: Pen, color: Color) -> None:
    """Draw a log."""
    p.box(color, -0.95, 0.06, 0.85, 0.9, 0.2)
    p.oval(pale(color, 0.45), 0.82, 0.48, 0.26, 0.42)
    p.oval(color, 0.82, 0.48, 0.14, 0.24)
    p.line(dark(color), 0.06, (-0.7, 0.6), (0.3, 0.6))


def leaf(p: Pen, color: Color) -> None:
    """Draw fallen leaves."""
    for x, y, shade in ((-0.9, 0.1, "#d98a3c"), (-0.3, 0.5, "#c9584a"), (0.3, 0.1, "#e0b04a"), (0.8, 0.55, "#b5723c")):
        p.blob(
            shade if color == "#d98a3c" else color,
            (x - 0.3, y),
            (x, y + 0.3),
            (x + 0.32, y + 0.14),
            (x + 0.02, y - 0.08),
        )


def petals(p: Pen, color: Color) -> None:
    """Draw a branch in bloom."""
    p.curve("#8a6546", 0.06, (-1.2, 1.0), (-0.5, 0.75), (0.3, 0.7), (0.9, 0.4))
    for x, y in (
        (-0.9, 0.95),
        (-0.55, 0.7),
        (-0.3, 0.9),
        (0.0, 0.62),
        (0.25, 0.85),
        (0.5, 0.55),
        (0.8, 0.6),
        (0.9, 0.35),
    ):
        for px, py in circle(x, y, 0.09, 5):
            p.oval(color, px, py, 0.075)
        p.oval("#f5cf53", x, y, 0.045)


def shell(p: Pen, color: Color) -> None:
    """Draw a shell."""
    p.blob(color, (-0.5, 0.45), (-0.35, 0.85), (0, 1.0), (0.35, 0.85), (0.5, 0.45), (0.12, 0.05), (-0.12, 0.05))
    for x in (-0.32, -0.12, 0.12, 0.32):
        p.line(dark(color, 0.16), 0.035, (x * 0.2, 0.1), (x, 0.86))


def feather(p: Pen, color: Color) -> None:
    """Draw a feather that lies on the ground."""
    p.blob(color, (-0.9, 0.12), (-0.4, 0.5), (0.3, 0.62), (0.95, 0.5), (0.4, 0.22), (-0.3, 0.06))
    p.line(dark(color, 0.25), 0.05, (-1.15, 0.0), (-0.3, 0.28), (0.9, 0.5))
    for x in (-0.35, 0.0, 0.35):
        p.line(dark(color, 0.12), 0.03, (x, 0.3 + 0.12 * x), (x + 0.28, 0.5 + 0.02 * x))


def coral(p: Pen, color: Color) -> None:
    """Draw a coral."""
    for path in (
        ((0, 0), (0, 0.9)),
        ((0, 0.2), (-0.4, 0.5), (-0.4, 0.85)),
        ((0, 0.3), (0.4, 0.55), (0.42, 0.95)),
        ((-0.3, 0.43), (-0.6, 0.7)),
    ):
        p.line(color, 0.15, *path)


def puddle(p: Pen, color: Color) -> None:
    """Draw a puddle."""
    p.oval(color, 0, 0.4, 2.0, 0.42)
    p.oval(pale(color, 0.4), -0.3, 0.5, 1.0, 0.16)


def hay(p: Pen, color: Color) -> None:
    """Draw a bale of hay."""
    p.shadow(0.5)
    p.box(color, -0.5, 0, 0.4, 0.95, 0.4)
    p.oval(pale(color, 0.25), 0.32, 0.48, 0.36, 0.47)
    for r in (0.3, 0.16):
        p.oval(dark(color, 0.18), 0.32, 0.48, r * 0.8, r)
        p.oval(pale(color, 0.25), 0.32, 0.48, r * 0.6, r * 0.8)


def snowman(p: Pen, color: Color) -> None:
    """Draw a snowman."""
    p.shadow(0.32)
    for y, r in ((0.24, 0.25), (0.56, 0.19), (0.82, 0.14)):
        p.oval(dark(color, 0.06), 0.02, y - 0.01, r)
        p.oval(color, 0, y, r)
    p.poly("#f08a3c", (0.02, 0.84), (0.2, 0.81), (0.02, 0.79))
    for x in (-0.05, 0.06):
        p.oval("#34303a", x, 0.87, 0.018)
    p.box("#34303a", -0.13, 0.93, 0.13, 0.955)
    p.box("#34303a", -0.09, 0.95, 0.09, 1.06)


def balloons(p: Pen, color: Color) -> None:
    """Draw balloons."""
    for x, y, shade in ((-0.22, 0.72, "#f2b13c"), (0.22, 0.76, "#5a9ad9"), (0.0, 0.88, color)):
        p.line("#8b8b95", 0.012, (x, y - 0.15), (0, 0))
        p.oval(shade, x, y, 0.15, 0.19)
        p.oval(clear("#ffffff", 0.4), x - 0.05, y + 0.06, 0.04, 0.06)


def kite(p: Pen, color: Color) -> None:
    """Draw a kite."""
    p.curve("#ffffff", 0.02, (0, 0.45), (-0.2, 0.2), (0.05, 0.05), (-0.2, -0.3), (-0.5, -0.8))
    p.poly(color, (0, 1.05), (0.32, 0.75), (0, 0.4), (-0.32, 0.75))
    p.poly(pale(color, 0.4), (0, 1.05), (0.32, 0.75), (0, 0.75))


def firework(p: Pen, color: Color) -> None:
    """Draw fireworks."""
    for cx, cy, r, shade in ((-0.5, 0.7, 0.5, color), (0.55, 0.95, 0.42, "#8fd0f0"), (0.25, 0.3, 0.32, "#f58fb0")):
        for x, y in circle(cx, cy, r, 14):
            p.line(shade, 0.02, (cx + (x - cx) * 0.35, cy + (y - cy) * 0.35), (x, y))
            p.oval(pale(shade, 0.4), x, y, 0.028)


def fire(p: Pen, color: Color) -> None:
    """Draw a fire on logs."""
    p.canvas.glow(p.x, p.y - 0.4 * p.scale, 1.1 * p.scale, "#ffb347", 0.35)
    p.line("#6b4a34", 0.13, (-0.45, 0.04), (0.45, 0.2))
    p.line("#7f5a3e", 0.13, (-0.45, 0.2), (0.45, 0.04))
    p.blob(color, (-0.3, 0.14), (-0.26, 0.5), (-0.06, 0.7), (0.04, 1.0), (0.22, 0.6), (0.3, 0.3), (0.1, 0.12))
    p.blob("#f9d056", (-0.15, 0.14), (-0.1, 0.4), (0.04, 0.66), (0.15, 0.3), (0.06, 0.12))


def lightning(p: Pen, color: Color) -> None:
    """Draw a flash of lightning."""
    p.poly(color, (0.1, 1.0), (-0.16, 0.48), (0.0, 0.5), (-0.1, 0.0), (0.2, 0.6), (0.04, 0.58), (0.26, 1.0))


def tracks(p: Pen, color: Color) -> None:
    """Draw footprints."""
    for at in range(6):
        p.oval(clear(color, 0.6), -1.2 + at * 0.5, 0.25 + 0.4 * (at % 2), 0.16, 0.09)


NATURE: dict[str, Glyph] = {
    "tree": Glyph(round_tree, "ground", 120, 0.7, "#6fa35f"),
    "oak tree": Glyph(round_tree, "ground", 128, 0.7, "#648f4f"),
    "maple tree": Glyph(round_tree, "ground", 122, 0.7, "#dd7b3c"),
    "olive tree": Glyph(round_tree, "ground", 88, 0.8, "#97a77b"),
    "apple tree": Glyph(partial(round_tree, dots="#d9473c"), "ground", 112, 0.7, "#6fa35f"),
    "nature": Glyph(round_tree, "ground", 110, 0.7, "#79ad68"),
    "park": Glyph(round_tree, "far", 84, 0.8, "#7fb06c"),
    "birch tree": Glyph(birch, "ground", 126, 0.5, "#9cc06a"),
    "pine tree": Glyph(pine, "ground", 118, 0.5, "#4c8062"),
    "cypress": Glyph(cypress, "ground", 120, 0.3, "#567f57"),
    "palm tree": Glyph(palm, "ground", 128, 0.8, "#5c9d63"),
    "willow": Glyph(willow, "ground", 112, 0.8, "#8fb06c"),
    "acacia tree": Glyph(acacia, "ground", 108, 1.0, "#8ca257"),
    "christmas tree": Glyph(christmas_tree, "ground", 120, 0.6, "#3f7d58"),
    "christmas market": Glyph(christmas_tree, "far", 96, 0.6, "#3f7d58"),
    "decoration": Glyph(star, "wall", 24, 1.0, "#f2c84b"),
    "bush": Glyph(bush, "ground", 40, 1.8, "#74a763"),
    "hedge": Glyph(bush, "ground", 44, 2.0, "#5f9258"),
    "moss": Glyph(bush, "front", 16, 2.6, "#8aa84e"),
    "ivy": Glyph(fern, "front", 30, 1.4, "#4f7f4c"),
    "fern": Glyph(fern, "front", 38, 1.4, "#6a9f55"),
    "herb": Glyph(fern, "table", 24, 1.4, "#6fae5a"),
    "plant": Glyph(fern, "front", 36, 1.4, "#67a35e"),
    "grass": Glyph(grass, "front", 26, 1.0, "#7fb35d"),
    "savannah": Glyph(grass, "front", 30, 1.0, "#cfae5c"),
    "reed": Glyph(reed, "front", 72, 0.6, "#8f9f5b"),
    "wheat": Glyph(wheat, "front", 58, 0.8, "#e2b850"),
    "harvest": Glyph(wheat, "front", 60, 0.8, "#dcae46"),
    "vine": Glyph(vine, "ground", 48, 2.0, "#7ba352"),
    "vineyard": Glyph(vine, "ground", 52, 2.0, "#7ba352"),
    "sunflower": Glyph(sunflower, "front", 76, 0.6, "#f5c33b"),
    "lavender": Glyph(lavender, "front", 46, 0.9, "#9a80c4"),
    "water lily": Glyph(water_lily, "front", 22, 1.9, "#f6b9cb"),
    "cactus": Glyph(cactus, "ground", 86, 0.7, "#6f9e62"),
    "houseplant": Glyph(houseplant, "front", 62, 0.8, "#5f9b63"),
    "flowerpot": Glyph(flowerpot, "front", 50, 0.8, "#e2748a"),
    "mushroom": Glyph(mushroom, "front", 30, 1.2, "#d05746"),
    "rock": Glyph(rock, "front", 32, 1.8, "#9a9aa0"),
    "stone wall": Glyph(rock, "front", 34, 1.8, "#a8a29a"),
    "log": Glyph(log, "front", 22, 2.0, "#94694a"),
    "leaf": Glyph(leaf, "front", 20, 2.4, "#d98a3c"),
    "blossom": Glyph(petals, "sky", 44, 2.6, "#f7bccb"),
    "spring": Glyph(petals, "sky", 40, 2.6, "#fbd3dc"),
    "shell": Glyph(shell, "front", 18, 1.0, "#f3c9a8"),
    "feather": Glyph(feather, "front", 20, 1.2, "#e9edf2"),
    "coral": Glyph(coral, "front", 46, 1.2, "#e8806f"),
    "puddle": Glyph(puddle, "front", 14, 4.0, "#9dbccf"),
    "mud": Glyph(puddle, "front", 14, 4.0, "#94745a"),
    "waterhole": Glyph(puddle, "front", 22, 4.0, "#86b3c4"),
    "soil": Glyph(puddle, "front", 14, 4.0, "#8b6a4e"),
    "ice": Glyph(rock, "front", 22, 1.8, "#d6ecf5"),
    "hay bale": Glyph(hay, "ground", 36, 1.1, "#e0bb5e"),
    "snowman": Glyph(snowman, "ground", 78, 0.7, "#ffffff"),
    "balloon": Glyph(balloons, "ground", 110, 0.7, "#e8615a"),
    "kite": Glyph(kite, "sky", 46, 1.0, "#e0705a"),
    "firework": Glyph(firework, "sky", 88, 2.2, "#f7d46a"),
    "sparkler": Glyph(firework, "front", 44, 2.0, "#f7d46a"),
    "fire": Glyph(fire, "front", 46, 1.0, "#ef8a3c"),
    "campfire": Glyph(fire, "front", 46, 1.0, "#ef8a3c"),
    "lightning": Glyph(lightning, "sky", 84, 0.5, "#fff3b0"),
    "footprint": Glyph(tracks, "front", 22, 3.0, "#6a5a44"),
    "star": Glyph(star, "sky", 14, 1.0, "#f9e08a"),
    "autumn": Glyph(leaf, "front", 20, 2.4, "#d98a3c"),
}
"""Glyphs of nature, by label."""
NATURE |= glyphs(
    flower,
    "front",
    44,
    0.9,
    {
        "flower": "#ee8096",
        "daisy": "#ffffff",
        "wildflower": "#b58ad0",
        "poppy": "#e0503e",
        "garden": "#f2a0b5",
        "lily": "#fbe3ec",
        "meadow": "#f5c95a",
        "summer": "#f7d65a",
    },
)
NATURE |= glyphs(
    tulip, "front", 46, 0.8, {"tulip": "#e5614f", "rose": "#d64a63", "daffodil": "#f5cf45", "orchid": "#c98ad0"}
)
