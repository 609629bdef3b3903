"""Pictures drawn from labels, for images without files: the background of a scene, and on it a drawing of each label.

The sheet of drawings says how a scene is composed: the ``stack`` of a scene names its steps from back to front.
``ground@262~4`` is a row of the things and people of the zone ``ground`` that stand 262 units down, give or take 4. Any
other step is a layer in the variant of the light, if there is one, and the layers that labels add there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from vse_ens.data.datasets.scenes.words import parent_of, words_of
from vse_ens.service.pictures.sheet import WIDTH, Color, Drawing, Painter, color_of, read_sheet
from vse_ens.streams import Streams

if TYPE_CHECKING:
    from PIL import Image

DRAWING_VERSION = 4
"""Part of the keys of cached drawings: raise it when drawings change."""

# The first that a label or the scene asks for.
_LIGHTS = ("night", "storm", "sunset", "mist", "rain", "autumn", "cloudy")
_MARKS = ("e0806a", "f0b860", "8fbf86", "6fb0b8", "7f9fd4", "b08ac4", "e39ab0", "c9b48f", "94b4c9", "d9a07a")
# A row fills this share of the width; its things are scaled within these limits.
_FILLED, _LEAST_SCALE, _MOST_SCALE = 0.72, 0.3, 1.5
_RAISED = 0.47  # how far a raised hand is above a lowered one
_PORTRAIT = (470.0, 400.0)  # where a person seen from near stands, and how tall it is
_MOST_PEOPLE, _MOST_MARKS = 6, 18


class Dice:
    """Random numbers that depend on texts only."""

    def __init__(self, *seed: str) -> None:
        stream = Streams(0).child("drawing", *map(ascii, seed))
        self._numbers = (float(number) for first in count(0, 64) for number in stream.uniforms(64, first))

    def __call__(self, low: float = 0.0, high: float = 1.0) -> float:
        """Return the next number, between ``low`` and ``high``."""
        return low + (high - low) * next(self._numbers)

    def pick(self, options: Sequence[str]) -> str:
        """Return one of some options."""
        return options[int(self() * len(options))]


class Thing(NamedTuple):
    """A drawing to be placed; a person has drawings of what it wears too."""

    label: str
    drawings: tuple[Drawing, ...]
    scale: float = 1.0
    colors: dict[str, Color] = {}  # noqa: RUF012  # never changed

    def data(self, name: str) -> str:
        """Return a value of the drawing: its zone, height, width or shape."""
        return self.drawings[0].data[name]

    @property
    def flags(self) -> frozenset[str]:
        """The flags of the drawing."""
        return self.drawings[0].flags

    @property
    def height(self) -> float:
        """In units of the picture."""
        return self.scale * float(self.data("height"))


def draw_labels(image: str, labels: Sequence[str], size: int) -> Image.Image:
    """Return a drawing of the labels, ``size`` pixels wide; the same for the same id and labels."""
    painter, dice, sheet = Painter(size), Dice(image, *sorted(labels)), read_sheet()
    given = {label for label in labels if label}
    words = {plain_word(label)[0] for label in given if is_known(label)}
    scene = sheet[scene_of(words) if words else "scene.unknown"]
    is_portrait = any("head" in drawing.flags for drawing in _entries("label", words))
    people = people_of(words, dice)
    things = [*things_of({*given, *words_of(scene.data["with"])}), *([] if is_portrait else people)]
    things += [_mark(label) for label in sorted(given) if not is_known(label)][:_MOST_MARKS]
    lights = {scene.data["light"], *_values("light", words)}
    light = next((one for one in _LIGHTS if one in lights), "day")
    for step in scene.data["stack"].split():
        zones, _, place = step.partition("@")
        if place:
            row = [one for one in things if one.data("zone") in zones.split("+")]
            y, _, spread = place.partition("~")
            _paint_row(painter, row, float(y), float(spread), dice)
            continue
        names = [f"{step}.{light}" if f"{step}.{light}" in sheet else step, *_values(step, words)]
        for name in dict.fromkeys(names):
            painter.layer(sheet.get(name, Drawing()), dice() < 0.5)
    if is_portrait:
        _paint_thing(painter, (people or [_person("person", (), dice)])[0], dice(150, 250), *_PORTRAIT)
    return painter.finished()


def _paint_row(painter: Painter, things: list[Thing], y: float, spread: float, dice: Dice) -> None:
    """Paint things side by side, in random order, in a size that fills the row."""
    if not things:
        return
    if all(one.data("zone") == "table" for one in things):
        painter.layer(read_sheet()["part.table-top"])
    if len(things) < 4:
        things = [*things, *(one._replace(scale=0.75 * one.scale) for one in things if "repeated" in one.flags)]
    order = [one for _, _, one in sorted((dice(), at, one) for at, one in enumerate(things))]
    widths = [one.height * float(one.data("width")) for one in order]
    tallest = max(one.height for one in order)
    scale = max(_LEAST_SCALE, min(_MOST_SCALE, (y - 8) / tallest, _FILLED * WIDTH / sum(widths)))
    gap = max(0.0, WIDTH - scale * sum(widths)) / (len(order) + 1)
    x = gap
    for one, width in zip(order, widths, strict=True):
        middle = x + scale * width / 2 + dice(-0.3, 0.3) * min(gap, 60)
        _paint_thing(painter, one, min(max(middle, 14), WIDTH - 14), y + dice(-spread, spread), scale * one.height)
        x += scale * width + gap


def _paint_thing(painter: Painter, thing: Thing, x: float, y: float, height: float) -> None:
    for drawing in thing.drawings:
        lifted = _RAISED * height if "held" in drawing.flags and "raised" in thing.flags else 0.0
        painter.paint(drawing, x, y - lifted, height, **thing.colors)


# --- what labels stand for --------------------------------------------------------------------------------------------


def plain_word(label: str) -> tuple[str, str, float]:
    """Return a label without the words that describe it, the color and the size that they name."""
    palettes = read_sheet()[""].data
    color, scale = "", 1.0
    words = label.lower().rpartition("|")[2].rpartition(":")[2].replace("_", " ").split(" ")
    while len(words) > 1 and not _is_drawn(" ".join(words)) and " ".join(words) not in parent_of:
        color = palettes.get(f"color-{words[0]}", color)
        scale *= float(palettes.get(f"size-{words[0]}", 1.0))
        words = words[1:]
    return " ".join(words), color, scale


@cache
def is_known(label: str) -> bool:
    """Whether a label leaves a mark of its own in a drawing."""
    word = plain_word(label)[0]
    return _is_drawn(word) or _figure(word) is not None


def scene_of(words: Iterable[str]) -> str:
    """Return the id of the scene that explains the words best."""
    scores = {scene: sum(weights.get(word, 0.0) for word in sorted(words)) for scene, weights in _weights().items()}
    return max(scores, key=lambda scene: scores[scene])


def things_of(labels: Iterable[str]) -> list[Thing]:
    """Return the things that the labels name, without what is more general than another one."""
    parts = {label: plain_word(label) for label in sorted(labels)}
    words = [word for word, _, _ in parts.values()]
    general, has_person = _general(words), any(map(_role, words))
    things = []
    for label, (word, color, scale) in parts.items():
        drawing = _figure(word)
        if drawing is not None and word not in general and not (has_person and _entries("worn", [word])):
            things.append(Thing(label, (drawing,), scale, {"color": color_of(color)} if color else {}))
    # A kitchen is drawn as a sink, unless there is one already.
    shown = {one.data("shape"): one for one in sorted(things, key=lambda one: "optional" not in one.flags)}
    return [one for one in things if "optional" not in one.flags or shown[one.data("shape")] is one]


def people_of(words: set[str], dice: Dice) -> list[Thing]:
    """Return the people that the words name or imply, with what they wear shared out."""
    found = {word: role for word in sorted(words - _general(words)) if (role := _role(word))}
    groups = {word: words_of(role.data["group"]) for word, role in found.items() if "group" in role.data}
    hidden = {one for word, group in groups.items() for one in group if one != word}
    roles = [word for word in found if word not in hidden]
    roles = [word for word in roles if "vague" not in found[word].flags] or roles
    worn = sorted(word for word in words if _entries("worn", [word]) and (roles or _figure(word) is None))
    if worn and not roles:
        roles = ["person"]
    chosen = [one for word in roles for one in groups.get(word, [word])][:_MOST_PEOPLE]
    return [_person(word, worn[at :: len(chosen)], dice) for at, word in enumerate(chosen)]


def _person(role: str, worn: Sequence[str], dice: Dice) -> Thing:
    (drawing,), wears, palettes = _entries("person", [role]), _entries("worn", worn), read_sheet()[""].data
    colors = {part: color_of(dice.pick(palettes[part].split())) for part in drawing.data.get("free", "").split()}
    for one in wears:
        colors |= {part: color_of(one.data[f"set-{part}"]) for part in ("top", "legs") if f"set-{part}" in one.data}
    return Thing(role, (drawing, *wears), colors=colors)


def _mark(label: str) -> Thing:
    """Return a small shape for a label without a drawing, always of the same kind and color."""
    dice, marks = Dice("mark", label), [name for name in read_sheet() if name.startswith("mark.")]
    return Thing(label, (read_sheet()[dice.pick(marks)],), colors={"color": color_of(dice.pick(_MARKS))})


def _entries(kind: str, words: Iterable[str]) -> list[Drawing]:
    found = (read_sheet().get(f"{kind}.{word.replace(' ', '-')}") for word in sorted(words))
    return [drawing for drawing in found if drawing is not None]


def _values(name: str, words: Iterable[str]) -> list[str]:
    return [value for drawing in _entries("label", words) for value in drawing.data.get(name, "").split()]


def _is_drawn(word: str) -> bool:
    return any(_entries(kind, [word]) for kind in ("label", "person", "worn"))


def _figure(word: str) -> Drawing | None:
    """Return the figure of a word, or that of the more general word."""
    while not (found := _entries("label", [word])) or not found[0].shapes:
        if word not in parent_of or _is_drawn(word):
            return None
        word = parent_of[word]
    return found[0]


def _role(word: str) -> Drawing | None:
    """Return the person that a word stands for, unless it has a figure of its own."""
    has_figure = any(drawing.shapes for drawing in _entries("label", [word]))
    return None if has_figure else next(iter(_entries("person", [word])), None)


def _general(words: Iterable[str]) -> set[str]:
    """Return the words that are more general than another one."""
    found = set()
    for word in words:
        while word in parent_of:
            word = parent_of[word]
            found.add(word)
    return found


@cache
def _weights() -> dict[str, dict[str, float]]:
    """Return how much each word speaks for each scene."""
    texts = {name: drawing.data["words"] for name, drawing in sorted(read_sheet().items()) if "words" in drawing.data}
    parts = {name: [one.rpartition(":") for one in words_of(text)] for name, text in texts.items()}
    return {name: {word: float(weight) for word, _, weight in row} for name, row in parts.items()}
