"""The exponential of the softmax kernel against NumPy's in double precision."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from vse_ens.kernels.exponential import exp_below_zero
from vse_ens.kernels.jit import kernel


@kernel
def exponentials(numbers: np.ndarray, results: np.ndarray) -> None:
    for n in range(numbers.shape[0]):
        results[n] = exp_below_zero(numbers[n])


def of(numbers: np.ndarray) -> np.ndarray:
    results = np.empty(len(numbers), np.float32)
    exponentials(numbers.astype(np.float32), results)
    return results


def test_equals_numpy_from_zero_down_to_the_smallest_numbers() -> None:
    numbers = np.linspace(-86.9, 0.0, 2_001).astype(np.float32)
    assert_allclose(of(numbers), np.exp(numbers.astype(np.float64)), rtol=1e-5)
    assert of(np.zeros(1))[0] == 1.0


def test_far_below_zero_nothing_is_left() -> None:
    assert (of(np.array([-87.5, -1e4, -3e38, -np.inf])) < 1e-37).all()
