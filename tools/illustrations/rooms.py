"""Furniture, and what hangs on the walls of rooms."""

from __future__ import annotations

from functools import partial

from tools.illustrations.canvas import Color, Pen, circle, clear, dark, pale
from tools.illustrations.glyph import Glyph

_WOOD = "#a97c54"
_GLASS = "#cfe8f2"


def sofa(p: Pen, color: Color) -> None:
    """Draw a sofa."""
    p.shadow(1.2)
    for x in (-0.95, 0.95):
        p.box("#6a4f3c", x - 0.05, 0, x + 0.05, 0.14)
    p.box(dark(color, 0.1), -1.05, 0.34, 1.05, 1.0, 0.16)
    p.box(color, -0.95, 0.1, 0.95, 0.5, 0.08)
    for x in (-0.46, 0.46):
        p.box(pale(color, 0.12), x - 0.44, 0.42, x + 0.44, 0.62, 0.08)
    for x in (-1.08, 1.08):
        p.box(color, x - 0.14, 0.1, x + 0.14, 0.7, 0.12)


def armchair(p: Pen, color: Color) -> None:
    """Draw an armchair."""
    p.shadow(0.6)
    p.box(dark(color, 0.1), -0.42, 0.2, 0.42, 1.0, 0.16)
    p.box(pale(color, 0.1), -0.36, 0.12, 0.36, 0.48, 0.08)
    for x in (-0.44, 0.44):
        p.box(color, x - 0.11, 0.06, x + 0.11, 0.6, 0.1)


def chair(p: Pen, color: Color) -> None:
    """Draw a chair."""
    p.shadow(0.34)
    p.box(color, -0.3, 0.45, -0.22, 1.0, 0.03)
    p.box(pale(color, 0.1), -0.3, 0.68, 0.0, 0.96, 0.04)
    p.box(color, -0.3, 0.4, 0.3, 0.5, 0.03)
    for x in (-0.26, 0.24):
        p.box(dark(color, 0.1), x - 0.03, 0, x + 0.03, 0.42)


def stool(p: Pen, color: Color) -> None:
    """Draw a bar stool."""
    for x in (-0.16, 0.16):
        p.line("#6a5a4c", 0.04, (x, 0), (x * 0.6, 0.85))
    p.line("#6a5a4c", 0.03, (-0.14, 0.3), (0.14, 0.3))
    p.box(color, -0.2, 0.84, 0.2, 0.97, 0.06)


def office_chair(p: Pen, color: Color) -> None:
    """Draw an office chair."""
    p.line("#55585f", 0.05, (0, 0.1), (0, 0.45))
    p.line("#55585f", 0.05, (-0.26, 0.05), (0.26, 0.05))
    p.box(color, -0.27, 0.42, 0.27, 0.54, 0.06)
    p.box(dark(color, 0.1), -0.22, 0.56, 0.22, 1.0, 0.1)


def table(p: Pen, color: Color) -> None:
    """Draw a table."""
    p.shadow(1.0)
    for x in (-0.85, 0.85):
        p.box(dark(color, 0.15), x - 0.06, 0, x + 0.06, 0.9)
    p.box(color, -1.0, 0.84, 1.0, 1.0, 0.03)


def desk(p: Pen, color: Color) -> None:
    """Draw a desk with drawers."""
    table(p, color)
    p.box(pale(color, 0.1), 0.3, 0.1, 0.92, 0.84)
    for y in (0.2, 0.42, 0.64):
        p.box(dark(color, 0.2), 0.5, y, 0.72, y + 0.04)


def bed(p: Pen, color: Color) -> None:
    """Draw a bed."""
    p.shadow(1.5)
    p.box(_WOOD, -1.5, 0, -1.36, 1.0, 0.05)
    p.box(_WOOD, 1.36, 0, 1.5, 0.6, 0.05)
    p.box("#f7f3ec", -1.4, 0.16, 1.4, 0.5, 0.06)
    p.box(color, -0.6, 0.18, 1.4, 0.6, 0.12)
    p.box(pale(color, 0.5), -0.6, 0.48, -0.3, 0.6, 0.05)
    p.box("#ffffff", -1.32, 0.48, -0.7, 0.72, 0.1)


def bookcase(p: Pen, color: Color) -> None:
    """Draw a bookcase."""
    p.box(color, -0.42, 0, 0.42, 1.0, 0.02)
    shades = ("#c9584a", "#4f86b5", "#e2b04a", "#6aa877", "#8f6fa8", "#d98a5c", "#f0e6d4")
    for row in range(4):
        y = 0.05 + row * 0.24
        p.box(dark(color, 0.25), -0.37, y, 0.37, y + 0.2)
        x = -0.36
        while x < 0.32:
            width = p.dice(0.04, 0.075)
            p.box(p.dice.pick(shades), x, y, x + width - 0.008, y + p.dice(0.12, 0.185))
            x += width


