"""Rankings and spreads of the factors against NumPy's sort and standard deviation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from tests.support.kernel_problems import JIT
from vse_ens.kernels.arrays import Sampling, SharedTables
from vse_ens.kernels.rank_table import MAX_STEPS, Probes, RankScratch, find_moved_factors, rank_factors

NONE = np.empty(0, np.float32)


def rank(
    labels: NDArray[np.float32], bias: NDArray[np.float32] | None = None, dtype: type = np.uint16, start: int = 0
) -> Sampling:
    """Rankings and spreads of the factors of a label table, from ``start``; the bias is the last."""
    count, factors = labels.shape
    sampling = Sampling(
        rankings=np.full((factors + 1, count), 7, dtype),
        spread=np.zeros(factors + 1, np.float32),
        threshold=NONE,
        alias=np.empty(0, np.int32),
        candidates=1,
        max_redraws=1,
    )
    tables = SharedTables(
        labels, np.zeros(count, np.float32) if bias is None else bias, np.zeros((0, factors), np.float32)
    )
    rank_factors(tables, sampling, np.arange(start, factors + 1), RankScratch.allocate(count))
    return sampling


def steps_of(column: NDArray[np.float32]) -> NDArray[np.int64]:
    """Which of the equal steps of its range, from the top, a label's value lies in."""
    steps = min(MAX_STEPS, 8 * len(column))
    step_scale = column.max() - column.min()
    scale = np.float32(steps - 1) / step_scale if step_scale > 1e-30 else np.float32(0.0)
    return ((column.max() - column) * scale).astype(np.int64)


@pytest.mark.parametrize("dtype", [np.uint16, np.int32])
@pytest.mark.parametrize("labels", [2, 3, 50, 3000 if JIT else 120])
def test_order_is_a_stable_sort_by_steps_of_the_range(labels: int, dtype: type) -> None:
    rng = np.random.default_rng(labels)
    table, bias = rng.normal(size=(labels, 8)).astype(np.float32), rng.normal(size=labels).astype(np.float32)
    sampling = rank(table, bias, dtype)
    for ranking, column in zip(sampling.rankings, [*table.T, bias], strict=True):
        assert (ranking == np.argsort(steps_of(column), kind="stable")).all()
    assert_allclose(sampling.spread, [*table.std(axis=0), bias.std()], rtol=1e-5)


@given(arrays(np.float32, (9, 3), elements=st.floats(-1e3, 1e3, width=32)))
def test_rankings_are_permutations_that_fall_to_within_a_step(table: NDArray[np.float32]) -> None:
    sampling = rank(table)
    assert_allclose(
        sampling.spread[:3], table.std(axis=0, dtype=np.float64), rtol=1e-4, atol=1e-20 + 2e-7 * np.abs(table).max()
    )
    for ranking, column in zip(sampling.rankings, table.T, strict=False):
        assert sorted(ranking.tolist()) == list(range(9))
        step = (column.max() - column.min()) / (8 * 9 - 1)
        assert (np.diff(column[ranking]) <= step * 1.001).all()


@pytest.mark.parametrize("factors", [1, 15, 16, 17, 31, 32])
def test_values_well_apart_are_sorted_exactly_whatever_the_block(factors: int) -> None:
    rng = np.random.default_rng(factors)
    table = np.array([rng.permutation(60) for _ in range(factors + 1)], np.float32).T - 30
    sampling = rank(np.ascontiguousarray(table[:, :factors]), np.ascontiguousarray(table[:, factors]))
    assert (sampling.rankings == np.argsort(-table, axis=0).T).all()
    assert_allclose(sampling.spread, table.std(axis=0), rtol=1e-6)


def test_a_constant_factor_keeps_the_order_of_numbers() -> None:
    sampling = rank(np.full((20, 2), 3.25, np.float32))
    assert (sampling.rankings == np.arange(20)).all()
    assert not sampling.spread.any()


