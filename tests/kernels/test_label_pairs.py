"""Which combinations an image has, and which labels occur together, against lists of all pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.support.compiled import compiled
from vse_ens.kernels import label_pairs as kernels
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.label_pairs import (
    CountScratch,
    LabelPairs,
    PairMatches,
    collect_label_pairs,
    pair_count_histogram,
)
from vse_ens.label_weights.pairs import read_only
from vse_ens.model.embeddings import label_pair_table

find_label_pairs = compiled(kernels.find_label_pairs)

ALL = 10_000  # a share no image comes near
PairArray = NDArray[np.int32]


def some_pairs(labels: int, density: float, seed: int) -> PairArray:
    """Label pairs a < b in the order of their numbers, which is none."""
    numbers = np.random.default_rng(seed)
    every = np.array(list(combinations(range(labels), 2)), np.int32).reshape(-1, 2)
    return numbers.permutation(every[numbers.random(len(every)) < density])


def slow_combinations(positives: list[int], pairs: PairArray, share: int) -> list[tuple[int, int, int]]:
    """Number, first and second place of the combinations: the lowest numbers, in the order of places."""
    numbers = {(a, b): number for number, (a, b) in enumerate(pairs.tolist())}
    found = [
        (numbers[a, b], i, j) for (i, a), (j, b) in combinations(enumerate(sorted(positives)), 2) if (a, b) in numbers
    ]
    kept = sorted(found)[: share * len(positives)]
    return [entry for entry in found if entry in kept]


def found_in(positives: list[int], known: LabelPairs, found: PairMatches | None = None) -> list[tuple[int, int, int]]:
    found = found or PairMatches.allocate(len(positives))
    count = find_label_pairs(np.array(sorted(positives), np.int32), known, found)
    return [(int(n), int(i), int(j)) for n, i, j in zip(*(buffer[:count] for buffer in found), strict=True)]


@given(
    st.integers(2, 70).flatmap(
        lambda labels: st.tuples(st.just(labels), st.sets(st.integers(0, labels - 1), min_size=1, max_size=14))
    ),
    st.sampled_from([0.0, 0.1, 0.6, 1.0]),
    st.sampled_from([1, 2, 4, ALL]),
    st.integers(0, 5),
)
def test_finds_the_combinations_an_image_has(
    image: tuple[int, set[int]], density: float, share: int, seed: int
) -> None:
    labels, positives = image
    pairs = some_pairs(labels, density, seed)
    known = label_pair_table(pairs, labels)._replace(pairs_per_label=share)
    assert found_in(list(positives), known) == slow_combinations(list(positives), pairs, share)


def test_many_labels_and_large_numbers() -> None:
    labels, large = 120, 2**31 - 200
    pairs = some_pairs(labels, 0.8, seed=1)
    positives = list(range(0, labels, 2))
    known = label_pair_table(pairs + np.int32(large), large + labels)._replace(pairs_per_label=ALL)
    expected = slow_combinations(positives, pairs, ALL)
    assert found_in([large + label for label in positives], known) == expected
    assert len(expected) > 1_000


def test_pairs_beyond_the_last_slot_are_in_the_first_ones() -> None:
    every = np.array(list(combinations(range(200), 2)), np.int64)
    hashes = [(a << 32 | b) * int(kernels._MULTIPLIER) % 2**64 for a, b in every.tolist()]
    last = every[np.array([number >> 52 == 0xFFF for number in hashes])].astype(np.int32)
    assert len(last) > 3
    known = label_pair_table(last[1:], 200)
    assert (known.keys[[0, 1, -1]] >= 0).all()
    assert [found_in(pair, known) for pair in last[1:].tolist()] == [[(n, 0, 1)] for n in range(len(last) - 1)]
    assert found_in(last[0].tolist(), known) == [], "it would be in the same slots"


@pytest.mark.parametrize("positives", [[], [3]])
def test_one_label_is_no_combination(positives: list[int]) -> None:
    assert found_in(positives, label_pair_table(some_pairs(6, 1.0, 0), 6)) == []


def test_an_image_uses_its_share_of_the_most_common_pairs() -> None:
    # All of the first three labels' pairs, numbered against the order in which they are found.
    pairs = np.array([[1, 2], [0, 2], [0, 1], [0, 3]], np.int32)
    known = label_pair_table(pairs, 4)._replace(pairs_per_label=1)
    assert found_in([0, 1, 2], known) == [(2, 0, 1), (1, 0, 2), (0, 1, 2)]
    assert found_in([0, 1, 2, 3], known) == [(2, 0, 1), (1, 0, 2), (3, 0, 3), (0, 1, 2)]
    assert found_in([0, 1, 2], known._replace(pairs_per_label=0)) == []
    full = label_pair_table(some_pairs(9, 1.0, 4), 9)._replace(pairs_per_label=2)
    assert sorted(number for number, _, _ in found_in(list(range(9)), full)) == list(range(18))


def test_pairs_beyond_the_buffer_are_left_out() -> None:
    known = label_pair_table(some_pairs(9, 1.0, 4), 9)._replace(pairs_per_label=ALL)
    everything = found_in(list(range(9)), known)
    assert found_in(list(range(9)), known, PairMatches(*(np.empty(21, np.int32) for _ in range(3)))) == everything[:20]


def test_buffers_suffice_for_360_labels_and_are_bounded() -> None:
    rooms = [len(PairMatches.allocate(labels).numbers) - 1 for labels in (0, 1, 2, 3, 360)]
    assert rooms == [0, 0, 1, 3, 360 * 359 // 2]
    assert len(PairMatches.allocate(100_000).first) - 1 == 1 << 16


# --- which labels occur together ----------------------------------------------------------------------------------


def csr(matrix: NDArray[np.bool_]) -> Csr:
    """Pairs that cannot be written to, as the tasks of a training get them: the compiled kernels are the same."""
    starts = np.concatenate([[0], np.cumsum(matrix.sum(axis=1))]).astype(np.int64)
    return Csr(read_only(starts), read_only(np.nonzero(matrix)[1].astype(np.int32)))


matrices = st.tuples(st.integers(0, 12), st.integers(1, 9), st.sampled_from([0.1, 0.5, 1.0]), st.integers(0, 9)).map(
    lambda shape: np.random.default_rng(shape[3]).random(shape[:2]) < shape[2]
)


def slow_counts(matrix: NDArray[np.bool_]) -> dict[tuple[int, int], int]:
    """In how many images each two labels are together, where they are at all."""
    together = {(a, b): int((matrix[:, a] & matrix[:, b]).sum()) for a, b in combinations(range(matrix.shape[1]), 2)}
    return {pair: count for pair, count in together.items() if count}


@given(matrices, st.integers(1, 14))
def test_counts_are_counted_and_those_above_the_last_go_there(matrix: NDArray[np.bool_], last: int) -> None:
    histogram, labels = np.zeros(last + 1, np.int64), matrix.shape[1]
    for start, end in ((0, labels // 2), (labels // 2, labels)):
        pair_count_histogram(csr(matrix), csr(matrix.T), histogram, start, end, CountScratch.allocate(len(matrix.T)))
    counts = np.minimum(list(slow_counts(matrix).values()), last).astype(np.int64)
    assert histogram.tolist() == np.bincount(counts, minlength=last + 1).tolist()


@given(matrices, st.integers(1, 14))
def test_pairs_of_so_many_images_are_collected_with_their_counts(matrix: NDArray[np.bool_], fewest: int) -> None:
    expected = {pair: count for pair, count in slow_counts(matrix).items() if count >= fewest}
    labels = matrix.shape[1]
    found: dict[tuple[int, int], int] = {}
    for first, last in ((0, labels // 2), (labels // 2, labels)):
        own = sum(first <= pair[0] < last for pair in expected)
        # A row more than is needed, to see that it stays as it was.
        pairs, counts = np.full((own + 1, 2), -1, np.int32), np.full(own + 1, -1, np.int32)
        assert (
            collect_label_pairs(
                csr(matrix), csr(matrix.T), fewest, pairs, counts, first, last, CountScratch.allocate(len(matrix.T))
            )
            == own
        )
        assert (pairs[-1] == -1).all()
        assert counts[-1] == -1
        found |= {(a, b): count for (a, b), count in zip(pairs[:-1].tolist(), counts[:-1].tolist(), strict=True)}
    assert found == expected
