"""Animals."""

from __future__ import annotations

from functools import partial
from typing import Any

from tools.illustrations.canvas import Color, Pen, clear, dark, mix, pale
from tools.illustrations.glyph import Glyph, Zone, glyphs

_EYE = "#2b2b38"


def quadruped(
    p: Pen,
    color: Color,
    *,
    legs: float = 0.34,
    neck: float = 0.12,
    body: float = 0.62,
    fat: float = 0.3,
    head: float = 0.15,
    snout: float = 0.1,
    ears: str = "up",
    tail: str = "up",
    marks: str = "",
    horns: str = "",
    mane: Color = "",
    face: Color = "",
) -> None:
    """Draw an animal on four legs that looks to the right."""
    p.shadow(body * 0.75)
    half, top = body / 2, legs + fat
    far = dark(color, 0.22)
    for x in (-half * 0.62, half * 0.72):
        p.box(far, x - 0.035, 0.0, x + 0.045, legs + 0.1, 0.03)
    if tail == "up":
        p.curve(color, 0.07, (-half, top - 0.08), (-half - 0.12, top + 0.02), (-half - 0.15, top + 0.2))
    elif tail == "down":
        p.curve(color, 0.05, (-half + 0.02, top - 0.06), (-half - 0.08, top - 0.12), (-half - 0.09, legs * 0.6))
        p.oval(dark(color, 0.4), -half - 0.09, legs * 0.6, 0.035, 0.06)
    elif tail == "bushy":
        p.blob(
            color,
            (-half, legs + 0.06),
            (-half - 0.2, legs + 0.1),
            (-half - 0.24, top + 0.2),
            (-half - 0.08, top + 0.12),
        )
    elif tail == "puff":
        p.oval(pale(color, 0.5), -half - 0.02, legs + 0.16, 0.07)
    p.box(color, -half, legs - 0.02, half, top, fat * 0.46)
    if marks == "stripes":
        for at in range(6):
            x = -half + 0.09 + at * (body - 0.16) / 5
            p.poly(_EYE, (x, top), (x + 0.05, top), (x + 0.01, legs + 0.1))
    elif marks in ("spots", "patches"):
        size = 0.03 if marks == "spots" else 0.075
        for _ in range(9 if marks == "spots" else 3):
            p.oval(
                mix(color, "#4a382c", 0.75),
                p.dice(-half + 0.1, half - 0.1),
                p.dice(legs + 0.07, top - 0.07),
                size,
                size * 0.8,
            )
    for x in (-half * 0.82, half * 0.5):
        p.box(color, x - 0.045, 0.0, x + 0.045, legs + 0.1, 0.03)
    hx, hy = half + head * 0.35 + neck * 0.35, top + neck
    if neck > 0.05:
        p.poly(color, (half - 0.2, top - 0.05), (half, top - 0.15), (hx + 0.06, hy), (hx - 0.09, hy + 0.05))
    if mane:
        p.oval(mane, hx - 0.02, hy, head * 1.65)
    head_color = face or color
    if ears == "up":
        for x in (-0.09, 0.05):
            p.poly(
                dark(color, 0.15),
                (hx + x - 0.05, hy + head * 0.5),
                (hx + x + 0.06, hy + head * 0.5),
                (hx + x, hy + head * 1.65),
            )
    elif ears == "round":
        for x in (-0.1, 0.09):
            p.oval(dark(color, 0.2), hx + x, hy + head * 0.85, head * 0.42)
    elif ears == "long":
        for x in (-0.08, 0.03):
            p.oval(dark(color, 0.1), hx + x, hy + head * 1.6, 0.05, head * 1.1)
    p.oval(head_color, hx, hy, head)
    p.oval(pale(head_color, 0.25), hx + head * 0.75, hy - head * 0.3, snout, snout * 0.8)
    p.oval(_EYE, hx + head * 0.75 + snout * 0.75, hy - head * 0.15, 0.03)
    p.oval(_EYE, hx + head * 0.25, hy + head * 0.2, 0.024)
    if ears == "flop":
        p.oval(dark(color, 0.28), hx - head * 0.6, hy - head * 0.15, head * 0.42, head * 0.85)
    if horns == "curved":
        for x in (-0.06, 0.05):
            p.curve(
                "#e9dfc8",
                0.045,
                (hx + x, hy + head * 0.8),
                (hx + x - 0.06, hy + head * 1.5),
                (hx + x + 0.03, hy + head * 1.9),
            )
    elif horns == "antlers":
        for x in (-0.05, 0.07):
            p.line("#9b7b55", 0.035, (hx + x, hy + head), (hx + x * 2.4, hy + head * 2.2))
            p.line("#9b7b55", 0.03, (hx + x * 1.7, hy + head * 1.6), (hx + x * 4.2, hy + head * 2.1))


