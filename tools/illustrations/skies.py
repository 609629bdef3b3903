"""Skies: times of day, sun, moon and clouds."""

from __future__ import annotations

from tools.illustrations.canvas import WIDTH, Canvas, Color, Dice, clear, mix

HORIZON = 158
"""Where the sky ends."""

SKIES: dict[str, tuple[str, str]] = {
    "day": ("#8cc6ea", "#dff1f7"),
    "cloudy": ("#a9c5d8", "#e6eef0"),
    "sunset": ("#7d78b0", "#fcbf83"),
    "night": ("#1f2a52", "#4d5688"),
    "mist": ("#c4d0d4", "#edf0ee"),
    "rain": ("#8b9cab", "#c9d3d9"),
    "storm": ("#59647a", "#a3adba"),
    "autumn": ("#a9cbdc", "#f6e6cc"),
}
"""The colors of a sky, at the top and at the horizon."""


CLOUDS: dict[str, int] = {"cloudy": 5, "storm": 7, "rain": 6, "sunset": 3, "mist": 2, "night": 1}
"""The number of clouds; 2 for other skies."""
CLOUD_COLORS: dict[str, str] = {
    "storm": "#6b7488",
    "rain": "#a7b3bf",
    "sunset": "#f6c3a0",
    "night": "#5a6494",
    "mist": "#f6f8f8",
}
"""White for other skies."""


def draw_sky(canvas: Canvas, light: str, dice: Dice) -> None:
    """Draw the sky without clouds."""
    canvas.gradient(0, HORIZON + 12, *SKIES[light])
    if light == "night":
        for _ in range(46):
            x, y = dice(0, WIDTH), dice(0, HORIZON - 10)
            canvas.ellipse(x, y, dice(0.5, 1.3), dice(0.5, 1.3), clear("#fdf8e0", 0.9))
        canvas.glow(300, 46, 40, "#f4efd0", 0.3)
        canvas.ellipse(300, 46, 17, 17, "#f6f0d6")
        canvas.ellipse(293, 42, 15, 15, mix(*SKIES["night"], 0.25))
    elif light == "sunset":
        canvas.glow(300, 138, 90, "#ffd9a0", 0.6)
        canvas.ellipse(300, 140, 24, 24, "#fff0c4")
    elif light in ("day", "autumn"):
        draw_sun(canvas)


def draw_sun(canvas: Canvas) -> None:
    """Draw the sun."""
    canvas.glow(66, 44, 60, "#fff6cf", 0.5)
    canvas.ellipse(66, 44, 19, 19, "#fde9a0")


def draw_rainbow(canvas: Canvas) -> None:
    """Draw a rainbow."""
    for at, color in enumerate(("#e8776a", "#f2ae5a", "#f6dd6a", "#84c48a", "#74aede", "#a68ad0")):
        points = [
            (200 + (170 - at * 6) * x, 172 - (140 - at * 6) * (1 - x * x) ** 0.5)
            for x in (step / 20 - 1 for step in range(41))
        ]
        canvas.line(points, clear(color, 0.75), 6)


def cloud(canvas: Canvas, x: float, y: float, size: float, color: Color) -> None:
    """Draw a cloud."""
    for dx, dy, r in ((-24, 4, 11), (-9, -3, 15), (9, -1, 13), (24, 5, 10)):
        canvas.ellipse(x + dx * size, y + dy * size, r * size, r * size * 0.72, clear(color, 0.92))
    canvas.rectangle(x - 30 * size, y + 2 * size, x + 32 * size, y + 12 * size, clear(color, 0.92), 5 * size)