def cupboard(p: Pen, color: Color, doors: int = 2) -> None:
    """Draw a wardrobe or a cupboard."""
    p.shadow(0.5)
    p.box(color, -0.36, 0.03, 0.36, 1.0, 0.02)
    for at in range(doors):
        x = -0.33 + at * 0.66 / doors
        p.box(pale(color, 0.12), x, 0.08, x + 0.66 / doors - 0.03, 0.95, 0.01)
        p.oval("#e8d9b5", x + (0.66 / doors - 0.07 if at == 0 else 0.04), 0.5, 0.018)


def drawers(p: Pen, color: Color) -> None:
    """Draw a chest of drawers."""
    p.shadow(0.7)
    p.box(color, -0.6, 0.05, 0.6, 1.0, 0.03)
    for y in (0.12, 0.42, 0.7):
        p.box(pale(color, 0.14), -0.54, y, 0.54, y + 0.24, 0.02)
        p.oval(dark(color, 0.4), 0, y + 0.12, 0.04)


def appliance(p: Pen, color: Color, door: str = "round") -> None:
    """Draw a washing machine, an oven or another white box."""
    p.shadow(0.6)
    p.box(color, -0.5, 0.02, 0.5, 1.0, 0.04)
    p.box(dark(color, 0.1), -0.5, 0.82, 0.5, 0.97, 0.03)
    for x in (-0.38, -0.24, 0.3):
        p.oval("#6a7078", x, 0.89, 0.04)
    if door == "round":
        p.oval("#8f98a3", 0, 0.42, 0.34)
        p.oval("#bcdcea", 0, 0.42, 0.26)
    else:
        p.box("#4a4e58", -0.38, 0.16, 0.38, 0.7, 0.04)
        p.box("#e8a04c", -0.32, 0.22, 0.32, 0.6, 0.03)
        p.box("#c4c9d0", -0.4, 0.74, 0.4, 0.78)


def fridge(p: Pen, color: Color) -> None:
    """Draw a refrigerator."""
    p.shadow(0.4)
    p.box(color, -0.28, 0.02, 0.28, 1.0, 0.04)
    p.box(dark(color, 0.16), -0.28, 0.62, 0.28, 0.635)
    for y in (0.4, 0.72):
        p.box("#8f98a3", -0.22, y, -0.19, y + 0.14, 0.01)


def stove(p: Pen, color: Color) -> None:
    """Draw a stove with a pot on it."""
    appliance(p, color, "oven")
    p.box("#5a6470", -0.3, 1.0, 0.12, 1.24, 0.04)
    p.line("#5a6470", 0.05, (0.1, 1.16), (0.32, 1.2))


def sink(p: Pen, color: Color) -> None:
    """Draw a sink with a tap."""
    p.box("#e9e4da", -0.6, 0, 0.6, 0.6, 0.03)
    p.box(pale("#e9e4da", 0.4), -0.54, 0.06, -0.03, 0.54)
    p.box(pale("#e9e4da", 0.4), 0.03, 0.06, 0.54, 0.54)
    p.box(color, -0.66, 0.6, 0.66, 0.72, 0.03)
    p.curve("#9aa3ae", 0.06, (0.1, 0.72), (0.1, 0.95), (-0.06, 1.0), (-0.12, 0.86))


def bathtub(p: Pen, color: Color) -> None:
    """Draw a bathtub with foam."""
    p.shadow(1.1)
    for x, r in ((-0.6, 0.2), (-0.3, 0.26), (0.05, 0.22), (0.35, 0.18)):
        p.oval("#ffffff", x, 0.86, r)
    p.box(color, -1.1, 0.1, 1.1, 0.86, 0.3)
    p.box(dark(color, 0.06), -1.2, 0.78, 1.2, 0.9, 0.05)


def toilet(p: Pen, color: Color) -> None:
    """Draw a toilet."""
    p.box(color, -0.4, 0.45, -0.1, 1.0, 0.05)
    p.blob(color, (-0.3, 0.5), (0.4, 0.52), (0.3, 0.25), (0.1, 0.0), (-0.2, 0.0))
    p.box(dark(color, 0.08), -0.25, 0.5, 0.42, 0.57, 0.03)


def floor_lamp(p: Pen, color: Color) -> None:
    """Draw a lamp."""
    p.canvas.glow(p.x, p.y - 0.84 * p.scale, 0.5 * p.scale, "#ffe9a8", 0.5)
    p.box("#6a5a4c", -0.13, 0, 0.13, 0.03)
    p.line("#6a5a4c", 0.025, (0, 0), (0, 0.72))
    p.poly(color, (-0.18, 0.7), (0.18, 0.7), (0.11, 0.98), (-0.11, 0.98))


def television(p: Pen, color: Color) -> None:
    """Draw a television on a low board."""
    p.box(_WOOD, -0.8, 0, 0.8, 0.24, 0.03)
    p.box(color, -0.7, 0.28, 0.7, 1.0, 0.04)
    p.box("#7fb4d0", -0.64, 0.34, 0.64, 0.94, 0.02)
    p.poly("#8fc48a", (-0.64, 0.34), (0.64, 0.34), (0.64, 0.5), (0.1, 0.62), (-0.64, 0.46))