def elephant(p: Pen, color: Color) -> None:
    """Draw an elephant."""
    p.shadow(0.6)
    far = dark(color, 0.2)
    for x in (-0.3, 0.28):
        p.box(far, x - 0.08, 0, x + 0.08, 0.45, 0.03)
    p.oval(color, -0.05, 0.58, 0.5, 0.36)
    for x in (-0.38, 0.16):
        p.box(color, x - 0.09, 0, x + 0.09, 0.5, 0.03)
    p.oval(color, 0.45, 0.66, 0.24, 0.26)
    p.curve(color, 0.13, (0.6, 0.6), (0.72, 0.4), (0.7, 0.2), (0.78, 0.1))
    p.oval(dark(color, 0.12), 0.32, 0.66, 0.18, 0.25)
    p.curve("#fbf6e8", 0.05, (0.58, 0.5), (0.66, 0.46), (0.74, 0.5))
    p.oval(_EYE, 0.53, 0.72, 0.025)
    p.curve(far, 0.03, (-0.52, 0.6), (-0.6, 0.45), (-0.58, 0.3))


def giraffe(p: Pen, color: Color) -> None:
    """Draw a giraffe."""
    p.shadow(0.26)
    spots = "#b9773c"
    for x in (-0.17, -0.1, 0.1, 0.16):
        p.line(dark(color, 0.08), 0.035, (x, 0.0), (x, 0.36))
    p.box(color, -0.22, 0.3, 0.2, 0.52, 0.09)
    p.poly(color, (0.06, 0.46), (0.2, 0.4), (0.32, 0.9), (0.24, 0.92))
    p.oval(color, 0.32, 0.92, 0.1, 0.055)
    for x in (0.25, 0.29):
        p.line(dark(color, 0.4), 0.018, (x, 0.95), (x, 1.02))
    for x, y in ((-0.14, 0.42), (0.0, 0.38), (0.09, 0.47), (-0.04, 0.48), (0.18, 0.55), (0.21, 0.66), (0.25, 0.77)):
        p.oval(spots, x, y, 0.035, 0.03)
    p.oval(_EYE, 0.33, 0.94, 0.014)


def camel(p: Pen, color: Color) -> None:
    """Draw a camel."""
    p.shadow(0.42)
    for x in (-0.3, -0.2, 0.14, 0.24):
        p.line(dark(color, 0.1), 0.06, (x, 0.0), (x, 0.42))
    p.blob(
        color,
        (-0.38, 0.42),
        (-0.36, 0.66),
        (-0.18, 0.92),
        (-0.02, 0.7),
        (0.12, 0.9),
        (0.28, 0.66),
        (0.26, 0.42),
        (-0.05, 0.36),
    )
    p.curve(color, 0.11, (0.24, 0.52), (0.4, 0.46), (0.48, 0.66), (0.46, 0.88))
    p.oval(color, 0.52, 0.92, 0.13, 0.07)
    p.oval(_EYE, 0.52, 0.95, 0.018)


def kangaroo(p: Pen, color: Color) -> None:
    """Draw a kangaroo."""
    p.shadow(0.34)
    p.curve(color, 0.09, (-0.05, 0.3), (-0.28, 0.1), (-0.5, 0.05))
    p.blob(color, (-0.2, 0.2), (-0.1, 0.55), (0.08, 0.75), (0.18, 0.6), (0.14, 0.3), (0.0, 0.12))
    p.oval(dark(color, 0.1), -0.05, 0.22, 0.17, 0.16)
    p.box(dark(color, 0.1), -0.05, 0.0, 0.26, 0.07, 0.03)
    p.line(color, 0.06, (0.12, 0.58), (0.27, 0.45))
    p.oval(color, 0.16, 0.82, 0.11, 0.09)
    for x in (0.08, 0.15):
        p.oval(color, x, 0.97, 0.035, 0.1)
    p.oval(_EYE, 0.2, 0.85, 0.018)


def monkey(p: Pen, color: Color) -> None:
    """Draw a sitting monkey."""
    p.shadow(0.3)
    p.curve(color, 0.05, (-0.15, 0.1), (-0.45, 0.15), (-0.4, 0.5), (-0.3, 0.48))
    p.oval(color, 0, 0.3, 0.24, 0.3)
    for x in (-0.16, 0.16):
        p.oval(dark(color), x, 0.06, 0.13, 0.07)
        p.oval(pale(color, 0.4), x * 1.35, 0.74, 0.08)
    p.oval(color, 0, 0.74, 0.22)
    p.oval(pale(color, 0.5), 0, 0.7, 0.16, 0.15)
    for x in (-0.06, 0.06):
        p.oval(_EYE, x, 0.77, 0.024)
    p.curve(_EYE, 0.02, (-0.06, 0.65), (0, 0.62), (0.06, 0.65))


