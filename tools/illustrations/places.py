"""Where an image is: the background of each scene, and the labels that change it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A background."""

    ground: str = "grass"
    water: str = ""
    backdrop: frozenset[str] = frozenset()
    light: str = "day"
    wall: str = "#efe3d0"
    floor: str = "#c9a27a"
    style: str = ""
    road: str = ""


# Name: ground, water, backdrop. Of a kind of water, "sea" and "lake" lie before a shore, "river" runs through the land.
OUTDOORS: dict[str, tuple[str, str, str]] = {
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
# Name: colors of wall and floor, style.
INDOORS: dict[str, tuple[str, str, str]] = {
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

BACKDROPS = {
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
GROUNDS = {
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
WATERS = {
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

LIGHTS: dict[str, str] = {
    **dict.fromkeys(("night", "star", "firework", "sparkler", "moon"), "night"),
    "storm": "storm",
    "sunset": "sunset",
    "evening": "sunset",
    "mist": "mist",
    "rain": "rain",
    "autumn": "autumn",
    "cloud": "cloudy",
}
NIGHT_SCENES = ("street at night", "fireworks", "winter town")
ROADS: dict[str, str] = {
    **dict.fromkeys(("road", "street", "motorway", "traffic"), "road"),
    **dict.fromkeys(("path", "footpath", "hiking", "pavement"), "path"),
}
