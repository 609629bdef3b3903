"""How two labels are used, by a slow twin and on labels that were split at random."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from vse_ens.curate import label_similarity
from vse_ens.curate.label_similarity import LabelComparison, LabelSimilarity, interchangeable_pairs
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.streams import Streams


def slow(data: Annotations, one: str, other: str) -> tuple[int, tuple[float, int, float]]:
    """The numbers of `LabelComparison` by counting in sets of images."""
    rows = {image: set(data.labels_of(image)) for image in data.images}
    first, second = ([row for row in rows.values() if label in row] for label in (one, other))
    company, others = (Counter(label for row in images for label in row - {one, other}) for images in (first, second))
    n, m = len(first), len(second)
    together = sum(other in row for row in first)
    squares, affinity = [], 0.0
    for label in {*company, *others}:
        both = company[label] + others[label]
        variance = n * m * both * (n + m - both) / ((n + m) ** 2 * (n + m - 1))
        if both >= 5 and variance > 0:
            squares.append((company[label] - both * n / (n + m)) ** 2 / variance)
        base = sum(label in row for row in rows.values()) / len(rows)
        share = (others[label] + base) / (m + 1)
        affinity += company[label] * math.log(share / base) + (n - company[label]) * math.log((1 - share) / (1 - base))
    return together, (sum(squares) / len(squares), len(squares), affinity)


def test_equals_the_slow_twin() -> None:
    data = scenes(800, 60, seed=3)
    similarity = LabelSimilarity(data)
    for one, other in (("sea", "sand"), ("sky", "person"), ("man", "woman")):
        numbers = data.labels.number(one), data.labels.number(other)
        together, compared = slow(data, one, other)
        assert tuple(similarity.compare(*numbers)) == pytest.approx(compared)
        assert similarity.together(*numbers) == together


def halves(data: Annotations, chosen: list[int]) -> Annotations:
    """Give half of the images of some labels a second name."""
    taken = Streams(0).child("halves").uniforms(data.pairs) < 0.5
    names = zip(data.images.ids(data.image_numbers()), data.labels.ids(data.indices), data.indices, taken, strict=True)
    return Annotations.from_pairs((i, f"zz{label}zz" if n in chosen and half else label) for i, label, n, half in names)


def test_two_names_of_one_thing_are_found_and_nothing_else() -> None:
    data = scenes(20_000)
    chosen = np.flatnonzero(data.images_per_label >= 400)[::5].tolist()
    split = halves(data, chosen)
    found = {frozenset(split.labels.ids(pair)) for pair in interchangeable_pairs(split, LabelSimilarity(split))}
    expected = {frozenset((label, f"zz{label}zz")) for label in data.labels.ids(chosen)}
    assert found <= expected
    assert len(found) >= 0.8 * len(expected)


def test_labels_of_one_kind_of_picture_are_not_two_names() -> None:
    data = scenes(20_000)
    assert interchangeable_pairs(data, LabelSimilarity(data)) == []


@pytest.mark.parametrize("form", ["{} kind", "rating:{}", "rating|{}"])
def test_kinds_of_one_thing_are_not_two_names(form: str) -> None:
    data = scenes(3_000, 60, seed=2)
    common = int(np.argsort(-data.images_per_label)[4])
    split = halves(data, [common])
    first = {split.labels.id(n) for n in interchangeable_pairs(split, LabelSimilarity(split))[0]}
    assert first == {data.labels.id(common), f"zz{data.labels.id(common)}zz"}
    ids = zip(split.images.ids(split.image_numbers()), split.labels.ids(split.indices), strict=True)
    shared = Annotations.from_pairs((i, form.format(label) if label in first else label) for i, label in ids)
    assert interchangeable_pairs(shared, LabelSimilarity(shared)) == []


def test_no_images_and_no_labels() -> None:
    nothing = Annotations.from_pairs([("a", "x"), ("b", "y")]).with_pairs(np.zeros(2, bool))
    assert LabelSimilarity(nothing).compare(0, 1) == (0.0, 0, 0.0)
    assert interchangeable_pairs(nothing, LabelSimilarity(nothing)) == []


@pytest.mark.parametrize("block", [1, 7, 1_000])
def test_sketches_are_random_projections_of_the_company(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def blocks(rows: int, _width: int) -> list[slice]:
        return [slice(first, min(first + block, rows)) for first in range(0, rows, block)]

    monkeypatch.setattr(label_similarity, "row_blocks", blocks)
    data = scenes(200, 50, seed=1)
    table = np.zeros((len(data.images), len(data.labels)))
    for image in range(len(data.images)):
        table[image, data.label_numbers(image)] = 1
    counts = table.sum(axis=0)
    company = table.T @ table - np.diag(counts)
    sketches = label_similarity._sketches(data)
    signs = np.linalg.lstsq(company / np.sqrt(counts), sketches, rcond=None)[0]
    signs = signs[company.any(axis=0)]
    np.testing.assert_allclose(np.abs(signs), 1.0, atol=1e-2)  # as many of +1 as of -1, and no other
    assert abs(signs.mean()) < 0.1


def test_rare_labels_are_not_compared_however_alike_they_look(monkeypatch: pytest.MonkeyPatch) -> None:
    alike = LabelComparison(difference=1.0, companions=100, affinity=1.0)
    monkeypatch.setattr(LabelSimilarity, "compare", lambda *_: alike)

    def of(images: int) -> LabelSimilarity:
        pairs = [(f"{name}{number}", name) for name in "xy" for number in range(images)]
        return LabelSimilarity(Annotations.from_pairs(pairs))

    assert not of(99).are_interchangeable(0, 1)
    assert of(100).are_interchangeable(0, 1)


def test_companions_of_small_or_no_variance() -> None:
    """``always`` is on every image, which says nothing; ``hat`` varies by less than one image."""
    rows = {f"a{n}": ["car", "always", *(["hat"] if n < 3 else [])] for n in range(6)}
    rows |= {f"b{n}": ["auto", "always", *(["hat"] if n < 2 else [])] for n in range(6)}
    rows |= {f"c{n}": ["always"] for n in range(8)} | {f"d{n}": ["sea"] for n in range(3)}
    data = Annotations.from_pairs((image, label) for image, labels in rows.items() for label in labels)
    found = LabelSimilarity(data).compare(data.labels.number("car"), data.labels.number("auto"))
    assert found.companions == 1
    assert tuple(found) == pytest.approx(slow(data, "car", "auto")[1])


def test_two_frequent_labels_are_a_pair() -> None:
    labels = ["one", "other"] * label_similarity.MIN_IMAGES
    data = Annotations.from_pairs((f"{n:05}", label) for n, label in enumerate(labels))
    assert label_similarity._nearest_pairs(data) == {(0, 1)}
