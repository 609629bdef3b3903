"""Vehicles on land, on water and in the air."""

from __future__ import annotations

from functools import partial

from tools.illustrations.canvas import Color, Pen, clear, dark, pale
from tools.illustrations.glyph import Glyph

_GLASS = "#bfe0ea"
_TYRE = "#33343d"


def wheel(p: Pen, x: float, y: float, r: float) -> None:
    """Draw a wheel."""
    p.oval(_TYRE, x, y, r)
    p.oval("#c9cdd3", x, y, r * 0.5)


def car(p: Pen, color: Color, roof: str = "") -> None:
    """Draw a car."""
    p.shadow(1.1)
    p.poly(dark(color, 0.06), (-0.7, 0.5), (-0.42, 0.96), (0.35, 0.96), (0.72, 0.5))
    p.poly(_GLASS, (-0.54, 0.54), (-0.36, 0.88), (-0.05, 0.88), (-0.05, 0.54))
    p.poly(_GLASS, (0.03, 0.54), (0.03, 0.88), (0.3, 0.88), (0.54, 0.54))
    p.box(color, -1.1, 0.16, 1.12, 0.58, 0.14)
    p.box("#f7e7a0", 1.02, 0.36, 1.13, 0.47, 0.03)
    p.box("#d9473c", -1.11, 0.36, -1.02, 0.47, 0.03)
    if roof == "taxi":
        p.box("#2d2d35", -0.2, 0.96, 0.15, 1.1, 0.03)
    elif roof == "lights":
        p.box("#4a7bd9", -0.18, 0.96, 0.0, 1.07, 0.03)
        p.box("#d9473c", 0.0, 0.96, 0.18, 1.07, 0.03)
        p.box("#ffffff", -0.4, 0.2, 0.45, 0.42)
    elif roof == "rack":
        p.box("#5a4a3c", -0.42, 0.97, 0.35, 1.08, 0.02)
    for x in (-0.62, 0.66):
        wheel(p, x, 0.18, 0.22 if roof != "rack" else 0.27)


def bus(p: Pen, color: Color) -> None:
    """Draw a bus."""
    p.shadow(1.2)
    p.box(color, -1.2, 0.14, 1.2, 1.0, 0.1)
    for x in (-1.05, -0.65, -0.25, 0.15):
        p.box(_GLASS, x, 0.55, x + 0.32, 0.86, 0.04)
    p.box(_GLASS, 0.6, 0.22, 0.82, 0.86, 0.03)
    p.box(_GLASS, 0.92, 0.5, 1.16, 0.86, 0.04)
    p.box(pale(color, 0.5), -1.2, 0.36, 0.55, 0.42)
    for x in (-0.75, 0.4):
        wheel(p, x, 0.16, 0.17)


def truck(p: Pen, color: Color, load: Color = "#f2efe8") -> None:
    """Draw a truck."""
    p.shadow(1.2)
    p.box(load, -1.2, 0.22, 0.45, 1.0, 0.04)
    p.box(color, 0.5, 0.18, 1.15, 0.78, 0.1)
    p.box(_GLASS, 0.75, 0.45, 1.08, 0.7, 0.05)
    p.box("#55575f", -1.2, 0.16, 1.15, 0.25)
    for x in (-0.85, -0.45, 0.8):
        wheel(p, x, 0.16, 0.17)


def van(p: Pen, color: Color) -> None:
    """Draw a van or a camper."""
    p.shadow(1.0)
    p.box(color, -1.0, 0.16, 1.0, 0.96, 0.18)
    p.box(pale(color, 0.6), -1.0, 0.5, 1.0, 0.92, 0.16)
    for x in (-0.8, -0.25):
        p.box(_GLASS, x, 0.56, x + 0.42, 0.84, 0.04)
    p.box(_GLASS, 0.5, 0.52, 0.92, 0.84, 0.05)
    for x in (-0.58, 0.58):
        wheel(p, x, 0.16, 0.19)


