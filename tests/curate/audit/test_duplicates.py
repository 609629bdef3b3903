"""Words spelt alike, and labels that keep the same company."""

from __future__ import annotations

import numpy as np
import pytest

from vse_ens.annotator import Annotator
from vse_ens.curate.audit.duplicates import near_duplicates, spelling_matches, stem
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.model.embeddings import Embeddings
from vse_ens.streams import Streams


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("car", "cars"),
        ("Car", "car"),
        ("berry", "berries"),
        ("church", "churches"),
        ("box", "boxes"),
        ("café", "Cafe"),
        ("t-shirt", "T shirt"),
        ("Straße", "strasse"),
        ("海", "海。"),
    ],
)
def test_the_same_word(one: str, other: str) -> None:
    assert stem(one) == stem(other)
    assert spelling_matches([one, "something else", other]) == {(0, 2): "same word"}


@pytest.mark.parametrize(("one", "other"), [("glas", "glass"), ("bus", "bu"), ("iris", "iri"), ("sea", "see")])
def test_another_word(one: str, other: str) -> None:
    assert spelling_matches([one, other]).get((0, 1)) != "same word"


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("beach", "beech", True),
        ("mountain", "mountan", True),
        ("mountain", "mountain k", True),
        ("boat", "coat", False),
        ("route 66", "route 67", False),
        ("beach", "bench x", False),
        ("abcdef", "bacdef", False),
    ],
)
def test_one_letter_apart(one: str, other: str, near: bool) -> None:
    assert (spelling_matches([one, other]) == {(0, 1): "one letter"}) == near


def test_signs_alone_are_no_word() -> None:
    assert spelling_matches(["!", "?", "-"]) == {}


def vectors(*rows: tuple[float, float]) -> Embeddings:
    table, nothing = np.array(rows, np.float32), np.empty((0, 2), np.float32)
    return Embeddings(table, np.zeros(len(rows), np.float32), nothing, nothing)


def on_images(**places: range) -> Annotations:
    return Annotations.from_pairs((f"i{n:03}", label) for label, numbers in places.items() for n in numbers)


def test_company_counts_less_the_more_often_two_are_together() -> None:
    # a, b: alike and never together; c, d: alike and always together.
    known = on_images(a=range(20), b=range(20, 50), c=range(50, 70), d=range(50, 70))
    embeddings = vectors((1.0, 0.0), (0.8, 0.6), (0.0, 1.0), (-0.6, 0.8))
    first, second, *_ = near_duplicates(embeddings, known, 10)
    assert (first.label, first.other) == ("a", "b")
    assert first.confidence == pytest.approx(0.8)
    assert first.reason == "similarity 0.80; on 20 and 30 images, 0 in common"
    (together,) = [one for one in near_duplicates(embeddings, known, 10) if (one.label, one.other) == ("d", "c")]
    assert together.confidence == pytest.approx(0.8 / (1.0 + 20 / (20 * 20 / 70)))
    assert second.confidence >= together.confidence


def test_spelling_counts_beside_company() -> None:
    known = on_images(Car=range(3), car=range(3, 50), beach=range(50, 90), beech=range(90, 95), zoo=range(60, 90))
    # Sorted: Car, beach, beech, car, zoo.
    embeddings = vectors((0.0, 1.0), (1.0, 0.0), (0.6, 0.8), (1.0, 0.0), (-1.0, 0.0))
    found = {(one.label, one.other): one for one in near_duplicates(embeddings, known, 10)}
    assert found["Car", "car"].confidence == pytest.approx(0.8)
    assert found["Car", "car"].reason.startswith("same word; similarity 0.00; on 3 and 47 images")
    assert found["beech", "beach"].confidence == pytest.approx(1 - 0.4**2)
    assert found["beech", "beach"].reason.startswith("one letter differs; ")
    # Company says nothing of a label on five images.
    assert ("beech", "zoo") not in found


def test_a_label_on_no_image_has_no_duplicate() -> None:
    known = on_images(car=range(3), cars=range(3, 6)).with_pairs(np.arange(6) < 3)
    assert near_duplicates(vectors((1.0, 0.0), (1.0, 0.0)), known, 5) == []
    assert near_duplicates(vectors((1.0, 0.0)), on_images(car=range(20)), 5) == []


def test_a_label_that_was_split_is_found_by_its_company_alone() -> None:
    data = scenes(3_000, 60, seed=2)
    half = Streams(0).child("halves").uniforms(data.pairs) < 0.5
    common = int(np.argsort(-data.images_per_label)[4])
    ids = zip(data.images.ids(data.image_numbers()), data.labels.ids(data.indices), data.indices, half, strict=True)
    split = Annotations.from_pairs((i, "xyz" if n == common and taken else a) for i, a, n, taken in ids)
    model = Annotator(seed=0, workers=1, epochs=8).fit(split)
    found = near_duplicates(model.embeddings_, split, 3)
    assert {"xyz", data.labels.id(common)} in [{one.label, one.other} for one in found]
