"""What is particular to one sampler; what holds for all is in `contracts/test_samplers.py`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from tests.support.drawing import DRAWS, assert_drawn_from, draw
from tests.support.kernel_problems import DIMENSIONS, JIT, Problem, annotations, make_problem, no_counts, random_state
from tests.support.stated_distributions import ensemble, without_owned
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import REJECTED, TRIES, Sampling
from vse_ens.kernels.jit import kernel
from vse_ens.kernels.rank_table import RankScratch, rank_factors
from vse_ens.kernels.samplers import ImageDraws, accumulate_factors, draw_vse_ens_ahead, fill_vse_ens, label_at_rank

LABELS = 12


def data() -> Annotations:
    return annotations([[1, 4, 5], [2]], LABELS)


# --- warp ---------------------------------------------------------------------------------------------------------


def warp_problem(violators: list[int]) -> tuple[Problem, float]:
    """A problem where exactly these labels violate the margin of 1 of image 0, and the score of its positive."""
    problem = make_problem(Config(sampler="warp", loss="warp"), data())
    problem.tables.labels[:] = 0.0
    problem.tables.bias[:] = -10.0
    problem.tables.bias[violators] = 0.5
    return problem, 1.0


def test_warp_is_uniform_among_labels_that_violate_the_margin() -> None:
    problem, own_score = warp_problem([0, 4, 7, 9])  # the image has 4
    found = draw(problem, 0, positive_score=own_score).labels
    stated = np.zeros(LABELS)
    stated[[0, 7, 9]] = 1 / 3
    found = found[found >= 0]
    assert_drawn_from(found, stated)


def test_warp_tries_are_geometric_up_to_all_labels_but_one() -> None:
    problem, own_score = warp_problem([0, 7, 9])
    drawn = draw(problem, 0, positive_score=own_score)
    most = LABELS - 1
    odds = 3 / 9  # three of the nine labels the image lacks
    stated = odds * (1 - odds) ** np.arange(most)
    gives_up = (1 - odds) ** most
    assert ((drawn.tried >= 1) & (drawn.tried <= most)).all()
    assert (drawn.tried[drawn.labels < 0] == most).all()
    assert_drawn_from(np.where(drawn.labels < 0, most, drawn.tried - 1), np.append(stated, gives_up))
    # N counts labels the image lacks; looks at labels it has are counted beside them.
    assert drawn.counts[TRIES] - drawn.counts[REJECTED] == drawn.tried.sum()


def test_warp_gives_up_where_nothing_violates() -> None:
    problem, own_score = warp_problem([])
    drawn = draw(problem, 0, draws=20, positive_score=own_score)
    assert (drawn.labels == -1).all()
    assert (drawn.tried == LABELS - 1).all()


def test_warp_takes_a_score_at_the_margin_as_no_violation() -> None:
    problem, _ = warp_problem([0])
    assert (draw(problem, 0, draws=20, positive_score=1.5, margin=1.0).labels == -1).all()  # 1 + 0.5 > 1.5 is false
    assert (draw(problem, 0, draws=200, positive_score=1.499, margin=1.0).labels == 0).any()


def test_warp_takes_a_label_at_once_where_all_violate() -> None:
    drawn = draw(warp_problem(list(range(LABELS)))[0], 0, draws=200)
    assert (drawn.tried == 1).all()


# --- vse-ens ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank_distribution", ["exponential", "geometric", "linear"])
@pytest.mark.parametrize("rank_scale", [0.1, 1.0])
def test_vse_ens_with_the_bias_as_a_factor(rank_distribution: str, rank_scale: float) -> None:
    config = Config(sampler="vse-ens", rank_distribution=rank_distribution, rank_scale=rank_scale)
    problem = make_problem(config, data())
    problem.tables.bias[:] *= 4.0  # so that it weighs as much as several others
    rank_factors(problem.tables, problem.sampling, np.arange(DIMENSIONS + 1), RankScratch.allocate(LABELS))
    assert_drawn_from(draw(problem, 0).labels, without_owned(ensemble(problem, 0), problem.positives(0)))


def test_vse_ens_with_rankings_of_four_bytes() -> None:
    problem = make_problem(Config(sampler="vse-ens", rank_scale=0.4), data())
    small = draw(problem, 0).labels
    problem.sampling = problem.sampling._replace(rankings=problem.sampling.rankings.astype(np.int32))
    assert (draw(problem, 0).labels == small).all()


def test_vse_ens_without_a_bias_never_draws_from_its_ranking() -> None:
    problem = make_problem(Config(sampler="vse-ens", rank_scale=0.01), annotations([[3]], LABELS))
    problem.tables.bias[:] = 0.0
    problem.tables.labels[:, 1:] = 0.0
    problem.tables.labels[:, 0] = np.arange(LABELS)[::-1]
    problem.image_vectors[0] = -1.0
    rank_factors(problem.tables, problem.sampling, np.arange(DIMENSIONS + 1), RankScratch.allocate(LABELS))
    # Every factor but the first is constant: from the bottom of that one.
    found = np.bincount(draw(problem, 0).labels, minlength=LABELS)
    assert found[11] > 0.6 * DRAWS
    assert found[0] < 0.01 * DRAWS


def test_vse_ens_where_all_factors_are_constant_still_ends() -> None:
    problem = make_problem(Config(sampler="vse-ens"), data())
    problem.sampling.spread[:] = 0.0
    assert np.isin(draw(problem, 0, draws=50).labels, [*problem.free(0), -1]).all()


@cache
def accumulator() -> Any:
    @kernel
    def accumulate(vector: Any, sampling: Any, cumulative: Any) -> None:
        accumulate_factors(vector, sampling, cumulative)

    return accumulate


@cache
def filler() -> Any:
    @kernel
    def fill(vector: Any, draws: Any, cumulative: Any, drawn: Any, factors: Any) -> int:
        accumulate_factors(vector, draws.sampling, cumulative)
        return fill_vse_ens(vector.shape[0], vector, cumulative, draws, drawn, factors)

    return fill


def fill_with(problem: Problem, image: int, drawn: NDArray[np.int32], counts: NDArray[np.int64]) -> int:
    cumulative, factors = np.empty(DIMENSIONS + 1, np.float32), np.empty_like(drawn)
    draws = ImageDraws(problem.tables, problem.sampling, problem.positives(image), random_state(1), counts)
    return int(filler()(problem.vector(image), draws, cumulative, drawn, factors))


def test_many_labels_at_once_are_those_drawn_one_after_another() -> None:
    problem = make_problem(Config(sampler="vse-ens", loss="softmax"), data())
    alone = draw(problem, 0, 200)
    drawn, counts = np.full(200, -2, np.int32), no_counts()
    assert fill_with(problem, 0, drawn, counts) == 200
    assert drawn.tolist() == alone.labels.tolist()
    assert counts[TRIES] == alone.counts[TRIES]
    assert counts[REJECTED] == alone.counts[REJECTED] > 0


def test_an_image_with_all_labels_has_none_to_fill() -> None:
    full = annotations([list(range(LABELS)), [2]], LABELS)
    problem = make_problem(Config(sampler="vse-ens", loss="softmax"), full)
    counts = no_counts()
    assert fill_with(problem, 0, np.empty(3, np.int32), counts) == 0
    assert counts[TRIES] == counts[REJECTED] == 3 * problem.sampling.max_redraws


@cache
def drawer_ahead() -> Any:
    @kernel
    def draw_visits(vector: Any, draws: Any, cumulative: Any, drawn: Any) -> None:
        accumulate_factors(vector, draws.sampling, cumulative)
        for visit in range(drawn.shape[0]):
            draw_vse_ens_ahead(DIMENSIONS, vector, cumulative, draws, drawn[visit])

    return draw_visits


def visits_of(problem: Problem, image: int, visits: int, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The negatives that the SGD kernel draws when it visits an image: a row per visit."""
    positives, cumulative = problem.positives(image), np.empty(DIMENSIONS + 1, np.float32)
    drawn = np.full((visits, len(positives)), -2, np.int64)
    draws = ImageDraws(problem.tables, problem.sampling, positives, random_state(1), counts)
    drawer_ahead()(problem.vector(image), draws, cumulative, drawn)
    return drawn


