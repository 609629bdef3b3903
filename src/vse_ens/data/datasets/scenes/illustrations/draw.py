"""Compose a drawing: choose the place, put a figure for each label into it, and finish with the weather."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from vse_ens.data.datasets.scenes.illustrations.animals import ANIMALS
from vse_ens.data.datasets.scenes.illustrations.backdrops import draw_backdrop
from vse_ens.data.datasets.scenes.illustrations.buildings import BUILDINGS
from vse_ens.data.datasets.scenes.illustrations.canvas import (
    HEIGHT,
    WIDTH,
    Canvas,
    Colour,
    Dice,
    Pen,
    circle,
    clear,
    dark,
    mix,
    pale,
)
from vse_ens.data.datasets.scenes.illustrations.glyph import Glyph
from vse_ens.data.datasets.scenes.illustrations.interiors import draw_room
from vse_ens.data.datasets.scenes.illustrations.land import SHORE, draw_land, draw_water, draw_weather
from vse_ens.data.datasets.scenes.illustrations.nature import NATURE
from vse_ens.data.datasets.scenes.illustrations.people import HEADS, ROLES, WORN, Person, crowd, draw_person, person_of
from vse_ens.data.datasets.scenes.illustrations.places import USED, Place, place_of
from vse_ens.data.datasets.scenes.illustrations.rooms import ROOMS
from vse_ens.data.datasets.scenes.illustrations.skies import HORIZON, draw_sky
from vse_ens.data.datasets.scenes.illustrations.table import TABLE
from vse_ens.data.datasets.scenes.illustrations.vehicles import VEHICLES
from vse_ens.data.datasets.scenes.words import words_of
from vse_ens.data.datasets.scenes.words.hierarchy import parent_of

if TYPE_CHECKING:
    from PIL import Image

ILLUSTRATION_VERSION = 2
"""Part of the keys of cached drawings: raise it when drawings change."""

GLYPHS: dict[str, Glyph] = {**NATURE, **BUILDINGS, **VEHICLES, **ROOMS, **TABLE, **ANIMALS}
"""Drawings of things, by label."""

_MOOD = frozenset(
    words_of(
        """sky, blue sky, cloud, outdoors, indoors, daytime, sun, sunlight, sunset, evening, morning, mist, rain, storm,
        rainbow, winter, shadow, underwater, confetti, smoke, spotlight, stage, concert, crowd, audience, road, path,
        motorway, street, pavement, skyline, bedroom, classroom, gym, aquarium, tile, ceiling, garden, meadow, summer"""
    )
)
"""Labels that change the background, the light or the weather."""
_GROUPS = {
    "couple": ("woman", "man"),
    "family": ("woman", "man", "girl"),
    "group of people": ("woman", "man", "person"),
    "friend": ("friend", "woman"),
    "kiss": ("woman", "man"),
    "hug": ("woman", "man"),
    "team": ("team", "team", "team"),
    "handshake": ("handshake", "colleague"),
    "band": ("guitarist", "singer"),
    "choir": ("choir", "choir", "choir"),
    "orchestra": ("orchestra", "conductor", "orchestra"),
    "marching band": ("marching band", "marching band"),
}
_COLOURS = {
    "red": "#d9473c",
    "blue": "#4c86c9",
    "white": "#f7f5ef",
    "black": "#3a3a44",
    "green": "#5f9e62",
    "yellow": "#f2c43e",
    "grey": "#9aa0a8",
    "brown": "#8f6344",
    "orange": "#ee8a3a",
    "pink": "#f09ab0",
    "purple": "#8f6fb5",
    "silver": "#c2c9d0",
    "golden": "#e0b04a",
    "wooden": "#a97c54",
}
_SIZES = {"small": 0.8, "tiny": 0.7, "young": 0.85, "large": 1.2, "tall": 1.2}
_OUTSIDE_ONLY = frozenset({"cafe", "bar", "shop", "building", "church", "architecture", "school", "hotel", "stadium"})
"""Labels that are a building outdoors and the room itself indoors."""
_REPEATED = frozenset(
    words_of(
        """flower, daisy, wildflower, poppy, lily, garden, meadow, summer, tulip, rose, daffodil, orchid, lavender,
        sunflower, wheat, harvest, reed, grass, fern, plant, tree, pine tree, birch tree, cypress, forest, vine,
        vineyard, mushroom, sheep, cow, duck, seagull, penguin, flamingo, pigeon, goose, herd, antelope, zebra,
        building, office building, house, village, skyscraper, cactus, crop, rock, shell, goldfish, candle, hay bale,
        gravestone, tent, umbrella, deckchair, book".split(         ,      )"""
    )
)
"""Things that come in numbers if there is room."""
_SCENES = frozenset(
    words_of(
        """living room, kitchen, bathroom, office, restaurant, library, museum, supermarket, workshop, hospital, railway
        station, farm, zoo, market, square, camping, campsite, playground, christmas market, funfair, construction
        site, airport, exhibition, artwork, food, village, vineyard, sailing, marina, cemetery, football pitch,
        basketball court, tennis court, theatre, skiing, snowboarding, surfing, cycling, rowing, traffic, book,
        nature, park, hiking, fruit, vegetable, autumn".split(         ,      )"""
    )
)
"""Labels that need no drawing of their own beside another of the same kind."""
# How much a row is made smaller so that all its things fit, and larger so that few fill the picture.
_LEAST_SCALE, _MOST_SCALE = 0.5, 1.5
_FILLED = 0.62