def sitting_bear(p: Pen, color: Color, patches: Color = "") -> None:
    """Draw a bear, a panda or a teddy bear."""
    p.shadow(0.36)
    limb = patches or dark(color, 0.15)
    p.oval(color, 0, 0.3, 0.28, 0.3)
    for x in (-1.0, 1.0):
        p.oval(limb, x * 0.22, 0.08, 0.14, 0.09)
        p.oval(limb, x * 0.27, 0.4, 0.08, 0.16)
        p.oval(limb, x * 0.17, 0.93, 0.085)
    p.oval(color, 0, 0.76, 0.24, 0.21)
    p.oval(pale(color, 0.4), 0, 0.68, 0.11, 0.085)
    p.oval(_EYE, 0, 0.71, 0.04, 0.03)
    for x in (-0.09, 0.09):
        if patches:
            p.oval(patches, x, 0.79, 0.065, 0.07)
        p.oval("#ffffff" if patches else _EYE, x, 0.79, 0.024)


def seal(p: Pen, color: Color) -> None:
    """Draw a seal that lies on its belly."""
    p.shadow(0.8)
    p.blob(
        color,
        (-0.95, 0.12),
        (-0.6, 0.06),
        (0.2, 0.0),
        (0.5, 0.25),
        (0.62, 0.85),
        (0.4, 0.95),
        (0.2, 0.6),
        (-0.4, 0.36),
    )
    p.poly(dark(color, 0.12), (-0.85, 0.1), (-1.12, 0.3), (-1.1, 0.02))
    p.poly(dark(color, 0.12), (0.15, 0.1), (0.35, 0.02), (0.05, -0.02))
    p.oval(_EYE, 0.5, 0.86, 0.045)
    p.oval(_EYE, 0.66, 0.8, 0.04)


def dolphin(p: Pen, color: Color) -> None:
    """Draw a leaping dolphin."""
    p.blob(
        color, (-0.9, 0.15), (-0.5, 0.6), (0.0, 0.9), (0.5, 0.75), (0.95, 0.35), (0.6, 0.42), (0.1, 0.55), (-0.4, 0.3)
    )
    p.poly(dark(color), (-0.1, 0.85), (-0.25, 1.12), (0.15, 0.86))
    p.poly(dark(color), (-0.85, 0.2), (-1.2, 0.25), (-0.95, -0.1))
    p.blob(pale(color, 0.6), (0.1, 0.56), (0.5, 0.46), (0.8, 0.4), (0.5, 0.58))
    p.oval(_EYE, 0.62, 0.58, 0.04)


def fish(p: Pen, color: Color) -> None:
    """Draw a fish."""
    p.poly(dark(color, 0.12), (-0.5, 0.5), (-0.95, 0.85), (-0.95, 0.15))
    p.blob(color, (-0.65, 0.5), (-0.1, 0.88), (0.5, 0.72), (0.75, 0.5), (0.5, 0.28), (-0.1, 0.12))
    p.poly(dark(color, 0.12), (-0.2, 0.82), (0.0, 1.05), (0.25, 0.8))
    p.oval("#ffffff", 0.48, 0.58, 0.1)
    p.oval(_EYE, 0.5, 0.58, 0.055)
    p.curve(pale(color, 0.4), 0.04, (0.2, 0.75), (0.28, 0.5), (0.2, 0.26))


def shark(p: Pen, color: Color) -> None:
    """Draw a shark."""
    p.poly(color, (-0.9, 0.5), (-1.35, 0.95), (-1.2, 0.45), (-1.3, 0.15))
    p.blob(color, (-1.05, 0.48), (-0.2, 0.78), (0.7, 0.72), (1.25, 0.5), (0.8, 0.3), (-0.2, 0.28))
    p.blob("#f4f7f8", (-0.4, 0.36), (0.5, 0.4), (1.1, 0.46), (0.7, 0.31), (0.0, 0.29))
    p.poly(dark(color), (-0.1, 0.72), (-0.05, 1.1), (0.3, 0.72))
    p.poly(dark(color), (0.2, 0.36), (0.0, 0.05), (0.45, 0.34))
    p.oval(_EYE, 0.9, 0.56, 0.045)


def ray(p: Pen, color: Color) -> None:
    """Draw a manta ray."""
    p.blob(color, (-1.0, 0.7), (-0.3, 0.75), (0, 0.95), (0.3, 0.75), (1.0, 0.7), (0.25, 0.35), (0, 0.25), (-0.25, 0.35))
    p.curve(color, 0.05, (0, 0.3), (0.1, 0.1), (0.0, -0.2))


def jellyfish(p: Pen, color: Color) -> None:
    """Draw a jellyfish."""
    for x in (-0.25, -0.1, 0.08, 0.24):
        p.curve(clear(color, 0.8), 0.05, (x, 0.55), (x + 0.08, 0.35), (x - 0.04, 0.18), (x + 0.05, 0.0))
    p.blob(
        clear(color, 0.9),
        (-0.42, 0.52),
        (-0.38, 0.85),
        (0, 1.0),
        (0.38, 0.85),
        (0.42, 0.52),
        (0.2, 0.58),
        (0, 0.52),
        (-0.2, 0.58),
    )
    p.oval(clear("#ffffff", 0.4), -0.12, 0.8, 0.12, 0.08)


