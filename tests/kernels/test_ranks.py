from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.ranks import IS_KNOWN, IS_NAN, RankResults, rank_rows
from vse_ens.kernels.topk import KeyScratch


def rank(scores: np.ndarray, known: list[list[int]], held_out: list[list[int]], top: int) -> RankResults:
    def pairs(lists: list[list[int]]) -> Csr:
        counts = np.array([0, *map(len, lists)], np.int64)
        return Csr(np.cumsum(counts), np.array([one for some in lists for one in some], np.int32))

    rows = np.arange(len(scores))
    asked = pairs(held_out)
    found = RankResults(
        np.full(len(asked.indices), -9, np.int32),
        np.full(len(asked.indices), -9, np.int32),
        np.full((len(scores), top), -9, np.int32),
    )
    rank_rows(
        scores.astype(np.float32),
        rows,
        rows,
        0,
        len(scores),
        pairs(known),
        asked,
        found,
        KeyScratch.allocate(scores.shape[1]),
    )
    return found


@given(
    labels=st.sampled_from([1, 2, 63, 64, 65, 130, 200]),  # around the chunks that are looked at together
    levels=st.sampled_from([1, 3, 1000]),
    top=st.sampled_from([1, 3, 10]),
    seed=st.integers(0, 2**32 - 1),
)
def test_ranks_are_those_of_sorting(labels: int, levels: int, top: int, seed: int) -> None:
    numbers = np.random.default_rng(seed)
    scores = numbers.integers(-levels, levels, (3, labels)).astype(np.float32)
    kind = numbers.integers(0, 3, (3, labels))
    known = [np.flatnonzero(row == 1).tolist() for row in kind]
    held_out = [np.flatnonzero(row == 2).tolist() for row in kind]
    found = rank(scores, known, held_out, top)
    pair = 0
    for row in range(3):
        free = np.flatnonzero(kind[row] != 1)
        for label in held_out[row]:
            assert found.above[pair] == np.count_nonzero(scores[row, free] > scores[row, label])
            assert found.tied[pair] == np.count_nonzero(scores[row, free] == scores[row, label])
            pair += 1
        best = free[np.argsort(-scores[row, free], kind="stable")][:top]
        assert found.top[row].tolist() == best.tolist() + [-1] * (top - len(best))


def test_infinity_is_ranked_and_minus_infinity_never_suggested() -> None:
    found = rank(np.array([[-np.inf, 0.0, np.inf, -np.inf, 1.0]]), [[4]], [[0, 2]], 3)
    assert (found.above.tolist(), found.tied.tolist()) == ([2, 0], [2, 1])
    assert found.top.tolist() == [[2, 1, -1]]


def test_pairs_without_a_rank_are_marked() -> None:
    scores = np.array([[1.0, 2.0, 3.0], [1.0, np.nan, 3.0]])
    found = rank(scores, [[1], []], [[-1, 1, 2], [0]], 2)
    assert found.above.tolist() == [2, IS_KNOWN, 0, IS_NAN]
    assert found.tied.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize(("first", "last"), [(0, 1), (1, 3), (2, 2)])
def test_only_the_lines_asked_for_are_touched(first: int, last: int) -> None:
    scores = np.arange(6, dtype=np.float32).reshape(3, 2)
    rows, images = np.array([4, 0, 2]), np.array([0, 2, 1])
    known = Csr(np.array([0, 0, 1, 1]), np.array([1], np.int32))
    held_out = Csr(np.array([0, 1, 1, 2, 2, 3]), np.zeros(3, np.int32))
    found = RankResults(np.full(3, -9, np.int32), np.full(3, -9, np.int32), np.full((5, 2), -9, np.int32))
    rank_rows(scores, rows, images, first, last, known, held_out, found, KeyScratch.allocate(scores.shape[1]))
    expected = {0: (2, 1, [1, 0]), 1: (0, 1, [1, 0]), 2: (1, 0, [0, -1])}  # line: pair, labels above, leaders
    for line in range(3):
        pair, above, top = expected[line]
        touched = first <= line < last
        assert found.above[pair] == (above if touched else -9)
        assert found.tied[pair] == (1 if touched else -9)
        assert found.top[rows[line]].tolist() == (top if touched else [-9, -9])
    assert (found.top[[1, 3]] == -9).all()
