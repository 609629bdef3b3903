"""Which label pairs get an input vector of their own."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tests.support.kernel_problems import annotations, random_annotations
from tests.support.label_ranges import CUTS, cut_labels, in_folder
from vse_ens.data.annotations import Annotations
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers
from vse_ens.train import pair_selection as choosing
from vse_ens.train.pair_selection import frequent_label_pairs

FEWEST = choosing._MIN_IMAGES


def counts_of(data: Annotations) -> dict[tuple[int, int], int]:
    """In how many images each two labels are together."""
    counts: dict[tuple[int, int], int] = {}
    for image in range(len(data.images)):
        for pair in combinations(data.indices[data.indptr[image] : data.indptr[image + 1]].tolist(), 2):
            counts[pair] = counts.get(pair, 0) + 1
    return counts


def chosen(data: Annotations, most: int) -> list[tuple[int, int]]:
    pairs = frequent_label_pairs(data, most)
    assert pairs.dtype == np.int32
    assert pairs.flags.c_contiguous
    return [(a, b) for a, b in pairs.tolist()]


def repeated(*images: tuple[list[int], int]) -> Annotations:
    """Images with these labels, each ``times`` times."""
    return annotations([positives for positives, times in images for _ in range(times)], 9)


@pytest.mark.parametrize("most", [1, 7, 20, 60, 10_000])
def test_common_pairs_come_first_and_equal_counts_together(most: int) -> None:
    data = random_annotations(images=200, labels=20, most=8)
    counts = counts_of(data)
    found = chosen(data, most)
    assert 0 < len(found) <= most
    assert found == sorted(found, key=lambda pair: (-counts[pair], pair))
    fewest = counts[found[-1]]
    assert fewest >= FEWEST
    assert set(found) == {pair for pair, count in counts.items() if count >= fewest}
    next_count = max((count for count in counts.values() if count < fewest), default=0)
    with_the_next = sum(count >= next_count for count in counts.values())
    assert with_the_next > most or next_count < FEWEST, "no more would have had room"


def test_pairs_of_few_images_are_chance() -> None:
    data = repeated(([0, 1], FEWEST), ([2, 3], FEWEST - 1), ([4, 5, 6], FEWEST + 1), ([7], 9))
    assert chosen(data, 100) == [(4, 5), (4, 6), (5, 6), (0, 1)]


def test_none_are_asked_for_or_none_are_there() -> None:
    for data, most in ((repeated(([0, 1], 9)), 0), (repeated(([0], 9), ([1], 9)), 5), (repeated(([0, 1], 2)), 5)):
        assert frequent_label_pairs(data, most).shape == (0, 2)


def test_counts_too_high_to_tell_apart_are_cut_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "_MAX_COUNT", 6)
    data = repeated(([0, 1], 8), ([2, 3], 9), ([4, 5], 7), ([6, 7], 5))
    assert chosen(data, 2) == [(2, 3), (0, 1)]
    assert chosen(data, 3) == [(2, 3), (0, 1), (4, 5)]
    assert chosen(data, 9) == [(2, 3), (0, 1), (4, 5), (6, 7)]


@pytest.mark.parametrize("most", [20, 10_000])
def test_tasks_and_place_of_the_pairs_do_not_change_the_choice(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = random_annotations(images=300, labels=28, most=8)
    pairs = in_folder(data, tmp_path)
    assert pairs.counts.labels == 28
    expected = frequent_label_pairs(data, most)
    assert 0 < len(expected) <= most
    for tasks in CUTS:
        cut_labels(monkeypatch, 28, tasks)
        with Workers(2) as workers:
            for known in (data, pairs):
                found = frequent_label_pairs(known, most, LocalPool(workers))
                assert found.dtype == expected.dtype
                assert found.tobytes() == expected.tobytes()
