"""Alias tables hold exactly the probabilities they were made from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.train.sampling import alias_table, rank_probabilities


def implied(threshold: np.ndarray, alias: np.ndarray) -> np.ndarray:
    """What a draw from the table gives: each cell is kept with its threshold, else exchanged for its alias."""
    cells = len(threshold)
    probabilities = threshold.astype(np.float64) / cells
    np.add.at(probabilities, alias, (1.0 - threshold.astype(np.float64)) / cells)
    return probabilities


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60).filter(lambda weights: sum(weights) > 1e-3))
def test_implies_the_given_probabilities(weights: list[float]) -> None:
    probabilities = np.array(weights) / np.sum(weights)
    threshold, alias = alias_table(probabilities)
    assert ((threshold >= 0) & (threshold <= 1)).all()
    assert ((alias >= 0) & (alias < len(weights))).all()
    np.testing.assert_allclose(implied(threshold, alias), probabilities, atol=1e-6)


@pytest.mark.parametrize("kind", ["exponential", "geometric", "linear"])
@pytest.mark.parametrize("scale", [0.001, 0.1, 1.0])
def test_implies_the_rank_distributions(kind: str, scale: float) -> None:
    probabilities = rank_probabilities(300, kind, scale)
    np.testing.assert_allclose(implied(*alias_table(probabilities)), probabilities, atol=1e-6)


def test_probabilities_of_0_have_no_place_in_the_table() -> None:
    probabilities = np.array([0.0, 0.7, 0.0, 0.3, 0.0])
    threshold, alias = alias_table(probabilities)
    assert (threshold[probabilities == 0] == 0).all()
    assert set(alias[[0, 2, 4]]) <= {1, 3}


def test_leaves_its_input_alone() -> None:
    probabilities = np.array([0.2, 0.8])
    alias_table(probabilities)
    assert probabilities.tolist() == [0.2, 0.8]
