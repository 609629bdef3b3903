"""The images that a rule concerns."""

from __future__ import annotations

from vse_ens.data.annotations import Annotations
from vse_ens.data.rules.exceptions import ImagesOfLabels


def test_images_with_and_without_the_other_label() -> None:
    data = Annotations.from_pairs([("a", "x"), ("a", "y"), ("b", "x"), ("c", "y"), ("d", "x"), ("d", "z")])
    both, exceptions = ImagesOfLabels(data).compare("x", "y")
    assert (data.images.ids(both), data.images.ids(exceptions)) == (["a"], ["b", "d"])
    both, exceptions = ImagesOfLabels(data).compare("x", "unknown")
    assert (len(both), len(exceptions)) == (0, 3)
    assert list(map(len, ImagesOfLabels(data).compare("unknown", "x"))) == [0, 0]


def test_images_with_one_of_several_labels_are_counted_once() -> None:
    data = Annotations.from_pairs([("a", "x"), ("a", "y"), ("b", "x"), ("c", "z")])
    images = ImagesOfLabels(data)
    assert (images.count(["x", "y"]), images.count(["x", "z", "unknown"]), images.count([])) == (2, 3, 0)
