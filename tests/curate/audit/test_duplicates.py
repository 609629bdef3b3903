"""Labels that mean the same come first, then those that are merely used alike."""

from __future__ import annotations

import numpy as np
import pytest

from vse_ens.annotator import Annotator
from vse_ens.curate.audit.duplicates import near_duplicates
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.model.embeddings import Embeddings
from vse_ens.streams import Streams


def vectors(*rows: tuple[float, float]) -> Embeddings:
    table, nothing = np.array(rows, np.float32), np.empty((0, 2), np.float32)
    return Embeddings(table, np.zeros(len(rows), np.float32), nothing, nothing)


def on_images(**places: range) -> Annotations:
    return Annotations.from_pairs((f"i{n:03}", label) for label, numbers in places.items() for n in numbers)


def test_labels_seldom_together_with_similar_use_are_duplicates() -> None:
    # mug, bookcase: alike and never together; c, d: alike and always together.
    known = on_images(mug=range(20), bookcase=range(20, 50), c=range(50, 70), d=range(50, 70))
    # Sorted: bookcase, c, d, mug.
    embeddings = vectors((1.0, 0.0), (0.0, 1.0), (-0.6, 0.8), (0.8, 0.6))
    found = near_duplicates(embeddings, known, 10)
    assert {one.kind for one in found} == {"alike"}
    assert (found[0].label, found[0].other) == ("mug", "bookcase")
    assert found[0].reason == "similarity 0.80; on 20 and 30 images, 0 in common"
    assert ("d", "c") not in [(one.label, one.other) for one in found]


def test_the_same_word_comes_before_any_similarity() -> None:
    known = on_images(Car=range(3), car=range(3, 50), beach=range(50, 90), zoo=range(90, 120))
    # Sorted: Car, beach, car, zoo.
    embeddings = vectors((0.0, 1.0), (1.0, 0.0), (-1.0, 0.0), (1.0, 0.0))
    first, second, *_ = near_duplicates(embeddings, known, 10)
    assert (first.label, first.other, first.kind) == ("Car", "car", "same")
    assert first.reason == "same word; on 3 and 47 images, 0 in common"
    assert (second.label, second.other, second.kind) == ("zoo", "beach", "alike")
    assert len(near_duplicates(embeddings, known, 1)) == 1


def test_a_pair_that_means_the_same_is_not_listed_again_as_alike() -> None:
    known = on_images(cars=range(20), car=range(20, 60))
    found = near_duplicates(vectors((1.0, 0.0), (1.0, 0.0)), known, 10)
    assert [(one.label, one.other, one.kind) for one in found] == [("cars", "car", "same")]


def test_a_label_on_no_image_has_no_duplicate() -> None:
    known = on_images(car=range(3), cars=range(3, 6)).with_pairs(np.arange(6) < 3)
    assert near_duplicates(vectors((1.0, 0.0), (1.0, 0.0)), known, 5) == []
    assert near_duplicates(vectors((1.0, 0.0)), on_images(car=range(20)), 5) == []


@pytest.mark.parametrize("images", [3_000])
def test_only_the_halves_of_a_split_label_are_duplicates(images: int) -> None:
    data = scenes(images, 60, seed=2)
    half = Streams(0).child("halves").uniforms(data.pairs) < 0.5
    common = int(np.argsort(-data.images_per_label)[4])
    ids = zip(data.images.ids(data.image_numbers()), data.labels.ids(data.indices), data.indices, half, strict=True)
    split = Annotations.from_pairs((i, "xyz" if n == common and taken else a) for i, a, n, taken in ids)
    model = Annotator(seed=0, workers=1, epochs=2).fit(split)
    found = near_duplicates(model.embeddings_, split, 50)
    assert [{one.label, one.other} for one in found if one.kind == "same"] == [{"xyz", data.labels.id(common)}]
