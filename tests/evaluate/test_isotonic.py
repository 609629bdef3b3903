from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from vse_ens.evaluate.isotonic import isotonic


def minimax(values: list[float], weights: list[float]) -> list[float]:
    """The slow twin: at each place, the highest of the lowest means of all stretches around it."""
    count = len(values)

    def mean(first: int, last: int) -> float:
        return float(np.average(values[first : last + 1], weights=weights[first : last + 1]))

    return [
        max(min(mean(first, last) for last in range(place, count)) for first in range(place + 1))
        for place in range(count)
    ]


@given(some.lists(some.tuples(some.integers(0, 8), some.integers(1, 5)), max_size=12))
def test_it_is_the_nearest_rising_function(points: list[tuple[int, int]]) -> None:
    values, weights = [value / 8 for value, _ in points], [float(weight) for _, weight in points]
    found = isotonic(np.array(values, np.float64), np.array(weights, np.float64))
    assert (np.diff(found) >= 0).all()
    assert found == pytest.approx(minimax(values, weights))


def test_a_worked_case() -> None:
    found = isotonic(np.array([1.0, 3.0, 2.0, 4.0]), np.array([1.0, 1.0, 3.0, 1.0]))
    assert found.tolist() == [1.0, 2.25, 2.25, 4.0]
