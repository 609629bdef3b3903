"""Aliases need the same word, a rare typing error in the same company, or interchangeable use."""

from __future__ import annotations

import numpy as np

from vse_ens.curate.rules.aliases import INTERCHANGEABLE, find_aliases
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.streams import Streams


def renamed(data: Annotations, label: str, name: str, count: int) -> Annotations:
    """Give the first ``count`` images of a label another name for it."""
    wanted = [image for image in data.images if label in data.labels_of(image)][:count]
    pairs = [(image, one) for image in data.images for one in data.labels_of(image)]
    return Annotations.from_pairs((i, name if one == label and i in wanted else one) for i, one in pairs)


def test_the_same_word_in_another_form() -> None:
    data = renamed(scenes(1_000, 60), "sea", "Seas", 5)
    [alias] = [one for one in find_aliases(data) if one.label == "Seas"]
    assert alias.other == "sea"
    count = int(data.images_per_label[data.labels.number("sea")])
    assert alias.evidence == f"same word; on 5 and {count} images, 0 in common"


def test_aliases_of_one_evidence_are_listed_by_frequency() -> None:
    data = renamed(renamed(scenes(1_000, 60), "sea", "Seas", 5), "sky", "Skies", 20)
    assert [one.label for one in find_aliases(data) if one.label in ("Seas", "Skies")] == ["Skies", "Seas"]


def test_a_typing_error_is_found_by_its_company() -> None:
    data = renamed(scenes(2_000, seed=1), "mountain", "mountin", 4)
    assert [(one.label, one.other) for one in find_aliases(data) if one.label == "mountin"] == [("mountin", "mountain")]


def test_two_names_of_one_thing_are_found_by_their_use() -> None:
    data = scenes(3_000, 60, seed=2)
    common = int(np.argsort(-data.images_per_label)[4])
    half = Streams(0).child("halves").uniforms(data.pairs) < 0.5
    ids = zip(data.images.ids(data.image_numbers()), data.labels.ids(data.indices), data.indices, half, strict=True)
    split = Annotations.from_pairs((i, "xyz" if n == common and taken else label) for i, label, n, taken in ids)
    [alias] = find_aliases(split)
    assert {alias.label, alias.other} == {"xyz", data.labels.id(common)}
    assert alias.evidence.startswith(INTERCHANGEABLE)


def test_another_word_of_one_letters_difference_is_no_alias() -> None:
    # knight and night, stable and table, dessert and desert, peach and beach
    found = [(one.label, one.other) for one in find_aliases(scenes(20_000))]
    assert found == [("glasses", "glass")]


def test_a_label_that_is_not_much_rarer_is_another_word() -> None:
    data = renamed(scenes(2_000, seed=1), "mountain", "mountin", 30)
    assert "mountin" not in [one.label for one in find_aliases(data)]


def test_a_label_on_no_image_is_no_alias() -> None:
    data = Annotations.from_pairs([("a", "car"), ("b", "cars"), ("c", "sea")])
    assert [one.label for one in find_aliases(data)] == ["cars"]
    assert find_aliases(data.with_pairs(np.array([True, False, True]))) == []
