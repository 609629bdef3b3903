"""The products of a vector have the same bits in any batch, by the library or by the kernel."""

from __future__ import annotations

import numpy as np
import pytest

from vse_ens.kernels.products import TILE, make_tiles, tile_products
from vse_ens.model import products
from vse_ens.model.blas import one_thread
from vse_ens.model.products import FEW_ROWS, LARGE_PRODUCT_ROWS, LabelProducts, stable_products

_numbers = np.random.default_rng(4)


@pytest.mark.parametrize("labels", [1, 2, 17, 40, 81, 600])
@pytest.mark.parametrize("dimensions", [1, 3, 100, 513])
def test_a_row_has_the_same_bits_in_any_company(labels: int, dimensions: int) -> None:
    vectors = _numbers.normal(size=(LARGE_PRODUCT_ROWS + 37, dimensions)).astype(np.float32)
    table = _numbers.normal(size=(labels, dimensions)).astype(np.float32)
    with one_thread():
        whole = stable_products(vectors, table)
        for first, last in (
            (0, 1),
            (5, 6),
            (3, 20),
            (LARGE_PRODUCT_ROWS - 1, LARGE_PRODUCT_ROWS + 2),
            (1, LARGE_PRODUCT_ROWS + 1),
            (20, LARGE_PRODUCT_ROWS + 37),
        ):
            assert stable_products(vectors[first:last], table).tobytes() == whole[first:last].tobytes()
    np.testing.assert_allclose(whole, vectors.astype(np.float64) @ table.T, atol=1e-3)


def test_where_many_rows_round_in_another_way_few_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = _numbers.normal(size=(LARGE_PRODUCT_ROWS, 8)).astype(np.float32)
    table = _numbers.normal(size=(90, 8)).astype(np.float32)
    expected = stable_products(vectors, table)
    monkeypatch.setattr(products, "_large_products_agree", lambda _labels, _dimensions: False)
    np.testing.assert_allclose(stable_products(vectors, table), expected, atol=1e-5)


def test_no_vectors_have_no_products() -> None:
    assert stable_products(np.empty((0, 4), np.float32), np.ones((3, 4), np.float32)).shape == (0, 3)


# --- the kernel -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [1, 2, 17, TILE, TILE + 1, 600])
@pytest.mark.parametrize("dimensions", [1, 3, 100, 700])
def test_a_few_rows_have_the_bits_of_many(labels: int, dimensions: int) -> None:
    vectors = _numbers.normal(size=(40, dimensions)).astype(np.float32)
    table = LabelProducts(_numbers.normal(size=(labels, dimensions)).astype(np.float32))
    with one_thread():
        many = table.many(vectors)
    assert not table.are_few(FEW_ROWS + 1)
    assert not table.are_few(1)  # the first time
    for rows in (1, FEW_ROWS):
        if table.are_few(rows):
            assert table.few(vectors[5 : 5 + rows]).tobytes() == many[5 : 5 + rows].tobytes()


def test_where_the_kernel_rounds_in_another_way_it_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def differently(vectors: np.ndarray, tiles: np.ndarray, out: np.ndarray) -> None:
        tile_products(vectors, tiles, out)
        out[3, -1] = np.nextafter(out[3, -1], np.float32(np.inf))

    label_vectors = _numbers.normal(size=(90, 8)).astype(np.float32)
    monkeypatch.setattr(products, "tile_products", differently)
    table = LabelProducts(label_vectors)
    assert not any(table.are_few(1) for _ in range(3))


def test_a_large_table_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    label_vectors = np.ones((90, 8), np.float32)
    monkeypatch.setattr(products, "_MAX_TILE_BYTES", label_vectors.nbytes - 1)
    table = LabelProducts(label_vectors)
    assert not any(table.are_few(1) for _ in range(3))


@pytest.mark.parametrize("labels", [1, TILE - 1, TILE, 2 * TILE + 3])
def test_the_kernel_multiplies_every_vector_with_every_label(labels: int) -> None:
    vectors, table = _numbers.normal(size=(3, 5)).astype(np.float32), _numbers.normal(size=(labels, 5))
    out = np.full((3, labels), np.nan, np.float32)
    tile_products(vectors, make_tiles(table.astype(np.float32)), out)
    np.testing.assert_allclose(out, vectors.astype(np.float64) @ table.T, atol=1e-5)


def test_the_kernel_adds_in_the_order_of_the_factors() -> None:
    # 1e8 + 1 is 1e8 in single precision: the order of the sum decides between 0 and 1.
    table = np.array([[1e8, 1.0, -1e8], [1e8, -1e8, 1.0]], np.float32)
    out = np.empty((1, 2), np.float32)
    tile_products(np.ones((1, 3), np.float32), make_tiles(table), out)
    assert out.tolist() == [[0.0, 1.0]]