@pytest.mark.parametrize("rank_distribution", ["exponential", "geometric", "linear"])
def test_every_draw_of_a_visit_follows_the_stated_distribution(rank_distribution: str) -> None:
    problem = make_problem(Config(sampler="vse-ens", rank_scale=0.4, rank_distribution=rank_distribution), data())
    counts = no_counts()
    drawn = visits_of(problem, 0, DRAWS, counts)
    stated = without_owned(ensemble(problem, 0), problem.positives(0))
    for place in drawn.T:
        assert_drawn_from(place, stated)
    assert counts[TRIES] - counts[REJECTED] == drawn.size
    assert counts[REJECTED] > 0


def test_a_visit_gives_up_after_the_redraws_it_may_make() -> None:
    full = annotations([list(range(LABELS)), [2]], LABELS)
    problem = make_problem(Config(sampler="vse-ens"), full)
    counts = no_counts()
    assert (visits_of(problem, 0, 2, counts) == -1).all()
    assert counts[TRIES] == counts[REJECTED] == 2 * LABELS * problem.sampling.max_redraws


def sampling_of(spread: NDArray[np.float32], labels: int) -> Sampling:
    rankings = np.zeros((len(spread), labels), np.uint16)
    return Sampling(rankings, spread, np.empty(0, np.float32), np.empty(0, np.int32), 1, 1)