def test_a_range_too_small_for_its_steps_has_no_spread() -> None:
    table = np.zeros((20, 1), np.float32)
    table[4] = 1e-38
    sampling = rank(table)
    assert sorted(sampling.rankings[0].tolist()) == list(range(20))
    assert sampling.spread[0] == 0.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_factor_that_is_not_finite_keeps_its_order(bad: float) -> None:
    table = np.random.default_rng(1).normal(size=(20, 3)).astype(np.float32)
    table[5, 1] = bad
    sampling = rank(table)
    assert (sampling.rankings[1] == 7).all()
    assert (sampling.rankings[2] == np.argsort(steps_of(table[:, 2]), kind="stable")).all()


def test_only_the_factors_asked_for_are_ranked() -> None:
    sampling = rank(np.random.default_rng(1).normal(size=(20, 20)).astype(np.float32), start=16)
    assert (sampling.rankings[:16] == 7).all()
    assert not sampling.spread[:16].any()
    assert (np.sort(sampling.rankings[16:]) == np.arange(20)).all()


@pytest.mark.skipif(not JIT, reason="many labels take minutes without the JIT")
def test_more_labels_than_two_bytes_can_number() -> None:
    labels = 70_000
    table = np.random.default_rng(1).normal(size=(labels, 2)).astype(np.float32)
    sampling = rank(table, dtype=np.int32)
    assert (sampling.rankings[0] == np.argsort(steps_of(table[:, 0]), kind="stable")).all()
    # The ends, where ranks are drawn from most, are as a full sort has them.
    assert (sampling.rankings[0][:5] == np.argsort(-table[:, 0])[:5]).all()
    assert (sampling.rankings[0][-5:] == np.argsort(-table[:, 0])[-5:]).all()


# --- which rankings no longer hold ---

PROBES = Probes(np.arange(0, 40, 2), gap=5, tolerated=5)
FACTORS, COUNT = 6, 120


def moved(labels: NDArray[np.float32], bias: NDArray[np.float32], sampling: Sampling) -> list[int]:
    tables = SharedTables(labels, bias, np.zeros((0, FACTORS), np.float32))
    found = np.full(FACTORS + 1, -1, np.int64)
    return found[: find_moved_factors(tables, sampling, PROBES, found)].tolist()


def ranked_table() -> tuple[NDArray[np.float32], NDArray[np.float32], Sampling]:
    rng = np.random.default_rng(3)
    labels = rng.normal(size=(COUNT, FACTORS)).astype(np.float32)
    bias = rng.normal(size=COUNT).astype(np.float32)
    return labels, bias, rank(labels, bias)


def test_rankings_hold_for_the_values_they_were_made_of() -> None:
    assert moved(*ranked_table()) == []


def test_factors_that_were_shuffled_have_moved_and_no_others() -> None:
    labels, bias, sampling = ranked_table()
    rng = np.random.default_rng(4)
    for factor in (1, 4):
        labels[:, factor] = rng.permutation(labels[:, factor])
    assert moved(labels, rng.permutation(bias), sampling) == [1, 4, FACTORS]


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.1, 0.2, 0.4, 0.8])
def test_a_factor_moved_if_more_pairs_than_tolerated_swapped(noise: float) -> None:
    labels, bias, sampling = ranked_table()
    rng = np.random.default_rng(5)
    labels += rng.normal(0.0, noise, labels.shape).astype(np.float32)
    bias += rng.normal(0.0, noise, COUNT).astype(np.float32)
    expected = []
    for factor, values in enumerate([*labels.T, bias]):
        from_top = values[sampling.rankings[factor]]
        from_bottom = -from_top[::-1]
        swapped = sum(
            (order[PROBES.ranks] < order[PROBES.ranks + PROBES.gap]).sum() for order in (from_top, from_bottom)
        )
        expected += [factor] if swapped > PROBES.tolerated else []
    assert moved(labels, bias, sampling) == expected
    assert (expected == []) if noise < 0.05 else (len(expected) == FACTORS + 1) if noise > 0.5 else True


def test_from_either_end_a_ranking_is_probed() -> None:
    labels, bias, sampling = ranked_table()
    top, bottom = sampling.rankings[0][:45], sampling.rankings[1][-45:]
    labels[top, 0] = labels[top[::-1], 0]
    labels[bottom, 1] = labels[bottom[::-1], 1]
    assert moved(labels, bias, sampling) == [0, 1]