def octopus(p: Pen, color: Color) -> None:
    """Draw an octopus."""
    for x in (-0.42, -0.26, -0.09, 0.09, 0.26, 0.42):
        p.curve(color, 0.11, (x * 0.4, 0.42), (x, 0.22), (x * 1.35, 0.03))
    p.oval(color, 0, 0.65, 0.32, 0.34)
    for x in (-0.11, 0.11):
        p.oval("#ffffff", x, 0.6, 0.075)
        p.oval(_EYE, x, 0.59, 0.04)


def seahorse(p: Pen, color: Color) -> None:
    """Draw a seahorse."""
    p.curve(color, 0.16, (0.06, 0.8), (-0.08, 0.62), (0.04, 0.4), (0.0, 0.22))
    p.curve(color, 0.08, (0.0, 0.24), (0.02, 0.05), (0.14, 0.04), (0.12, 0.14))
    p.oval(color, 0.06, 0.84, 0.13)
    p.line(color, 0.07, (0.12, 0.82), (0.3, 0.76))
    p.oval(_EYE, 0.09, 0.88, 0.025)


def starfish(p: Pen, color: Color) -> None:
    """Draw a starfish."""
    points = [
        (0.0, 1.0),
        (0.14, 0.64),
        (0.5, 0.6),
        (0.22, 0.36),
        (0.32, 0.0),
        (0, 0.2),
        (-0.32, 0),
        (-0.22, 0.36),
        (-0.5, 0.6),
        (-0.14, 0.64),
    ]
    p.blob(color, *points)
    for x, y in ((0, 0.45), (0, 0.7), (0.2, 0.5), (-0.2, 0.5), (0.12, 0.28), (-0.12, 0.28)):
        p.oval(pale(color, 0.4), x, y, 0.035)


def crab(p: Pen, color: Color) -> None:
    """Draw a crab."""
    for side in (-1, 1):
        for y in (0.1, 0.2, 0.3):
            p.line(dark(color), 0.05, (side * 0.3, 0.3), (side * 0.75, y - 0.1))
        p.line(color, 0.09, (side * 0.4, 0.45), (side * 0.68, 0.72))
        p.oval(color, side * 0.7, 0.84, 0.17, 0.14)
        p.poly(pale(color, 0.9), (side * 0.7, 0.84), (side * 0.66, 1.05), (side * 0.82, 1.03))
        p.line(color, 0.05, (side * 0.15, 0.5), (side * 0.17, 0.72))
        p.oval("#ffffff", side * 0.17, 0.75, 0.075)
        p.oval(_EYE, side * 0.17, 0.75, 0.04)
    p.oval(color, 0, 0.36, 0.5, 0.28)


def frog(p: Pen, color: Color) -> None:
    """Draw a frog."""
    p.oval(dark(color, 0.15), -0.4, 0.2, 0.24, 0.2)
    p.oval(dark(color, 0.15), 0.4, 0.2, 0.24, 0.2)
    p.oval(color, 0, 0.38, 0.46, 0.36)
    for x in (-0.24, 0.24):
        p.oval(color, x, 0.78, 0.18)
        p.oval("#ffffff", x, 0.8, 0.11)
        p.oval(_EYE, x, 0.8, 0.06)
    p.curve(dark(color, 0.4), 0.04, (-0.28, 0.42), (0, 0.32), (0.28, 0.42))


def turtle(p: Pen, color: Color) -> None:
    """Draw a turtle."""
    for x in (-0.5, 0.4):
        p.oval(pale(color, 0.25), x, 0.12, 0.17, 0.12)
    p.oval(pale(color, 0.25), 0.88, 0.42, 0.22, 0.18)
    p.blob(dark(color, 0.1), (-0.8, 0.2), (-0.5, 0.75), (0, 0.95), (0.5, 0.75), (0.8, 0.2), (0, 0.14))
    for x in (-0.4, 0, 0.4):
        p.oval(color, x, 0.5 if x else 0.6, 0.16, 0.15)
    p.oval(_EYE, 0.95, 0.48, 0.04)


def lizard(p: Pen, color: Color) -> None:
    """Draw a lizard."""
    for x in (-0.35, 0.35):
        p.line(dark(color, 0.1), 0.1, (x, 0.45), (x - 0.15, 0.05))
        p.line(color, 0.1, (x, 0.45), (x + 0.15, 0.05))
    p.curve(color, 0.14, (-1.3, 0.12), (-0.9, 0.25), (-0.5, 0.42))
    p.oval(color, 0, 0.45, 0.6, 0.2)
    p.oval(color, 0.75, 0.58, 0.28, 0.19)
    p.oval(_EYE, 0.82, 0.66, 0.05)


