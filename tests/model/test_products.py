"""The product of two vectors has the same bits whatever is computed beside it."""

from __future__ import annotations

import numpy as np
import pytest

from vse_ens.kernels.products import TILE, make_tiles, multiply_tiles
from vse_ens.model import products
from vse_ens.model.products import LabelProducts, row_products

_numbers = np.random.default_rng(4)


def _random(*shape: int) -> np.ndarray:
    return _numbers.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("labels", [1, 17, TILE, TILE + 1, 600])
@pytest.mark.parametrize("dimensions", [1, 3, 100, 514])
def test_one_row_has_the_bits_of_many(labels: int, dimensions: int) -> None:
    vectors, table = _random(43, dimensions), _random(labels, dimensions)
    label_products = LabelProducts(table)
    whole = label_products.of(vectors)
    for first, last in ((0, 1), (5, 6), (3, 20), (1, 43), (38, 43)):
        assert label_products.of(vectors[first:last]).tobytes() == whole[first:last].tobytes()
    assert row_products(vectors, table).tobytes() == whole.tobytes()
    assert row_products(table, vectors).T.tobytes() == whole.tobytes()
    np.testing.assert_allclose(whole, vectors.astype(np.float64) @ table.T, atol=1e-3)


def test_copies_of_one_vector_have_equal_rows() -> None:
    # In one kernel of OpenBLAS, twelve of sixteen rows are rounded in another way than the rest.
    whole = LabelProducts(_random(600, 100)).of(np.tile(_random(1, 100), (16, 1)))
    assert {row.tobytes() for row in whole} == {whole[0].tobytes()}


def test_a_large_table_is_copied_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, table = _random(9, 8), _random(3 * TILE + 5, 8)
    expected = LabelProducts(table).of(vectors)
    monkeypatch.setattr(products, "_MAX_TILE_BYTES", table.nbytes - 1)
    monkeypatch.setattr(products, "_BLOCK", TILE)
    assert LabelProducts(table).of(vectors).tobytes() == expected.tobytes()


def test_read_only_and_strided_arrays_are_multiplied() -> None:
    vectors, table = _random(5, 12)[:, ::2], _random(70, 6)
    expected = LabelProducts(table).of(vectors.copy())
    vectors.flags.writeable = table.flags.writeable = False
    assert LabelProducts(table).of(vectors).tobytes() == expected.tobytes()


@pytest.mark.parametrize(("rows", "labels"), [(0, 3), (3, 0)])
def test_no_vectors_have_no_products(rows: int, labels: int) -> None:
    assert LabelProducts(_random(labels, 4)).of(_random(rows, 4)).shape == (rows, labels)
    assert row_products(_random(rows, 4), _random(labels, 4)).shape == (rows, labels)


@pytest.mark.parametrize("rows", [1, 4, 7])
@pytest.mark.parametrize("dimensions", [1, 4, 6])
@pytest.mark.parametrize("labels", [1, TILE - 1, TILE, 2 * TILE + 3])
def test_kernel_writes_every_product(rows: int, dimensions: int, labels: int) -> None:
    vectors, table = _random(rows, dimensions), _random(labels, dimensions)
    out = np.full((rows, labels), np.nan, np.float32)
    multiply_tiles(vectors, make_tiles(table), 0, out)
    np.testing.assert_allclose(out, vectors.astype(np.float64) @ table.T, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 4])
def test_kernel_adds_in_the_order_of_the_factors(rows: int) -> None:
    # 1e8 + 1 is 1e8 in single precision: the order of the sum decides between 0 and 1.
    table = np.array([[1e8, 1.0, -1e8, 0.0, 0.0], [1e8, -1e8, 1.0, 0.0, 0.0], [0.0, 0.0, 1e8, 1.0, -1e8]], np.float32)
    out = np.empty((rows, 3), np.float32)
    multiply_tiles(np.ones((rows, 5), np.float32), make_tiles(table), 0, out)
    assert out.tolist() == [[0.0, 1.0, 0.0]] * rows
