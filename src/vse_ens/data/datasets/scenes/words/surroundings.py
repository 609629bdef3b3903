"""Light, weather and people that a scene can have."""

SKIES: dict[str, dict[str, float]] = {
    "plain": {},
    "clear": {"sky": 0.48, "blue sky": 0.38, "outdoors": 0.2, "daytime": 0.14, "sun": 0.1, "summer": 0.08},
    "cloudy": {"cloud": 0.55, "sky": 0.48, "outdoors": 0.2, "daytime": 0.12},
    "sunset": {"sunset": 0.8, "sky": 0.4, "sun": 0.25, "evening": 0.2, "cloud": 0.2, "silhouette": 0.12},
    "mist": {"mist": 0.75, "outdoors": 0.15, "morning": 0.25, "cloud": 0.1},
    "rain": {"rain": 0.65, "umbrella": 0.35, "puddle": 0.22, "cloud": 0.18, "raincoat": 0.1},
    "storm": {"storm": 0.7, "cloud": 0.5, "sky": 0.4, "lightning": 0.3, "rain": 0.2},
    "rainbow": {"rainbow": 0.85, "sky": 0.5, "cloud": 0.4, "rain": 0.15},
    "night": {"night": 0.75, "street lamp": 0.12, "moon": 0.1, "outdoors": 0.08},
    "starry": {"night": 0.6, "star": 0.6, "sky": 0.4, "moon": 0.25},
    "snowfall": {"snow": 0.6, "winter": 0.4, "cloud": 0.25, "sky": 0.2, "outdoors": 0.15},
    "winter sun": {"winter": 0.35, "blue sky": 0.35, "sky": 0.35, "sun": 0.15, "outdoors": 0.15},
    "spring": {"spring": 0.5, "blossom": 0.3, "sky": 0.25, "blue sky": 0.25, "sun": 0.1, "outdoors": 0.15},
    "autumn": {"autumn": 0.6, "outdoors": 0.15, "sky": 0.15, "sunlight": 0.12},
    "shade": {"sunlight": 0.22, "outdoors": 0.2, "daytime": 0.1, "shadow": 0.12, "summer": 0.06},
    "indoors": {"indoors": 0.4},
    "window light": {"indoors": 0.35, "window": 0.4, "sunlight": 0.15},
    "lamplight": {"indoors": 0.35, "lamp": 0.4, "evening": 0.15},
    "spotlight": {"spotlight": 0.4, "night": 0.15, "indoors": 0.1},
}
"""Words for a time of day or weather, each with its probability."""

LIGHTS: dict[str, dict[str, float]] = {
    "open": {"clear": 5, "cloudy": 4, "plain": 2, "sunset": 1.8, "mist": 0.5, "rainbow": 0.12, "storm": 0.15},
    "day": {"clear": 5, "cloudy": 3, "plain": 3, "sunset": 0.4},
    "growing": {"clear": 4, "cloudy": 2, "plain": 3, "spring": 2, "sunset": 0.4},
    "town": {"clear": 4, "cloudy": 3, "plain": 3, "rain": 0.9, "sunset": 0.6, "night": 0.7},
    "city": {"clear": 3, "sunset": 2, "night": 2.5, "cloudy": 2, "mist": 0.4, "storm": 0.15},
    "camp": {"clear": 3, "plain": 2, "sunset": 1.5, "starry": 1.2, "cloudy": 1, "mist": 0.4},
    "wood": {"shade": 5, "plain": 2, "mist": 0.7, "autumn": 0.8},
    "autumn": {"autumn": 4, "clear": 1, "cloudy": 1, "mist": 0.6},
    "winter": {"winter sun": 3, "snowfall": 2, "cloudy": 1},
    "winter night": {"night": 3, "snowfall": 2},
    "night": {"night": 1},
    "rooms": {"indoors": 5, "window light": 2, "lamplight": 1.2, "plain": 2},
    "hall": {"indoors": 2, "plain": 1},
    "lamps": {"lamplight": 2, "indoors": 1, "plain": 2},
    "stage": {"spotlight": 3, "plain": 1},
}
"""The skies of a scene, with their weights."""

GROUPS: dict[str, dict[str, float]] = {
    "nobody": {},
    "man": {"man": 0.7, "person": 0.25},
    "woman": {"woman": 0.7, "person": 0.25},
    "portrait": {"portrait": 0.6, "face": 0.35, "smile": 0.35, "woman": 0.35, "man": 0.25, "person": 0.25},
    "couple": {"couple": 0.5, "man": 0.45, "woman": 0.45},
    "boy": {"boy": 0.6, "child": 0.35, "smile": 0.06},
    "girl": {"girl": 0.6, "child": 0.35, "smile": 0.06},
    "family": {"family": 0.55, "child": 0.4, "woman": 0.3, "man": 0.25},
    "group": {"group of people": 0.5, "man": 0.3, "woman": 0.3, "friend": 0.15},
    "crowd": {"crowd": 0.7, "group of people": 0.2},
}
"""Words for the people in a picture, each with its probability."""

COMPANY: dict[str, dict[str, float]] = {
    "nobody": {"nobody": 1},
    "seldom": {"nobody": 10, "man": 0.6, "woman": 0.6, "couple": 0.4, "group": 0.3},
    "few": {"nobody": 5, "man": 1.5, "woman": 1.5, "couple": 0.7, "group": 0.6, "portrait": 0.3},
    "adults": {"nobody": 3, "man": 2, "woman": 2, "group": 1.3, "couple": 0.5, "portrait": 0.4},
    "family": {"nobody": 4, "woman": 1, "man": 0.8, "family": 1, "girl": 0.8, "boy": 0.8, "couple": 0.6, "group": 0.6},
    "children": {"nobody": 2, "boy": 2, "girl": 2, "family": 0.8, "woman": 0.4, "man": 0.3, "group": 0.3},
    "wedding": {"couple": 3, "nobody": 4, "group": 1, "woman": 0.5, "man": 0.4, "portrait": 0.4},
    "crowd": {"nobody": 3, "crowd": 3, "group": 1.5, "man": 0.8, "woman": 0.8, "portrait": 0.2},
}
"""The groups of people of a scene, with their weights."""