def crocodile(p: Pen, color: Color) -> None:
    """Draw a crocodile."""
    lizard(p, color)
    p.box(color, 0.7, 0.42, 1.35, 0.62, 0.08)
    for at in range(5):
        p.poly("#ffffff", (0.85 + at * 0.1, 0.44), (0.95 + at * 0.1, 0.44), (0.9 + at * 0.1, 0.34))
    for at in range(7):
        p.poly(dark(color), (-0.55 + at * 0.15, 0.6), (-0.4 + at * 0.15, 0.6), (-0.47 + at * 0.15, 0.74))


def snake(p: Pen, color: Color) -> None:
    """Draw a snake."""
    p.curve(color, 0.2, (-1.0, 0.12), (-0.7, 0.4), (-0.35, 0.12), (0.0, 0.4), (0.3, 0.15), (0.55, 0.4), (0.6, 0.75))
    p.oval(color, 0.66, 0.82, 0.2, 0.14)
    p.oval(_EYE, 0.7, 0.87, 0.045)
    p.line("#e2584d", 0.04, (0.84, 0.82), (1.02, 0.8))


def bird(
    p: Pen,
    color: Color,
    *,
    beak: Color = "#f2a33a",
    neck: float = 0.0,
    legs: float = 0.12,
    wing: Color = "",
    belly: Color = "",
    comb: Color = "",
    bill: float = 0.16,
    fan: bool = False,
) -> None:
    """Draw a standing bird that looks to the right."""
    low = legs
    if fan:
        for turn in range(9):
            p.oval(
                ("#2f8f83", "#3a6fb0")[turn % 2],
                -0.5 + turn * 0.09,
                low + 0.45 + 0.25 * (1 - abs(turn - 4) / 4),
                0.1,
                0.24,
            )
    for x in (-0.04, 0.1):
        p.line(dark(beak, 0.15), 0.035, (x, 0), (x, low + 0.1))
    p.blob(
        color,
        (-0.55, low + 0.3),
        (-0.3, low + 0.36),
        (0.1, low + 0.46),
        (0.32, low + 0.34),
        (0.25, low + 0.1),
        (-0.05, low),
        (-0.3, low + 0.1),
    )
    if belly:
        p.oval(belly, 0.08, low + 0.2, 0.18, 0.17)
    if neck:
        p.curve(color, 0.11, (0.22, low + 0.3), (0.34, low + 0.36 + neck * 0.4), (0.26, low + 0.42 + neck))
    hx, hy = 0.28, low + 0.5 + neck
    if comb:
        p.blob(
            comb,
            (hx - 0.12, hy + 0.1),
            (hx - 0.06, hy + 0.26),
            (hx + 0.02, hy + 0.16),
            (hx + 0.08, hy + 0.25),
            (hx + 0.12, hy + 0.08),
        )
        p.oval(comb, hx + 0.13, hy - 0.16, 0.04, 0.07)
    p.oval(color, hx, hy, 0.15)
    p.poly(beak, (hx + 0.1, hy + 0.06), (hx + 0.12 + bill, hy - 0.02), (hx + 0.1, hy - 0.08))
    p.oval("#ffffff", hx + 0.05, hy + 0.04, 0.045)
    p.oval(_EYE, hx + 0.06, hy + 0.04, 0.026)
    p.blob(wing or dark(color, 0.14), (-0.42, low + 0.26), (-0.05, low + 0.4), (0.15, low + 0.28), (-0.05, low + 0.14))


def flying_bird(p: Pen, color: Color) -> None:
    """Draw a bird in flight."""
    p.blob(color, (-0.9, 0.95), (-0.45, 0.9), (0.0, 0.5), (-0.3, 0.55))
    p.blob(dark(color, 0.1), (0.85, 0.98), (0.5, 0.88), (0.02, 0.5), (0.3, 0.52))
    p.blob(color, (-0.35, 0.42), (0.0, 0.56), (0.38, 0.5), (0.1, 0.36))
    p.poly("#f2a33a", (0.36, 0.54), (0.56, 0.48), (0.36, 0.46))


def penguin(p: Pen, color: Color) -> None:
    """Draw a penguin."""
    p.shadow(0.3)
    for x in (-0.1, 0.1):
        p.oval("#f2a33a", x, 0.03, 0.11, 0.04)
    p.oval(color, 0, 0.42, 0.28, 0.4)
    p.oval(color, 0, 0.82, 0.19, 0.18)
    p.oval("#ffffff", 0.03, 0.38, 0.19, 0.31)
    p.oval("#ffffff", 0.05, 0.8, 0.12, 0.1)
    p.oval(dark(color, 0.1), -0.26, 0.44, 0.07, 0.24)
    p.poly("#f2a33a", (0.14, 0.82), (0.3, 0.77), (0.14, 0.74))
    p.oval(_EYE, 0.07, 0.86, 0.025)