class _Thing(NamedTuple):
    label: str
    glyph: Glyph
    scale: float


def illustrate(image: str, labels: Sequence[str], size: int) -> Image.Image:
    """Return a drawing of the labels, ``size`` pixels wide; the same for the same id and labels."""
    canvas = Canvas(size)
    dice = Dice(image, *sorted(labels))
    words = {label for label in labels if label}
    unknown = sorted(label for label in words if not is_known(label))
    if len(unknown) == len(words):
        _abstract(canvas, unknown or [image], dice)
        return canvas.finished()
    plain = {_stripped(label)[0] for label in words}
    place = place_of(plain)
    people, things = [] if plain & set(HEADS) else _people(plain), _things(words)
    rows: dict[str, list[_Thing]] = {
        zone: [one for one in things if one.glyph.zone == zone]
        for zone in ("sky", "far", "ground", "front", "table", "wall", "water")
    }
    if place.indoors:
        _indoors(canvas, place, plain, rows, people, dice)
    else:
        _outdoors(canvas, place, plain, rows, people, dice)
    if plain & set(HEADS):
        _head(canvas, plain, dice)
    _effects(canvas, plain, dice)
    draw_weather(canvas, place, plain, dice)
    _bunting(canvas, unknown)
    return canvas.finished()


@cache
def is_known(label: str) -> bool:
    """Whether a label leaves a mark of its own in a drawing."""
    word = _stripped(label)[0]
    return _glyph_of(word) is not None or word in ROLES or word in WORN or word in _MOOD or word in USED


def _stripped(label: str) -> tuple[str, Colour, float]:
    """Return a label without the words that describe it, the colour and the size that they name."""
    colour: Colour = ""
    scale = 1.0
    words = label.lower().rpartition("|")[2].rpartition(":")[2].replace("_", " ").split(" ")
    while len(words) > 1 and not _is_word(" ".join(words)):
        colour = _COLOURS.get(words[0], colour)
        scale *= _SIZES.get(words[0], 1.0)
        words = words[1:]
    return " ".join(words), colour, scale


def _is_word(label: str) -> bool:
    return label in GLYPHS or label in ROLES or label in WORN or label in _MOOD or label in USED or label in parent_of


def _glyph_of(word: str) -> Glyph | None:
    """Return the drawing of a word, or that of the more general word."""
    while word not in GLYPHS:
        if word not in parent_of or word in ROLES or word in WORN or word in _MOOD or word in USED:
            return None
        word = parent_of[word]
    return GLYPHS[word]


def _general(words: Iterable[str]) -> set[str]:
    """Return the words that are more general than another one."""
    found = set()
    for word in words:
        while word in parent_of:
            word = parent_of[word]
            found.add(word)
    return found