def bicycle(p: Pen, color: Color) -> None:
    """Draw a bicycle."""
    for x in (-0.5, 0.5):
        p.oval(_TYRE, x, 0.34, 0.34)
        p.oval("#e9eef0", x, 0.34, 0.27)
        p.oval("#9aa0a8", x, 0.34, 0.05)
    for path in (
        ((-0.5, 0.34), (-0.18, 0.76), (0.38, 0.76), (0.0, 0.34), (-0.5, 0.34)),
        ((0.0, 0.34), (-0.2, 0.84)),
        ((0.5, 0.34), (0.36, 0.92)),
    ):
        p.line(color, 0.065, *path)
    p.line("#3a3a44", 0.08, (-0.32, 0.88), (-0.1, 0.88))
    p.line("#3a3a44", 0.06, (0.26, 0.96), (0.46, 0.94))


def motorcycle(p: Pen, color: Color) -> None:
    """Draw a motorcycle."""
    for x in (-0.62, 0.62):
        wheel(p, x, 0.28, 0.28)
    p.blob(color, (-0.6, 0.5), (-0.3, 0.72), (0.1, 0.7), (0.4, 0.82), (0.45, 0.55), (0.1, 0.32), (-0.3, 0.34))
    p.line("#33343d", 0.1, (-0.55, 0.68), (-0.1, 0.66))
    p.line("#8f949c", 0.07, (0.62, 0.28), (0.38, 0.95))
    p.line("#33343d", 0.06, (0.22, 0.98), (0.46, 0.96))


def scooter(p: Pen, color: Color) -> None:
    """Draw a scooter."""
    for x in (-0.45, 0.5):
        wheel(p, x, 0.2, 0.2)
    p.blob(color, (-0.7, 0.4), (-0.5, 0.62), (-0.1, 0.56), (0.1, 0.3), (0.4, 0.3), (0.36, 0.2), (-0.3, 0.2))
    p.line(color, 0.1, (0.42, 0.28), (0.3, 0.95))
    p.line("#33343d", 0.06, (0.14, 1.0), (0.36, 0.96))
    p.box("#4a3a34", -0.6, 0.6, -0.1, 0.7, 0.04)


def train(p: Pen, color: Color) -> None:
    """Draw a train."""
    p.box("#6b6a70", -2.0, 0.0, 2.0, 0.06)
    p.box(color, -2.0, 0.12, 1.35, 0.95, 0.08)
    p.blob(color, (1.2, 0.12), (1.2, 0.95), (1.55, 0.88), (1.85, 0.5), (1.85, 0.14))
    p.box(pale(color, 0.65), -2.0, 0.3, 1.5, 0.4)
    for at in range(6):
        p.box(_GLASS, -1.85 + at * 0.5, 0.52, -1.5 + at * 0.5, 0.8, 0.04)
    p.poly(_GLASS, (1.3, 0.52), (1.3, 0.8), (1.5, 0.78), (1.68, 0.52))
    for x in (-1.6, -1.1, 0.3, 0.8):
        wheel(p, x, 0.1, 0.1)


def steam_train(p: Pen, color: Color) -> None:
    """Draw a steam locomotive."""
    for x, y, r in ((0.7, 1.25, 0.16), (0.4, 1.45, 0.2), (0.0, 1.6, 0.24)):
        p.oval(clear("#f4f4f6", 0.85), x, y, r)
    p.box(color, -0.3, 0.28, 1.05, 0.72, 0.16)
    p.box(dark(color, 0.1), -0.95, 0.22, -0.25, 1.0, 0.05)
    p.box(_GLASS, -0.78, 0.6, -0.45, 0.86, 0.03)
    p.box("#33343d", 0.72, 0.7, 0.92, 1.06)
    p.box("#c9433a", -1.0, 0.2, 1.15, 0.3)
    for x in (-0.65, -0.15, 0.35, 0.85):
        wheel(p, x, 0.17, 0.17)


