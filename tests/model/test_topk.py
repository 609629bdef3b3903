"""A row of a product has the same bits alone and among others."""

from __future__ import annotations

import numpy as np
import pytest

from vse_ens.model import topk
from vse_ens.model.blas import one_thread
from vse_ens.model.topk import FAST_ROWS, products_by_row

_numbers = np.random.default_rng(4)


@pytest.mark.parametrize("labels", [1, 2, 17, 40, 81, 600])
@pytest.mark.parametrize("dimensions", [1, 3, 100, 513])
def test_a_row_has_the_same_bits_in_any_company(labels: int, dimensions: int) -> None:
    vectors = _numbers.normal(size=(FAST_ROWS + 37, dimensions)).astype(np.float32)
    table = _numbers.normal(size=(labels, dimensions)).astype(np.float32)
    with one_thread():
        whole = products_by_row(vectors, table)
        for first, last in ((0, 1), (5, 6), (3, 20), (FAST_ROWS - 1, FAST_ROWS + 2), (1, FAST_ROWS + 1), (20, FAST_ROWS + 37)):
            assert products_by_row(vectors[first:last], table).tobytes() == whole[first:last].tobytes()
    np.testing.assert_allclose(whole, vectors.astype(np.float64) @ table.T, atol=1e-3)


def test_where_many_rows_round_in_another_way_few_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = _numbers.normal(size=(FAST_ROWS, 8)).astype(np.float32)
    table = _numbers.normal(size=(90, 8)).astype(np.float32)
    expected = products_by_row(vectors, table)
    monkeypatch.setattr(topk, "_round_alike", lambda _labels, _dimensions: False)
    np.testing.assert_allclose(products_by_row(vectors, table), expected, atol=1e-5)


def test_no_vectors_have_no_products() -> None:
    assert products_by_row(np.empty((0, 4), np.float32), np.ones((3, 4), np.float32)).shape == (0, 3)
