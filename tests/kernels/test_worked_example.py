"""VSE-ens by hand: 5 images, 10 labels, 5 factors, as large as the example the paper walks through in figure 2.

Every factor's values are a multiple of a permutation of 0..9, so that its spread is that multiple of sqrt(8.25), which
p(f|i) ~ |v_if| sigma_f does not see. Ranks 0, 1, 2, 3 are drawn with 0.4, 0.3, 0.2, 0.1: linear, lambda |A| = 4.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.support.drawing import assert_drawn_from, draw
from tests.support.kernel_problems import Problem, annotations, make_problem
from vse_ens.config import Config
from vse_ens.kernels.arrays import Sampling, SharedTables
from vse_ens.kernels.rank_table import RankScratch, rank_factors
from vse_ens.train.sampling import alias_table, rank_probabilities

#        label   0    1    2    3    4    5    6    7    8    9
FACTORS = [
    [9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
    [0, 2, 4, 6, 8, 10, 12, 14, 16, 18],  # twice a permutation
    [9, 4, 8, 3, 7, 2, 6, 1, 5, 0],
    [2, 1.5, 1, 0.5, 0, 4.5, 4, 3.5, 3, 2.5],  # half of one
    [0, 5, 1, 6, 2, 7, 3, 8, 4, 9],
]
RANKINGS = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    [9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
    [0, 2, 4, 6, 8, 1, 3, 5, 7, 9],
    [5, 6, 7, 8, 9, 0, 1, 2, 3, 4],
    [9, 7, 5, 3, 1, 8, 6, 4, 2, 0],
]
IMAGES = [
    [2, -1, 0, 4, -2],
    [1, 0, 0, 0, 0],
    [-1, 1, 1, 0, 0],
    [0, 0, -3, 2, 0],
    [1, 0.5, -1, 2, -1],
]
OWNED = [[0, 9], [1], [2, 9], [7], [0, 1, 2, 3, 4]]

# |v_if| times 1, 2, 1, 1/2, 1, in lowest terms.
FACTOR_SHARES = [
    [1, 1, 0, 1, 1],
    [1, 0, 0, 0, 0],
    [1, 2, 1, 0, 0],
    [0, 0, 3, 1, 0],
    [1, 1, 1, 1, 1],
]
# p(a|i) before labels the image has are drawn again, in units of a tenth of a share of the image's factors. Image 0:
# factor 0 from the top gives 0 1 2 3, factor 1 from the bottom 0 1 2 3, factor 3 from the top 5 6 7 8, factor 4 from
# the bottom 0 2 4 6, each with 4 3 2 1, and each factor with the same share.
LABEL_SHARES = [
    [12, 6, 7, 2, 2, 4, 4, 2, 1, 0],
    [4, 3, 2, 1, 0, 0, 0, 0, 0, 0],
    [4, 0, 3, 0, 2, 0, 4, 6, 9, 12],
    [0, 0, 0, 3, 0, 10, 3, 11, 1, 12],
    [8, 3, 5, 2, 2, 6, 5, 7, 4, 8],
]
LEFT = [28, 7, 25, 29, 30]  # of these units, those of labels the image has not


@pytest.fixture
def example() -> Problem:
    config = Config(sampler="vse-ens", rank_distribution="linear", rank_scale=0.4, label_bias=False)
    problem = make_problem(config, annotations(OWNED, 10))
    labels = np.array(FACTORS, np.float32).T.copy()
    problem.tables = SharedTables(labels, np.zeros(10, np.float32), np.zeros((0, 5), np.float32))
    problem.image_vectors = np.array(IMAGES, np.float32)
    problem.sampling = problem.sampling._replace(rankings=np.zeros((6, 10), np.uint16), spread=np.zeros(6, np.float32))
    rank_factors(problem.tables, problem.sampling, np.arange(6), RankScratch.allocate(10))
    return problem


def test_ranks_are_drawn_with_four_three_two_one_tenths() -> None:
    assert_allclose(rank_probabilities(10, "linear", 0.4), [0.4, 0.3, 0.2, 0.1, 0, 0, 0, 0, 0, 0])


def test_rankings_and_spreads(example: Problem) -> None:
    assert example.sampling.rankings[:5].tolist() == RANKINGS
    assert_allclose(example.sampling.spread, np.sqrt(8.25) * np.array([1, 2, 1, 0.5, 1, 0]), rtol=1e-6)


@pytest.mark.parametrize("image", range(5))
def test_factors_are_drawn_by_how_much_they_matter_to_the_image(example: Problem, image: int) -> None:
    weights = np.abs(example.image_vectors[image]) * example.sampling.spread[:5]
    assert_allclose(weights / weights.sum(), np.array(FACTOR_SHARES[image]) / sum(FACTOR_SHARES[image]), rtol=1e-6)


@pytest.mark.parametrize(
    ("side", "factor", "rank", "label"),
    [
        (+1, 0, 2, 2),
        (-1, 0, 2, 7),
        (+1, 1, 0, 9),
        (-1, 1, 3, 3),
        (+1, 2, 5, 1),
        (-1, 2, 1, 7),
        (+1, 3, 1, 6),
        (-1, 3, 9, 5),
        (+1, 4, 4, 1),
        (-1, 4, 0, 0),
    ],
)
def test_one_draw(example: Problem, side: int, factor: int, rank: int, label: int) -> None:
    """The label at the rank drawn, from the top of the factor drawn where v_if > 0, from its bottom otherwise."""
    threshold, alias = alias_table(np.eye(10)[rank])
    example.sampling = Sampling(
        example.sampling.rankings, example.sampling.spread, threshold, alias, candidates=1, max_redraws=1
    )
    example.pairs = example.pairs._replace(indptr=np.zeros(6, np.int64), indices=np.zeros(0, np.int32))
    example.image_vectors[0] = side * np.eye(5)[factor]
    assert (draw(example, 0, draws=20).labels == label).all()


@pytest.mark.parametrize("image", range(5))
def test_draws_are_those_worked_out_by_hand(example: Problem, image: int) -> None:
    shares = np.array(LABEL_SHARES[image], float)
    assert shares.sum() == 10 * sum(FACTOR_SHARES[image])
    shares[OWNED[image]] = 0.0
    assert shares.sum() == LEFT[image]
    assert_drawn_from(draw(example, image).labels, shares / LEFT[image])
