from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from vse_ens.data.annotations import Annotations
from vse_ens.data.features.attach import plain_features, squared_lengths
from vse_ens.errors import DataError

DENSE = np.array([[0.0, 2.0, 1.0], [0.0, 0.0, 0.0], [3.0, 0.0, 4.0]])


def untidy() -> Any:
    """`DENSE` with unsorted columns, a value in two parts, an explicit zero, and 64-bit places."""
    matrix = sparse.csr_matrix(
        (np.array([1.0, 1.5, 0.5, 0.0, 4.0, 3.0]), np.array([2, 1, 1, 0, 2, 0]), np.array([0, 4, 4, 6])), shape=(3, 3)
    )
    matrix.indptr, matrix.indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    return matrix


FORMS = {
    "lists": DENSE.tolist(),
    "float64": DENSE,
    "whole numbers": DENSE.astype(np.int16),
    "columns first": np.asfortranarray(DENSE),
    "every second row": np.repeat(DENSE, 2, axis=0)[::2],
    "csr_array": sparse.csr_array(DENSE),
    "csr_matrix": sparse.csr_matrix(DENSE),
    "coo_array": sparse.coo_array(DENSE),
    "csc_matrix": sparse.csc_matrix(DENSE),
    "untidy": untidy(),
}


@pytest.mark.parametrize("form", FORMS)
def test_whatever_the_form_the_numbers_are_the_same(form: str) -> None:
    plain = plain_features(FORMS[form])
    assert plain.dtype == np.float32
    if isinstance(plain, np.ndarray):
        assert plain.flags.c_contiguous
        np.testing.assert_array_equal(plain, DENSE)
    else:
        assert plain.format == "csr"
        assert plain.has_canonical_format
        np.testing.assert_array_equal(plain.toarray(), DENSE)
    np.testing.assert_array_equal(squared_lengths(plain), [5.0, 0.0, 25.0])
    assert plain_features(plain) is plain


def test_input_is_not_changed() -> None:
    given = untidy()
    plain_features(given)
    assert given.indices.tolist() == [2, 1, 1, 0, 2, 0]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e300])
def test_numbers_that_are_not_finite_are_refused(wrong: float) -> None:
    for matrix in (np.array([[1.0, wrong]]), sparse.csr_array(np.array([[1.0, wrong]]))):
        with pytest.raises(DataError, match="NaN or infinite"):
            plain_features(matrix)


@pytest.mark.parametrize("wrong", ["text", [["a", "b"]], [[1.0], [1.0, 2.0]], {"a": 1}])
def test_input_that_is_not_a_matrix_of_numbers_is_refused(wrong: Any) -> None:
    with pytest.raises(DataError, match="must be a 2-d array or a SciPy sparse matrix of numbers"):
        plain_features(wrong)


def test_features_stay_with_the_pairs_through_a_split() -> None:
    data = Annotations.from_pairs([(image, label) for image in "abc" for label in "xy"]).with_features(untidy())
    for part in data.leave_one_out():
        np.testing.assert_array_equal(part.features.toarray(), DENSE)