@pytest.mark.parametrize("factors", [1, 2, 3, 4, 5, 7, 8, 9, 16, 19, 100])
def test_running_sums_over_any_number_of_factors(factors: int) -> None:
    rng = np.random.default_rng(factors)
    vector = rng.normal(size=factors).astype(np.float32)
    spread = rng.uniform(0.1, 1, factors + 1).astype(np.float32)
    cumulative = np.empty(factors + 1, np.float32)
    accumulator()(vector, sampling_of(spread, 3), cumulative)
    assert_allclose(cumulative, np.cumsum(np.abs(np.append(vector, 1.0)) * spread), rtol=1e-5)


tables = arrays(np.float32, (9, 6), elements=st.floats(-8, 8, width=16))
vectors = arrays(np.float32, 5, elements=st.floats(-8, 8, width=16))


@given(tables, vectors)
def test_the_transformed_score_ranks_as_the_score_does(table: NDArray[np.float32], vector: NDArray[np.float32]) -> None:
    """s*_i(a) = sum_f p(f|i) sgn(v_if) v*_af and s_i(a) order any two labels alike, ties aside (eq. 6 and 7)."""
    labels, bias = np.ascontiguousarray(table[:, :5]), np.ascontiguousarray(table[:, 5])
    problem = make_problem(Config(sampler="vse-ens"), annotations([[0]], 9))
    sampling = sampling_of(np.zeros(6, np.float32), 9)
    rank_factors(problem.tables._replace(labels=labels, bias=bias), sampling, np.arange(6), RankScratch.allocate(9))
    cumulative = np.empty(6, np.float32)
    accumulator()(vector, sampling, cumulative)

    # Both in double precision: the mean, the spread and p(f|i) are the kernels'.
    wide, side = table.astype(np.float64), np.append(vector, 1.0).astype(np.float64)
    drawn_from = table.std(axis=0) > 1e-4
    factor_probability = np.diff(cumulative, prepend=0.0).astype(np.float64)
    if not (factor_probability * drawn_from).sum() > 0:
        return
    factor_probability /= factor_probability.sum()
    standard = (wide - wide.mean(axis=0)) / np.where(drawn_from, sampling.spread, 1.0)
    transformed = (standard * drawn_from) @ (factor_probability * np.sign(side))
    score = wide @ side
    # One is the other, scaled and shifted: what is clearly apart in one is in the same order in the other.
    scale = np.abs(wide).max() * np.abs(side).max()
    clearly = np.abs(score[:, None] - score) > 1e-3 * max(scale, 1.0)
    assert (np.sign(score[:, None] - score) == np.sign(transformed[:, None] - transformed))[clearly].all()


# --- naive --------------------------------------------------------------------------------------------------------


@cache
def selector() -> Any:
    @kernel
    def select_all(scores: Any, found: Any) -> None:
        for rank in range(found.shape[0]):
            found[rank] = label_at_rank(scores, rank)

    return select_all


def ranked(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    found = np.empty(len(scores), np.int64)
    selector()(scores, found)
    return found


@given(arrays(np.float32, st.integers(1, 12), elements=st.floats(-1e4, 1e4, width=32)))
def test_selecting_a_rank_equals_a_stable_sort(scores: NDArray[np.float32]) -> None:
    assert (ranked(scores) == np.argsort(-scores, kind="stable")).all()


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0, 1.0000001, 1e-40, 1e38, -1e38]), min_size=1, max_size=12))
def test_selecting_a_rank_among_ties_and_extremes(values: list[float]) -> None:
    scores = np.array(values, np.float32)
    assert (ranked(scores) == np.argsort(-scores, kind="stable")).all()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("bad", [[np.nan, 1.0, 2.0], [1.0, np.nan], [-np.inf, 1.0, np.nan, 0.0]])
def test_selecting_ends_where_a_score_is_not_a_number(bad: list[float]) -> None:
    found = ranked(np.array(bad, np.float32))
    assert ((found >= -1) & (found < len(bad))).all()


def test_naive_draws_by_the_exact_ranking() -> None:
    problem = make_problem(
        Config(sampler="naive", rank_scale=0.001), data()
    )  # lambda |A| < 1: hardly any but the first
    best = max(problem.free(0), key=lambda label: problem.scores(0)[label])
    found = np.bincount(draw(problem, 0, draws=2_000 if JIT else 200).labels, minlength=LABELS)
    assert found.argmax() == best
