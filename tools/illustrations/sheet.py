"""All drawings with what the service has to know about them, as one SVG file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from tools.illustrations import places
from tools.illustrations.animals import ANIMALS
from tools.illustrations.backdrops import BACKDROPS, draw_backdrop
from tools.illustrations.buildings import BUILDINGS
from tools.illustrations.canvas import HEIGHT, WIDTH, Canvas, Dice, Pen, Shape, clear, dark
from tools.illustrations.glyph import Glyph
from tools.illustrations.interiors import draw_room
from tools.illustrations.land import (
    GROUNDS,
    SHORE,
    draw_land,
    draw_pool,
    draw_river,
    draw_road,
    draw_snowfall,
    draw_water,
    draw_waves,
    draw_weather,
)
from tools.illustrations.nature import NATURE
from tools.illustrations.people import (
    HAIRS,
    HEADS,
    RAISED,
    ROLES,
    SKINS,
    TOPS,
    TROUSERS,
    WORN,
    Person,
    draw_crowd,
    draw_person,
    person_of,
)
from tools.illustrations.places import Place
from tools.illustrations.rooms import ROOMS
from tools.illustrations.skies import CLOUD_COLORS, CLOUDS, HORIZON, SKIES, cloud, draw_rainbow, draw_sky, draw_sun
from tools.illustrations.table import TABLE
from tools.illustrations.vehicles import VEHICLES
from vse_ens.data.datasets.scenes.words import SCENES, words_of

PATH = Path(__file__).parents[2] / "src/vse_ens/service/pictures/drawings.svg"

GLYPHS: dict[str, Glyph] = {**NATURE, **BUILDINGS, **VEHICLES, **ROOMS, **TABLE, **ANIMALS}
"""Drawings of things, by label."""

# The numbers of the file are integers: this many per height of a figure and per unit of a layer.
_FIGURE, _LAYER = 500, 5
_TOLERANCE = 0.6  # how far a line may be moved to have fewer points
_PALETTES = {"skin": SKINS, "hair": HAIRS, "top": TOPS, "legs": TROUSERS}
_BLACK, _WHITE = "#000000", "#ffffff"
_BROWN, _MARK = "#c39a6c", {"color": "#6fb0b8"}

# Words before a label: the color that they give it, and the factor of its size.
_COLORS = {
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

_FLAGS = {
    "mood": """sky, blue sky, outdoors, indoors, daytime, morning, winter, shadow, underwater, stage, concert, skyline,
        bedroom, classroom, gym, aquarium, tile, ceiling, garden, meadow, summer""",
    "head": ", ".join(HEADS),
    # Things that come in numbers if there is room.
    "repeated": """flower, daisy, wildflower, poppy, lily, garden, meadow, summer, tulip, rose, daffodil, orchid,
        lavender, sunflower, wheat, harvest, reed, grass, fern, plant, tree, pine tree, birch tree, cypress, forest,
        vine, vineyard, mushroom, sheep, cow, duck, seagull, penguin, flamingo, pigeon, goose, herd, antelope, zebra,
        building, office building, house, village, skyscraper, cactus, crop, rock, shell, goldfish, candle, hay bale,
        gravestone, tent, umbrella, deckchair, book""",
    # Labels that need no drawing of their own beside another of the same shape.
    "optional": """living room, kitchen, bathroom, office, restaurant, library, museum, supermarket, workshop, hospital,
        railway station, farm, zoo, market, square, camping, campsite, playground, christmas market, funfair,
        construction site, airport, exhibition, artwork, food, village, vineyard, sailing, marina, cemetery, football
        pitch, basketball court, tennis court, theatre, skiing, snowboarding, surfing, cycling, rowing, traffic, book,
        nature, park, hiking, fruit, vegetable, autumn""",
    "swims": "fish, goldfish, jellyfish, octopus, seahorse, turtle, shark, manta ray, seal",
}
_GROUPS = {
    "couple": "woman, man",
    "family": "woman, man, girl",
    "group of people": "woman, man, person",
    "friend": "friend, woman",
    "kiss": "woman, man",
    "hug": "woman, man",
    "team": "team, team, team",
    "handshake": "handshake, colleague",
    "band": "guitarist, singer",
    "choir": "choir, choir, choir",
    "orchestra": "orchestra, conductor, orchestra",
    "marching band": "marching band, marching band",
}
# Labels that have a drawing outdoors only.
_OUTSIDE = (
    *("cafe", "bar", "shop", "building", "church", "architecture", "school", "hotel", "stadium", "window", "balcony"),
)
# Roles that are not drawn beside others.
_VAGUE = ("smile", "sport", "holiday", "music", "party", "silhouette", "wedding", *HEADS)
# Lights and grounds with a backdrop of their own.
_VARIANTS = {
    **dict.fromkeys(("mountains", "hills"), ("sunset", "mist", "snow")),
    **dict.fromkeys(("forest", "trees"), ("mist", "snow", "autumn")),
    **dict.fromkeys(("city", "town"), ("night",)),
}
_CHANGES: dict[str, Mapping[str, str]] = {
    "backdrop": {
        label: " ".join(f"backdrop.{name}" for name in names.split() if name in BACKDROPS)
        for label, names in places.BACKDROPS.items()
    },
    "light": places.LIGHTS,
    "road": {label: f"road.{road}" for label, road in places.ROADS.items()},
    "shore-road": {label: f"road.{road}.shore" for label, road in places.ROADS.items()},
    "sky": {"sun": "sky.sun", "sunlight": "sky.sun", "rainbow": "sky.rainbow"},
    "waves": dict.fromkeys(("wave", "surfing", "surfer"), "effect.waves"),
    "crowd": dict.fromkeys(("crowd", "audience", "spectator"), "effect.crowd"),
    "over": {
        "rain": "weather.rain",
        "snow": "weather.snowfall",
        "confetti": "effect.confetti",
        "carnival": "effect.confetti",
        "smoke": "effect.smoke",
        "spotlight": "effect.spotlight",
    },
}
"""How labels change a picture: the name of an attribute, and its values by label."""


class Entry(NamedTuple):
    """One drawing of the sheet."""

    name: str
    shapes: Sequence[tuple[Shape, str, float]] = ()
    """Each with the name of a color that can be replaced, and its share."""
    data: Mapping[str, object] = {}  # never changed
    flags: Sequence[str] = ()
    scale: float = 1.0


def sheet() -> str:
    """Return the SVG file."""
    entries = list(_entries())
    columns, side = 32, 100
    rows = -(-len(entries) // columns)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns * side} {rows * side}"'
        + _attributes({f"data-{part}": " ".join(palette) for part, palette in _PALETTES.items()})
        + _attributes({f"data-color-{word}": color for word, color in _COLORS.items()})
        + _attributes({f"data-size-{word}": size for word, size in _SIZES.items()})
        + ">",
        "<style>polyline{fill:none;stroke-linecap:round;stroke-linejoin:round}</style>",
    ]
    for at, entry in enumerate(entries):
        box = f"0 0 {WIDTH * _LAYER} {HEIGHT * _LAYER}" if entry.scale == _LAYER else "-500 -700 1000 800"
        place = {"x": at % columns * side, "y": at // columns * side, "width": side - 4, "height": side - 4}
        data = {f"data-{name}": value for name, value in entry.data.items() if value != ""}
        flags = {"class": " ".join(entry.flags)} if entry.flags else {}
        head = {"id": entry.name.replace(" ", "-")} | place | {"viewBox": box} | data | flags
        lines.append(f"<svg{_attributes(head)}>")
        lines += (_element(*one, entry.scale) for one in entry.shapes)
        lines.append("</svg>")
    return "\n".join([*lines, "</svg>", ""])


# --- recording --------------------------------------------------------------------------------------------------------


def record(draw: Callable[[Canvas], None]) -> list[Shape]:
    """Return the shapes that a function draws."""
    canvas = Canvas()
    draw(canvas)
    return canvas.shapes


def record_mixed(
    draw: Callable[[Canvas, Mapping[str, str]], None], colors: Mapping[str, str]
) -> list[tuple[Shape, str, float]]:
    """Return the shapes that a function draws in some colors, each with the color that it has most of, and its share.

    Every shade is a mix of one color with fixed ones, so drawing in black and in white shows the share.
    """
    shapes = record(lambda canvas: draw(canvas, colors))
    parts = [""] * len(shapes)
    shares = [0.0] * len(shapes)
    for part in colors:
        black, white = (
            record(lambda canvas, tone=tone: draw(canvas, {**colors, part: tone}))  # type: ignore[misc]  # noqa: B023
            for tone in (_BLACK, _WHITE)
        )
        for at, (low, high) in enumerate(zip(black, white, strict=True)):
            share = sum(b - a for a, b in zip(low.color[:3], high.color[:3], strict=True)) / (3 * 255)
            if share > 0.01:
                parts[at], shares[at] = part, share
    return list(zip(shapes, parts, shares, strict=True))


class _Palette(Dice):
    """Dice that pick given colors for the parts of a person."""

    def __init__(self, colors: Mapping[str, str], *seed: object) -> None:
        super().__init__(*seed)
        self._colors = {_PALETTES[part]: color for part, color in colors.items()}

    def pick(self, options: Sequence[str]) -> str:
        """Return the given color of a palette, or one of other options."""
        return self._colors.get(tuple(options)) or super().pick(options)


# --- entries ----------------------------------------------------------------------------------------------------------


def _entries() -> Iterator[Entry]:
    yield from _labels()
    yield from _people()
    yield from _places()
    yield from _layers()


def _labels() -> Iterator[Entry]:
    flags = {flag: set(words_of(" ".join(text.split()))) for flag, text in _FLAGS.items()}
    changed = {label for values in _CHANGES.values() for label in values}
    first: dict[object, str] = {}
    for label in sorted({*GLYPHS, *changed, *places.GROUNDS, *places.WATERS, *flags["mood"], *flags["head"]}):
        data: dict[str, object] = {name: values.get(label, "") for name, values in _CHANGES.items()}
        own = [flag for flag, labels in flags.items() if label in labels and flag != "mood"]
        shapes: Sequence[tuple[Shape, str, float]] = ()
        if glyph := GLYPHS.get(label):
            shape = first.setdefault(glyph.draw, label)
            # What is wide or tall stands behind the rest.
            is_behind = glyph.zone == "ground" and glyph.height * max(glyph.width, 1) > 90
            data["zone"] = "outside" if label in _OUTSIDE else "behind" if is_behind else glyph.zone
            data |= {"height": glyph.height, "width": glyph.width, "shape": shape}
            data |= {"color": glyph.color}
            shapes = _figure(glyph, label)
        yield Entry(f"label.{label}", shapes, data, own)


def _figure(glyph: Glyph, label: str) -> list[tuple[Shape, str, float]]:
    def draw(canvas: Canvas, colors: Mapping[str, str]) -> None:
        glyph.draw(Pen(canvas, 0, 0, _FIGURE, Dice(label)), colors["color"])

    return record_mixed(draw, {"color": str(glyph.color)})


def _people() -> Iterator[Entry]:
    for role in ROLES:
        who = person_of(role)
        fixed = {"hair": who.hair, "top": who.top, "legs": who.legs}
        colors = {part: fixed.get(part) or palette[0] for part, palette in _PALETTES.items()}
        free = " ".join(part for part in _PALETTES if not fixed.get(part))
        data = {
            "zone": "ground",
            "height": who.height,
            "width": 0.5,
            "free": free,
            "group": _GROUPS.get(role, ""),
            **colors,
        }
        flags = [*(["vague"] if role in _VAGUE else []), *(["raised"] if who.pose in RAISED else [])]
        yield Entry(f"person.{role}", _body(replace(who, hair="", top="", legs=""), colors), data, flags)
    colors = {part: palette[0] for part, palette in _PALETTES.items()}
    plain = [shape for shape, _, _ in _body(Person(), colors)]
    for label, worn in WORN.items():
        outfit = {name: value for name, value in worn.items() if name not in ("top", "legs", "long_hair")}
        who = replace(Person(), **outfit)  # type: ignore[arg-type]
        sleeves = bool(who.dress or who.coat or who.bare)  # they are painted over the hand, so it is painted again
        shapes = [one for one in _body(who, colors) if one[0] not in plain or (sleeves and one[0] == _hand(plain))]
        if who.bag:  # of a bag behind the person, what can be seen from the front
            side = record(lambda canvas: Pen(canvas, 0, 0, _FIGURE, Dice()).box("#bb4c38", -0.17, 0.42, -0.125, 0.72))
            shapes[0] = (side[0], "", 0.0)
        data = {f"set-{part}": worn.get(part, "") for part in ("top", "legs")} | colors
        yield Entry(f"worn.{label}", shapes, data, ["held"] if who.hold else [])


def _body(who: Person, colors: Mapping[str, str]) -> list[tuple[Shape, str, float]]:
    return record_mixed(
        lambda canvas, mixed: draw_person(Pen(canvas, 0, 0, _FIGURE, _Palette(mixed, "person")), who), colors
    )


def _hand(body: Sequence[Shape]) -> Shape:
    return next(one for one in body if one.kind == "ellipse" and one.numbers[2] == 0.036 * _FIGURE)


def _places() -> Iterator[Entry]:
    weights = _weights()
    for scene, (ground, water, backdrop) in {**places.OUTDOORS, "": ("grass", "", "hills")}.items():
        light = "night" if scene in places.NIGHT_SCENES else "autumn" if "autumn" in backdrop else "day"
        yield _scene(scene, weights.get(scene, {}), _outdoors(ground, water, backdrop), light)
    for scene, (wall, floor, style) in {**places.INDOORS, "indoors": ("#efe3d0", "#c9a27a", "")}.items():
        window = "room window" if style in ("skirting", "panel", "tiles", "garland", "") else " "
        yield _scene(scene, weights.get(scene, {"indoors": 1.0}), _indoors(scene, style), "day", window)
        yield _layer(f"room.{scene}", draw_room, Place(wall=wall, floor=floor, style=style), Dice(scene))
    yield _scene("unknown", {}, "part.paper mark@230~70", "day")


def _scene(name: str, weights: Mapping[str, float], stack: str, light: str, added: str = " ") -> Entry:
    words = ",".join(f"{word}:{weight:.3g}" for word, weight in weights.items())
    return Entry(f"scene.{name}", (), {"words": words or " ", "stack": stack, "light": light, "with": added})


def _outdoors(ground: str, water: str, backdrop: str) -> str:
    """Return the steps from the sky to the front."""
    hills = [f"backdrop.{name}" for name in BACKDROPS if name in backdrop.split()]
    if ground == "snow":
        hills = [f"{name}.snow" if "snow" in _VARIANTS.get(name[9:], ()) else name for name in hills]
    if water in ("sea", "lake", "open"):
        shore = ".open" if water == "open" and ground in ("deck", "snow") else ".shore"
        level = 232 if water == "open" else 198
        land = [f"water.{water} waves water@{level}~4 ground.{ground}{shore} shore-road"]
    elif water:
        land = [f"ground.{ground} road land.{water} water@{236 if water == 'pool' else 212}~6"]
    else:
        land = [f"ground.{ground} road water@212~6"]
    crowd = [] if "stands" in backdrop else ["crowd"]
    steps = ["sky sky@96~34 backdrop", *hills, "far+outside+wall@167~2", *land, *crowd]
    return " ".join([*steps, "behind@226~4 ground@262~4 table@268~3 front@290~4 over weather mark@24~0"])


def _indoors(scene: str, style: str) -> str:
    room = f"room.{scene}".replace(" ", "-")
    if style == "underwater":
        return f"{room} sky+water+front@170~60 behind+far+ground+wall+table@262~4 over mark@24~0"
    rows = "wall@122~3 sky@110~20 crowd far+behind@232~4 ground+water@262~4 table@268~3 front@292~3"
    return f"{room} {rows} over mark@24~0"


def _weights() -> dict[str, dict[str, float]]:
    """Return how much each word speaks for each scene: more for a word of few scenes."""
    weights: dict[str, dict[str, float]] = {}
    for scene in SCENES:
        tiers = ((scene.name, 3.0), (scene.core, 2.4), (scene.typical, 1.0), (scene.rare, 0.4))
        row = weights.setdefault(scene.name, {})
        for text, weight in (*tiers, *((theme, 0.9) for theme in scene.themes)):
            for word in words_of(text):
                row[word] = max(row.get(word, 0.0), weight)
    scenes_of = Counter(word for row in weights.values() for word in row)
    return {
        name: {word: weight / scenes_of[word] ** 0.5 for word, weight in row.items()} for name, row in weights.items()
    }


def _layers() -> Iterator[Entry]:
    for light in SKIES:
        yield _layer(f"sky.{light}", _draw_clouded_sky, light, Dice(light))
        yield _layer(f"weather.{light}", draw_weather, light, Dice(light))
    yield _layer("weather.snowfall", draw_snowfall, Dice("snowfall"))
    yield _layer("sky.sun", draw_sun)
    yield _layer("sky.rainbow", draw_rainbow)
    for name in BACKDROPS:
        for variant in ("", *_VARIANTS.get(name, ())):
            own = Place(ground=variant) if variant in GROUNDS else Place(light=variant or "day")
            place = replace(own, backdrop=frozenset({name}))
            yield _layer(f"backdrop.{name}.{variant}".rstrip("."), draw_backdrop, place, Dice(name))
    for ground in GROUNDS:
        for variant, water in (("", ""), (".shore", "sea"), (".open", "open")):
            if variant != ".open" or ground in ("deck", "snow"):
                yield _layer(f"ground.{ground}{variant}", draw_land, Place(ground=ground, water=water), Dice(ground))
    for road in ("road", "path"):
        for variant, start in (("", HORIZON), (".shore", SHORE + 12)):
            yield _layer(f"road.{road}{variant}", draw_road, road, start)
    for water in ("sea", "lake", "open"):
        for light in ("day", "night", "sunset"):
            place = Place(water=water, light=light)
            yield _layer(f"water.{water}.{light}".removesuffix(".day"), draw_water, place, Dice(water))
    yield _layer("land.river", draw_river)
    yield _layer("land.pool", draw_pool, Dice("pool"))
    yield _layer("effect.waves", draw_waves, Dice("waves"))
    yield _layer("effect.crowd", draw_crowd, Dice("crowd"))
    yield _layer("effect.confetti", _draw_confetti, Dice("confetti"))
    yield _layer("effect.smoke", _draw_smoke, Dice("smoke"))
    yield _layer("effect.spotlight", _draw_spotlight)
    yield _layer("part.table-top", _draw_table_top)
    yield _layer("part.paper", _draw_paper)
    for name, draw in (("disk", _draw_disk), ("card", _draw_card), ("flag", _draw_flag)):
        yield Entry(f"mark.{name}", record_mixed(draw, _MARK), {"zone": "mark", "height": 60, "width": 1.1, **_MARK})


def _layer(name: str, draw: Callable[..., None], *arguments: object) -> Entry:
    return Entry(name, _plain(record(lambda canvas: draw(canvas, *arguments))), scale=_LAYER)


def _plain(shapes: Sequence[Shape]) -> list[tuple[Shape, str, float]]:
    return [(shape, "", 0.0) for shape in shapes]


def _draw_clouded_sky(canvas: Canvas, light: str, dice: Dice) -> None:
    draw_sky(canvas, light, dice)
    for _ in range(CLOUDS.get(light, 2)):
        x, y, size = dice(20, WIDTH - 20), dice(20, 104), dice(0.6, 1.3)
        cloud(canvas, x, y, size, CLOUD_COLORS.get(light, "#ffffff"))


def _draw_paper(canvas: Canvas) -> None:
    canvas.gradient(0, HEIGHT, "#f3efe6", "#dfe8e8")


def _draw_disk(canvas: Canvas, colors: Mapping[str, str]) -> None:
    canvas.ellipse(0, -0.5 * _FIGURE, 0.45 * _FIGURE, 0.45 * _FIGURE, clear(colors["color"], 0.78))


def _draw_card(canvas: Canvas, colors: Mapping[str, str]) -> None:
    left, top = -0.5 * _FIGURE, -0.85 * _FIGURE
    canvas.rectangle(left, top, -left, top + 0.7 * _FIGURE, clear(colors["color"], 0.78), 0.15 * _FIGURE)


def _draw_flag(canvas: Canvas, colors: Mapping[str, str]) -> None:
    x, y = 0.45 * _FIGURE, -0.9 * _FIGURE
    canvas.polygon([(-x, y), (x, y), (0, 0)], clear(colors["color"], 0.78))


def _draw_confetti(canvas: Canvas, dice: Dice) -> None:
    for _ in range(70):
        x, y = dice(0, WIDTH), dice(0, 230)
        canvas.rectangle(x, y, x + 4, y + 3, dice.pick(("#e8776a", "#f2c14e", "#7fb8a0", "#7fa8d9", "#c98ab8")))


def _draw_smoke(canvas: Canvas, dice: Dice) -> None:
    x = dice(80, 320)
    for at in range(6):
        canvas.ellipse(x + dice(-10, 10), 190 - at * 24, 12 + at * 4, 10 + at * 3, clear("#e4e4e8", 0.35))


def _draw_spotlight(canvas: Canvas) -> None:
    for x in (110, 290):
        canvas.polygon([(x - 5, 0), (x + 5, 0), (x + 52, 250), (x - 52, 250)], clear("#fff4c4", 0.22))


def _draw_table_top(canvas: Canvas) -> None:
    canvas.polygon([(18, 254), (WIDTH - 18, 254), (WIDTH + 8, 280), (-8, 280)], _BROWN)
    canvas.rectangle(-8, 280, WIDTH + 8, 288, dark(_BROWN, 0.16))
    canvas.rectangle(14, 288, WIDTH - 14, HEIGHT, dark(_BROWN, 0.3))


# --- SVG --------------------------------------------------------------------------------------------------------------


def _element(shape: Shape, part: str, share: float, scale: float) -> str:
    scaled = [round(number * scale) for number in shape.numbers]
    if shape.kind in ("polygon", "polyline"):
        scaled = [number for point in _fewer(list(zip(scaled[::2], scaled[1::2], strict=True))) for number in point]
    numbers = list(map(str, scaled))
    data: dict[str, object]
    if shape.kind == "ellipse":
        data = dict(zip(("cx", "cy", "rx", "ry"), numbers, strict=True))
    elif shape.kind == "rect":
        data = dict(zip(("x", "y", "width", "height", "rx"), numbers, strict=True))
        data = {name: value for name, value in data.items() if value != "0"}
    else:
        data = {"points": " ".join(numbers)}
    data |= {"stroke" if shape.kind == "polyline" else "fill": _hex(shape.color)}
    if shape.kind == "polyline":
        data |= {"stroke-width": round(shape.width * scale)}
    if len(shape.color) == 4:
        data |= {"opacity": f"{shape.color[3] / 255:.3g}"}
    if part:
        data |= {"data-mix": f"{part} {share:.3g}"}
    return f"<{shape.kind}{_attributes(data)}/>"


def _fewer(points: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return a line without the points that hardly change it (Ramer, Douglas and Peucker)."""
    (ax, ay), (bx, by) = points[0], points[-1]
    length = math.hypot(bx - ax, by - ay)

    def distance(x: int, y: int) -> float:
        if length == 0:
            return math.hypot(x - ax, y - ay)
        return abs((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / length

    farthest = max(range(len(points)), key=lambda at: distance(*points[at]))
    if distance(*points[farthest]) < _TOLERANCE:
        return [points[0], points[-1]]
    return [*_fewer(points[: farthest + 1])[:-1], *_fewer(points[farthest:])]


def _attributes(data: Mapping[str, object]) -> str:
    return "".join(f" {name}={quoteattr(str(value))}" for name, value in data.items())


def _hex(color: tuple[int, ...]) -> str:
    return "#" + bytes(color[:3]).hex()
