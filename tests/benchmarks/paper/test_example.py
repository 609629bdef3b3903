"""Figure 2, drawn by the kernel."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.paper.example import worked_example
from benchmarks.paper.numbers import PAPER


def test_the_kernel_draws_positions_2_and_9() -> None:
    cases = worked_example()["cases"]
    assert cases["positive"]["position"] == PAPER["figure2"]["position_if_positive"] == 2
    assert PAPER["figure2"]["position_if_negative"] == 8, "as printed"
    assert cases["negative"]["position"] == 10 - 2 + 1


def test_positions_are_those_of_the_sorted_factor() -> None:
    example = worked_example()
    factor = [row[2] for row in example["labels"]]
    order = sorted(range(10), key=lambda label: -factor[label])
    assert [label + 1 for label in order] == example["order"]
    for case in example["cases"].values():
        assert order[case["position"] - 1] + 1 == case["label"]


def test_factors_and_ranks_are_drawn_by_their_laws() -> None:
    """The variance in place of the standard deviation, and a uniform rank law, are outside of the bounds."""
    example = worked_example()
    bound = 4.0 * np.sqrt(0.25 / example["draws"])
    for case in example["cases"].values():
        assert case["factor_shares"] == pytest.approx(case["factor_probabilities"], abs=bound)
        assert case["rank_shares"] == pytest.approx(example["rank_probabilities"], abs=bound)
        weights = np.abs(case["vector"]) * np.square(example["spread"])
        assert np.abs(weights / weights.sum() - case["factor_shares"]).max() > bound
    assert np.abs(np.array(case["rank_shares"]) - 0.1).max() > bound