def tram(p: Pen, color: Color) -> None:
    """Draw a tram."""
    p.line("#5a5a66", 0.02, (-2.4, 1.3), (2.4, 1.3))
    p.line("#5a5a66", 0.03, (0, 1.0), (-0.2, 1.3))
    bus(p, color)


def hull(p: Pen, color: Color, half: float, height: float) -> None:
    """Draw the hull of a boat, with a line of foam."""
    p.poly(color, (-half, height), (half * 1.1, height), (half * 0.8, 0), (-half * 0.8, 0))
    p.poly(
        pale(color, 0.7),
        (-half, height),
        (half * 1.1, height),
        (half * 1.06, height * 0.8),
        (-half * 0.97, height * 0.8),
    )
    p.oval(clear("#ffffff", 0.55), 0, 0.0, half * 1.05, height * 0.12)


def sailing_boat(p: Pen, color: Color) -> None:
    """Draw a sailing boat."""
    p.line("#7a5a44", 0.02, (0, 0.14), (0, 1.0))
    p.blob("#ffffff", (0.03, 0.96), (0.2, 0.6), (0.4, 0.24), (0.03, 0.22))
    p.blob(color, (-0.03, 0.9), (-0.16, 0.55), (-0.3, 0.24), (-0.03, 0.22))
    hull(p, "#b5573f" if color == "#f2f2f2" else "#f4f4f2", 0.4, 0.16)


def fishing_boat(p: Pen, color: Color) -> None:
    """Draw a boat with a cabin."""
    p.line("#7a5a44", 0.03, (-0.2, 0.4), (-0.2, 1.0))
    p.line("#7a5a44", 0.02, (-0.2, 0.95), (0.5, 0.45))
    p.box("#f7f5ef", -0.1, 0.4, 0.36, 0.8, 0.04)
    p.box(_GLASS, 0.02, 0.56, 0.28, 0.72, 0.02)
    hull(p, color, 0.85, 0.42)


def rowing_boat(p: Pen, color: Color) -> None:
    """Draw a rowing boat with its oars."""
    p.line("#a27b52", 0.07, (-0.2, 0.95), (-0.9, 0.1))
    hull(p, color, 1.3, 0.62)
    p.line("#b58a5c", 0.07, (0.1, 0.95), (0.9, 0.05))


def canoe(p: Pen, color: Color) -> None:
    """Draw a canoe with a paddle."""
    p.blob(color, (-1.7, 0.62), (-1.0, 0.4), (1.0, 0.4), (1.7, 0.62), (1.1, 0.02), (-1.1, 0.02))
    p.line("#8a6a48", 0.07, (-0.5, 0.2), (0.5, 1.1))
    p.oval("#8a6a48", 0.55, 1.15, 0.12, 0.2)


def motorboat(p: Pen, color: Color) -> None:
    """Draw a motorboat."""
    p.poly(_GLASS, (-0.1, 0.5), (0.1, 0.85), (0.3, 0.85), (0.55, 0.5))
    p.poly(color, (-1.0, 0.5), (1.4, 0.6), (0.8, 0.0), (-0.9, 0.0))
    p.poly("#ffffff", (-1.0, 0.5), (1.4, 0.6), (1.25, 0.45), (-1.0, 0.36))


def ship(p: Pen, color: Color) -> None:
    """Draw a large ship."""
    p.box("#ffffff", -1.1, 0.4, 0.8, 0.6, 0.02)
    p.box("#f4f4f2", -0.9, 0.58, 0.6, 0.76, 0.02)
    for at in range(8):
        p.oval("#5a8ab0", -0.95 + at * 0.22, 0.5, 0.04)
        if at < 6:
            p.oval("#5a8ab0", -0.75 + at * 0.22, 0.67, 0.04)
    p.box("#e0574a", -0.35, 0.76, -0.1, 1.0, 0.02)
    p.poly(color, (-1.4, 0.42), (1.6, 0.5), (1.2, 0), (-1.2, 0))
    p.oval(clear("#ffffff", 0.5), 0, 0, 1.35, 0.06)


