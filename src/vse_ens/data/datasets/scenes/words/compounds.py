"""Words that enlarge a vocabulary: describing words ("red umbrella") and place names ("ashford beach")."""

from vse_ens.data.datasets.scenes.words import words_of

_COLOURS = "red, blue, white, black, green, yellow, grey, brown, orange, pink, purple, striped"
_SIZES = "small, large, old, new"

# Two lists for each kind of thing: either word may occur alone, or one of each together ("small red umbrella"). They
# apply to a word and to everything below it in the hierarchy, unless a nearer kind has its own lists.
_DESCRIPTIONS: dict[str, tuple[str, str]] = {
    "animal": ("small, young, large, lone", "resting, curious, sleeping, watchful, hungry"),
    "dog, cat, horse, cow, rabbit, goat": (
        "small, young, large, playful, sleeping, curious, resting, old",
        "brown, white, black, grey, spotted",
    ),
    "foal, calf, lamb, kitten, puppy": ("small, playful, sleeping, curious, resting", "brown, white, black, spotted"),
    "jellyfish, starfish, seahorse, octopus, crab, turtle": ("small, large, lone", "colourful, orange, spotted"),
    "bird": ("small, large, lone, young", "resting, flying, watchful, hungry, nesting"),
    "hen, rooster, penguin": ("small, young, lone", "hungry, curious, white, brown"),
    "fish": ("small, large, lone", "silver, colourful, striped, spotted"),
    "insect": ("small, tiny, large, resting", "colourful, spotted, orange, yellow, blue"),
    "man, woman, boy, girl": (
        "smiling, young, tall, laughing, standing, seated, waving",
        "cheerful, elegant, thoughtful, busy",
    ),
    "child": ("smiling, laughing, happy, curious, sleeping, playing", ""),
    "musician": ("smiling, famous, young, solo, talented", ""),
    "athlete": ("young, winning, tired, happy, talented, amateur, professional", ""),
    "person": ("smiling, young, busy, friendly, tired, standing, cheerful", ""),
    "car, van, truck, bus, motorcycle, scooter, bicycle, tram, train, tractor": (
        "old, new, small, large, parked, rusty, shiny, dusty, vintage",
        "red, white, blue, black, yellow, green, grey, silver, orange",
    ),
    "boat": (
        "small, old, large, moored, painted, traditional, abandoned",
        "white, blue, red, wooden, green, yellow",
    ),
    "ship": ("large, old, small, moored, distant, rusty", "white, blue, red, black, grey"),
    "aircraft": ("small, large, old, distant, modern", "white, blue, red, yellow, silver, striped"),
    "building": (
        "old, modern, tall, small, abandoned, restored, large, famous",
        "white, brick, yellow, red, grey, illuminated",
    ),
    "house, cottage, barn, cabin, hut, church, chapel, stable, windmill": (
        "old, small, abandoned, restored, lonely, large, pretty",
        "white, wooden, stone, red, yellow, grey",
    ),
    "castle, cathedral": (
        "old, medieval, ruined, restored, famous, large, ancient",
        "stone, white, grey, illuminated",
    ),
    "greenhouse, skyscraper": ("tall, modern, new, large", "glass, illuminated"),
    "furniture": (
        "old, small, large, antique, elegant, modern",
        "wooden, white, brown, black, red, grey, blue, green, painted",
    ),
    "chair, sofa, bed, bench": (
        "old, comfortable, empty, small, large, antique, modern",
        "wooden, white, brown, black, red, grey, blue, green, painted",
    ),
    "fruit": ("fresh, ripe, juicy, sliced, organic, sweet, local", ""),
    "vegetable": ("fresh, organic, sliced, local, roasted, chopped, home-grown", ""),
    "bread": ("fresh, homemade, sliced, crusty, warm", ""),
    "cake": ("homemade, large, small, decorated, sliced", "chocolate, white, layered, pink"),
    "cheese, meat": ("sliced, smoked, local, fresh, cured", ""),
    "pizza, pasta, soup, salad, sandwich, hamburger, pancake, biscuit, sushi, seafood": (
        "homemade, fresh, delicious, traditional, large, small",
        "",
    ),
    "ice cream, dessert": ("homemade, delicious, small, large", "chocolate, vanilla, strawberry, lemon"),
    "coffee, tea": ("hot, iced, strong, fresh", ""),
    "wine, beer, juice, lemonade, cocktail, champagne": ("chilled, local, refreshing, homemade", ""),
    "clothing": (
        "old, new, elegant, plain, colourful, stylish",
        "red, blue, white, black, green, yellow, grey, striped, pink, brown, orange, purple, checked",
    ),
    "wedding dress, veil, uniform, high-visibility vest, pyjamas, costume": (
        "new, elegant, old, traditional, plain",
        "white, blue, black, red, green, yellow",
    ),
    "tree": ("tall, old, lone, young, large, fallen", "leafy, bare, gnarled, slender"),
    "flower": ("fresh, wild, single, small, tall", "red, yellow, white, pink, purple, orange"),
    "sunflower, lavender, daffodil, poppy, daisy": ("fresh, wild, single, small, blooming", ""),
    "grass, bush, fern, moss, ivy, hedge, reed, vine, herb, wheat": (
        "tall, thick, wild, dry, short, lush",
        "green, yellow, sunlit",
    ),
    "houseplant, cactus": ("small, tall, large, dry", "green, flowering, spiky"),
    "sea, lake, river, pond, stream, canal, lagoon": (
        "calm, clear, quiet, wide, deep, shallow",
        "blue, green, turquoise, dark, grey, sunlit",
    ),
    "waterfall": ("tall, hidden, roaring, narrow, wide, famous", "white, sunlit"),
    "swimming pool": ("large, small, empty, heated, public, private", "blue, turquoise, outdoor, indoor"),
    "mountain, hill, cliff, peak, canyon": (
        "steep, distant, high, rugged, low",
        "rocky, green, bare, grey, sunlit",
    ),
    "field, meadow, valley, countryside, savannah, pasture": (
        "wide, quiet, empty, remote",
        "green, golden, sunlit, dry",
    ),
    "rock": ("large, small, smooth, sharp", "grey, bare, dark, sunlit"),
    "path": ("narrow, steep, quiet, long, muddy", "winding, sunlit, shady, rocky"),
    "forest, garden, park": ("quiet, old, small, hidden, large", "green, sunlit, shady"),
    "coast, island": ("quiet, remote, wild, distant", "rocky, green, sunlit"),
    "desert, beach": ("quiet, empty, remote, wide", "white, golden, sunlit"),
    "wave": ("large, small, high, breaking", "white, blue, green"),
    "cloud": ("large, small, dark, low", "white, grey, pink"),
    "musical instrument": ("old, new, polished, antique, borrowed, small", "black, brown, shiny, expensive"),
    "electronics": ("old, new, modern, small, large, broken", "black, white, silver, grey"),
    "kitchenware": ("small, large, clean, old", "black, silver, shiny, wooden"),
    "plate, cup, mug, glass, bottle, teapot": ("small, large, clean, empty, old", "white, blue, green, patterned"),
    "appliance": ("old, new, modern, small, large", "white, black, silver, red, grey"),
    "tool": ("old, new, rusty, heavy, small", "red, yellow, green, blue, black"),
    "toy": ("small, large, old, favourite, new", "red, blue, yellow, wooden, pink, green, colourful"),
    "luggage": ("small, large, old, new, heavy", "red, black, blue, brown, grey, leather, green"),
    "artwork": ("old, modern, large, small, famous, unfinished, abstract", ""),
    "basket, bucket, crate, barrel, vase, flowerpot, bowl, lamp, lantern, candle, clock, book, notebook": (
        "small, large, old, new, empty, antique",
        _COLOURS,
    ),
    "umbrella, towel, tent, curtain, cushion, blanket, balloon, flag, carpet, awning, hammock, sail, pillow": (
        "small, large, old, new, colourful, bright",
        _COLOURS,
    ),
    "ball, surfboard, snowboard, ski, helmet, sunglasses, paddle, swing, slide, gift, mask": (
        _SIZES,
        _COLOURS,
    ),
    "door, window, gate, fence, roof, balcony, wall, staircase, shop, market stall, pavement": (
        "old, narrow, wide, painted, small",
        "wooden, white, green, blue, red, grey, brown",
    ),
    "bridge, pier, jetty": ("old, narrow, long, quiet, empty", "wooden, stone, sunlit, wet"),
    "street, alley, road, square": (
        "old, narrow, long, quiet, wide, busy, empty",
        "cobbled, winding, sunlit, dark, wet",
    ),
    "statue, sculpture, fountain, column, arch, monument, tower": (
        "old, tall, small, famous, broken, large",
        "stone, marble, bronze, white",
    ),
}

