from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from baselines.cases import Matrix, annotations, everything, matrices
from vse_ens.baselines import ease_cost
from vse_ens.baselines.ease import Ease
from vse_ens.baselines.inverse import invert_in_place
from vse_ens.errors import ConfigError


def ridge_by_columns(matrix: NDArray[np.float64], regularization: float) -> NDArray[np.float64]:
    """Each label from the others by a ridge regression of its own; its own weight is left out, hence 0."""
    labels = matrix.shape[1]
    weights = np.zeros((labels, labels))
    for label in range(labels):
        others = np.delete(np.arange(labels), label)
        inputs = matrix[:, others]
        weights[others, label] = np.linalg.solve(
            inputs.T @ inputs + regularization * np.eye(len(others)), inputs.T @ matrix[:, label]
        )
    return weights


@given(matrix=matrices, regularization=st.sampled_from([0.1, 1.0, 50.0]))
def test_weights_are_those_of_a_ridge_regression_a_label(matrix: Matrix, regularization: float) -> None:
    data, dense = annotations(matrix), matrix.astype(np.float64)
    expected = ridge_by_columns(dense, regularization)
    fitted = Ease(regularization=regularization).fit(data)
    np.testing.assert_allclose(fitted.weights, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fitted.scores(everything(data)), dense @ expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 511, 512, 513, 1100])
def test_the_inverse_is_one_and_symmetric(size: int) -> None:
    root = np.cos(np.arange(size)[:, None] * np.arange(1, 9))
    matrix = root @ root.T + np.eye(size)
    inverse = invert_in_place(matrix.copy())
    np.testing.assert_allclose(inverse @ matrix, np.eye(size), atol=1e-9)
    np.testing.assert_array_equal(inverse, inverse.T)


def test_scipy_works_in_the_memory_it_is_given() -> None:
    pytest.importorskip("scipy")
    matrix = np.eye(40) + 0.5
    assert np.shares_memory(invert_in_place(matrix), matrix)


def test_without_scipy_the_result_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.eye(40) + np.outer(np.arange(40), np.arange(40)) / 100
    with_scipy = invert_in_place(matrix.copy())
    monkeypatch.setitem(sys.modules, "scipy.linalg.lapack", None)
    np.testing.assert_allclose(invert_in_place(matrix.copy()), with_scipy, atol=1e-12)


def test_a_matrix_that_cannot_be_inverted_is_an_error() -> None:
    pytest.importorskip("scipy")
    with pytest.raises(ConfigError, match="regularization is too small"):
        invert_in_place(np.ones((3, 3)))


def test_too_much_memory_is_refused_before_the_work() -> None:
    with pytest.raises(ConfigError) as caught:
        ease_cost.refuse_unaffordable(100_000, memory_limit=4.0, time_limit=600.0)
    assert str(caught.value) == (
        f"ease needs about {ease_cost.memory_needed(100_000):,.1f} GB of memory for 100,000 labels, more than its "
        "memory_limit of 4 GB; raise the limit, leave out rare labels with min_images_per_label, or use cooccurrence, "
        "whose cost grows with the pairs"
    )
    with pytest.raises(ConfigError, match="memory_limit of 1e-06 GB"):
        Ease(memory_limit=1e-6).fit(annotations(np.eye(20, dtype=bool)))


def test_too_much_time_is_refused_before_the_work() -> None:
    with pytest.raises(ConfigError, match=r"ease needs about .* seconds for 20,000 labels, more than its time_limit"):
        ease_cost.refuse_unaffordable(20_000, memory_limit=1e6, time_limit=0.01)


def test_few_labels_are_not_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ease_cost, "time_needed", lambda labels: pytest.fail(f"{labels} labels need no trial"))
    ease_cost.refuse_unaffordable(2_000, memory_limit=4.0, time_limit=0.01)


def test_more_is_needed_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("scipy")
    with_scipy = ease_cost.memory_needed(1_000)
    monkeypatch.setattr(ease_cost, "find_spec", lambda name: None)
    assert ease_cost.memory_needed(1_000) > 2 * with_scipy