def cargo_ship(p: Pen, color: Color) -> None:
    """Draw a ship with containers."""
    for at in range(7):
        for row in range(2 if at % 3 else 1):
            shade = ("#e0703c", "#4c8ab5", "#6aa877", "#e2b04a")[(at + row * 2) % 4]
            p.box(shade, -0.85 + at * 0.3, 0.42 + row * 0.16, -0.58 + at * 0.3, 0.57 + row * 0.16)
    p.box("#ffffff", -1.25, 0.4, -0.95, 0.98, 0.02)
    p.poly(color, (-1.45, 0.42), (1.6, 0.46), (1.3, 0), (-1.3, 0))


def aeroplane(p: Pen, color: Color) -> None:
    """Draw an aeroplane."""
    p.poly(dark(color, 0.16), (-0.1, 0.55), (0.2, 0.55), (-0.5, 1.05), (-0.66, 1.05))
    p.poly("#e0574a", (-1.25, 0.55), (-0.95, 0.55), (-1.3, 0.98), (-1.5, 0.98))
    p.blob(color, (-1.4, 0.52), (-0.9, 0.64), (0.9, 0.66), (1.4, 0.5), (0.9, 0.36), (-0.8, 0.38))
    for at in range(8):
        p.oval("#6b95b5", -0.65 + at * 0.19, 0.55, 0.04)
    p.poly(dark(color, 0.1), (-0.1, 0.45), (0.3, 0.45), (-0.55, 0.02), (-0.75, 0.02))
    p.box("#8f98a3", -0.45, 0.12, -0.15, 0.24, 0.05)


def helicopter(p: Pen, color: Color) -> None:
    """Draw a helicopter."""
    p.line("#5a5f6a", 0.05, (-0.9, 0.98), (1.1, 0.98))
    p.line("#5a5f6a", 0.06, (0.1, 0.8), (0.1, 0.98))
    p.poly(color, (-0.2, 0.68), (-1.25, 0.66), (-1.25, 0.56), (-0.2, 0.45))
    p.oval(dark(color), -1.25, 0.66, 0.1, 0.2)
    p.oval(color, 0.15, 0.55, 0.5, 0.3)
    p.oval(_GLASS, 0.4, 0.58, 0.24, 0.2)
    p.line("#5a5f6a", 0.05, (-0.3, 0.1), (0.7, 0.1))


def hot_air_balloon(p: Pen, color: Color) -> None:
    """Draw a hot-air balloon."""
    p.blob(color, (-0.38, 0.68), (-0.26, 0.94), (0, 1.02), (0.26, 0.94), (0.38, 0.68), (0.12, 0.3), (-0.12, 0.3))
    p.blob(
        pale(color, 0.55), (-0.14, 0.68), (-0.1, 0.95), (0, 1.02), (0.1, 0.95), (0.14, 0.68), (0.05, 0.3), (-0.05, 0.3)
    )
    for x in (-0.08, 0.08):
        p.line("#7a6a58", 0.015, (x, 0.32), (x * 0.8, 0.16))
    p.box("#a9794c", -0.09, 0.0, 0.09, 0.16, 0.03)


def tractor(p: Pen, color: Color) -> None:
    """Draw a tractor."""
    p.shadow(0.8)
    p.box(color, -0.1, 0.35, 0.85, 0.7, 0.08)
    p.box(dark(color, 0.05), -0.65, 0.4, 0.02, 0.98, 0.06)
    p.box(_GLASS, -0.55, 0.6, -0.05, 0.92, 0.04)
    p.line("#55575f", 0.06, (0.55, 0.7), (0.55, 0.98))
    wheel(p, -0.42, 0.34, 0.34)
    wheel(p, 0.62, 0.2, 0.2)


