"""Losses of one negative: values, slopes, extremes; and the exponential of the softmax loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.support.compiled import compiled
from vse_ens.kernels import losses
from vse_ens.kernels.jit import kernel

hinge, logistic = compiled(losses.hinge), compiled(losses.logistic)

POINTS = [-30.0, -3.0, -1.5, -0.5, 0.25, 0.75, 1.5, 3.0, 30.0]


def slow_hinge(difference: float, margin: float) -> float:
    return max(0.0, margin - difference)


def slow_logistic(difference: float) -> float:
    return float(np.logaddexp(0.0, -difference))


def falling(function, point: float, step: float = 1e-5) -> float:
    """Minus the slope, by central differences."""
    return (function(point - step) - function(point + step)) / (2 * step)


@pytest.mark.parametrize("margin", [0.1, 1.0, 2.5])
@pytest.mark.parametrize("point", POINTS)
def test_hinge(point: float, margin: float) -> None:
    value, slope = hinge(np.float32(point), np.float32(margin))
    assert value == pytest.approx(slow_hinge(point, margin), rel=1e-6)
    assert slope == pytest.approx(falling(lambda x: slow_hinge(x, margin), point), abs=1e-6)


def test_hinge_at_the_margin_makes_no_step() -> None:
    assert hinge(np.float32(1.0), np.float32(1.0)) == (0.0, 0.0)


@pytest.mark.parametrize("point", [*POINTS, 0.0])
def test_logistic(point: float) -> None:
    linear, factor, slope = logistic(np.float32(point))
    assert linear + np.log(np.float64(factor)) == pytest.approx(slow_logistic(point), rel=1e-6, abs=1e-7)
    assert slope == pytest.approx(falling(slow_logistic, point), abs=1e-6)


@pytest.mark.parametrize("point", [1e4, 1e30, math.inf])
def test_logistic_does_not_overflow(point: float) -> None:
    assert logistic(np.float32(point)) == (0.0, 1.0, 0.0)
    assert logistic(np.float32(-point)) == (np.float32(point), 1.0, 1.0)


def test_numbers_that_are_not_numbers_are_passed_on() -> None:
    assert all(map(math.isnan, logistic(np.float32(np.nan))))


@kernel
def exponentials(numbers: np.ndarray, results: np.ndarray) -> None:
    for n in range(numbers.shape[0]):
        results[n] = losses.exp_below_zero(numbers[n])


def exponentials_of(numbers: np.ndarray) -> np.ndarray:
    results = np.empty(len(numbers), np.float32)
    exponentials(numbers.astype(np.float32), results)
    return results


def test_equals_numpy_from_zero_down_to_the_smallest_numbers() -> None:
    numbers = np.linspace(-86.9, 0.0, 2_001).astype(np.float32)
    assert_allclose(exponentials_of(numbers), np.exp(numbers.astype(np.float64)), rtol=1e-5)
    assert exponentials_of(np.zeros(1))[0] == 1.0


def test_far_below_zero_nothing_is_left() -> None:
    assert (exponentials_of(np.array([-87.5, -1e4, -3e38, -np.inf])) < 1e-37).all()