def owl(p: Pen, color: Color) -> None:
    """Draw an owl."""
    p.oval(color, 0, 0.42, 0.32, 0.42)
    for x in (-0.17, 0.17):
        p.poly(color, (x - 0.1, 0.72), (x + 0.1, 0.72), (x * 1.4, 1.0))
        p.oval("#fff3d6", x * 0.8, 0.66, 0.14)
        p.oval(_EYE, x * 0.8, 0.66, 0.07)
        p.oval(dark(color), x * 1.6, 0.36, 0.09, 0.24)
    p.poly("#f2a33a", (-0.05, 0.58), (0.05, 0.58), (0, 0.46))
    p.oval(pale(color, 0.35), 0, 0.3, 0.18, 0.22)


def butterfly(p: Pen, color: Color) -> None:
    """Draw a butterfly."""
    for side in (-1, 1):
        p.oval(color, side * 0.32, 0.66, 0.3, 0.28)
        p.oval(dark(color, 0.12), side * 0.25, 0.3, 0.22, 0.22)
        p.oval(pale(color, 0.5), side * 0.36, 0.68, 0.12)
        p.line(_EYE, 0.03, (0, 0.75), (side * 0.14, 1.0))
    p.oval(_EYE, 0, 0.5, 0.055, 0.32)


def bee(p: Pen, color: Color) -> None:
    """Draw a bee."""
    p.oval(clear("#ffffff", 0.8), -0.1, 0.8, 0.2, 0.24)
    p.oval(clear("#e8f3ff", 0.8), 0.15, 0.82, 0.18, 0.22)
    p.oval(color, 0, 0.45, 0.42, 0.3)
    for x in (-0.16, 0.04):
        p.box(_EYE, x, 0.2, x + 0.1, 0.7)
    p.oval(_EYE, 0.34, 0.48, 0.14)


def dragonfly(p: Pen, color: Color) -> None:
    """Draw a dragonfly."""
    for x, y in ((-0.4, 0.78), (0.4, 0.78), (-0.36, 0.56), (0.36, 0.56)):
        p.oval(clear("#dff4ff", 0.85), x, y, 0.38, 0.1)
    p.line(color, 0.08, (0, 0.85), (0, 0.05))
    p.oval(dark(color), 0, 0.88, 0.12)


def rabbit(p: Pen, color: Color) -> None:
    """Draw a rabbit."""
    p.shadow(0.34)
    p.oval("#ffffff", -0.34, 0.2, 0.09)
    p.oval(color, -0.05, 0.26, 0.3, 0.25)
    p.oval(color, 0.2, 0.52, 0.18)
    for x in (0.1, 0.22):
        p.oval(color, x, 0.84, 0.06, 0.2)
        p.oval("#f3b6b0", x, 0.84, 0.028, 0.14)
    p.oval(dark(color, 0.1), 0.15, 0.06, 0.14, 0.06)
    p.oval(_EYE, 0.26, 0.56, 0.03)


def squirrel(p: Pen, color: Color) -> None:
    """Draw a squirrel with a nut."""
    p.shadow(0.34)
    p.blob(dark(color, 0.1), (-0.12, 0.05), (-0.5, 0.2), (-0.48, 0.75), (-0.2, 0.98), (-0.12, 0.72), (-0.26, 0.5))
    p.oval(color, 0.05, 0.3, 0.22, 0.3)
    p.oval(pale(color, 0.5), 0.12, 0.28, 0.12, 0.2)
    p.oval(color, 0.14, 0.68, 0.17)
    p.poly(color, (0.02, 0.78), (0.1, 0.8), (0.02, 0.98))
    p.oval("#8b5a33", 0.28, 0.44, 0.07, 0.08)
    p.oval(_EYE, 0.2, 0.72, 0.03)


def dinosaur(p: Pen, color: Color) -> None:
    """Draw the skeleton of a dinosaur on a stand."""
    p.box("#8a7a66", -0.6, 0, 0.6, 0.05)
    p.curve(color, 0.05, (-0.75, 0.55), (-0.4, 0.45), (0.05, 0.6), (0.3, 0.85), (0.45, 0.9))
    for at in range(5):
        x = -0.2 + at * 0.09
        p.curve(color, 0.025, (x, 0.56), (x + 0.05, 0.45), (x + 0.01, 0.34))
    for x in (-0.22, 0.06):
        p.line(color, 0.04, (x, 0.48), (x + 0.06, 0.26), (x, 0.05))
    p.blob(color, (0.38, 0.98), (0.62, 0.95), (0.72, 0.84), (0.42, 0.82))
    p.oval(_EYE, 0.48, 0.92, 0.025)


def _four(height: float, color: Color, width: float = 1.2, **how: Any) -> Glyph:
    return Glyph(partial(quadruped, **how), "ground", height, width, color)