def _things(labels: Iterable[str]) -> list[_Thing]:
    parts = {label: _stripped(label) for label in sorted(labels)}
    general = _general(word for word, _, _ in parts.values())
    has_person = any(word in ROLES and word not in GLYPHS for word, _, _ in parts.values())
    things = []
    for label, (word, colour, scale) in parts.items():
        glyph = _glyph_of(word)
        if glyph is None or word in general or (has_person and word in WORN):
            continue
        things.append(_Thing(label, glyph._replace(colour=colour) if colour else glyph, scale))
    # A kitchen is drawn as a sink, unless there is one already.
    return [
        one
        for one in things
        if one.label not in _SCENES
        or not any(one is not other and one.glyph.draw is other.glyph.draw for other in things)
    ]


def _people(words: set[str]) -> list[Person]:
    general = _general(words)
    roles = sorted(
        word for word in words if word in ROLES and word not in general and word not in GLYPHS and word not in HEADS
    )
    together = {one for role in roles for one in _GROUPS.get(role, ()) if one != role}
    together |= {"wedding"} if "bride" in roles else set()
    roles = [role for role in roles if role not in together]
    special = [role for role in roles if role not in ("smile", "sport", "holiday", "music", "party", "silhouette")]
    roles = special or roles
    worn = sorted(word for word in words if word in WORN and (word not in GLYPHS or roles))
    if not roles and any(word not in GLYPHS for word in worn) and not words & set(HEADS):
        roles = ["person"]
    chosen = [one for role in roles for one in _GROUPS.get(role, (role,))][:6]
    people = []
    for at, role in enumerate(chosen):
        # What is worn is shared out, so that one hat does not hide another.
        people.append(person_of(role, worn[at :: len(chosen)]))
    return people


def _outdoors(
    canvas: Canvas, place: Place, words: set[str], rows: dict[str, list[_Thing]], people: list[Person], dice: Dice
) -> None:
    if rows["water"] and place.water in ("", "river"):
        place = replace(place, water="lake")
    draw_sky(canvas, place, words, dice)
    draw_backdrop(canvas, place, dice)
    far = [*rows["far"], *(_on_posts(one) for one in rows["wall"])]
    in_sky = [one for one in rows["sky"] if one.label not in ("blossom", "spring")]
    _scatter(canvas, in_sky, dice, place)
    _row(canvas, far, HORIZON + 9, dice)
    draw_water(canvas, place, words, dice)
    floating = rows["water"]
    if place.water == "pool":
        draw_land(canvas, place, dice)
    _row(canvas, floating, {"pool": 236.0, "open": 232.0}.get(place.water, SHORE - 10.0), dice)
    if place.water != "pool":
        draw_land(canvas, place, dice)
    if {"crowd", "audience", "spectator"} & words and "stands" not in place.backdrop:
        crowd(Pen(canvas, 200, 226, 1, dice), dice, 420)
    _standing(canvas, rows["ground"], people, dice, (226, 262))
    front = [*rows["front"], *rows["table"]]
    if len(rows["table"]) >= 3:
        _table_top(canvas, "#c39a6c", 262)
        _row(canvas, rows["table"], 276, dice)
        front = rows["front"]
    _row(canvas, front, 290, dice)
    for one in rows["sky"]:
        if one not in in_sky:
            one.glyph.draw(Pen(canvas, 330, 60, one.glyph.height, dice), one.glyph.colour)


def _indoors(
    canvas: Canvas, place: Place, words: set[str], rows: dict[str, list[_Thing]], people: list[Person], dice: Dice
) -> None:
    draw_room(canvas, place, dice)
    under_water = place.style == "underwater"
    far = [
        _Thing(one.label, ROOMS["room window"], 1.0) if one.label in ("window", "balcony") else one
        for one in rows["far"]
        if one.label not in _OUTSIDE_ONLY
    ]
    wall = [*rows["wall"], *(one for one in far if one.glyph.zone == "wall")]
    if ("sunlight" in words or len(wall) < 2) and place.style in ("skirting", "panel", "tiles", "garland", ""):
        shades = ("#e0c3a0", "#d99a8a", "#a9c4b4", "#b4bcd9", "#e3cf9a")
        wall.append(_Thing("window", ROOMS["room window"]._replace(colour=dice.pick(shades)), 1.0))
    high = [one._replace(glyph=one.glyph._replace(height=min(one.glyph.height, 90))) for one in wall]
    _row(canvas, high, 132, dice)
    if {"crowd", "audience"} & words:
        crowd(Pen(canvas, 200, 232, 1, dice), dice, 420)
    swimming = (
        [*rows["water"], *(one for one in rows["front"] if one.label in _SWIMMING)] if under_water else rows["water"]
    )
    standing = [*rows["ground"], *(one for one in far if one.glyph.zone != "wall")]
    _scatter(canvas, [*rows["sky"], *(swimming if under_water else [])], dice, place)
    if not under_water:
        standing = [*standing, *swimming]
    _standing(canvas, standing, people, dice, (230, 262))
    front = [one for one in rows["front"] if not (under_water and one.label in _SWIMMING)]
    if rows["table"]:
        _table_top(canvas, mix(place.floor, "#c99a68", 0.6), 246 if front else 254)
        _row(canvas, rows["table"], 262 if front else 268, dice)
    _row(canvas, front, 292, dice)


