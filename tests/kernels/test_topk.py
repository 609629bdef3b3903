from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.topk import Addends, KeyScratch, TopK, topk_scores


def lead(
    scores: np.ndarray,
    known: list[list[int]],
    denied: list[int],
    top: int,
    temperature: float = 1.0,
    addends: Addends | None = None,
) -> TopK:
    best = TopK.allocate(len(scores), top)
    nothing = Addends(np.zeros(scores.shape[1], np.float32), np.empty((0, 0), np.float32), np.float32(0.0))
    counts = np.array([0, *map(len, known)], np.int64)
    pairs = Csr(np.cumsum(counts), np.array([one for some in known for one in some], np.int32))
    topk_scores(
        scores.astype(np.float32),
        addends or nothing,
        pairs,
        np.array(denied, np.int64),
        np.full(len(scores), temperature, np.float32),
        best,
        KeyScratch.allocate(scores.shape[1]),
    )
    return best


@given(
    labels=st.sampled_from([1, 2, 127, 128, 129, 300]),
    levels=st.sampled_from([1, 3, 1000]),
    top=st.sampled_from([1, 3, 10]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_top_labels_are_those_of_sorting(labels: int, levels: int, top: int, seed: int) -> None:
    numbers = np.random.default_rng(seed)
    scores = numbers.integers(-levels, levels, (3, labels)).astype(np.float32)
    known = [np.flatnonzero(row).tolist() for row in numbers.random((3, labels)) < 0.3]
    denied = np.flatnonzero(numbers.random(labels) < 0.3)
    best = lead(scores, known, denied.tolist(), top)
    for row in range(3):
        free = np.setdiff1d(np.arange(labels), np.union1d(known[row], denied).astype(int))
        expected = free[np.argsort(-scores[row, free], kind="stable")][:top]
        rest = top - len(expected)
        assert best.labels[row].tolist() == expected.tolist() + [-1] * rest
        assert best.scores[row].tolist() == scores[row, expected].tolist() + [-np.inf] * rest


@given(
    temperature=st.sampled_from([0.05, 1.0, 3.0]),
    shift=st.sampled_from([0.0, 500.0, -500.0]),
    spread=st.sampled_from([0.0, 1.0, 100.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_totals_are_over_all_labels_but_the_known(temperature: float, shift: float, spread: float, seed: int) -> None:
    numbers = np.random.default_rng(seed)
    scores = (shift + spread * numbers.normal(size=(2, 150))).astype(np.float32)
    best = lead(scores, [[3, 4], []], [0, 1, 2], 1, temperature)
    for row, left_out in enumerate(([3, 4], [])):
        powers = np.delete(scores[row].astype(np.float64), left_out) / temperature
        expected = powers.max() + np.log(np.exp(powers - powers.max()).sum())
        np.testing.assert_allclose(best.log_totals[row], expected, rtol=1e-6, atol=2e-6)


def test_without_a_label_left_there_is_nothing() -> None:
    best = lead(np.ones((1, 3)), [[0, 1, 2]], [], 2)
    assert best.labels.tolist() == [[-1, -1]]
    assert best.log_totals.tolist() == [-np.inf]


def test_bias_and_what_known_labels_tell_are_added_first() -> None:
    numbers = np.random.default_rng(0)
    scores, bias = numbers.normal(size=(4, 30)), numbers.normal(size=30).astype(np.float32)
    weights = numbers.normal(size=(30, 30)).astype(np.float32)
    known = [[], [5], [1, 2, 3, 4], [0, 7, 9, 11, 12, 20]]
    best = lead(scores, known, [], 30, addends=Addends(bias, weights, np.float32(2.0)))
    for row, has in enumerate(known):
        whole = scores[row] + bias + 2.0 * weights[has].sum(axis=0)
        free = np.setdiff1d(np.arange(30), has)
        expected = free[np.argsort(-whole[free])]
        assert best.labels[row, : len(free)].tolist() == expected.tolist()
        np.testing.assert_allclose(best.scores[row, : len(free)], whole[expected], rtol=1e-4, atol=1e-5)
