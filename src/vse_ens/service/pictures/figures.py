"""What a picture of labels shows: a place, things and people, all from the sheet of drawings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from vse_ens.data.datasets.scenes.words import SCENES, parent_of, words_of
from vse_ens.service.pictures.sheet import Color, Drawing, color_of, read_sheet

_COLORS = {
    "red": "d9473c",
    "blue": "4c86c9",
    "white": "f7f5ef",
    "black": "3a3a44",
    "green": "5f9e62",
    "yellow": "f2c43e",
    "grey": "9aa0a8",
    "brown": "8f6344",
    "orange": "ee8a3a",
    "pink": "f09ab0",
    "purple": "8f6fb5",
    "silver": "c2c9d0",
    "golden": "e0b04a",
    "wooden": "a97c54",
}
_SIZES = {"small": 0.8, "tiny": 0.7, "young": 0.85, "large": 1.2, "tall": 1.2}
# The first that a label or the scene asks for.
_LIGHTS = ("night", "storm", "sunset", "mist", "rain", "autumn", "cloudy")


class Dice:
    """Random numbers that depend on texts only."""

    def __init__(self, *seed: object) -> None:
        self._seed = "\0".join(map(str, seed)).encode("utf-8", "surrogatepass")
        self._numbers = self._draw()

    def _draw(self) -> Iterator[float]:
        count = 0
        while True:
            digest = hashlib.blake2b(self._seed, digest_size=64, salt=count.to_bytes(8, "big")).digest()
            yield from (int.from_bytes(digest[at : at + 4], "big") / 2**32 for at in range(0, 64, 4))
            count += 1

    def __call__(self, low: float = 0.0, high: float = 1.0) -> float:
        """Return the next number, between ``low`` and ``high``."""
        return low + (high - low) * next(self._numbers)

    def pick(self, options: Sequence[str]) -> str:
        """Return one of some options."""
        return options[int(self() * len(options))]


class Thing(NamedTuple):
    """A drawing of a label to be placed; a person has drawings of what it wears too."""

    label: str
    drawings: tuple[Drawing, ...]
    height: float
    width: float
    """As a multiple of the height."""
    colors: dict[str, Color] = {}  # noqa: RUF012  # never changed
    on_posts: bool = False

    @property
    def flags(self) -> frozenset[str]:
        """The flags of the drawing."""
        return self.drawings[0].flags


class Place(NamedTuple):
    """The background of a picture."""

    room: Drawing | None
    ground: str
    water: str
    backdrop: frozenset[str]
    light: str
    road: str


# --- labels -----------------------------------------------------------------------------------------------------------


@cache
def is_known(label: str) -> bool:
    """Whether a label leaves a mark of its own in a drawing."""
    word = plain_word(label)[0]
    return _is_drawn(word) or _figure(word) is not None


def _entry(kind: str, word: str) -> Drawing | None:
    return read_sheet().get(f"{kind}.{word.replace(' ', '-')}")


def _is_drawn(word: str) -> bool:
    return any(_entry(kind, word) is not None for kind in ("label", "person", "worn"))


def plain_word(label: str) -> tuple[str, str, float]:
    """Return a label without the words that describe it, the color and the size that they name."""
    color, scale = "", 1.0
    words = label.lower().rpartition("|")[2].rpartition(":")[2].replace("_", " ").split(" ")
    while len(words) > 1 and not _is_drawn(" ".join(words)) and " ".join(words) not in parent_of:
        color = _COLORS.get(words[0], color)
        scale *= _SIZES.get(words[0], 1.0)
        words = words[1:]
    return " ".join(words), color, scale


def _figure(word: str) -> Drawing | None:
    """Return the figure of a word, or that of the more general word."""
    while (drawing := _entry("label", word)) is None or not drawing.shapes:
        if word not in parent_of or _is_drawn(word):
            return None
        word = parent_of[word]
    return drawing


def _general(words: Iterable[str]) -> set[str]:
    """Return the words that are more general than another one."""
    found = set()
    for word in words:
        while word in parent_of:
            word = parent_of[word]
            found.add(word)
    return found


def values_of(name: str, words: Iterable[str]) -> list[str]:
    """Return how the words change a picture in one respect."""
    found = filter(None, (_entry("label", word) for word in sorted(words)))
    return [value for drawing in found for value in drawing.data.get(name, "").split()]


def has_flag(flag: str, words: Iterable[str]) -> bool:
    """Whether one of the words has a flag."""
    return any(flag in drawing.flags for drawing in (_entry("label", word) for word in words) if drawing)


def _role(word: str) -> Drawing | None:
    """Return the person that a word stands for, unless it has a figure of its own."""
    drawing = _entry("label", word)
    return None if drawing is not None and drawing.shapes else _entry("person", word)


def things_of(labels: Iterable[str]) -> list[Thing]:
    """Return the things that the labels name."""
    parts = {label: plain_word(label) for label in sorted(labels)}
    general = _general(word for word, _, _ in parts.values())
    has_person = any(_role(word) for word, _, _ in parts.values())
    things = []
    for label, (word, color, scale) in parts.items():
        drawing = _figure(word)
        if drawing is None or word in general or (has_person and _entry("worn", word)):
            continue
        colors = {"color": color_of(color)} if color else {}
        data = drawing.data
        things.append(Thing(label, (drawing,), scale * float(data["height"]), float(data["width"]), colors))
    # A kitchen is drawn as a sink, unless there is one already.
    shown = {one.drawings[0].data["shape"]: one for one in sorted(things, key=lambda one: "optional" not in one.flags)}
    return [one for one in things if "optional" not in one.flags or shown[one.drawings[0].data["shape"]] is one]


def people_of(words: set[str], dice: Dice) -> list[Thing]:
    """Return the people that the words name or imply."""
    general = _general(words)
    found = {word: role for word in sorted(words - general) if (role := _role(word))}
    groups = {word: words_of(role.data.get("group", "")) for word, role in found.items()}
    hidden = {one for word, group in groups.items() for one in group if one != word}
    hidden |= {"wedding"} if "bride" in found else set()
    roles = [word for word in found if word not in hidden]
    roles = [word for word in roles if "vague" not in found[word].flags] or roles
    worn = sorted(word for word in words if _entry("worn", word) and (roles or _figure(word) is None))
    if worn and not roles:
        roles = ["person"]
    chosen = [one for word in roles for one in groups.get(word) or [word]][:6]
    # What is worn is shared out, so that one hat does not hide another.
    return [_person(word, worn[at :: len(chosen)], dice) for at, word in enumerate(chosen)]


def portrait_of(words: set[str], dice: Dice) -> Thing:
    """Return one person to be seen from near."""
    role = next((one for one in ("woman", "man", "girl", "boy", "child") if one in words), "person")
    return _person(role, sorted(word for word in words if _entry("worn", word))[:3], dice)


def _person(role: str, worn: Sequence[str], dice: Dice) -> Thing:
    sheet = read_sheet()
    drawing, palettes = sheet[f"person.{role.replace(' ', '-')}"], sheet[""].data
    wears = [one for word in worn if (one := _entry("worn", word))]
    colors = {part: color_of(dice.pick(palettes[part].split())) for part in drawing.data["free"].split()}
    for one in wears:
        colors |= {part: color_of(one.data[f"set-{part}"]) for part in ("top", "legs") if f"set-{part}" in one.data}
    return Thing("person", (drawing, *wears), float(drawing.data["height"]), 0.5, colors)


# --- background -------------------------------------------------------------------------------------------------------


def best_scene(words: Iterable[str]) -> str:
    """Return the scene that explains the words best; empty if none does."""
    scores: dict[str, float] = {}
    for word in sorted(words):
        for scene, weight in _weights().get(word, {}).items():
            scores[scene] = scores.get(scene, 0.0) + weight
    return max(sorted(scores), key=lambda scene: scores[scene], default="")


@cache
def _weights() -> dict[str, dict[str, float]]:
    """Return how much each word speaks for each scene: more for a word of few scenes."""
    weights: dict[str, dict[str, float]] = {}
    for scene in SCENES:
        tiers = ((scene.name, 3.0), (scene.core, 2.4), (scene.typical, 1.0), (scene.rare, 0.4))
        for text, weight in (*tiers, *((theme, 0.9) for theme in scene.themes)):
            for word in words_of(text):
                row = weights.setdefault(word, {})
                row[scene.name] = max(row.get(scene.name, 0.0), weight)
    return {word: {name: weight / len(row) ** 0.5 for name, weight in row.items()} for word, row in weights.items()}


def place_of(words: set[str]) -> Place:
    """Return the background of an image with these words."""
    scene = best_scene(words)
    own = (_entry("scene", scene) or Drawing()).data
    lights = {own.get("light"), *values_of("light", words)}
    light = next((one for one in _LIGHTS if one in lights), "day")
    ground = own.get("ground") or next(iter(values_of("ground", words)), "grass")
    backdrop = frozenset([*own.get("backdrop", "" if own else "hills").split(), *values_of("backdrop", words)])
    if "snowy" in backdrop or words & {"snow", "winter"}:
        ground = "snow"
    waters = values_of("water", words)
    if ground in ("street", "cobble", "platform", "tarmac", "soil"):  # a reflection there is one in a puddle
        waters = [water for water in waters if water == "river"]
    roads = [] if ground in ("street", "platform") else values_of("road", words)
    return Place(
        room=_entry("room", scene) if scene or "indoors" in words else None,
        ground=ground,
        water=own.get("water") or next(iter(waters), ""),
        backdrop=backdrop,
        light=light,
        road=max(roads, default=""),  # a road hides a path
    )


def layer_of(name: str, *variants: str) -> Drawing:
    """Return the first variant of a layer that exists, or the layer itself; an empty one if there is none."""
    sheet = read_sheet()
    return next((sheet[f"{name}.{one}"] for one in variants if f"{name}.{one}" in sheet), sheet.get(name, Drawing()))