_SWIMMING = frozenset({"fish", "goldfish", "jellyfish", "octopus", "seahorse", "turtle", "shark", "manta ray", "seal"})


def _on_posts(thing: _Thing) -> _Thing:
    """Return a thing of a wall as it stands outdoors, on two posts."""
    glyph = thing.glyph

    def draw(p: Pen, colour: Colour) -> None:
        half = min(glyph.width, 2.2) / 2 * 0.5
        for x in (-half * 0.6, half * 0.6):
            p.line("#8a6f58", 0.03, (x, 0), (x, 0.62))
        glyph.draw(p.at(0, 0.5, 0.5), colour)

    return thing._replace(glyph=glyph._replace(draw=draw, height=glyph.height * 1.7, width=glyph.width * 0.5))


def _standing(
    canvas: Canvas, things: Sequence[_Thing], people: Sequence[Person], dice: Dice, levels: tuple[float, float]
) -> None:
    """Draw things and people in two rows: what is wide or tall behind, the rest in front."""
    back = [one for one in things if one.glyph.height * max(one.glyph.width, 1) > 90]
    near = [one for one in things if one not in back]
    _row(canvas, back, levels[0], dice)
    figures = [*near, *(_as_thing(one) for one in people)]
    _row(canvas, figures, levels[1], dice)


def _as_thing(who: Person) -> _Thing:
    return _Thing("person", Glyph(lambda p, _: draw_person(p, who), "ground", who.height, 0.5, ""), 1.0)


def _row(canvas: Canvas, things: Sequence[_Thing], y: float, dice: Dice) -> None:
    """Draw things side by side, in an order of chance, smaller if there are many."""
    if not things:
        return
    tallest = max(one.glyph.height * one.scale for one in things)
    most = min(_MOST_SCALE, max(1.0, (y - 30) / tallest))

    def width_of(some: Sequence[_Thing]) -> float:
        return sum(one.glyph.height * one.glyph.width * one.scale for one in some)

    copies = list(things)
    for count in (2, 3):
        more = [one for one in things if one.label in _REPEATED]
        if more and most * (width_of(copies) + width_of(more)) < 0.8 * WIDTH:
            copies += [one._replace(scale=one.scale * (1.12 - 0.17 * count)) for one in more]
    order = sorted(copies, key=lambda one: Dice(one.label, one.scale, dice())())
    widths = [width_of([one]) for one in order]
    scale = max(_LEAST_SCALE, min(most, max(_FILLED * WIDTH, min(sum(widths), WIDTH - 26)) / sum(widths)))
    scale = min(scale, max(_LEAST_SCALE, (WIDTH - 26) / sum(widths)))
    gap = max(0.0, WIDTH - scale * sum(widths)) / (len(order) + 1)
    x = gap
    for one, width in zip(order, widths, strict=True):
        shift = dice(-0.3, 0.3) * min(gap, 60)
        middle = min(max(x + scale * width / 2 + shift, 14), WIDTH - 14)
        pen = Pen(canvas, middle, y + dice(-4, 4), one.glyph.height * one.scale * scale, dice, flip=dice() < 0.5)
        one.glyph.draw(pen, one.glyph.colour)
        x += scale * width + gap


