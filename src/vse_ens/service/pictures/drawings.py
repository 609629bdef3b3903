"""Pictures drawn from labels, for images without files: a background, and on it a drawing of each label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vse_ens.service.pictures.figures import (
    Dice,
    Place,
    Thing,
    has_flag,
    is_known,
    layer_of,
    people_of,
    place_of,
    plain_word,
    portrait_of,
    things_of,
    values_of,
)
from vse_ens.service.pictures.sheet import (
    FIGURE,
    HEIGHT,
    WIDTH,
    Color,
    Drawing,
    Painter,
    Shape,
    color_of,
    read_sheet,
)

if TYPE_CHECKING:
    from PIL import Image

DRAWING_VERSION = 3
"""Part of the keys of cached drawings: raise it when drawings change."""

_CURTAINS = ("e0c3a0", "d99a8a", "a9c4b4", "b4bcd9", "e3cf9a")
_MARKS = ("e0806a", "f0b860", "8fbf86", "6fb0b8", "7f9fd4", "b08ac4", "e39ab0", "c9b48f", "94b4c9", "d9a07a")
_HORIZON, _SHORE = 158, 208
# How much a row is made smaller so that all its things fit, and larger so that few fill the picture.
_LEAST_SCALE, _MOST_SCALE, _FILLED = 0.5, 1.5, 0.62
_MANY = frozenset({"fish", "goldfish", "star", "flight", "insect", "bird"})
"""Things in the air or in water that are drawn three times."""


def draw_labels(image: str, labels: Sequence[str], size: int) -> Image.Image:
    """Return a drawing of the labels, ``size`` pixels wide; the same for the same id and labels."""
    painter, dice = Painter(size), Dice(image, *sorted(labels))
    given = {label for label in labels if label}
    unknown = sorted(label for label in given if not is_known(label))
    if len(unknown) == len(given):
        _paint_marks(painter, unknown or [image], dice)
        return painter.finished()
    words = {plain_word(label)[0] for label in given}
    is_portrait = has_flag("head", words)
    place = place_of(words)
    people = [] if is_portrait else people_of(words, dice)
    things = things_of(given)
    if place.room is not None:
        _paint_room(painter, place.room, words, things, people, dice)
    else:
        _paint_outdoors(painter, place, words, things, people, dice)
    if is_portrait:
        _paint_thing(painter, portrait_of(words, dice), dice(150, 250), 470, 400, False)
    outside = () if place.room else (f"weather.{place.light}",)
    for name in dict.fromkeys((*values_of("over", words), *outside)):
        painter.layer(layer_of(name))
    _paint_bunting(painter, unknown)
    return painter.finished()


# --- pictures ---------------------------------------------------------------------------------------------------------


def _paint_outdoors(
    painter: Painter, place: Place, words: set[str], things: list[Thing], people: list[Thing], dice: Dice
) -> None:
    floating = _in_zone(things, "water")
    water = "lake" if floating and place.water in ("", "river") else place.water
    _paint_sky(painter, place.light, words, dice)
    flip = dice() < 0.5
    for name in read_sheet()[""].data["backdrops"].split():
        if name in place.backdrop:
            autumn = "autumn" if "autumn" in place.backdrop else ""
            painter.layer(layer_of(f"backdrop.{name}", place.ground, autumn, place.light), flip=flip)
    in_sky = _in_zone(things, "sky")
    blossom = [one for one in in_sky if one.label in ("blossom", "spring")]
    _scatter(painter, [one for one in in_sky if one not in blossom], dice)
    far = [*_in_zone(things, "far"), *map(_on_posts, _in_zone(things, "wall"))]
    _paint_row(painter, far, _HORIZON + 9, dice)
    flip, shore = dice() < 0.5, "shore" if water in ("sea", "lake") else water
    land = [layer_of(f"ground.{place.ground}", shore), layer_of(f"road.{place.road}", shore), layer_of(f"land.{water}")]
    if water == "pool":
        for layer in land:
            painter.layer(layer, flip=flip)
        _paint_row(painter, floating, 236.0, dice)
    else:
        painter.layer(layer_of(f"water.{water}", place.light))
        for name in values_of("waves", words) if water in ("sea", "open") else ():
            painter.layer(layer_of(name))
        _paint_row(painter, floating, 232.0 if water == "open" else _SHORE - 10.0, dice)
        for layer in land:
            painter.layer(layer, flip=flip)
    if has_flag("crowd", words) and "stands" not in place.backdrop:
        painter.layer(layer_of("effect.crowd"))
    _paint_standing(painter, _in_zone(things, "ground"), people, dice, (226, 262))
    on_table, front = _in_zone(things, "table"), _in_zone(things, "front")
    if len(on_table) >= 3:
        painter.layer(layer_of("part.table-top"), 262)
        _paint_row(painter, on_table, 276, dice)
    else:
        front = [*front, *on_table]
    _paint_row(painter, front, 290, dice)
    for one in blossom:
        _paint_thing(painter, one, 330, 60, one.height, False)


def _paint_sky(painter: Painter, light: str, words: set[str], dice: Dice) -> None:
    sky, cloud = layer_of(f"sky.{light}"), layer_of("part.cloud")
    painter.layer(sky)
    for name in dict.fromkeys(values_of("sky", words)):
        if name not in sky.flags:
            painter.layer(layer_of(f"sky.{name}"))
    for _ in range(int(sky.data["clouds"]) + 2 * ("cloud" in words)):
        x, y, size = dice(20, WIDTH - 20), dice(20, 104), dice(18, 39)
        painter.paint(cloud, x, y, size * FIGURE, color=color_of(sky.data["color"]))


def _paint_room(
    painter: Painter, room: Drawing, words: set[str], things: list[Thing], people: list[Thing], dice: Dice
) -> None:
    painter.layer(room)
    under_water = "underwater" in room.flags
    window = things_of(["room window"])[0]
    far = [one for one in _in_zone(things, "far") if "outside" not in one.flags]
    windows = [one for one in far if one.label in ("window", "balcony")]
    wall = [*_in_zone(things, "wall"), *(window for _ in windows)]
    if ("sunlight" in words or len(wall) < 2) and "windows" in room.flags:
        wall.append(window._replace(colors={"color": color_of(dice.pick(_CURTAINS))}))
    _paint_row(painter, [one._replace(height=min(one.height, 90)) for one in wall], 132, dice)
    if has_flag("crowd", words):
        painter.layer(layer_of("effect.crowd"), 6)
    front, swimming = _in_zone(things, "front"), _in_zone(things, "water")
    standing = [*_in_zone(things, "ground"), *(one for one in far if one not in windows)]
    flying = _in_zone(things, "sky")
    if under_water:
        flying = [*flying, *swimming, *(one for one in front if "swims" in one.flags)]
        front = [one for one in front if "swims" not in one.flags]
    else:
        standing = [*standing, *swimming]
    _scatter(painter, flying, dice, under_water)
    _paint_standing(painter, standing, people, dice, (230, 262))
    on_table = _in_zone(things, "table")
    if on_table:
        painter.layer(layer_of("part.table-top"), 246 if front else 254, color=color_of(room.data["table"]))
        _paint_row(painter, on_table, 262 if front else 268, dice)
    _paint_row(painter, front, 292, dice)


def _in_zone(things: list[Thing], zone: str) -> list[Thing]:
    return [one for one in things if one.drawings[0].data["zone"] == zone]


def _on_posts(thing: Thing) -> Thing:
    """Return a thing of a wall as it stands outdoors."""
    return thing._replace(height=thing.height * 1.7, width=thing.width * 0.5, on_posts=True)


def _paint_standing(
    painter: Painter, things: list[Thing], people: list[Thing], dice: Dice, levels: tuple[float, float]
) -> None:
    """Paint things and people in two rows: what is wide or tall behind, the rest in front."""
    behind = [one for one in things if one.height * max(one.width, 1) > 90]
    _paint_row(painter, behind, levels[0], dice)
    _paint_row(painter, [*(one for one in things if one not in behind), *people], levels[1], dice)


def _paint_row(painter: Painter, things: list[Thing], y: float, dice: Dice) -> None:
    """Paint things side by side, in random order, smaller if there are many."""
    if not things:
        return
    most = min(_MOST_SCALE, max(1.0, (y - 30) / max(one.height for one in things)))
    repeated = [one for one in things if "repeated" in one.flags]
    copies = list(things)
    for smaller in (0.78, 0.61):
        more = [one._replace(height=one.height * smaller) for one in repeated]
        if most * sum(one.height * one.width for one in (*copies, *repeated)) < 0.8 * WIDTH:
            copies += more
    order = [one for _, _, one in sorted((dice(), at, one) for at, one in enumerate(copies))]
    total = sum(one.height * one.width for one in order)
    scale = min(most, max(_FILLED * WIDTH, min(total, WIDTH - 26)) / total)
    scale = max(_LEAST_SCALE, min(scale, (WIDTH - 26) / total))
    gap = max(0.0, WIDTH - scale * total) / (len(order) + 1)
    x = gap
    for one in order:
        width = scale * one.height * one.width
        middle = min(max(x + width / 2 + dice(-0.3, 0.3) * min(gap, 60), 14), WIDTH - 14)
        _paint_thing(painter, one, middle, y + dice(-4, 4), one.height * scale, dice() < 0.5)
        x += width + gap


def _scatter(painter: Painter, things: list[Thing], dice: Dice, under_water: bool = False) -> None:
    """Paint things in the air, or in the water of an aquarium."""
    for at, one in enumerate(things):
        for copy in range(3 if one.label in _MANY else 1):
            x = WIDTH * (at + 0.5) / len(things) + dice(-40, 40) * (copy + 1) / 2
            height = one.height * (1.25 if under_water else 1.0) * (1 - 0.15 * copy)
            y = dice(max(height + 8, 40), max(220 if under_water else 118, height + 12))
            _paint_thing(painter, one, min(max(x, 30), WIDTH - 30), y, height, dice() < 0.4)


def _paint_thing(painter: Painter, thing: Thing, x: float, y: float, height: float, flip: bool) -> None:
    if thing.on_posts:
        painter.paint(layer_of("part.posts"), x, y, height * FIGURE)
        y, height = y - height / 2, height / 2
    for drawing in thing.drawings:
        lifted = 0.47 * height if "held" in drawing.flags and "raised" in thing.flags else 0.0
        painter.paint(drawing, x, y - lifted, height * FIGURE, flip, **thing.colors)


# --- labels without a drawing -----------------------------------------------------------------------------------------


def _paint_bunting(painter: Painter, unknown: Sequence[str]) -> None:
    """Paint a small flag at the top for each label without a drawing, always in the same color."""
    if not unknown:
        return
    flags = [Shape("polyline", (0, 4, min(WIDTH, 22 * len(unknown) + 10), 4), color_of("f4efe6"), width=1.2)]
    for at, label in enumerate(unknown[:18]):
        x = 6 + at * 22
        flags.append(Shape("polygon", (x, 4, x + 16, 4, x + 8, 20), _mark_color(label)))
    painter.paint(Drawing(tuple(flags)), 0, 0, 1.0)


def _paint_marks(painter: Painter, labels: Sequence[str], dice: Dice) -> None:
    """Paint soft shapes, one for each label, always of the same kind and color."""
    first, last = (
        tuple(round(one + (255 - one) * share) for one in _mark_color(label))
        for label, share in ((labels[0], 0.82), (labels[-1], 0.62))
    )
    shapes = [Shape("rect", (0, 0, WIDTH, HEIGHT, 0), first, last)]
    for label in labels[:24]:
        own = Dice("mark", label)
        kind, size = own(), own(34, 78) / (1 + len(labels) / 14)
        color, x, y = (*_mark_color(label), 199), dice(40, WIDTH - 40), dice(40, HEIGHT - 40)
        if kind < 0.4:
            shapes.append(Shape("ellipse", (x, y, size, size), color))
        elif kind < 0.7:
            shapes.append(Shape("rect", (x - size, y - size * 0.7, 2 * size, 1.4 * size, size * 0.3), color))
        else:
            corners = (x - size, y - size * 0.6, x + size, y - size * 0.6, x, y + size * 1.1)
            shapes.append(Shape("polygon", corners, color))
    painter.paint(Drawing(tuple(shapes)), 0, 0, 1.0)


def _mark_color(label: str) -> Color:
    return color_of(Dice("color", label).pick(_MARKS))
