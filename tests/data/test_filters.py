from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.data.annotations import Annotations
from vse_ens.data.filters import keep_frequent, strip_weights
from vse_ens.errors import ConfigError, DataError

Pairs = set[tuple[str, str]]

ids = st.sampled_from([f"{number:02}" for number in range(10)])
pair_sets = st.sets(st.tuples(ids, ids), min_size=1, max_size=50)


def slow_twin(pairs: Pairs, least_images: int, least_labels: int) -> Pairs:
    """The largest set of pairs in which every label and image has enough: drop one offender at a time."""
    pairs = set(pairs)
    while True:
        for image, label in sorted(pairs):
            images = sum(other == label for _, other in pairs)
            labels = sum(other == image for other, _ in pairs)
            if images < least_images or labels < least_labels:
                pairs.remove((image, label))
                break
        else:
            return pairs


@given(pair_sets, st.integers(1, 4), st.integers(1, 4))
def test_filter_agrees_with_the_slow_twin(pairs: Pairs, least_images: int, least_labels: int) -> None:
    data = Annotations.from_pairs(pairs)
    expected = slow_twin(pairs, least_images, least_labels)
    if not expected:
        with pytest.raises(DataError, match="no pair is left with at least"):
            keep_frequent(data, least_images, least_labels)
        return
    kept = keep_frequent(data, least_images, least_labels)
    # Its vocabularies hold nothing but what is left.
    assert kept == Annotations.from_pairs(expected)


def test_dropping_is_repeated_until_stable_and_told() -> None:
    # z is rare; without it c has one label; without c, y is rare; without y, b has one label; without b, x has two.
    pairs = [("a", "w"), ("a", "x"), ("b", "x"), ("b", "y"), ("c", "y"), ("c", "z"), ("d", "w"), ("d", "x")]
    kept = keep_frequent(Annotations.from_pairs(pairs), min_images_per_label=2, min_labels_per_image=2)
    assert kept.to_frame("polars").rows() == [("a", "w"), ("a", "x"), ("d", "w"), ("d", "x")]
    assert kept.notes == (
        "dropped 2 labels with fewer than 2 images and 2 images with fewer than 2 labels, 4 pairs in all, in 4 passes",
    )


def test_data_with_nothing_to_drop_is_returned_as_it_is() -> None:
    data = Annotations.from_pairs([("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")])
    assert keep_frequent(data, 2, 2) is data


def test_features_follow_their_images() -> None:
    data = Annotations.from_pairs([("a", "x"), ("b", "x"), ("b", "y"), ("c", "x"), ("c", "y")])
    kept = keep_frequent(data.with_features(np.array([[1.0], [2.0], [3.0]])), min_labels_per_image=2)
    assert list(kept.images) == ["b", "c"]
    assert kept.features.tolist() == [[2.0], [3.0]]


@pytest.mark.parametrize("option", ["min_images_per_label", "min_labels_per_image"])
def test_less_than_one_is_refused(option: str) -> None:
    with pytest.raises(ConfigError, match=f"{option} must be at least 1, got 0"):
        keep_frequent(Annotations.from_pairs([("a", "x")]), **{option: 0})


@pytest.mark.parametrize(
    ("label", "stripped"),
    [
        ("(masterpiece:1.2)", "masterpiece"),
        ("((masterpiece))", "masterpiece"),
        ("(best quality", "best quality"),
        ("high detail:1.5)", "high detail"),
        (r"(alice \(wonderland\):1.3)", r"alice \(wonderland\)"),
        *((text, text) for text in (r"alice \(wonderland\)", "fate (series)", ":)", "(:", "(o)_(o)", "16:9", "a:1.2")),
    ],
)
def test_weights_are_stripped_and_nothing_else(label: str, stripped: str) -> None:
    data = strip_weights(Annotations.from_pairs([("a", label), ("b", "sea"), ("c", stripped)]))
    assert data == Annotations.from_pairs([("a", stripped), ("b", "sea"), ("c", stripped)])
    assert data.notes == (("stripped the weights of 1 label",) if label != stripped else ())