def piano(p: Pen, color: Color) -> None:
    """Draw a piano."""
    p.shadow(1.0)
    p.box(color, -0.9, 0, 0.9, 1.0, 0.04)
    p.box("#f9f6ee", -0.84, 0.44, 0.84, 0.54)
    for at in range(12):
        p.box("#26262e", -0.78 + at * 0.135, 0.48, -0.73 + at * 0.135, 0.54)
    p.box(pale(color, 0.15), -0.8, 0.6, 0.8, 0.92, 0.02)


def fireplace(p: Pen, color: Color) -> None:
    """Draw a fireplace."""
    p.box(color, -0.65, 0, 0.65, 0.9)
    p.box(_WOOD, -0.75, 0.88, 0.75, 1.0, 0.02)
    p.box("#3a2c2c", -0.4, 0, 0.4, 0.62, 0.06)
    p.blob("#ef8a3c", (-0.22, 0.03), (-0.18, 0.26), (0, 0.5), (0.16, 0.3), (0.22, 0.03))
    p.blob("#f9d056", (-0.1, 0.03), (-0.06, 0.2), (0.02, 0.32), (0.1, 0.03))


def painting(p: Pen, color: Color) -> None:
    """Draw a framed painting."""
    p.box("#b58a4c", -0.65, 0, 0.65, 1.0, 0.02)
    p.box("#cfe3ea", -0.56, 0.09, 0.56, 0.91)
    p.poly(color, (-0.56, 0.09), (0.56, 0.09), (0.56, 0.42), (0.2, 0.66), (-0.15, 0.34), (-0.35, 0.52), (-0.56, 0.3))
    p.oval("#f7d77a", 0.3, 0.76, 0.08)


def mirror(p: Pen, color: Color) -> None:
    """Draw a mirror."""
    p.oval("#c9a45c", 0, 0.5, 0.4, 0.5)
    p.oval(color, 0, 0.5, 0.34, 0.44)
    p.line(clear("#ffffff", 0.8), 0.03, (-0.14, 0.42), (0.06, 0.7))


def clock(p: Pen, color: Color) -> None:
    """Draw a clock."""
    p.oval(color, 0, 0.5, 0.5)
    p.oval("#fffdf6", 0, 0.5, 0.42)
    for x, y in circle(0, 0.5, 0.34, 12):
        p.oval("#5a5a66", x, y, 0.02)
    p.line("#3a3a44", 0.05, (0, 0.5), (0, 0.76))
    p.line("#3a3a44", 0.05, (0, 0.5), (0.18, 0.42))


def window(p: Pen, color: Color) -> None:
    """Draw a window of a room, with curtains."""
    p.box("#fffdf8", -0.5, 0, 0.5, 1.0)
    p.box(_GLASS, -0.44, 0.06, 0.44, 0.94)
    p.oval("#ffffff", -0.14, 0.66, 0.15, 0.07)
    p.poly("#a9cfa0", (-0.44, 0.06), (0.44, 0.06), (0.44, 0.28), (0.0, 0.4), (-0.44, 0.2))
    p.box("#fffdf8", -0.03, 0, 0.03, 1.0)
    p.box("#fffdf8", -0.5, 0.48, 0.5, 0.53)
    for side in (-1, 1):
        p.blob(
            color,
            (side * 0.68, 1.06),
            (side * 0.36, 1.04),
            (side * 0.46, 0.5),
            (side * 0.42, -0.1),
            (side * 0.7, -0.1),
        )
    p.line("#8a6a4c", 0.03, (-0.72, 1.06), (0.72, 1.06))


def board(p: Pen, color: Color) -> None:
    """Draw a blackboard or another board with writing."""
    p.box(_WOOD, -1.0, 0, 1.0, 1.0, 0.02)
    p.box(color, -0.94, 0.06, 0.94, 0.94)
    ink = "#e9efe8" if sum(int(part) for part in pale(color, 0)) < 380 else "#6a7c94"
    for y, end in ((0.74, 0.4), (0.56, 0.1), (0.38, 0.55)):
        p.curve(ink, 0.025, (-0.78, y), (-0.3, y + 0.05), (0.0, y - 0.04), (end, y))
    p.oval(ink, 0.68, 0.68, 0.13)
    p.oval(color, 0.68, 0.68, 0.1)


def screen(p: Pen, color: Color) -> None:
    """Draw a board of departures."""
    p.box("#2c3240", -1.0, 0, 1.0, 1.0, 0.04)
    for row in range(5):
        for x0, x1 in ((-0.9, -0.55), (-0.45, 0.35), (0.5, 0.88)):
            p.box(color if row % 2 else "#f4f0dc", x0, 0.12 + row * 0.17, x1, 0.2 + row * 0.17, 0.01)


def neon(p: Pen, color: Color) -> None:
    """Draw a neon sign."""
    p.canvas.glow(p.x, p.y - 0.5 * p.scale, 1.0 * p.scale, color, 0.35)
    p.box("#332c44", -0.9, 0.1, 0.9, 0.9, 0.12)
    p.curve(color, 0.07, (-0.7, 0.4), (-0.5, 0.7), (-0.35, 0.35), (-0.15, 0.7), (0.0, 0.4))
    p.oval(color, 0.25, 0.52, 0.18)
    p.oval("#332c44", 0.25, 0.52, 0.12)
    p.line("#7fe0d9", 0.06, (0.55, 0.35), (0.55, 0.7))