descriptions: dict[str, list[str]] = {}
"""The describing words of each kind of thing: single words first, then combinations of one of each list."""
for _kinds, (_first, _second) in _DESCRIPTIONS.items():
    _together = [f"{one} {other}" for one in words_of(_first) for other in words_of(_second)]
    descriptions |= dict.fromkeys(words_of(_kinds), words_of(f"{_first}, {_second}") + _together)

sights: list[str] = words_of(
    """beach, harbour, lighthouse, pier, bay, island, cliff, marina, church, cathedral, chapel, castle, museum,
    library, theatre, market, railway station, airport, park, playground, zoo, garden, bridge, street, square, fountain,
    lake, river, canal, waterfall, forest, valley, hill, mountain, vineyard, farm, village, campsite, stadium, hospital,
    school, restaurant, cafe, hotel, town hall, clock tower, skyline, windmill, swimming pool, funfair,
    aquarium"""
)
"""Things that are named after the town they are in."""

_BEGINNINGS = words_of(
    """ash, oak, elm, thorn, hazel, birch, alder, maple, willow, holly, brook, river, stone, rock, clay, sand,
    marsh, moor, glen, fern, heather, rose, lark, swan, heron, raven, falcon, eagle, fox, hart, bear, wolf, otter,
    king, queen, earl, abbot, bishop, monk, fair, bright, green, white, black, red, gold, silver, long, high,
    middle, new, old, north, south, east, west, winter, summer, market, mill, water, wind, cold, hill, dun, mar,
    pen, tre, wel, car, nor, ald, ed, har, lin, mel, pem, ren, sel, tam, wal, whit, lang, bar"""
)
_ENDINGS = words_of(
    """ford, ton, ham, wick, bury, dale, field, bridge, haven, mouth, port, wood, ley, worth, stead, combe,
    borough, hurst, gate, minster, well, by, ness, mere, brook, stow, cliff, den, holt, side, cote, hampton, ridge,
    pool, garth, beck"""
)

towns: list[str] = [
    beginning + ending
    for step in range(len(_ENDINGS))  # diagonally, so that neighbours in the list share neither half
    for index, beginning in enumerate(_BEGINNINGS)
    for ending in [_ENDINGS[(index + step) % len(_ENDINGS)]]
    if beginning != ending and beginning[-1] != ending[0]  # neither "brookbrook" nor "elmmouth"
]
"""Fictitious towns; any resemblance is coincidental."""
