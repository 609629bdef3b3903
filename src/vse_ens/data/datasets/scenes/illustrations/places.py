"""Where an image is: the background of each scene, and the labels that change it."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cache

from vse_ens.data.datasets.scenes.words import Scene, words_of
from vse_ens.data.datasets.scenes.words.indoors import INDOORS
from vse_ens.data.datasets.scenes.words.outdoors import OUTDOORS

Words = AbstractSet[str]


@dataclass(frozen=True)
class Place:
    """A background."""

    indoors: bool = False
    ground: str = "grass"
    water: str = ""
    backdrop: frozenset[str] = frozenset()
    light: str = "day"
    wall: str = "#efe3d0"
    floor: str = "#c9a27a"
    style: str = ""
    road: str = ""


# Name: ground, water, backdrop. Of a kind of water, "sea" and "lake" lie before a shore, "river" runs through the land.
_OUTDOORS: dict[str, tuple[str, str, str]] = {
    "beach": ("sand", "sea", ""),
    "rocky coast": ("rocky", "sea", "cliff"),
    "harbour": ("quay", "sea", "houses"),
    "sailing": ("deck", "open", ""),
    "mountain lake": ("grass", "lake", "mountains forest"),
    "mountain hike": ("grass", "", "mountains"),
    "forest walk": ("forest", "", "forest"),
    "river": ("grass", "river", "hills"),
    "waterfall": ("rocky", "river", "forest"),
    "wetland": ("grass", "lake", "reeds"),
    "snow slope": ("snow", "", "snowy mountains"),
    "winter town": ("snow", "", "houses"),
    "desert": ("desert", "", "dunes"),
    "savannah": ("savannah", "", "hills"),
    "farm": ("grass", "", "hills"),
    "countryside": ("grass", "", "hills"),
    "vineyard": ("grass", "", "hills"),
    "garden": ("lawn", "", "bushes"),
    "town park": ("lawn", "", "trees"),
    "autumn park": ("autumn", "", "autumn trees"),
    "playground": ("lawn", "", "trees"),
    "camping": ("grass", "", "forest"),
    "zoo": ("savannah", "", "trees"),
    "street": ("street", "", "town"),
    "street at night": ("street", "", "town"),
    "city skyline": ("street", "lake", "city"),
    "town square": ("cobble", "", "houses"),
    "church": ("lawn", "", "hills"),
    "castle": ("lawn", "", "hills"),
    "village": ("lawn", "", "hills houses"),
    "street market": ("cobble", "", "houses"),
    "restaurant terrace": ("cobble", "", "houses"),
    "football match": ("pitch", "", "stands"),
    "tennis match": ("court", "", "stands"),
    "marathon": ("street", "", "town"),
    "swimming pool": ("tiles", "pool", "trees"),
    "railway station": ("platform", "", "station"),
    "runway": ("tarmac", "", "hills"),
    "motorway": ("street", "", "hills"),
    "construction site": ("soil", "", "city"),
    "wedding": ("lawn", "", "trees"),
    "parade": ("street", "", "houses"),
    "fireworks": ("quay", "lake", "city"),
    "funfair": ("cobble", "", "trees"),
}
# Name: colours of wall and floor, style.
_INDOORS: dict[str, tuple[str, str, str]] = {
    "kitchen": ("#f3ead8", "#d9c0a0", "tiles"),
    "living room": ("#e9dccb", "#b98d66", "skirting"),
    "bedroom": ("#dfe3ec", "#c4a484", "skirting"),
    "bathroom": ("#d6e9ea", "#b9cfd2", "tiles"),
    "pet": ("#efe0d2", "#c09a74", "skirting"),
    "restaurant": ("#d9b79c", "#9a6f52", "panel"),
    "cafe": ("#e3cdb0", "#a67c58", "panel"),
    "bar": ("#5f4a52", "#4a3838", "bottles"),
    "office": ("#e4e9ec", "#b4b9be", "skirting"),
    "classroom": ("#e8ead6", "#c9a87c", "skirting"),
    "library": ("#c9b08f", "#94704f", "books"),
    "hospital": ("#e2efec", "#c4d6d4", "panel"),
    "museum": ("#ece6dc", "#c2ad8f", "skirting"),
    "church interior": ("#d8cdbb", "#a8977f", "arches"),
    "concert": ("#3a3150", "#2c2638", "stage"),
    "theatre": ("#4a2f3c", "#6b4634", "curtain"),
    "birthday party": ("#f4e0d4", "#cfa982", "garland"),
    "gym": ("#d9dee2", "#8f9aa3", "panel"),
    "basketball game": ("#b9c4cc", "#d9a565", "court"),
    "supermarket": ("#eef1ee", "#cfd4d2", "shelves"),
    "workshop": ("#d6ccbc", "#a08c76", "panel"),
    "airport terminal": ("#dde7ee", "#b9c4cc", "glass"),
    "aquarium": ("#3f8fb0", "#2d6a8a", "underwater"),
}

_NIGHT = frozenset({"night", "star", "firework", "sparkler", "moon"})
_BACKDROPS = {
    "mountain": "mountains",
    "peak": "mountains",
    "glacier": "snowy mountains",
    "volcano": "volcano",
    "valley": "mountains",
    "panorama": "mountains",
    "canyon": "cliff",
    "cliff": "cliff",
    "hill": "hills",
    "countryside": "hills",
    "landscape": "hills",
    "field": "hills",
    "forest": "forest",
    "skyline": "city",
    "skyscraper": "city",
    "city": "city",
    "cityscape": "city",
    "stadium": "stands",
    "spectator": "stands",
    "island": "island",
    "bay": "cliff",
    "old town": "houses",
    "alley": "houses",
    "village": "houses",
    "ski slope": "snowy mountains",
}
_GROUNDS = {
    "snow": "snow",
    "ski slope": "snow",
    "ice rink": "snow",
    "desert": "desert",
    "sand": "sand",
    "football pitch": "pitch",
    "tennis court": "court",
    "cobblestone": "cobble",
    "quay": "quay",
    "pier": "quay",
    "savannah": "savannah",
    "running track": "court",
}
_WATERS = {
    "sea": "sea",
    "coast": "sea",
    "wave": "sea",
    "beach": "sea",
    "harbour": "sea",
    "lagoon": "sea",
    "bay": "sea",
    "lake": "lake",
    "pond": "lake",
    "river": "river",
    "stream": "river",
    "canal": "river",
    "riverbank": "river",
    "moat": "river",
    "swimming pool": "pool",
    "waterfall": "river",
    "water": "lake",
    "reflection": "lake",
}

USED: frozenset[str] = frozenset(_BACKDROPS) | frozenset(_GROUNDS) | frozenset(_WATERS) | _NIGHT
"""Labels that change a background."""


def place_of(labels: Words) -> Place:
    """Return the background of an image with these labels."""
    scene = best_scene(tuple(sorted(labels)))
    if scene in _INDOORS:
        wall, floor, style = _INDOORS[scene]
        return Place(indoors=True, wall=wall, floor=floor, style=style, light=_light(labels, scene))
    ground, water, backdrop = _OUTDOORS.get(scene, ("grass", "", "hills"))
    if scene == "" and "indoors" in labels:
        return Place(indoors=True, light=_light(labels, scene))
    place = Place(ground=ground, water=water, backdrop=frozenset(backdrop.split()), light=_light(labels, scene))
    added = {word for label in labels for word in _BACKDROPS.get(label, "").split()}
    place = replace(place, backdrop=place.backdrop | added)
    if "snowy" in place.backdrop or "snow" in labels or "winter" in labels:
        place = replace(place, ground="snow")
    if not place.water:
        found = [_WATERS[label] for label in sorted(labels) if label in _WATERS]
        if ground in ("street", "cobble", "platform", "tarmac", "soil"):  # a reflection there is one in a puddle
            found = [water for water in found if water == "river"]
        place = replace(place, water=found[0] if found else "")
    if scene == "":
        found = [_GROUNDS[label] for label in sorted(labels) if label in _GROUNDS]
        place = replace(place, ground=found[0] if found else "grass")
    if ground not in ("street", "platform"):
        if labels & {"road", "street", "motorway", "traffic"}:
            place = replace(place, road="road")
        elif labels & {"path", "footpath", "hiking", "pavement"}:
            place = replace(place, road="path")
    return place


def _light(labels: Words, scene: str) -> str:
    if labels & _NIGHT or scene in ("street at night", "fireworks", "winter town"):
        return "night"
    for label, light in (
        ("storm", "storm"),
        ("sunset", "sunset"),
        ("evening", "sunset"),
        ("mist", "mist"),
        ("rain", "rain"),
        ("autumn", "autumn"),
        ("cloud", "cloudy"),
    ):
        if label in labels:
            return light
    return "day"


@cache
def best_scene(labels: tuple[str, ...]) -> str:
    """Return the scene that explains the labels best; empty if none does."""
    scores: dict[str, float] = {}
    for label in labels:
        for scene, weight in _weights().get(label, {}).items():
            scores[scene] = scores.get(scene, 0.0) + weight
    if not scores:
        return ""
    return max(sorted(scores), key=lambda scene: scores[scene])


@cache
def _weights() -> dict[str, dict[str, float]]:
    """Return how much each word speaks for each scene: more for a word of few scenes."""
    weights: dict[str, dict[str, float]] = {}

    def add(scene: Scene, words: str, weight: float) -> None:
        for word in words_of(words):
            row = weights.setdefault(word, {})
            row[scene.name] = max(row.get(scene.name, 0.0), weight)

    for scene in (*OUTDOORS, *INDOORS):
        add(scene, scene.name, 3.0)
        add(scene, scene.core, 2.4)
        add(scene, scene.typical, 1.0)
        add(scene, scene.rare, 0.4)
        for theme in scene.themes:
            add(scene, theme, 0.9)
    for row in weights.values():
        share = len(row) ** 0.5
        for name in row:
            row[name] /= share
    return weights