def fairy_lights(p: Pen, color: Color) -> None:
    """Draw a chain of lights."""
    points = [(-3.2, 0.9), (-2.0, 0.2), (-0.8, 0.75), (0.4, 0.15), (1.8, 0.75), (3.2, 0.3)]
    p.curve("#6a6a78", 0.03, *points)
    for at in range(15):
        x = -3.1 + at * 0.44
        y = 0.5 + 0.28 * (-1) ** (at // 3)
        p.oval(("#f9d56a", "#f28a6a", "#8fd0a8", "#8fb8f0")[at % 4] if color == "#f9d56a" else color, x, y, 0.13)


def stained_glass(p: Pen, color: Color) -> None:
    """Draw a church window."""
    p.box("#6a6472", -0.3, 0, 0.3, 0.8)
    p.oval("#6a6472", 0, 0.74, 0.3, 0.28)
    shades = ("#d9574f", "#4f86c9", "#f2c14e", "#6aae7a", "#9a6fb5")
    for row in range(4):
        for column in range(3):
            p.box(
                shades[(row * 2 + column) % 5],
                -0.25 + column * 0.17,
                0.06 + row * 0.2,
                -0.1 + column * 0.17,
                0.22 + row * 0.2,
                0.02,
            )
    p.oval(color, 0, 0.88, 0.11)


def altar(p: Pen, color: Color) -> None:
    """Draw an altar with candles."""
    p.box("#d9cdb8", -0.7, 0, 0.7, 0.5)
    p.box(color, -0.76, 0.4, 0.76, 0.54)
    p.box("#c9a14c", -0.03, 0.54, 0.03, 1.0)
    p.box("#c9a14c", -0.14, 0.8, 0.14, 0.86)
    for x in (-0.5, 0.5):
        p.box("#fffaf0", x - 0.04, 0.54, x + 0.04, 0.74)
        p.oval("#f7c65a", x, 0.79, 0.035, 0.06)


def organ(p: Pen, color: Color) -> None:
    """Draw organ pipes."""
    p.box(_WOOD, -0.6, 0, 0.6, 0.3)
    for at in range(9):
        top = 0.75 + 0.25 * (1 - abs(at - 4) / 4)
        p.box(color, -0.55 + at * 0.125, 0.26, -0.46 + at * 0.125, top, 0.02)


def pew(p: Pen, color: Color) -> None:
    """Draw a pew or a row of seats."""
    p.box(color, -1.5, 0, 1.5, 0.7, 0.05)
    p.box(pale(color, 0.14), -1.5, 0.62, 1.5, 0.78, 0.04)
    for x in (-1.5, 1.5):
        p.box(dark(color, 0.1), x - 0.1, 0, x + 0.1, 0.95, 0.05)


def shelf(p: Pen, color: Color) -> None:
    """Draw a shelf with goods."""
    shades = ("#e0705a", "#f2b84c", "#6aa877", "#5a94c4", "#c98ab0", "#efe6d4")
    for row in range(3):
        y = row * 0.33
        p.box(color, -0.9, y, 0.9, y + 0.05)
        x = -0.84
        while x < 0.74:
            width = p.dice(0.08, 0.14)
            p.box(p.dice.pick(shades), x, y + 0.05, x + width - 0.015, y + p.dice(0.16, 0.28), 0.02)
            x += width
    for x in (-0.92, 0.92):
        p.box(dark(color, 0.1), x - 0.03, 0, x + 0.03, 1.0)


def display_case(p: Pen, color: Color) -> None:
    """Draw a display case with a vase."""
    p.box("#8a7a66", -0.4, 0, 0.4, 0.4)
    p.box(clear("#dff0f5", 0.75), -0.4, 0.4, 0.4, 1.0)
    p.blob(color, (-0.1, 0.42), (-0.17, 0.6), (-0.06, 0.78), (0.06, 0.78), (0.17, 0.6), (0.1, 0.42))


def trolley(p: Pen, color: Color) -> None:
    """Draw a shopping trolley."""
    p.poly(clear(color, 0.5), (-0.5, 0.85), (0.55, 0.75), (0.45, 0.35), (-0.35, 0.35))
    for at in range(5):
        p.line(color, 0.025, (-0.4 + at * 0.2, 0.84 - at * 0.02), (-0.28 + at * 0.17, 0.36))
    p.line(color, 0.05, (-0.75, 0.98), (-0.5, 0.88), (-0.32, 0.2), (0.45, 0.2))
    for x in (-0.25, 0.4):
        p.oval("#33343d", x, 0.08, 0.08)


def escalator(p: Pen, color: Color) -> None:
    """Draw stairs."""
    for at in range(7):
        p.box(color if at % 2 else dark(color, 0.1), -0.7 + at * 0.2, 0, -0.48 + at * 0.2, 0.12 + at * 0.12)
    p.line("#4a4f5c", 0.06, (-0.75, 0.42), (0.6, 1.2))


def workbench(p: Pen, color: Color) -> None:
    """Draw a workbench with tools above it."""
    table(p.at(0, 0, 0.6), color)
    p.box("#d9c7a8", -0.55, 0.7, 0.55, 1.0, 0.02)
    p.line("#8a6a48", 0.03, (-0.4, 0.75), (-0.4, 0.92))
    p.box("#6f7780", -0.47, 0.9, -0.33, 0.96)
    p.line("#7f8790", 0.03, (-0.1, 0.75), (-0.05, 0.95))
    p.poly("#b9c0c8", (0.1, 0.78), (0.42, 0.78), (0.42, 0.92))


def drum_kit(p: Pen, color: Color) -> None:
    """Draw drums."""
    p.shadow(0.9)
    for x, y in ((-0.62, 0.86), (0.62, 0.92)):
        p.line("#8f949c", 0.03, (x, 0), (x, y))
        p.oval("#e8c65a", x, y, 0.3, 0.07)
    for x in (-0.36, 0.36):
        p.box(pale(color, 0.2), x - 0.2, 0.42, x + 0.2, 0.68, 0.05)
    p.oval(color, 0, 0.32, 0.36)
    p.oval("#fbf7ee", 0, 0.32, 0.28)


def speaker(p: Pen, color: Color) -> None:
    """Draw a loudspeaker."""
    p.box(color, -0.32, 0, 0.32, 1.0, 0.04)
    p.oval("#6a6f7a", 0, 0.34, 0.24)
    p.oval("#2b2b33", 0, 0.34, 0.13)
    p.oval("#6a6f7a", 0, 0.76, 0.13)


def cello(p: Pen, color: Color) -> None:
    """Draw a cello."""
    p.line("#4a2f20", 0.04, (0, 0.5), (0, 1.0))
    p.oval(color, 0, 0.26, 0.24, 0.22)
    p.oval(color, 0, 0.5, 0.18, 0.16)
    for x in (-0.02, 0.02):
        p.line("#f2e6cf", 0.008, (x, 0.16), (x, 0.9))


def chandelier(p: Pen, color: Color) -> None:
    """Draw a chandelier."""
    p.canvas.glow(p.x, p.y - 0.5 * p.scale, 0.9 * p.scale, "#ffe9a8", 0.4)
    p.line(color, 0.03, (0, 0.5), (0, 1.4))
    p.curve(color, 0.06, (-0.6, 0.5), (-0.3, 0.28), (0, 0.4), (0.3, 0.28), (0.6, 0.5))
    for x in (-0.6, -0.3, 0, 0.3, 0.6):
        p.box("#fffaf0", x - 0.04, 0.42, x + 0.04, 0.66)
        p.oval("#f7c65a", x, 0.74, 0.05, 0.08)


def wheelchair(p: Pen, color: Color) -> None:
    """Draw a wheelchair."""
    p.line(color, 0.06, (-0.3, 0.98), (-0.2, 0.45), (0.3, 0.45), (0.42, 0.08))
    p.oval("#44505e", -0.12, 0.32, 0.32)
    p.oval("#e9eef0", -0.12, 0.32, 0.26)
    p.oval("#44505e", 0.36, 0.08, 0.08)


def cage(p: Pen, color: Color) -> None:
    """Draw a cage."""
    p.oval(clear("#f4eedd", 0.6), 0, 0.6, 0.4, 0.4)
    p.box(clear("#f4eedd", 0.6), -0.4, 0.05, 0.4, 0.6)
    for at in range(7):
        x = -0.39 + at * 0.13
        p.line(color, 0.02, (x, 0.05), (x, 0.62), (0, 1.0))
    p.box(color, -0.44, 0, 0.44, 0.1, 0.03)


def rug(p: Pen, color: Color) -> None:
    """Draw a carpet."""
    p.oval(color, 0, 0.5, 3.0, 0.5)
    p.oval(pale(color, 0.35), 0, 0.5, 2.4, 0.38)
    p.oval(color, 0, 0.5, 1.8, 0.26)


def towel(p: Pen, color: Color) -> None:
    """Draw a towel or blanket on the ground."""
    p.poly(color, (-1.6, 0), (1.3, 0), (1.7, 0.9), (-1.1, 0.9))
    for at in range(3):
        x = -1.3 + at * 0.95
        p.poly(pale(color, 0.55), (x, 0), (x + 0.35, 0), (x + 0.8, 0.9), (x + 0.45, 0.9))


def picnic(p: Pen, color: Color) -> None:
    """Draw a checked blanket with a basket."""
    p.poly("#fff4ea", (-1.6, 0), (1.4, 0), (1.8, 0.7), (-1.1, 0.7))
    for at in range(4):
        x = -1.5 + at * 0.75
        p.poly(clear(color, 0.75), (x, 0), (x + 0.35, 0), (x + 0.75, 0.7), (x + 0.4, 0.7))
    p.poly(clear(color, 0.5), (-1.45, 0.2), (1.5, 0.2), (1.62, 0.42), (-1.3, 0.42))
    p.box("#b5854c", -0.2, 0.35, 0.6, 0.9, 0.06)
    p.curve("#8a6038", 0.06, (-0.1, 0.9), (0.2, 1.3), (0.5, 0.9))


def pool_table(p: Pen, color: Color) -> None:
    """Draw a pool table."""
    for x in (-0.9, 0.9):
        p.box("#6a4630", x - 0.1, 0, x + 0.1, 0.6)
    p.poly("#8a5a3c", (-1.15, 0.5), (1.15, 0.5), (0.9, 1.0), (-0.9, 1.0))
    p.poly(color, (-1.0, 0.56), (1.0, 0.56), (0.8, 0.95), (-0.8, 0.95))
    for x, y, ball in ((-0.3, 0.7, "#f2f2ee"), (0.2, 0.82, "#d9473c"), (0.4, 0.72, "#f2c14e")):
        p.oval(ball, x, y, 0.06)


def crate(p: Pen, color: Color) -> None:
    """Draw a crate or a box."""
    p.box(color, -0.6, 0, 0.6, 0.95, 0.02)
    for y in (0.05, 0.36, 0.67):
        p.box(pale(color, 0.16), -0.56, y, 0.56, y + 0.22, 0.02)


def luggage(p: Pen, color: Color) -> None:
    """Draw a suitcase."""
    p.line("#5a5f6a", 0.05, (-0.14, 0.75), (-0.14, 1.0), (0.14, 1.0), (0.14, 0.75))
    p.box(color, -0.36, 0.06, 0.36, 0.8, 0.08)
    for x in (-0.18, 0.0, 0.18):
        p.box(dark(color, 0.15), x - 0.015, 0.14, x + 0.015, 0.72)
    for x in (-0.24, 0.24):
        p.oval("#33343d", x, 0.05, 0.06)


def backpack(p: Pen, color: Color) -> None:
    """Draw a backpack."""
    p.curve(dark(color, 0.2), 0.05, (-0.12, 0.85), (0, 1.0), (0.12, 0.85))
    p.box(color, -0.32, 0, 0.32, 0.9, 0.2)
    p.box(dark(color, 0.12), -0.22, 0.08, 0.22, 0.42, 0.08)


def bag(p: Pen, color: Color) -> None:
    """Draw a bag."""
    p.curve(dark(color, 0.25), 0.05, (-0.18, 0.62), (0, 0.98), (0.18, 0.62))
    p.poly(color, (-0.36, 0.66), (0.36, 0.66), (0.42, 0), (-0.42, 0))


def door(p: Pen, color: Color) -> None:
    """Draw a door."""
    p.box(pale(color, 0.4), -0.26, 0, 0.26, 1.0)
    p.box(color, -0.22, 0, 0.22, 0.96)
    for y in (0.12, 0.54):
        p.box(dark(color, 0.12), -0.15, y, 0.15, y + 0.32, 0.02)
    p.oval("#f2d58a", 0.16, 0.48, 0.025)


def shower(p: Pen, color: Color) -> None:
    """Draw a shower."""
    p.box(clear("#dff0f5", 0.7), -0.32, 0, 0.32, 1.0)
    p.curve(color, 0.03, (0.2, 0.1), (0.2, 0.94), (0.0, 0.98), (-0.06, 0.88))
    for at in range(5):
        p.line(clear("#7fc0dd", 0.9), 0.014, (-0.16 + at * 0.05, 0.8), (-0.22 + at * 0.08, 0.2))
    p.poly(color, (-0.16, 0.82), (0.04, 0.82), (-0.02, 0.9), (-0.1, 0.9))


def pram(p: Pen, color: Color) -> None:
    """Draw a pram."""
    p.line("#6a7078", 0.05, (-0.35, 0.5), (-0.62, 0.9))
    p.blob(color, (-0.42, 0.6), (-0.36, 0.36), (0.1, 0.28), (0.42, 0.4), (0.46, 0.6))
    p.blob(dark(color, 0.14), (0.02, 0.6), (0.06, 0.88), (0.3, 0.96), (0.46, 0.78), (0.46, 0.6))
    for x in (-0.28, 0.3):
        p.line("#6a7078", 0.04, (x * 0.6, 0.34), (x, 0.14))
        p.oval("#33343d", x, 0.13, 0.13)
        p.oval("#e9edf0", x, 0.13, 0.07)


def baby(p: Pen, color: Color) -> None:
    """Draw a baby wrapped in a blanket."""
    p.blob(color, (-0.85, 0.3), (-0.6, 0.72), (0.1, 0.84), (0.6, 0.6), (0.55, 0.14), (-0.4, 0.04))
    p.line(dark(color, 0.12), 0.05, (-0.5, 0.62), (0.1, 0.2))
    p.oval("#f2cba8", 0.52, 0.56, 0.32, 0.34)
    for x in (0.44, 0.64):
        p.oval("#34303a", x, 0.58, 0.035)
    p.curve("#a8473f", 0.04, (0.46, 0.42), (0.54, 0.38), (0.62, 0.42))


def letters(p: Pen, color: Color) -> None:
    """Draw signs of sleep."""
    for x, y, s in ((-0.4, 0.0, 0.3), (0.0, 0.3, 0.4), (0.45, 0.6, 0.5)):
        p.line(color, 0.05, (x, y + s), (x + s * 0.8, y + s), (x, y), (x + s * 0.8, y))


ROOMS: dict[str, Glyph] = {
    "door": Glyph(door, "ground", 118, 0.6, "#a9724c"),
    "shower": Glyph(shower, "ground", 124, 0.7, "#8f9aa6"),
    "sleep": Glyph(letters, "wall", 46, 1.2, "#8a94b4"),
    "sofa": Glyph(sofa, "ground", 62, 2.4, "#7fa0b5"),
    "furniture": Glyph(armchair, "ground", 66, 1.1, "#b58a6a"),
    "armchair": Glyph(armchair, "ground", 68, 1.1, "#c9805c"),
    "chair": Glyph(chair, "ground", 64, 0.7, "#b5835a"),
    "seat": Glyph(pew, "ground", 40, 3.0, "#a84a4f"),
    "bar stool": Glyph(stool, "ground", 62, 0.4, "#c9574a"),
    "office chair": Glyph(office_chair, "ground", 70, 0.6, "#4f5f78"),
    "table": Glyph(table, "ground", 46, 2.1, "#b98a5e"),
    "coffee table": Glyph(table, "ground", 28, 2.1, "#a9794c"),
    "bedside table": Glyph(drawers, "ground", 40, 1.2, "#c9a37a"),
    "terrace": Glyph(table, "ground", 42, 2.1, "#d9c3a0"),
    "desk": Glyph(desk, "ground", 52, 2.1, "#b98a5e"),
    "check-in desk": Glyph(desk, "ground", 52, 2.1, "#8fa8bd"),
    "bed": Glyph(bed, "ground", 58, 3.0, "#7fa8c9"),
    "hospital bed": Glyph(bed, "ground", 62, 3.0, "#bcdcd4"),
    "cot": Glyph(cage, "ground", 56, 1.0, "#e3cba8"),
    "bookcase": Glyph(bookcase, "ground", 128, 0.9, "#a97c54"),
    "book": Glyph(bookcase, "ground", 118, 0.9, "#b58a62"),
    "library": Glyph(bookcase, "ground", 132, 0.9, "#94694a"),
    "shelf": Glyph(shelf, "ground", 100, 1.9, "#c9ab82"),
    "supermarket": Glyph(shelf, "ground", 104, 1.9, "#d9dde0"),
    "wardrobe": Glyph(cupboard, "ground", 128, 0.8, "#c49a6c"),
    "cupboard": Glyph(cupboard, "ground", 116, 0.8, "#d9bf96"),
    "chest of drawers": Glyph(drawers, "ground", 62, 1.3, "#b98a5e"),
    "washing machine": Glyph(appliance, "ground", 60, 1.1, "#f4f6f8"),
    "dishwasher": Glyph(partial(appliance, door="oven"), "ground", 60, 1.1, "#e4e9ee"),
    "oven": Glyph(partial(appliance, door="oven"), "ground", 66, 1.1, "#d9dee4"),
    "appliance": Glyph(appliance, "ground", 58, 1.1, "#e9edf0"),
    "refrigerator": Glyph(fridge, "ground", 116, 0.7, "#e6ecf0"),
    "stove": Glyph(stove, "ground", 60, 1.1, "#cfd6dc"),
    "sink": Glyph(sink, "ground", 66, 1.4, "#b9c0c8"),
    "kitchen": Glyph(sink, "ground", 68, 1.4, "#a9b4bd"),
    "washbasin": Glyph(sink, "ground", 64, 1.4, "#ffffff"),
    "bathtub": Glyph(bathtub, "ground", 56, 2.4, "#ffffff"),
    "bathroom": Glyph(bathtub, "ground", 52, 2.4, "#f7fafa"),
    "toilet": Glyph(toilet, "ground", 56, 1.0, "#ffffff"),
    "lamp": Glyph(floor_lamp, "ground", 112, 0.4, "#f7dfa0"),
    "television": Glyph(television, "ground", 84, 1.7, "#33363f"),
    "piano": Glyph(piano, "ground", 82, 1.9, "#4a3a34"),
    "fireplace": Glyph(fireplace, "ground", 96, 1.5, "#c9a68a"),
    "living room": Glyph(sofa, "ground", 58, 2.4, "#b59aa0"),
    "painting": Glyph(painting, "wall", 54, 1.4, "#6a9f7a"),
    "artwork": Glyph(painting, "wall", 56, 1.4, "#c9805c"),
    "exhibition": Glyph(painting, "wall", 58, 1.4, "#7a8fc4"),
    "picture frame": Glyph(painting, "wall", 46, 1.4, "#a8b06a"),
    "museum": Glyph(painting, "wall", 60, 1.4, "#b56a5a"),
    "fresco": Glyph(painting, "wall", 58, 1.4, "#c99a6a"),
    "mosaic": Glyph(painting, "wall", 50, 1.4, "#4f9aa8"),
    "mural": Glyph(painting, "wall", 66, 1.4, "#d9674c"),
    "graffiti": Glyph(painting, "wall", 62, 1.4, "#8f5fb5"),
    "drawing": Glyph(painting, "wall", 44, 1.4, "#f2a65a"),
    "poster": Glyph(painting, "wall", 44, 1.4, "#5a94c4"),
    "mirror": Glyph(mirror, "wall", 62, 0.8, "#d9edf4"),
    "clock": Glyph(clock, "wall", 34, 1.0, "#8a5f44"),
    "alarm clock": Glyph(clock, "table", 26, 1.0, "#d9574f"),
    "stopwatch": Glyph(clock, "table", 24, 1.0, "#4a4f5c"),
    "curtain": Glyph(window, "wall", 84, 1.5, "#d99a8a"),
    "room window": Glyph(window, "wall", 84, 1.5, "#e0c3a0"),
    "blackboard": Glyph(board, "wall", 66, 2.0, "#3f5a50"),
    "whiteboard": Glyph(board, "wall", 64, 2.0, "#fafcfc"),
    "menu": Glyph(board, "wall", 44, 2.0, "#3d3f48"),
    "map": Glyph(board, "wall", 52, 2.0, "#bcd8c4"),
    "projector": Glyph(board, "wall", 66, 2.0, "#eef3f7"),
    "departure board": Glyph(screen, "wall", 54, 2.0, "#f2b84c"),
    "airport": Glyph(screen, "wall", 50, 2.0, "#8fd0e0"),
    "neon sign": Glyph(neon, "wall", 40, 1.8, "#f27fa8"),
    "fairy light": Glyph(fairy_lights, "wall", 26, 6.4, "#f9d56a"),
    "stained glass": Glyph(stained_glass, "wall", 92, 0.7, "#f2c14e"),
    "altar": Glyph(altar, "ground", 92, 1.5, "#ffffff"),
    "organ": Glyph(organ, "ground", 118, 1.3, "#d9c07a"),
    "pew": Glyph(pew, "front", 38, 3.0, "#8f6344"),
    "display case": Glyph(display_case, "ground", 84, 0.9, "#c9673f"),
    "pottery": Glyph(display_case, "ground", 80, 0.9, "#b5723f"),
    "shopping trolley": Glyph(trolley, "ground", 56, 1.5, "#8f98a3"),
    "escalator": Glyph(escalator, "ground", 96, 1.5, "#b4bcc6"),
    "staircase": Glyph(escalator, "ground", 92, 1.5, "#cdb797"),
    "workbench": Glyph(workbench, "ground", 92, 1.3, "#b98a5e"),
    "workshop": Glyph(workbench, "ground", 88, 1.3, "#a9794c"),
    "drum": Glyph(drum_kit, "ground", 68, 1.9, "#c93f3f"),
    "loudspeaker": Glyph(speaker, "ground", 72, 0.7, "#3a3d48"),
    "amplifier": Glyph(speaker, "ground", 56, 0.7, "#4a3f3a"),
    "cello": Glyph(cello, "ground", 88, 0.6, "#a85f34"),
    "double bass": Glyph(cello, "ground", 104, 0.6, "#8f4f2c"),
    "chandelier": Glyph(chandelier, "wall", 46, 1.3, "#c9a14c"),
    "wheelchair": Glyph(wheelchair, "ground", 60, 1.0, "#5a7f9a"),
    "pram": Glyph(pram, "ground", 56, 1.3, "#4f7fa8"),
    "baby": Glyph(baby, "front", 26, 1.7, "#f2c9d4"),
    "wheelbarrow": Glyph(trolley, "ground", 42, 1.5, "#b5573f"),
    "cage": Glyph(cage, "ground", 62, 0.9, "#b9a06a"),
    "carpet": Glyph(rug, "front", 24, 6.0, "#b5605a"),
    "exercise mat": Glyph(towel, "front", 18, 3.4, "#7a9fc4"),
    "towel": Glyph(towel, "front", 22, 3.4, "#e0705a"),
    "blanket": Glyph(towel, "front", 22, 3.4, "#8fa86a"),
    "picnic": Glyph(picnic, "front", 34, 3.4, "#d9473c"),
    "sandpit": Glyph(rug, "front", 22, 6.0, "#e6cd94"),
    "pool table": Glyph(pool_table, "ground", 54, 2.3, "#3f8a5f"),
    "crate": Glyph(crate, "front", 34, 1.3, "#b58a5c"),
    "suitcase": Glyph(luggage, "front", 52, 0.8, "#d9674c"),
    "luggage": Glyph(luggage, "front", 50, 0.8, "#4f86b5"),
    "backpack": Glyph(backpack, "front", 46, 0.7, "#d9803f"),
    "handbag": Glyph(bag, "front", 36, 0.9, "#a84f5c"),
    "shopping bag": Glyph(bag, "front", 40, 0.9, "#e8c96a"),
    "shopping basket": Glyph(bag, "front", 34, 0.9, "#d9473c"),
    "theatre": Glyph(pew, "front", 34, 3.0, "#9a3a44"),
    "platform": Glyph(pew, "front", 28, 3.0, "#8f949c"),
}
"""Glyphs of furniture and walls, by label."""
