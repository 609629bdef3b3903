"""People: one figure with hair, clothes, hats and things in its hands, and the labels that choose them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from tools.illustrations.canvas import WIDTH, Canvas, Color, Dice, Pen, clear, dark, pale

SKINS = ("#f2cba8", "#e6b58c", "#c98d62", "#9c6644", "#6f4731", "#f5d6ba")
HAIRS = ("#3a2a22", "#5c3d28", "#8a5a34", "#c9984f", "#222028", "#a8a3a0", "#7b3f26")
TOPS = ("#e0705a", "#4f8fb8", "#6aa877", "#e2b04a", "#9a7bb5", "#d98aa0", "#4fa39a", "#f0ece4", "#5a6f9c", "#c9694b")
TROUSERS = ("#3f4d6b", "#5c6470", "#7a6650", "#2f3a52", "#8d8f98", "#4a5a4c")
_SHOE = "#3d3a40"
RAISED = ("wave", "cheer", "climb", "swing")
"""Poses with the right hand above the head."""


@dataclass(frozen=True)
class Person:
    """How a figure looks; an empty text means that the dice decide, or that there is none."""

    height: float = 92.0
    hair: str = ""
    long_hair: bool = False
    top: str = ""
    legs: str = ""
    dress: str = ""
    coat: str = ""
    hat: str = ""
    hat_color: str = "#c94f42"
    scarf: str = ""
    glasses: str = ""
    mask: str = ""
    tie: str = ""
    vest: str = ""
    apron: str = ""
    bag: str = ""
    hold: str = ""
    pose: str = "stand"
    bare: bool = False
    smile: bool = True


def draw_person(p: Pen, who: Person, small_features: bool = True) -> None:
    """Draw a person of height 1."""
    dice = p.dice
    skin, hair = dice.pick(SKINS), who.hair or dice.pick(HAIRS)
    top, legs = who.top or dice.pick(TOPS), who.legs or dice.pick(TROUSERS)
    p.shadow(0.2)
    if who.bag:
        p.box(dark(who.bag, 0.1), -0.17, 0.42, 0.06, 0.72, 0.05)
    _legs(p, who, skin, legs)
    raised = who.pose in RAISED
    arm = who.coat or (skin if who.bare else top if not who.dress else skin)
    p.line(dark(arm, 0.12) if arm != skin else skin, 0.07, (-0.11, 0.66), (-0.2, 0.9 if who.pose == "cheer" else 0.44))
    body = who.dress or (skin if who.bare else top)
    p.box(body, -0.125, 0.4, 0.125, 0.72, 0.07)
    if who.bare:
        p.box(top, -0.12, 0.38, 0.12, 0.46, 0.02)
    if who.dress:
        p.poly(who.dress, (-0.11, 0.5), (0.11, 0.5), (0.23, 0.16), (-0.23, 0.16))
    if who.coat:
        p.box(who.coat, -0.145, 0.28, 0.145, 0.72, 0.06)
        p.poly(top, (-0.03, 0.72), (0.03, 0.72), (0, 0.45))
    if who.vest:
        p.box(who.vest, -0.13, 0.42, 0.13, 0.71, 0.04)
        p.box("#f7f3d0", -0.13, 0.52, 0.13, 0.55)
    if who.apron:
        p.box(who.apron, -0.09, 0.3, 0.09, 0.62, 0.03)
    if who.tie:
        p.poly(who.tie, (-0.025, 0.7), (0.025, 0.7), (0.03, 0.52), (0, 0.47), (-0.03, 0.52))
    if who.bag:
        for x in (-0.08, 0.08):
            p.line(dark(who.bag), 0.025, (x, 0.71), (x, 0.48))
    hand = (0.24, 0.93) if raised else (0.21, 0.46)
    p.line(arm, 0.07, (0.11, 0.66), hand)
    p.oval(skin, *hand, 0.036)
    _head(p, who, skin, hair, small_features)
    if who.hold:
        _held(p.at(*hand), who.hold, hand[1])


def _legs(p: Pen, who: Person, skin: Color, legs: Color) -> None:
    color = skin if who.bare or who.dress else legs
    if who.pose == "run":
        p.line(dark(color, 0.1), 0.085, (-0.03, 0.42), (-0.12, 0.24), (-0.27, 0.2))
        p.line(color, 0.085, (0.03, 0.42), (0.15, 0.26), (0.12, 0.05))
        p.line(_SHOE, 0.06, (0.1, 0.03), (0.18, 0.03))
        return
    for x in (-0.06, 0.06):
        p.line(color, 0.09, (x, 0.42), (x * 1.2, 0.05))
        if not who.bare:
            p.box(_SHOE, x * 1.2 - 0.05, 0, x * 1.2 + 0.06, 0.05, 0.02)


def _head(p: Pen, who: Person, skin: Color, hair: Color, features: bool) -> None:
    if who.long_hair:
        p.box(hair, -0.135, 0.68, 0.135, 0.92, 0.1)
    p.box(skin, -0.035, 0.68, 0.035, 0.76)
    p.oval(skin, 0, 0.84, 0.105, 0.115)
    p.blob(hair, (-0.115, 0.84), (-0.11, 0.94), (0, 0.985), (0.11, 0.94), (0.115, 0.84), (0.06, 0.91), (-0.05, 0.905))
    if features:
        for x in (-0.04, 0.04):
            p.oval("#34303a", x, 0.845, 0.014)
        if who.smile and not who.mask:
            p.curve("#a8473f", 0.014, (-0.035, 0.795), (0, 0.78), (0.035, 0.795))
    if who.scarf:
        p.box(who.scarf, -0.09, 0.68, 0.09, 0.745, 0.03)
        p.box(dark(who.scarf, 0.1), 0.02, 0.52, 0.075, 0.72, 0.02)
    if who.mask:
        p.box(who.mask, -0.075, 0.75, 0.075, 0.825, 0.03)
    if who.glasses:
        for x in (-0.045, 0.045):
            p.oval(who.glasses, x, 0.85, 0.034, 0.028)
        p.line(who.glasses, 0.012, (-0.09, 0.855), (0.09, 0.855))
    _hat(p, who)


def _hat(p: Pen, who: Person) -> None:
    color, kind = who.hat_color, who.hat
    if kind in ("cap", "helmet", "hard", "wool"):
        p.blob(color, (-0.115, 0.88), (-0.11, 0.98), (0, 1.03), (0.11, 0.98), (0.115, 0.88), (0, 0.895))
        if kind == "cap":
            p.box(dark(color, 0.1), 0.02, 0.88, 0.19, 0.905, 0.01)
        if kind == "hard":
            p.box(dark(color, 0.05), -0.14, 0.88, 0.14, 0.905, 0.01)
            p.box(pale(color, 0.3), -0.02, 0.9, 0.02, 1.03)
        if kind == "wool":
            p.box(pale(color, 0.5), -0.115, 0.885, 0.115, 0.925, 0.02)
            p.oval(pale(color, 0.6), 0, 1.045, 0.035)
        if kind == "helmet":
            p.line(dark(color, 0.2), 0.014, (-0.1, 0.9), (-0.06, 0.76))
    elif kind == "brim":
        p.oval(color, 0, 0.925, 0.2, 0.04)
        p.box(color, -0.095, 0.925, 0.095, 1.02, 0.04)
        p.box(dark(color, 0.3), -0.095, 0.93, 0.095, 0.955)
    elif kind == "chef":
        p.box("#ffffff", -0.09, 0.92, 0.09, 1.0)
        for x in (-0.07, 0, 0.07):
            p.oval("#ffffff", x, 1.03, 0.065)
    elif kind == "party":
        p.poly(color, (-0.085, 0.94), (0.085, 0.94), (0, 1.16))
        p.oval("#ffe27a", 0, 1.16, 0.025)
    elif kind == "top":
        p.oval("#2c2c34", 0, 0.93, 0.17, 0.03)
        p.box("#2c2c34", -0.1, 0.93, 0.1, 1.12, 0.01)
    elif kind == "veil":
        p.blob(clear("#ffffff", 0.8), (-0.1, 0.98), (0.05, 1.0), (-0.02, 0.8), (-0.12, 0.3), (-0.3, 0.28))
    elif kind == "phones":
        p.curve("#3c3c46", 0.025, (-0.12, 0.86), (-0.1, 0.98), (0, 1.02), (0.1, 0.98), (0.12, 0.86))
        for x in (-0.12, 0.12):
            p.oval("#3c3c46", x, 0.85, 0.03, 0.045)
    elif kind == "crown":
        p.poly("#b9bec8", (-0.12, 0.78), (0.12, 0.78), (0.12, 1.0), (0, 1.05), (-0.12, 1.0))
        p.box("#3a3a44", -0.09, 0.84, 0.09, 0.865)
    elif kind == "feathers":
        for at, feather in enumerate(("#e0503e", "#f2b13c", "#3fa0a8", "#9a5fb5", "#e77fa6")):
            p.oval(feather, -0.16 + at * 0.08, 1.05 - abs(at - 2) * 0.03, 0.045, 0.13)


def _held(p: Pen, thing: str, hand: float) -> None:
    """Draw a thing in the right hand."""
    if thing == "guitar":
        p.line("#6b4328", 0.035, (-0.2, 0.06), (0.18, 0.24))
        p.oval("#c9843e", -0.2, 0.05, 0.13, 0.11)
        p.oval("#c9843e", -0.08, 0.1, 0.09, 0.08)
        p.oval("#4a2d1c", -0.16, 0.06, 0.035)
    elif thing == "violin":
        p.oval("#a85c2c", -0.02, 0.22, 0.1, 0.07)
        p.line("#5a3420", 0.022, (0.05, 0.24), (0.2, 0.3))
        p.line("#e8ddc8", 0.012, (-0.06, 0.12), (0.14, 0.36))
    elif thing == "horn":
        p.line("#e8b83c", 0.04, (-0.06, 0.3), (0.14, 0.26))
        p.poly("#e8b83c", (0.12, 0.3), (0.26, 0.34), (0.26, 0.16), (0.12, 0.22))
    elif thing == "mic":
        p.line("#50505a", 0.03, (-0.02, 0.0), (-0.06, 0.3))
        p.oval("#2f2f38", -0.06, 0.32, 0.042)
    elif thing == "bouquet":
        for x, y, color in (
            (-0.05, 0.1, "#f2a0b5"),
            (0.05, 0.11, "#ffffff"),
            (0, 0.16, "#e86f7f"),
            (0.01, 0.07, "#f7d26a"),
        ):
            p.oval(color, x, y, 0.055)
        p.poly("#5f9a5a", (-0.03, 0.06), (0.04, 0.06), (0.0, -0.1))
    elif thing == "racket":
        p.line("#3b4a6b", 0.03, (0, 0), (0.08, 0.14))
        p.oval("#3b4a6b", 0.12, 0.24, 0.09, 0.12)
        p.oval("#eef2e2", 0.12, 0.24, 0.07, 0.1)
    elif thing == "pole":
        p.line("#6d6d78", 0.018, (0.02, 0.06), (0.06, -hand))
    elif thing == "rod":
        p.line("#7a5b3c", 0.018, (0, 0), (0.34, 0.5))
        p.line("#e9eef2", 0.008, (0.34, 0.5), (0.38, 0.0))
    elif thing == "flag":
        p.line("#8a6f50", 0.02, (0, -0.1), (0, 0.5))
        p.poly("#e0574a", (0, 0.5), (0.24, 0.43), (0, 0.34))
    elif thing == "ball":
        p.oval("#f2f2ee", 0.06, 0.03, 0.07)
        p.oval("#3c3c46", 0.06, 0.03, 0.03)
    elif thing == "camera":
        p.box("#3a3a44", -0.09, 0.2, 0.09, 0.32, 0.02)
        p.oval("#8fb3c9", 0, 0.26, 0.045)
    elif thing == "phone":
        p.box("#2d2f3a", -0.025, 0.0, 0.045, 0.12, 0.015)
    elif thing == "book":
        p.box("#b5523f", -0.1, 0.0, 0.1, 0.14, 0.01)
        p.box("#fffaf0", -0.085, 0.015, 0.085, 0.135)
    elif thing == "tray":
        p.box("#c9ccd2", -0.13, 0.02, 0.15, 0.045, 0.01)
        p.box(clear("#b9d9e6", 0.9), -0.02, 0.045, 0.05, 0.14, 0.01)
    elif thing == "clipboard":
        p.box("#a9794c", -0.07, -0.02, 0.07, 0.17, 0.01)
        p.box("#fbfbf6", -0.055, 0.0, 0.055, 0.14)
    elif thing == "umbrella":
        p.line("#5a4a44", 0.02, (0, -0.05), (0, 0.62))
        p.poly("#d9574f", (-0.34, 0.55), (-0.24, 0.7), (0, 0.77), (0.24, 0.7), (0.34, 0.55))
    elif thing == "balloon":
        p.line("#8b8b95", 0.008, (0, 0), (0.08, 0.5))
        p.oval("#e8615a", 0.08, 0.62, 0.11, 0.13)
    elif thing == "trophy":
        p.box("#8a6a3a", -0.05, 0.0, 0.05, 0.04)
        p.poly("#efc34c", (-0.08, 0.2), (0.08, 0.2), (0.03, 0.05), (-0.03, 0.05))
    elif thing == "sword":
        p.line("#c9ced6", 0.03, (0, 0.02), (0.14, 0.46))
        p.line("#8a6a3a", 0.035, (-0.06, 0.08), (0.08, 0.04))
    elif thing == "bag":
        p.box("#c86f5a", -0.08, -0.22, 0.09, -0.06, 0.02)
        p.line("#8a4a3c", 0.016, (-0.04, -0.07), (0, 0.0), (0.05, -0.07))
    elif thing == "glass":
        p.poly(clear("#e2b23e", 0.9), (-0.04, 0.16), (0.04, 0.16), (0.01, 0.06), (-0.01, 0.06))
        p.line("#dfe6ea", 0.014, (0, 0.06), (0, 0.0))
    elif thing == "tool":
        p.line("#8a6a48", 0.03, (0, -0.06), (0.03, 0.16))
        p.box("#6f7780", -0.05, 0.14, 0.1, 0.21, 0.01)
    elif thing == "baton":
        p.line("#fbf7ee", 0.016, (0, 0), (0.16, 0.18))
    elif thing == "child":
        draw_person(p.at(0.16, -hand, 0.62), Person(long_hair=True))
    elif thing == "dumbbell":
        p.line("#70757f", 0.025, (-0.1, 0.02), (0.12, 0.02))
        for x in (-0.1, 0.12):
            p.box("#34363f", x - 0.03, -0.04, x + 0.03, 0.08, 0.01)


_CHILD: dict[str, object] = {"height": 64.0}
ROLES: dict[str, dict[str, object]] = {
    "person": {},
    "man": {"height": 98.0},
    "woman": {"long_hair": True},
    "child": _CHILD,
    "boy": {**_CHILD, "height": 66.0},
    "girl": {**_CHILD, "long_hair": True, "dress": "#e88fa0"},
    "toddler": {"height": 48.0, "top": "#f2c14e"},
    "friend": {"pose": "wave"},
    "couple": {"hold": "", "long_hair": True},
    "family": {"hold": "child", "long_hair": True},
    "group of people": {},
    "team": {"top": "#3f78b5", "legs": "#f2f2f2"},
    "athlete": {"top": "#e0574a", "legs": "#2f3a52", "pose": "run"},
    "sport": {"top": "#4c9bc9", "legs": "#2f3a52", "pose": "run"},
    "musician": {"hold": "guitar", "top": "#3a3a46"},
    "guitarist": {"hold": "guitar", "top": "#3a3a46", "long_hair": True},
    "street musician": {"hold": "guitar", "hat": "brim", "hat_color": "#7a5a3c"},
    "band": {"hold": "guitar", "top": "#6b3f5c"},
    "singer": {"hold": "mic", "dress": "#b8405a", "long_hair": True},
    "drummer": {"top": "#33333d", "pose": "cheer"},
    "violinist": {"hold": "violin", "top": "#26262e"},
    "pianist": {"top": "#26262e", "tie": "#ffffff"},
    "conductor": {"hold": "baton", "coat": "#26262e", "pose": "wave"},
    "choir": {"dress": "#6a4b8a", "hold": "book"},
    "orchestra": {"hold": "violin", "top": "#26262e"},
    "opera": {"hold": "mic", "dress": "#8f2f44", "long_hair": True},
    "waiter": {"hold": "tray", "top": "#ffffff", "vest": "", "tie": "#26262e", "legs": "#26262e"},
    "bartender": {"hold": "glass", "top": "#f7f7f2", "apron": "#3a3a46"},
    "barista": {"hold": "tray", "apron": "#5b7a5e"},
    "chef": {"hat": "chef", "top": "#ffffff", "apron": "#f2efe8"},
    "cooking": {"apron": "#d9725c", "hold": "tool"},
    "baking": {"apron": "#e3a4a4"},
    "vendor": {"apron": "#5a9a6a", "hat": "cap", "hat_color": "#5a9a6a"},
    "cashier": {"apron": "#3f8f9a"},
    "customer": {"hold": "bag"},
    "doctor": {"coat": "#ffffff", "hold": "clipboard"},
    "nurse": {"top": "#7fc0c4", "legs": "#7fc0c4", "long_hair": True},
    "surgeon": {"top": "#5fa89a", "legs": "#5fa89a", "hat": "cap", "hat_color": "#5fa89a", "mask": "#eaf5f3"},
    "patient": {"dress": "#cfe3ec", "smile": False},
    "teacher": {"hold": "book", "glasses": "#4a4a55"},
    "librarian": {"hold": "book", "glasses": "#4a4a55", "long_hair": True},
    "student": {"height": 78.0, "bag": "#d9804a", "hold": "book"},
    "reading": {"hold": "book"},
    "farmer": {"hat": "brim", "hat_color": "#d9b866", "top": "#c9584a", "legs": "#4a6a9a", "hold": "tool"},
    "gardener": {"hat": "brim", "hat_color": "#d9b866", "apron": "#6a9a5a", "hold": "tool"},
    "fisherman": {"hat": "cap", "hat_color": "#e8b83c", "coat": "#e8c34a", "hold": "rod"},
    "fishing": {"hat": "brim", "hat_color": "#7f8a5a", "hold": "rod"},
    "hiker": {"bag": "#d9583f", "hold": "pole", "hat": "cap", "hat_color": "#5f8a6a"},
    "hiking": {"bag": "#3f8a9a", "hold": "pole"},
    "climber": {"hat": "helmet", "hat_color": "#f2a33a", "pose": "climb"},
    "climbing": {"hat": "helmet", "hat_color": "#d9583f", "pose": "climb"},
    "tourist": {"hold": "camera", "hat": "brim", "hat_color": "#e6d3a5"},
    "photographer": {"hold": "camera", "bag": "#4a4a55"},
    "tour guide": {"hold": "flag"},
    "visitor": {"hold": "phone"},
    "commuter": {"coat": "#5a6478", "hold": "bag"},
    "passenger": {"hold": "bag"},
    "pedestrian": {"hold": "bag"},
    "pilot": {"coat": "#2f3f66", "hat": "cap", "hat_color": "#2f3f66", "tie": "#1e1e28"},
    "flight attendant": {
        "dress": "#2f5f9a",
        "scarf": "#e0574a",
        "long_hair": True,
        "hat": "cap",
        "hat_color": "#2f5f9a",
    },
    "police officer": {"top": "#34486f", "legs": "#26324f", "hat": "cap", "hat_color": "#26324f"},
    "uniform": {"top": "#3f5a8a", "legs": "#2c3c5e", "hat": "cap", "hat_color": "#2c3c5e"},
    "construction worker": {"hat": "hard", "hat_color": "#f5c33b", "vest": "#f28a32"},
    "engineer": {"hat": "hard", "hat_color": "#ffffff", "hold": "clipboard"},
    "mechanic": {"top": "#4a6a9a", "legs": "#4a6a9a", "hold": "tool"},
    "carpenter": {"apron": "#a9794c", "hold": "tool"},
    "dancer": {"dress": "#d9689a", "pose": "cheer", "long_hair": True},
    "dance": {"dress": "#c9587f", "pose": "cheer", "long_hair": True},
    "ballet": {"dress": "#f5c6d4", "pose": "cheer", "long_hair": True},
    "actor": {"coat": "#7a3a4a", "hat": "brim", "hat_color": "#4a2f3a"},
    "costume": {"dress": "#8a5ab5", "hat": "feathers"},
    "carnival": {"dress": "#e0a03c", "hat": "feathers"},
    "lifeguard": {"bare": True, "top": "#e0473c", "hat": "cap", "hat_color": "#e0473c"},
    "referee": {"top": "#2b2b33", "legs": "#2b2b33", "hold": "phone"},
    "umpire": {"top": "#4a6a8a", "legs": "#f2f2ee", "hat": "brim", "hat_color": "#f2f2ee"},
    "coach": {"top": "#4a8a6a", "hold": "clipboard", "hat": "cap", "hat_color": "#4a8a6a"},
    "bride": {"dress": "#ffffff", "hat": "veil", "hold": "bouquet", "long_hair": True},
    "wedding": {"dress": "#fffdf8", "hat": "veil", "hold": "bouquet", "long_hair": True},
    "groom": {"coat": "#33384a", "top": "#ffffff", "legs": "#33384a", "tie": "#7a3a4a", "height": 98.0},
    "bridesmaid": {"dress": "#c9a0c4", "hold": "bouquet", "long_hair": True},
    "wedding guest": {"dress": "#6a9ab5", "hold": "glass", "long_hair": True},
    "spectator": {"pose": "cheer"},
    "audience": {"smile": True},
    "priest": {"coat": "#2e2e38", "hold": "book"},
    "prayer": {"coat": "#5a5a68"},
    "knight": {"hat": "crown", "coat": "#b9bec8", "hold": "sword"},
    "clown": {"hair": "#e0574a", "top": "#f2c14e", "legs": "#4c9bc9", "hat": "party", "hold": "balloon"},
    "magician": {"hat": "top", "coat": "#2c2c34", "hold": "baton"},
    "motorcyclist": {"hat": "helmet", "hat_color": "#33333d", "coat": "#3a3a44"},
    "colleague": {"coat": "#5a6478", "tie": "#b5523f"},
    "meeting": {"coat": "#4a566e", "tie": "#c99a3c", "hold": "clipboard"},
    "presentation": {"coat": "#5a6478", "hold": "baton", "pose": "wave"},
    "handshake": {"coat": "#4a566e", "tie": "#b5523f"},
    "football player": {"top": "#e0574a", "legs": "#ffffff", "pose": "run"},
    "goalkeeper": {"top": "#f2c14e", "legs": "#2f3a52", "pose": "cheer"},
    "basketball player": {"top": "#f08a3c", "legs": "#f08a3c", "pose": "cheer", "hold": "ball", "height": 104.0},
    "tennis player": {"top": "#ffffff", "legs": "#ffffff", "hold": "racket", "pose": "run"},
    "tennis": {"top": "#ffffff", "legs": "#4c9bc9", "hold": "racket"},
    "runner": {"top": "#f2784b", "legs": "#2f3a52", "pose": "run"},
    "running": {"top": "#4fa39a", "legs": "#2f3a52", "pose": "run"},
    "marathon": {"top": "#e0b23c", "legs": "#33384a", "pose": "run"},
    "race": {"top": "#5a8ac9", "legs": "#33384a", "pose": "run"},
    "swimmer": {"bare": True, "top": "#2f5f9a", "hat": "cap", "hat_color": "#3f9ac9"},
    "surfer": {"bare": True, "top": "#3f6f9a"},
    "yoga": {"top": "#9a7bb5", "legs": "#5c5a78", "pose": "cheer", "long_hair": True},
    "exercise": {"top": "#4fa39a", "legs": "#33384a", "pose": "cheer"},
    "weightlifting": {"top": "#e0574a", "legs": "#2b2b33", "hold": "dumbbell"},
    "boxing": {"top": "#d9433b", "legs": "#2b2b33", "pose": "wave"},
    "pram": {"long_hair": True},
    "portrait": {},
    "face": {},
    "smile": {},
    "laughter": {"pose": "cheer"},
    "kiss": {},
    "hug": {},
    "music": {"hold": "guitar"},
    "jazz": {"hold": "horn", "hat": "brim", "hat_color": "#3a3a44"},
    "silhouette": {"top": "#3a3348", "legs": "#2d2a3c", "hair": "#2d2a3c"},
    "safari": {"hat": "brim", "hat_color": "#c9b07a", "top": "#c9b07a", "legs": "#a58f62", "hold": "camera"},
    "birthday": {"hat": "party", "height": 66.0},
    "party": {"hat": "party", "pose": "cheer"},
    "swimming": {"bare": True, "top": "#e0705a"},
    "diving": {"bare": True, "top": "#2f5f9a", "pose": "cheer"},
    "marching band": {"top": "#c93f3f", "legs": "#ffffff", "hat": "top", "hold": "horn"},
    "holiday": {"hat": "brim", "hat_color": "#efd9a0", "hold": "camera"},
}
"""People by label: how they differ from anybody."""

WORN: dict[str, dict[str, object]] = {
    "hat": {"hat": "brim", "hat_color": "#8a5a3c"},
    "straw hat": {"hat": "brim", "hat_color": "#ecd08a"},
    "cap": {"hat": "cap", "hat_color": "#c94f42"},
    "woolly hat": {"hat": "wool", "hat_color": "#c9584a"},
    "party hat": {"hat": "party", "hat_color": "#7a9ad9"},
    "helmet": {"hat": "helmet", "hat_color": "#e0574a"},
    "hard hat": {"hat": "hard", "hat_color": "#f5c33b"},
    "swimming cap": {"hat": "cap", "hat_color": "#3f9ac9", "bare": True},
    "headphones": {"hat": "phones"},
    "veil": {"hat": "veil"},
    "mask": {"mask": "#e3b23c"},
    "face mask": {"mask": "#dff0f2"},
    "sunglasses": {"glasses": "#2b2b35"},
    "glasses": {"glasses": "#6a5a4c"},
    "safety glasses": {"glasses": "#8fd0e0"},
    "goggles": {"glasses": "#f0a03c"},
    "scarf": {"scarf": "#d9574f"},
    "tie": {"tie": "#a83f4a", "coat": "#4a566e"},
    "suit": {"coat": "#3c4358", "top": "#ffffff", "legs": "#3c4358", "tie": "#8f3f4a"},
    "coat": {"coat": "#8a6a4f"},
    "raincoat": {"coat": "#f2c93e"},
    "jacket": {"coat": "#4a7a8a"},
    "leather jacket": {"coat": "#4a3a34"},
    "jumper": {"top": "#b5574a"},
    "shirt": {"top": "#f2f4f6"},
    "jersey": {"top": "#d94f45", "legs": "#ffffff"},
    "dress": {"dress": "#5a8ac9", "long_hair": True},
    "wedding dress": {"dress": "#ffffff", "long_hair": True},
    "skirt": {"dress": "#7a5a9a", "long_hair": True},
    "pyjamas": {"top": "#9fc4dd", "legs": "#9fc4dd"},
    "apron": {"apron": "#efe9dc"},
    "life jacket": {"vest": "#f07a32"},
    "high-visibility vest": {"vest": "#d9e04a"},
    "swimsuit": {"bare": True, "top": "#d94f6a"},
    "wetsuit": {"top": "#2f3340", "legs": "#2f3340"},
    "clothing": {"coat": "#6a8a9a"},
    "backpack": {"bag": "#d9583f"},
    "handbag": {"hold": "bag"},
    "shopping bag": {"hold": "bag"},
    "camera": {"hold": "camera"},
    "mobile phone": {"hold": "phone"},
    "bouquet": {"hold": "bouquet"},
    "microphone": {"hold": "mic"},
    "guitar": {"hold": "guitar"},
    "electric guitar": {"hold": "guitar"},
    "violin": {"hold": "violin"},
    "trumpet": {"hold": "horn"},
    "saxophone": {"hold": "horn"},
    "musical instrument": {"hold": "violin"},
    "tennis racket": {"hold": "racket"},
    "fishing rod": {"hold": "rod"},
    "walking pole": {"hold": "pole"},
    "sword": {"hold": "sword"},
    "armour": {"hat": "crown", "coat": "#b9bec8"},
    "shield": {"hold": "sword", "coat": "#b9bec8"},
    "stethoscope": {"coat": "#ffffff", "scarf": "#5a6a78"},
    "boxing glove": {"hold": "ball"},
    "race number": {"vest": "#ffffff"},
    "dumbbell": {"hold": "dumbbell"},
}
"""What the first person wears or holds, by label."""

HEADS: tuple[str, ...] = ("portrait", "face")
"""Labels that show one person from near."""

_NAMES = {one.name for one in fields(Person)}


def person_of(label: str, worn: Sequence[str] = ()) -> Person:
    """Return the person of a label, with what the other labels give."""
    who = Person(**{name: value for name, value in ROLES[label].items() if name in _NAMES})  # type: ignore[arg-type]
    for one in worn:
        who = replace(who, **{name: value for name, value in WORN[one].items() if name in _NAMES})  # type: ignore[arg-type]
    return who


def draw_crowd(canvas: Canvas, dice: Dice) -> None:
    """Draw many small people side by side, in two rows."""
    for row in range(2):
        x = -10 + dice(0, 4)
        while x < WIDTH + 10:
            pen = Pen(canvas, x, 226 + row * 7, dice(38, 46) + row * 4, dice, flip=dice() < 0.5)
            draw_person(
                pen, Person(pose="cheer" if dice() < 0.3 else "stand", long_hair=dice() < 0.5), small_features=False
            )
            x += dice(13, 21)
