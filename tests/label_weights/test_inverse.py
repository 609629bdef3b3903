from __future__ import annotations

import numpy as np
import pytest

from vse_ens.errors import ConfigError
from vse_ens.label_weights.closed_form import invert_in_place


@pytest.mark.parametrize("size", [1, 2, 511, 512, 513, 1100])
def test_the_inverse_is_one_and_symmetric(size: int) -> None:
    root = np.cos(np.arange(size)[:, None] * np.arange(1, 9))
    matrix = root @ root.T + np.eye(size)
    inverse = invert_in_place(matrix.copy())
    np.testing.assert_allclose(inverse @ matrix, np.eye(size), atol=1e-9)
    np.testing.assert_array_equal(inverse, inverse.T)


def test_the_inverse_needs_no_second_matrix() -> None:
    matrix = np.eye(40) + 0.5
    assert np.shares_memory(invert_in_place(matrix), matrix)


def test_a_matrix_that_cannot_be_inverted_is_an_error() -> None:
    with pytest.raises(ConfigError, match="regularization is too small"):
        invert_in_place(np.ones((3, 3)))
