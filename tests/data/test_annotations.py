from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.data.annotations import Annotations
from vse_ens.data.summary import Summary
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError, DataError, UnknownIdError

Pairs = list[tuple[str, str]]

ids = st.sampled_from(["007", "7", "a b", "a/b", "é", "日本", "😀", "sea", "sky"]) | st.text(
    min_size=1, max_size=3
).filter(str.strip)
pair_lists = st.lists(st.tuples(ids, ids), max_size=40)


def as_dict(data: Annotations) -> dict[str, list[str]]:
    return {image: data.labels_of(image) for image in data.images}


@given(pair_lists)
def test_annotations_agree_with_a_dictionary_of_sets(pairs: Pairs) -> None:
    by_hand: dict[str, set[str]] = {}
    for image, label in pairs:
        by_hand.setdefault(image, set()).add(label)
    data = Annotations.from_pairs(pairs)
    assert as_dict(data) == {image: sorted(labels) for image, labels in sorted(by_hand.items())}
    assert data.pairs == len(data) == len(set(pairs))
    assert data.labels_per_image.tolist() == [len(by_hand[image]) for image in data.images]
    assert data.images_per_label.tolist() == [
        sum(label in labels for labels in by_hand.values()) for label in data.labels
    ]


@given(pair_lists, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_duplicates_do_not_matter(pairs: Pairs, chance) -> None:
    shuffled = pairs + pairs[: len(pairs) // 2]
    chance.shuffle(shuffled)
    assert Annotations.from_pairs(shuffled) == Annotations.from_pairs(pairs)


@given(pair_lists)
def test_ids_come_back_in_the_frame_sorted(pairs: Pairs) -> None:
    frame = Annotations.from_pairs(pairs).to_frame("polars")
    assert frame.schema == {"image": pl.String, "label": pl.String}
    assert frame.rows() == sorted(set(pairs))


def test_the_arrays_are_csr_with_sorted_rows() -> None:
    data = Annotations.from_pairs([("b", "x"), ("a", "y"), ("a", "x"), ("a", "y")])
    assert (data.indptr.dtype, data.indices.dtype) == (np.int64, np.int32)
    assert data.indptr.tolist() == [0, 2, 3]
    assert data.indices.tolist() == [0, 1, 0]
    assert data.image_numbers().tolist() == [0, 0, 1]
    assert data.label_numbers(0).tolist() == [0, 1]
    assert data.nbytes == data.indptr.nbytes + data.indices.nbytes + data.images.nbytes + data.labels.nbytes


def test_images_and_labels_without_pairs_are_kept() -> None:
    images, labels = Vocabulary.from_ids("abc", "image"), Vocabulary.from_ids("xyz", "label")
    data = Annotations.from_numbers(images, labels, np.array([1]), np.array([2]))
    assert as_dict(data) == {"a": [], "b": ["z"], "c": []}
    none = data.with_pairs(np.array([False]))
    assert as_dict(none) == {"a": [], "b": [], "c": []}
    assert none.images_per_label.tolist() == [0, 0, 0]
    assert none.to_frame("polars").height == 0


@given(pair_lists, st.integers(0, 2**16))
def test_with_pairs_keeps_the_chosen_ones_and_the_vocabularies(pairs: Pairs, bits: int) -> None:
    data = Annotations.from_pairs(pairs)
    keep = np.array([bits >> (number % 16) & 1 for number in range(data.pairs)], dtype=bool)
    kept = data.with_pairs(keep)
    assert kept.to_frame("polars").rows() == [row for row, ok in zip(sorted(set(pairs)), keep, strict=True) if ok]
    assert kept.images == data.images
    assert kept.labels == data.labels


@given(pair_lists, st.lists(ids, max_size=4))
def test_with_other_labels_the_pairs_stay_that_have_one(pairs: Pairs, others: list[str]) -> None:
    data = Annotations.from_pairs(pairs)
    labels = Vocabulary.from_ids([*others, *list(data.labels)[::2]], "label")
    found = data.relabeled(labels)
    assert (found.images, found.labels) == (data.images, labels)
    assert as_dict(found) == {image: [one for one in own if one in set(labels)] for image, own in as_dict(data).items()}
    assert data.relabeled(Vocabulary.from_ids(data.labels, "label")) is data


AB, XY = Vocabulary.from_ids("ab", "image"), Vocabulary.from_ids("xy", "label")


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 1, 3], [0, 1, 0], "sorted and distinct"),
        ([0, 1, 3], [0, 1, 1], "sorted and distinct"),
        ([0, 1, 2], [0, 2], r"indices must lie in 0\.\.1, got 0\.\.2"),
        ([0, 1, 2], [0, -1], r"indices must lie in 0\.\.1, got -1\.\.0"),
        ([0, 2], [0, 1], "indptr does not describe 2 pairs of 2 images"),
        ([0, 1, 1], [0, 1], "indptr does not describe"),
        ([1, 1, 2], [0, 1], "indptr does not describe"),
        ([0, 3, 2], [0, 1], "indptr does not describe"),
    ],
)
def test_arrays_that_are_no_annotations_are_refused(indptr: list[int], indices: list[int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Annotations(AB, XY, np.array(indptr, np.int64), np.array(indices, np.int32))


def test_arrays_of_another_type_are_refused() -> None:
    with pytest.raises(DataError, match="indptr must be int64 and indices int32, got int32 and int32"):
        Annotations(AB, XY, np.zeros(3, np.int32), np.zeros(0, np.int32))


def test_rows_may_start_where_others_end() -> None:
    # Empty rows at the start, in the middle and at the end, and a row that starts lower than the last one ended.
    images = Vocabulary.from_ids("abcde", "image")
    data = Annotations(images, XY, np.array([0, 0, 2, 2, 3, 3]), np.array([0, 1, 0], np.int32))
    assert as_dict(data) == {"a": [], "b": ["x", "y"], "c": [], "d": ["x"], "e": []}


def test_features_need_one_row_an_image() -> None:
    data = Annotations.from_pairs([("a", "x"), ("b", "x")])
    assert data.with_features(np.zeros((2, 3))).features.shape == (2, 3)
    for wrong in (np.zeros((3, 3)), np.zeros(2)):
        with pytest.raises(DataError, match="features must have one row for each of 2 images"):
            data.with_features(wrong)


def test_an_unknown_image_is_an_error_with_a_hint() -> None:
    with pytest.raises(UnknownIdError, match="unknown image 'img_71'; did you mean 'img_17'"):
        Annotations.from_pairs([("img_17", "sea")]).labels_of("img_71")


def test_equality_looks_at_the_pairs_and_not_at_the_notes() -> None:
    data = Annotations.from_pairs([("a", "x"), ("b", "y")])
    noted = Annotations(data.images, data.labels, data.indptr, data.indices, notes=("merged 3 duplicates",))
    assert noted == data
    assert data != Annotations.from_pairs([("a", "y"), ("b", "x")])
    assert data != "data"
    with pytest.raises(TypeError):
        hash(data)


def test_the_summary_counts_what_a_person_looks_at_first() -> None:
    pairs = [(f"img{image}", f"label{label}") for image in range(20) for label in range(12) if image % (label + 1) == 0]
    summary = Annotations.from_pairs(pairs).summary()
    assert (summary.images, summary.labels, summary.pairs) == (20, 12, len(pairs))
    assert summary.most_used[0] == ("label0", 20)
    assert [count for _, count in summary.most_used] == [20, 10, 7, 5, 4]
    # Equal counts come in the order of ids.
    assert summary.least_used == [("label7", 3), ("label8", 3), ("label10", 2), ("label11", 2), ("label9", 2)]
    assert summary.labels_per_image["max"] == 12
    assert summary.images_per_label["min"] == 2


def test_the_summary_prints_as_a_table() -> None:
    data = Annotations.from_pairs([("a", "sea"), ("a", "sky"), ("b", "sea")])
    assert str(data).splitlines() == [
        "images             2",
        "labels             2",
        "pairs              3",
        "labels per image   mean 1.50, min 1, median 1.5, max 2",
        "images per label   mean 1.50, min 1, median 1.5, max 2",
        "most used labels   sea 2, sky 1",
    ]
    assert repr(data) == "Annotations(2 images, 2 labels, 3 pairs)"
    train = data.with_pairs(np.array([True, False, False]))
    assert "2 (1 without a label)" in str(train)
    assert "2 (1 without an image)" in str(train)


def test_the_summary_of_nothing_is_all_noughts() -> None:
    assert str(Annotations.from_pairs([])).startswith(
        "images             0\nlabels             0\npairs              0"
    )
    with pytest.raises(ConfigError, match="shown must be at least 1, got 0"):
        Summary.of(Annotations.from_pairs([]), shown=0)