def excavator(p: Pen, color: Color) -> None:
    """Draw an excavator."""
    p.shadow(0.8)
    p.box("#3f4048", -0.75, 0.0, 0.35, 0.24, 0.12)
    p.box(color, -0.7, 0.26, 0.2, 0.56, 0.06)
    p.box(dark(color, 0.05), -0.3, 0.5, 0.2, 0.95, 0.05)
    p.box(_GLASS, -0.2, 0.6, 0.14, 0.88, 0.03)
    p.line(color, 0.12, (0.15, 0.5), (0.65, 0.98), (1.05, 0.55))
    p.poly("#6b6d75", (0.9, 0.55), (1.2, 0.55), (1.1, 0.25), (0.86, 0.34))


def cable_car(p: Pen, color: Color) -> None:
    """Draw the cabin of a cable car."""
    p.line("#5a5f6a", 0.03, (-4.0, 0.86), (4.0, 1.16))
    p.line("#5a5f6a", 0.05, (0, 0.6), (0, 1.0))
    p.box(color, -0.4, 0, 0.4, 0.66, 0.1)
    p.box(_GLASS, -0.32, 0.28, 0.32, 0.56, 0.05)


def carriage(p: Pen, color: Color) -> None:
    """Draw a carriage."""
    p.blob(color, (-0.7, 0.85), (-0.6, 0.4), (0.5, 0.35), (0.75, 0.6), (0.2, 0.6), (-0.1, 0.95))
    for x in (-0.4, 0.45):
        p.oval("#5a4030", x, 0.26, 0.26)
        p.oval("#efe3cf", x, 0.26, 0.2)
        p.oval("#5a4030", x, 0.26, 0.05)


