from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError, DataError

Pairs = list[tuple[str, str]]

ids = st.sampled_from([f"{number:03}" for number in range(12)])
pair_lists = st.lists(st.tuples(ids, ids), min_size=1, max_size=60)
# Every image has two labels at least, so that every split can be made.
full = st.lists(st.tuples(ids, st.sets(ids, min_size=2, max_size=6)), min_size=1, max_size=8).map(
    lambda rows: [(image, label) for image, labels in rows for label in sorted(labels)]
)
seeds = st.integers(0, 2**32)
shares = st.floats(0.01, 0.99)


def rows(data: Annotations) -> set[tuple[str, str]]:
    return set(data.to_frame("polars").rows())


@given(full, seeds)
def test_leave_one_out_takes_one_label_of_every_image_that_has_several(pairs: Pairs, seed: int) -> None:
    data = Annotations.from_pairs([*pairs, ("lonely", "000")])
    train, test = data.leave_one_out(seed)
    assert test.labels_per_image.tolist() == (data.labels_per_image >= 2).astype(int).tolist()
    assert test.labels_of("lonely") == []
    assert rows(train) | rows(test) == rows(data)
    assert not rows(train) & rows(test)
    assert train.images == test.images == data.images
    assert train.labels == test.labels == data.labels


def test_leave_one_out_takes_every_label_alike() -> None:
    counts = {image: np.zeros(size, int) for image, size in (("two", 2), ("five", 5), ("nine", 9))}
    data = Annotations.from_pairs([(image, str(label)) for image, size in counts.items() for label in range(len(size))])
    for seed in range(2_000):
        test = data.leave_one_out(seed).test
        for image, count in counts.items():
            count[int(test.labels_of(image)[0])] += 1
    for count in counts.values():
        assert stats.chisquare(count).pvalue > 1e-4


@given(full, seeds, shares)
def test_random_holds_out_its_share_of_pairs(pairs: Pairs, seed: int, share: float) -> None:
    data = Annotations.from_pairs(pairs)
    held = max(1, round(share * data.pairs))
    if held == data.pairs:
        with pytest.raises(DataError, match="leaves none to learn from; lower the share"):
            data.random(share, seed)
        return
    train, test = data.random(share, seed)
    assert test.pairs == held
    assert rows(train) | rows(test) == rows(data)
    assert not rows(train) & rows(test)


def test_random_takes_every_pair_alike() -> None:
    data = Annotations.from_pairs([("a", str(label)) for label in range(4)] + [("b", "0")])
    counts = np.zeros(5, int)
    for seed in range(2_000):
        held = rows(data.random(0.2, seed).test)
        counts += [row in held for row in data.to_frame("polars").rows()]
    assert counts.sum() == 2_000
    assert stats.chisquare(counts).pvalue > 1e-4


@given(full, seeds, shares, shares)
def test_new_images_holds_out_whole_images_and_reveals_a_part(
    pairs: Pairs, seed: int, share: float, reveal: float
) -> None:
    data = Annotations.from_pairs([*pairs, ("lonely", "000")])
    train, revealed, test = data.new_images(share, reveal, seed)
    parts = [rows(train), rows(revealed), rows(test)]
    assert set.union(*parts) == rows(data)
    assert sum(map(len, parts)) == data.pairs
    several = int((data.labels_per_image >= 2).sum())
    held = test.labels_per_image > 0
    assert held.sum() == max(1, round(share * several))
    assert not held[data.images.number("lonely")]
    for image in np.flatnonzero(held):
        labels = int(data.labels_per_image[image])
        assert train.labels_per_image[image] == 0
        assert revealed.labels_per_image[image] == min(max(1, round(reveal * labels)), labels - 1)
    assert (revealed.labels_per_image[~held] == 0).all()
    assert (train.labels_per_image[~held] == data.labels_per_image[~held]).all()


def test_new_images_treats_labels_and_images_alike() -> None:
    data = Annotations.from_pairs([(image, label) for image in "abcd" for label in "uvwxyz"])
    images, labels = np.zeros(4, int), np.zeros(6, int)
    for seed in range(2_000):
        split = data.new_images(0.25, 0.2, seed)
        images += split.test.labels_per_image > 0
        labels += split.revealed.images_per_label
    assert images.sum() == labels.sum() == 2_000
    assert stats.chisquare(images).pvalue > 1e-4
    assert stats.chisquare(labels).pvalue > 1e-4


@given(full, seeds, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(pairs: Pairs, seed: int, chance) -> None:
    pairs = [*pairs, ("lonely", "000")]
    shuffled = pairs + pairs[:3]
    chance.shuffle(shuffled)
    one, other = Annotations.from_pairs(pairs), Annotations.from_pairs(shuffled)
    assert one.leave_one_out(seed) == other.leave_one_out(seed)
    assert one.random(0.3, seed) == other.random(0.3, seed)
    assert one.new_images(0.3, 0.5, seed) == other.new_images(0.3, 0.5, seed)


def test_a_split_never_changes() -> None:
    # Results on these splits are compared across versions: a change here makes them incomparable.
    data = Annotations.from_pairs([(image, label) for image in "abc" for label in "vwxyz"])
    assert rows(data.leave_one_out(0).test) == {("a", "y"), ("b", "y"), ("c", "v")}
    assert rows(data.random(0.2, 0).test) == {("a", "v"), ("b", "z"), ("c", "z")}
    assert rows(data.new_images(0.3, 0.4, 0).revealed) == {("b", "v"), ("b", "z")}


def test_another_seed_gives_another_split() -> None:
    data = Annotations.from_pairs([(str(image), str(label)) for image in range(50) for label in range(5)])
    assert data.leave_one_out(0) != data.leave_one_out(1)
    assert data.random(seed=0) != data.random(seed=1)
    assert data.new_images(seed=0) != data.new_images(seed=1)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 1.5, float("nan")])
def test_a_share_that_cannot_work_is_refused(share: float) -> None:
    data = Annotations.from_pairs([("a", "x"), ("a", "y")])
    with pytest.raises(ConfigError, match="share must lie between 0 and 1, got"):
        data.random(share)
    with pytest.raises(ConfigError, match="share must lie between 0 and 1, got"):
        data.new_images(share)
    with pytest.raises(ConfigError, match="reveal must lie between 0 and 1, got"):
        data.new_images(0.5, share)


def test_data_that_cannot_be_split_is_refused() -> None:
    lonely = Annotations.from_pairs([("a", "x"), ("b", "y")])
    with pytest.raises(DataError, match="leave-one-out needs images with two or more labels"):
        lonely.leave_one_out()
    with pytest.raises(DataError, match="new-images needs images with two or more labels"):
        lonely.new_images()


def test_a_split_that_leaves_nothing_to_learn_from_is_refused() -> None:
    one_image = Annotations.from_pairs([("a", "x"), ("a", "y")])
    with pytest.raises(DataError, match=r"new-images with a share of 0\.1 of 2 pairs leaves none to learn from"):
        one_image.new_images()
    with pytest.raises(DataError, match=r"random with a share of 0\.2 of 0 pairs leaves none to learn from"):
        Annotations.from_pairs([]).random()