def _scatter(canvas: Canvas, things: Sequence[_Thing], dice: Dice, place: Place) -> None:
    """Draw things in the air, or in the water of an aquarium."""
    low = 220.0 if place.style == "underwater" else 118.0
    for at, one in enumerate(things):
        share = (at + 0.5) / len(things)
        count = 3 if one.label in ("fish", "goldfish", "star", "flight", "insect", "bird") else 1
        for copy in range(count):
            x = WIDTH * share + dice(-40, 40) * (copy + 1) / 2
            height = one.glyph.height * one.scale * (1.25 if place.style == "underwater" else 1.0) * (1 - 0.15 * copy)
            y = dice(max(height + 8, 40), max(low, height + 12))
            one.glyph.draw(
                Pen(canvas, min(max(x, 30), WIDTH - 30), y, height, dice, flip=dice() < 0.4), one.glyph.colour
            )


def _table_top(canvas: Canvas, colour: Colour, y: float) -> None:
    canvas.polygon([(18, y), (WIDTH - 18, y), (WIDTH + 8, y + 26), (-8, y + 26)], colour)
    canvas.rectangle(-8, y + 26, WIDTH + 8, y + 34, dark(colour, 0.16))
    canvas.rectangle(14, y + 34, WIDTH - 14, HEIGHT, dark(colour, 0.3))


def _head(canvas: Canvas, words: set[str], dice: Dice) -> None:
    """Draw one person from near."""
    role = next((one for one in ("woman", "man", "girl", "boy", "child") if one in words), "person")
    worn = sorted(word for word in words if word in WORN)
    draw_person(Pen(canvas, dice(150, 250), 470, 400, dice), person_of(role, worn[:3]))


def _effects(canvas: Canvas, words: set[str], dice: Dice) -> None:
    if "confetti" in words or "carnival" in words:
        for _ in range(70):
            x, y = dice(0, WIDTH), dice(0, 230)
            canvas.rectangle(x, y, x + 4, y + 3, dice.pick(("#e8776a", "#f2c14e", "#7fb8a0", "#7fa8d9", "#c98ab8")))
    if "smoke" in words:
        x = dice(80, 320)
        for at in range(6):
            canvas.ellipse(x + dice(-10, 10), 190 - at * 24, 12 + at * 4, 10 + at * 3, clear("#e4e4e8", 0.35))
    if "spotlight" in words:
        for x in (110, 290):
            canvas.polygon([(x - 5, 0), (x + 5, 0), (x + 52, 250), (x - 52, 250)], clear("#fff4c4", 0.22))


def _bunting(canvas: Canvas, unknown: Sequence[str]) -> None:
    """Draw a small flag at the top for each label without a drawing, always in the same colour."""
    if not unknown:
        return
    canvas.line([(0, 4), (min(WIDTH, 22.0 * len(unknown) + 10), 4)], "#f4efe6", 1.2)
    for at, label in enumerate(unknown[:18]):
        x = 6 + at * 22
        canvas.polygon([(x, 4), (x + 16, 4), (x + 8, 20)], _colour_of(label))


def _abstract(canvas: Canvas, labels: Sequence[str], dice: Dice) -> None:
    """Draw soft shapes, one for each label, always of the same kind and colour."""
    canvas.gradient(0, HEIGHT, pale(_colour_of(labels[0]), 0.82), pale(_colour_of(labels[-1]), 0.62))
    for label in labels[:24]:
        own = Dice("mark", label)
        colour, kind, size = clear(_colour_of(label), 0.78), own(), own(34, 78) / (1 + len(labels) / 14)
        x, y = dice(40, WIDTH - 40), dice(40, HEIGHT - 40)
        if kind < 0.4:
            canvas.ellipse(x, y, size, size, colour)
        elif kind < 0.7:
            canvas.rectangle(x - size, y - size * 0.7, x + size, y + size * 0.7, colour, size * 0.3)
        else:
            canvas.polygon(circle(x, y, size * 1.15, 3 if kind < 0.85 else 6, own(0, 3)), colour)


def _colour_of(label: str) -> Colour:
    palette = (
        "#e0806a",
        "#f0b860",
        "#8fbf86",
        "#6fb0b8",
        "#7f9fd4",
        "#b08ac4",
        "#e39ab0",
        "#c9b48f",
        "#94b4c9",
        "#d9a07a",
    )
    return Dice("colour", label).pick(palette)