VEHICLES: dict[str, Glyph] = {
    "car": Glyph(car, "ground", 46, 2.3, "#d8604f"),
    "vehicle": Glyph(car, "ground", 46, 2.3, "#5a8fb8"),
    "traffic": Glyph(car, "ground", 42, 2.3, "#6aa877"),
    "traffic jam": Glyph(car, "ground", 42, 2.3, "#9aa3ae"),
    "headlight": Glyph(car, "ground", 44, 2.3, "#44506b"),
    "taxi": Glyph(partial(car, roof="taxi"), "ground", 46, 2.3, "#f3c53d"),
    "police car": Glyph(partial(car, roof="lights"), "ground", 46, 2.3, "#3f5a8f"),
    "off-road car": Glyph(partial(car, roof="rack"), "ground", 52, 2.3, "#8f9a63"),
    "bumper car": Glyph(car, "ground", 40, 2.3, "#4cb0c9"),
    "bus": Glyph(bus, "ground", 74, 2.4, "#e05f4c"),
    "tram": Glyph(tram, "ground", 72, 2.4, "#e2b23e"),
    "tram stop": Glyph(tram, "ground", 70, 2.4, "#6a9f7a"),
    "truck": Glyph(truck, "ground", 70, 2.4, "#4f88b8"),
    "ambulance": Glyph(van, "ground", 60, 2.0, "#e8584c"),
    "fire engine": Glyph(partial(truck, load="#d9473c"), "ground", 70, 2.4, "#d9473c"),
    "cement mixer": Glyph(partial(truck, load="#b9b4aa"), "ground", 66, 2.4, "#f0a83c"),
    "van": Glyph(van, "ground", 58, 2.0, "#8fb4c9"),
    "camper van": Glyph(van, "ground", 62, 2.0, "#58a3a0"),
    "caravan": Glyph(van, "ground", 60, 2.0, "#e7b98a"),
    "bicycle": Glyph(bicycle, "ground", 50, 1.8, "#d9574f"),
    "mountain bike": Glyph(bicycle, "ground", 50, 1.8, "#4f9a6a"),
    "cycling": Glyph(bicycle, "ground", 50, 1.8, "#4c88c9"),
    "cyclist": Glyph(bicycle, "ground", 50, 1.8, "#e09a3c"),
    "motorcycle": Glyph(motorcycle, "ground", 48, 1.8, "#c9433a"),
    "scooter": Glyph(scooter, "ground", 46, 1.5, "#5fb0a8"),
    "train": Glyph(train, "ground", 72, 4.0, "#4f86b5"),
    "railway station": Glyph(train, "ground", 70, 4.0, "#5a8ab0"),
    "underground train": Glyph(train, "ground", 72, 4.0, "#9aa5b0"),
    "freight train": Glyph(train, "ground", 68, 4.0, "#a9603f"),
    "locomotive": Glyph(steam_train, "ground", 74, 2.1, "#3f6b5a"),
    "steam train": Glyph(steam_train, "ground", 76, 2.1, "#3a3d48"),
    "boat": Glyph(fishing_boat, "water", 44, 1.9, "#4f8fb8"),
    "fishing boat": Glyph(fishing_boat, "water", 48, 1.9, "#d9674c"),
    "ferry": Glyph(ship, "water", 48, 3.0, "#3f9a8f"),
    "houseboat": Glyph(fishing_boat, "water", 46, 1.9, "#6a9a5a"),
    "yacht": Glyph(sailing_boat, "water", 84, 0.9, "#4c88c9"),
    "sailing boat": Glyph(sailing_boat, "water", 80, 0.9, "#f2a65a"),
    "sailing": Glyph(sailing_boat, "water", 70, 0.9, "#e0705a"),
    "sail": Glyph(sailing_boat, "water", 66, 0.9, "#f2f2f2"),
    "mast": Glyph(sailing_boat, "water", 72, 0.9, "#f2f2f2"),
    "marina": Glyph(sailing_boat, "water", 60, 0.9, "#8fb4d9"),
    "rowing boat": Glyph(rowing_boat, "water", 26, 2.7, "#b5794c"),
    "rowing": Glyph(rowing_boat, "water", 26, 2.7, "#c98a58"),
    "rower": Glyph(rowing_boat, "water", 26, 2.7, "#a86f45"),
    "oar": Glyph(rowing_boat, "water", 24, 2.7, "#a86f45"),
    "canoe": Glyph(canoe, "water", 24, 3.4, "#d9603f"),
    "kayak": Glyph(canoe, "water", 24, 3.4, "#f0b53c"),
    "paddle": Glyph(canoe, "water", 22, 3.4, "#58a3a0"),
    "motorboat": Glyph(motorboat, "water", 30, 2.4, "#3f6fa8"),
    "ship": Glyph(ship, "water", 52, 3.0, "#34496b"),
    "cruise ship": Glyph(ship, "water", 60, 3.0, "#f4f4f2"),
    "cargo ship": Glyph(cargo_ship, "water", 60, 3.0, "#a8483c"),
    "shipping container": Glyph(cargo_ship, "water", 56, 3.0, "#8f5a44"),
    "aeroplane": Glyph(aeroplane, "sky", 44, 2.9, "#f4f6f8"),
    "aircraft": Glyph(aeroplane, "sky", 40, 2.9, "#e4ebf2"),
    "jet engine": Glyph(aeroplane, "sky", 38, 2.9, "#dfe7ee"),
    "propeller": Glyph(aeroplane, "sky", 34, 2.9, "#f2d9a0"),
    "air show": Glyph(aeroplane, "sky", 32, 2.9, "#e0705a"),
    "helicopter": Glyph(helicopter, "sky", 42, 2.4, "#d9674c"),
    "hot-air balloon": Glyph(hot_air_balloon, "sky", 78, 0.8, "#e0603f"),
    "tractor": Glyph(tractor, "ground", 64, 1.6, "#5a9a55"),
    "excavator": Glyph(excavator, "ground", 80, 1.9, "#f0b53c"),
    "bulldozer": Glyph(excavator, "ground", 72, 1.9, "#e8a030"),
    "cable car": Glyph(cable_car, "sky", 44, 1.0, "#d9473c"),
    "ski lift": Glyph(cable_car, "sky", 36, 1.0, "#4c7fb5"),
    "horse carriage": Glyph(carriage, "ground", 62, 1.5, "#7a3f3f"),
}
"""Glyphs of vehicles, by label."""
