"""Implications: a slow twin, the test against chance, chains, and the known hierarchy of the scenes."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from benchmarks.accuracy.rules import compare, hierarchy, with_general_words

from vse_ens.curate.rules import implications
from vse_ens.curate.rules.implications import Implication, find_implications
from vse_ens.curate.rules.propose import propose_rules
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import parent_of, scenes
from vse_ens.errors import ConfigError
from vse_ens.model.completeness import wilson_bound
from vse_ens.streams import Streams


def on_images(**places: range) -> Annotations:
    return Annotations.from_pairs((f"i{n:05}", label) for label, numbers in places.items() for n in numbers)


def slow(data: Annotations, min_support: int, min_confidence: float) -> set[tuple[str, str, int, int]]:
    """The same by sets of images and the definition of the bound."""
    images = {label: set[str]() for label in data.labels}
    for image in data.images:
        for label in data.labels_of(image):
            images[label].add(image)
    total, order = len(data.images), list(data.labels)
    tested = sum(len(found) >= min_support for found in images.values()) * (len(order) - 1)
    strict, usual = NormalDist().inv_cdf(1 - 0.01 / tested), NormalDist().inv_cdf(0.95)
    found = {}
    for one, other in itertools.permutations(order, 2):
        support, both = len(images[one]), len(images[one] & images[other])
        rank = [(len(images[label]), order.index(label)) for label in (one, other)]
        if support < min_support or rank[0] > rank[1]:
            continue
        if bound(both, support, usual) >= min_confidence and bound(both, support, strict) >= len(images[other]) / total:
            found[one, other] = (support, support - both)
    longer = {pair for pair in found if _has_detour(pair, found)}
    return {(*pair, *numbers) for pair, numbers in found.items() if pair not in longer}


def bound(successes: int, trials: int, z: float) -> float:
    """The lowest share whose distance from the observed one is z deviations, by bisection."""
    low, high = 0.0, successes / trials
    for _ in range(60):
        middle = (low + high) / 2
        deviation = math.sqrt(middle * (1 - middle) / trials)
        low, high = (middle, high) if successes / trials - middle > z * deviation else (low, middle)
    return (low + high) / 2


def _has_detour(pair: tuple[str, str], edges: dict[tuple[str, str], tuple[int, int]]) -> bool:
    start, end = pair
    reached = {other for one, other in edges if one == start and other != end}
    while True:
        more = reached | {other for one, other in edges if one in reached}
        if more == reached:
            return end in reached
        reached = more


@pytest.mark.parametrize("seed", range(3))
def test_equals_the_slow_twin(seed: int) -> None:
    data = scenes(1_500, 80, seed=seed)
    # General words added with most special ones, so that there is something to find.
    pairs = [(image, label) for image in data.images for label in data.labels_of(image)]
    given = Streams(seed).child("given").uniforms(len(pairs)) < 0.97
    more = [
        (image, parent_of[label])
        for (image, label), kept in zip(pairs, given, strict=True)
        if kept and label in parent_of
    ]
    data = Annotations.from_pairs(pairs + more)
    for support, confidence in ((5, 0.6), (20, 0.85)):
        found = find_implications(data, min_support=support, min_confidence=confidence)
        expected = slow(data, support, confidence)
        assert len(expected) > 3
        assert {(one.label, one.implies, one.support, one.exceptions) for one in found} == expected
        for one in found:
            assert one.confidence == pytest.approx(1 - one.exceptions / one.support)


def test_the_bound_is_that_of_wilson() -> None:
    # Values of the published formula: 10 of 10 gives n / (n + z^2).
    assert wilson_bound(np.array([10]), np.array([10]), 1.96)[0] == pytest.approx(10 / (10 + 1.96**2))
    assert wilson_bound(np.array([45]), np.array([50]), 1.645)[0] == pytest.approx(bound(45, 50, 1.645), abs=1e-9)


def test_numbers_of_an_implication() -> None:
    data = on_images(dalmatian=range(100), dog=range(3, 400), sea=range(400, 3_000))
    assert find_implications(data) == [Implication("dalmatian", "dog", 100, 0.97, 3)]


def test_support_is_a_minimum() -> None:
    data = on_images(dalmatian=range(20), dog=range(400), sea=range(400, 3_000))
    assert len(find_implications(data, min_support=20)) == 1
    assert find_implications(data, min_support=21) == []


def test_a_label_on_nearly_all_images_is_implied_by_none() -> None:
    # 96 of 100 images with the label have it, but so do 96 of 100 of all.
    data = on_images(fog=range(100), photo=range(4, 2_600), rest=range(2_600, 2_704))
    assert find_implications(data) == []
    rarer = on_images(fog=range(100), photo=range(4, 1_000), rest=range(1_000, 2_704))
    assert [one.implies for one in find_implications(rarer)] == ["photo"]


def test_labels_at_random_imply_nothing() -> None:
    uniforms = Streams(1).child("noise").uniforms(40 * 2_000).reshape(40, 2_000)
    shares = np.linspace(0.02, 0.8, 40)
    pairs = [(f"i{n}", f"l{label}") for label in range(40) for n in np.flatnonzero(uniforms[label] < shares[label])]
    assert find_implications(Annotations.from_pairs(pairs), min_support=5, min_confidence=0.3) == []


def test_implications_along_a_chain_are_left_out() -> None:
    data = on_images(beagle=range(50), dog=range(200), animal=range(900), sea=range(900, 3_000))
    assert [(one.label, one.implies) for one in find_implications(data)] == [("dog", "animal"), ("beagle", "dog")]


def test_two_labels_always_together_imply_in_one_direction() -> None:
    data = on_images(court=range(100), tennis=range(99), sea=range(100, 3_000))
    assert [(one.label, one.implies) for one in find_implications(data)] == [("tennis", "court")]
    same = on_images(court=range(100), tennis=range(100), sea=range(100, 3_000))
    assert [(one.label, one.implies) for one in find_implications(same)] == [("court", "tennis")]


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"min_support": 0}, "min_support must be at least 1"), ({"min_confidence": 1.0}, "between 0 and 1")],
)
def test_a_bad_limit_is_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        find_implications(on_images(a=range(3)), **settings)  # type: ignore[arg-type]


def test_no_labels_at_all() -> None:
    assert find_implications(on_images(a=range(3)).with_pairs(np.zeros(3, bool))) == []


def test_the_hierarchy_of_the_scenes_is_found() -> None:
    # The scenes as they are: annotators give "umbrella" with every "red umbrella", but "furniture" with few chairs.
    found = compare(scenes(200_000, 10_000), hierarchy(10_000))
    assert found["right"] / found["found"] >= 0.95
    assert found["known_found"] / found["known"] >= 0.7


@pytest.mark.parametrize("share", [0.9, 1.0])
def test_general_words_are_found_if_annotators_give_them(share: float) -> None:
    found = compare(with_general_words(scenes(20_000), share), parent_of)
    assert found["known"] > 300
    assert found["right"] / found["found"] >= 0.95
    assert found["known_found"] / found["known"] >= 0.7


def test_a_single_image_is_enough_support_if_one_says_so() -> None:
    assert find_implications(Annotations.from_pairs([("a", "x"), ("a", "y"), ("b", "y")]), min_support=1) == []


def test_a_label_below_the_support_implies_nothing() -> None:
    data = on_images(dog=range(2), animal=range(3))
    assert [(one.label, one.implies) for one in find_implications(data, min_support=2, min_confidence=0.2)] == [
        ("dog", "animal")
    ]
    assert find_implications(data, min_support=3, min_confidence=0.2) == []


def test_implications_do_not_depend_on_the_size_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    data = on_images(a=range(40), b=range(50), c=range(60), d=range(70), e=range(100))
    expected = find_implications(data)
    assert expected
    monkeypatch.setattr(implications, "_LABELS", 2)
    assert find_implications(data) == expected


def test_progress_is_a_fraction_that_ends_at_one() -> None:
    seen: list[float] = []
    data = on_images(a=range(40), b=range(60))
    find_implications(data, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    of_all: list[float] = []
    propose_rules(data, progress=of_all.append)
    assert of_all == [*(done / 2 for done in seen), 1.0]