def _bird(height: float, color: Color, zone: Zone = "ground", **how: Any) -> Glyph:
    return Glyph(partial(bird, **how), zone, height, 1.1, color)


_DOG: dict[str, Any] = {"legs": 0.28, "ears": "flop", "neck": 0.12, "head": 0.19}
_CAT: dict[str, Any] = {"legs": 0.24, "ears": "up", "neck": 0.1, "head": 0.19, "fat": 0.27, "snout": 0.07}
_HORSE: dict[str, Any] = {
    "legs": 0.42,
    "neck": 0.3,
    "head": 0.12,
    "snout": 0.11,
    "tail": "down",
    "body": 0.7,
    "fat": 0.28,
}
_CATTLE: dict[str, Any] = {"legs": 0.28, "neck": 0.08, "body": 0.85, "fat": 0.4, "head": 0.17, "tail": "down"}
_WOOL: dict[str, Any] = {
    "legs": 0.22,
    "neck": 0.06,
    "fat": 0.45,
    "body": 0.75,
    "head": 0.15,
    "ears": "round",
    "tail": "none",
}
_BIG_CAT: dict[str, Any] = {
    "legs": 0.26,
    "neck": 0.1,
    "body": 0.8,
    "fat": 0.32,
    "head": 0.19,
    "ears": "round",
    "tail": "down",
}

