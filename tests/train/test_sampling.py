"""Rank and label distributions, and the weights of ranks, against their formulas written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from vse_ens.train.sampling import popularity_probabilities, rank_probabilities, rank_weights

FORMULAS = {
    "exponential": lambda rank, step_scale: math.exp(-rank / step_scale),
    "geometric": lambda rank, step_scale: (1 - 1 / step_scale) ** rank,
    "linear": lambda rank, step_scale: max(step_scale - rank, 0.0),
}


@pytest.mark.parametrize("kind", FORMULAS)
@pytest.mark.parametrize("scale", [0.05, 0.1, 0.5, 1.0, 3.0])
def test_ranks(kind: str, scale: float) -> None:
    labels = 40
    weights = [FORMULAS[kind](rank, scale * labels) for rank in range(labels)]
    assert_allclose(rank_probabilities(labels, kind, scale), np.array(weights) / sum(weights), rtol=1e-12)


@pytest.mark.parametrize("kind", FORMULAS)
def test_a_reach_below_one_label_is_one_label(kind: str) -> None:
    assert (rank_probabilities(40, kind, 0.001) == rank_probabilities(40, kind, 1 / 40)).all()
    assert rank_probabilities(40, kind, 0.001)[0] > 0.6


@pytest.mark.parametrize("kind", FORMULAS)
def test_huge_vocabularies_and_scales_are_finite(kind: str) -> None:
    for scale in (0.001, 1e6):
        probabilities = rank_probabilities(100_000, kind, scale)
        assert probabilities.sum() == pytest.approx(1.0)
        assert (np.diff(probabilities) <= 0).all()


@pytest.mark.parametrize(("power", "expected"), [(1.0, [0.1, 0, 0.4, 0.5]), (0.0, [1 / 3, 0, 1 / 3, 1 / 3])])
def test_popularity(power: float, expected: list[float]) -> None:
    assert_allclose(popularity_probabilities(np.array([1, 0, 4, 5]), power), expected)


def test_weights_of_ranks() -> None:
    assert_allclose(rank_weights(4, "harmonic", 2), [0, 1, 1 + 1 / 2, 1 + 1 / 2 + 1 / 3, 1 + 1 / 2 + 1 / 3 + 1 / 4])
    assert_allclose(rank_weights(4, "mean", 2), [0, 1 / 3, 2 / 3, 1, 4 / 3])
    assert_allclose(rank_weights(4, "top-n", 2), [0, 1, 1.5, 1.5, 1.5])
