from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.baseline_cases import Matrix, annotations, everything, matrices
from tests.support.ridge_twin import ridge_by_columns
from vse_ens.baselines.ease import Ease
from vse_ens.errors import ConfigError


@given(matrix=matrices, regularization=st.sampled_from([0.1, 1.0, 50.0]))
def test_weights_are_those_of_a_ridge_regression_a_label(matrix: Matrix, regularization: float) -> None:
    data, dense = annotations(matrix), matrix.astype(np.float64)
    expected = ridge_by_columns(dense.T @ dense, regularization)
    fitted = Ease(regularization=regularization).fit(data)
    # Numbers of 32 bits lose as many digits as the condition number has; versions of LAPACK differ in the rest.
    lost = np.finfo(np.float32).eps * np.linalg.cond(dense.T @ dense + regularization * np.eye(dense.shape[1]))
    np.testing.assert_allclose(fitted.weights, expected, rtol=lost, atol=lost)
    np.testing.assert_allclose(fitted.scores(everything(data)), dense @ expected, rtol=lost, atol=lost * len(expected))


def test_too_much_is_refused_before_the_work() -> None:
    with pytest.raises(ConfigError, match="memory_limit of 1e-06 GB"):
        Ease(memory_limit=1e-6).fit(annotations(np.eye(20, dtype=bool)))