ANIMALS: dict[str, Glyph] = {
    "dog": _four(58, "#c4935e", **_DOG),
    "beagle": _four(58, "#c98f5a", marks="patches", **_DOG),
    "labrador": _four(60, "#e0bd86", **_DOG),
    "poodle": _four(58, "#e8e0d8", **(_DOG | {"tail": "puff", "head": 0.22})),
    "terrier": _four(50, "#a98a6b", **(_DOG | {"ears": "up"})),
    "sheepdog": _four(58, "#55555f", marks="patches", **(_DOG | {"face": "#e9e4dc"})),
    "puppy": _four(44, "#d8a56b", **(_DOG | {"head": 0.26, "body": 0.5})),
    "cat": _four(48, "#8d8791", **_CAT),
    "kitten": _four(38, "#e0a868", **(_CAT | {"head": 0.25, "body": 0.5})),
    "tabby cat": _four(48, "#d19a5c", marks="stripes", **_CAT),
    "collar": _four(56, "#cfa36c", **_DOG),
    "pet": _four(46, "#d7a878", **_CAT),
    "animal": _four(56, "#b98f68", **_DOG),
    "wildlife": _four(62, "#b4875a", horns="antlers", **_HORSE),
    "horse": _four(112, "#9a6642", **_HORSE),
    "foal": _four(80, "#b57c50", **_HORSE),
    "donkey": _four(90, "#8f8a86", **(_HORSE | {"ears": "long"})),
    "zebra": _four(98, "#f3f1ec", marks="stripes", **_HORSE),
    "deer": _four(92, "#bd8350", horns="antlers", **_HORSE),
    "antelope": _four(86, "#cf9a5b", horns="curved", **_HORSE),
    "herd": _four(76, "#b28a5e", horns="curved", **_CATTLE),
    "cow": _four(88, "#f4efe8", marks="patches", horns="curved", **_CATTLE),
    "calf": _four(66, "#d9a87c", marks="patches", **_CATTLE),
    "goat": _four(64, "#e6ded2", horns="curved", **(_CATTLE | {"legs": 0.34, "fat": 0.32})),
    "pig": _four(56, "#f0b0a8", **(_CATTLE | {"legs": 0.18, "fat": 0.44, "snout": 0.12})),
    "sheep": _four(60, "#f7f3ea", face="#5a5048", **_WOOL),
    "lamb": _four(44, "#fbf8f1", face="#6b5f55", **_WOOL),
    "fox": _four(50, "#d8763a", **(_CAT | {"tail": "bushy"})),
    "wolf": _four(64, "#8b8f98", **(_CAT | {"tail": "bushy", "legs": 0.34})),
    "otter": _four(40, "#7a5a44", **(_CAT | {"ears": "round", "legs": 0.16, "body": 0.8})),
    "lion": _four(78, "#dca657", mane="#a8662f", **_BIG_CAT),
    "lioness": _four(74, "#dcab63", **_BIG_CAT),
    "tiger": _four(76, "#e58f3c", marks="stripes", **_BIG_CAT),
    "leopard": _four(72, "#e3b661", marks="spots", **_BIG_CAT),
    "elephant": Glyph(elephant, "ground", 118, 1.4, "#98a0aa"),
    "giraffe": Glyph(giraffe, "ground", 168, 0.7, "#efc77a"),
    "camel": Glyph(camel, "ground", 108, 1.1, "#cfa066"),
    "kangaroo": Glyph(kangaroo, "ground", 92, 0.9, "#b5835a"),
    "monkey": Glyph(monkey, "ground", 58, 0.8, "#7f5b42"),
    "bear": Glyph(sitting_bear, "ground", 84, 0.8, "#7d5a40"),
    "panda": Glyph(partial(sitting_bear, patches="#33333d"), "ground", 82, 0.8, "#f6f4ef"),
    "teddy bear": Glyph(sitting_bear, "front", 46, 0.8, "#c8935a"),
    "rabbit": Glyph(rabbit, "front", 42, 0.8, "#cdb8a4"),
    "squirrel": Glyph(squirrel, "front", 42, 0.9, "#b5673a"),
    "seal": Glyph(seal, "front", 34, 2.0, "#7d8792"),
    "dolphin": Glyph(dolphin, "water", 34, 2.0, "#6d93ad"),
    "fish": Glyph(fish, "front", 26, 1.8, "#5d9ec2"),
    "goldfish": Glyph(fish, "front", 24, 1.8, "#f08a3c"),
    "seafood": Glyph(fish, "table", 22, 1.8, "#e98a70"),
    "shark": Glyph(shark, "water", 46, 2.6, "#7f93a3"),
    "manta ray": Glyph(ray, "water", 40, 2.0, "#566b82"),
    "jellyfish": Glyph(jellyfish, "front", 44, 0.9, "#d993c5"),
    "octopus": Glyph(octopus, "front", 50, 1.2, "#d9756b"),
    "seahorse": Glyph(seahorse, "front", 48, 0.6, "#efb04f"),
    "starfish": Glyph(starfish, "front", 26, 1.0, "#ee8a5b"),
    "crab": Glyph(crab, "front", 26, 1.6, "#e0604a"),
    "frog": Glyph(frog, "front", 28, 1.2, "#6cae58"),
    "turtle": Glyph(turtle, "front", 34, 2.0, "#5f9466"),
    "lizard": Glyph(lizard, "front", 26, 2.2, "#79a85b"),
    "crocodile": Glyph(crocodile, "ground", 40, 2.6, "#5f8a55"),
    "snake": Glyph(snake, "front", 30, 2.0, "#7fa14c"),
    "bird": _bird(40, "#6c8fb5"),
    "seagull": _bird(38, "#ffffff", wing="#a9b4c0"),
    "duck": _bird(36, "#8a6a4c", wing="#b79b7c", belly="#efe6d8", bill=0.2),
    "goose": _bird(48, "#e9e6e0", neck=0.2, bill=0.18),
    "swan": _bird(56, "#ffffff", "water", neck=0.34, legs=0.0),
    "pigeon": _bird(32, "#8f9bb0", wing="#6e7c96", beak="#5b5b68", bill=0.1),
    "hen": _bird(42, "#d99a63", comb="#d8433b", bill=0.12),
    "rooster": _bird(48, "#c4643a", comb="#d8433b", wing="#2f6f63", bill=0.12),
    "parrot": _bird(44, "#e0503e", wing="#3f8ad0", beak="#41414b", belly="#f4c542", bill=0.12),
    "flamingo": _bird(88, "#f29bb0", neck=0.4, legs=0.48, bill=0.14),
    "heron": _bird(84, "#aab6c4", neck=0.36, legs=0.44, bill=0.28),
    "eagle": Glyph(flying_bird, "sky", 40, 2.0, "#6b4a34"),
    "flight": Glyph(flying_bird, "sky", 26, 2.0, "#f4f4f4"),
    "wing": Glyph(flying_bird, "sky", 26, 2.0, "#dfe6ee"),
    "peacock": _bird(64, "#2f7fb0", neck=0.16, fan=True, bill=0.1),
    "kingfisher": _bird(36, "#2c8fb8", belly="#ec8d44", beak="#3b3b45", bill=0.3),
    "puffin": _bird(38, "#33343f", belly="#ffffff", beak="#ef7b3a", bill=0.2),
    "rubber duck": _bird(26, "#f7cc3e", beak="#ef7b3a", legs=0.0),
    "penguin": Glyph(penguin, "ground", 62, 0.7, "#333a48"),
    "owl": Glyph(owl, "front", 44, 0.8, "#94704f"),
    "butterfly": Glyph(butterfly, "sky", 24, 1.3, "#ef9a3d"),
    "insect": Glyph(butterfly, "sky", 22, 1.3, "#7fb2d9"),
    "bee": Glyph(bee, "sky", 20, 1.2, "#f4c542"),
    "dragonfly": Glyph(dragonfly, "sky", 28, 1.3, "#3f9aa0"),
    "dinosaur": Glyph(dinosaur, "ground", 130, 1.4, "#d8c9a9"),
    "skeleton": Glyph(dinosaur, "ground", 120, 1.4, "#e4d9c0"),
}
"""Glyphs of animals, by label."""
ANIMALS |= glyphs(turtle, "front", 30, 2.0, {"fossil": "#c2ac86"})
