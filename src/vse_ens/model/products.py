"""Products of image vectors and label vectors, equal to the last bit for one image or for many.

Matrix libraries choose a kernel by the shapes of the matrices and the number of threads, and kernels round differently.
The scores of an image would therefore depend on the images that are scored with it. To avoid this, every product of the
library has the same number of rows, with padding where vectors are missing, and is computed by one thread: the library
then always takes the same kernel, in which a row does not depend on the others.

Two other ways are faster, and each is used if a trial gives the same bits: products of more rows for many images, and
a kernel of our own for a few images. The library copies the label vectors for every product, which takes as long for
one image as for sixteen; the kernel reads a copy that was made once. It adds in the order of the factors, as libraries
do for vectors that are not very long.
"""

from __future__ import annotations

from functools import cache, cached_property

import numpy as np

from vse_ens.kernels.arrays import Floats
from vse_ens.kernels.products import make_tiles, tile_products
from vse_ens.model.blas import one_thread
from vse_ens.streams import Streams

PRODUCT_ROWS = 16
"""Rows of every product of the library."""
LARGE_PRODUCT_ROWS = 256
"""Rows of every product of the library, if these give the same bits."""
FEW_ROWS = 6
"""Up to so many rows, the kernel is faster than the library."""

# Larger tables are not copied: RAM matters more than a few milliseconds.
_MAX_TILE_BYTES = 64 << 20
_NO_TILES = np.empty((0, 0, 0), np.float32)


class LabelProducts:
    """The products v_i . v_a with one table of label vectors, which must not change."""

    def __init__(self, label_vectors: Floats) -> None:
        self._label_vectors = label_vectors
        self._asked = False

    def are_few(self, rows: int) -> bool:
        """Whether this number of rows is computed by `few`, else by `many`.

        The first few rows are computed by `many`: a process that answers once loads no kernel and copies no table.
        """
        if rows > FEW_ROWS:
            return False
        first, self._asked = not self._asked, True
        return not first and len(self._tiles) > 0

    def few(self, vectors: Floats) -> Floats:
        """Return v_i . v_a, one row per vector, by the kernel."""
        products = np.empty((len(vectors), len(self._label_vectors)), np.float32)
        tile_products(vectors, self._tiles, products)
        return products

    def many(self, vectors: Floats) -> Floats:
        """Return the same by the library; call this within `vse_ens.model.blas.one_thread`."""
        return stable_products(vectors, self._label_vectors)

    @cached_property
    def _tiles(self) -> Floats:
        """The copy for the kernel; empty if it would be too large, or if the kernel rounds in another way."""
        if self._label_vectors.nbytes > _MAX_TILE_BYTES:
            return _NO_TILES
        tiles = make_tiles(self._label_vectors)
        numbers = Streams(0).child("products").uniforms(PRODUCT_ROWS * self._label_vectors.shape[1])
        vectors = (numbers.astype(np.float32) - np.float32(0.5)).reshape(PRODUCT_ROWS, -1)
        tried = np.empty((PRODUCT_ROWS, len(self._label_vectors)), np.float32)
        tile_products(vectors, tiles, tried)
        with one_thread():
            agrees = np.array_equal(tried, self.many(vectors))
        return tiles if agrees else _NO_TILES


def stable_products(vectors: Floats, label_vectors: Floats) -> Floats:
    """Return v_i . v_a, one row per vector, with the same bits for a vector in any batch.

    Call this within `vse_ens.model.blas.one_thread`.
    """
    products = np.empty((len(vectors), len(label_vectors)), np.float32)
    large = len(vectors) >= LARGE_PRODUCT_ROWS and _large_products_agree(*label_vectors.shape)
    rows = LARGE_PRODUCT_ROWS if large else PRODUCT_ROWS
    whole = len(vectors) - len(vectors) % rows
    for first in range(0, whole, rows):
        np.matmul(vectors[first : first + rows], label_vectors.T, out=products[first : first + rows])
    for first in range(whole, len(vectors), PRODUCT_ROWS):
        rest = vectors[first : first + PRODUCT_ROWS]
        padded = np.resize(rest, (PRODUCT_ROWS, rest.shape[1]))
        products[first : first + PRODUCT_ROWS] = (padded @ label_vectors.T)[: len(rest)]
    return products


@cache
def _large_products_agree(labels: int, dimensions: int) -> bool:
    """Whether products of many rows have the same bits as products of a few, tried on random numbers."""
    numbers = Streams(0).child("products", labels, dimensions).uniforms((labels + LARGE_PRODUCT_ROWS) * dimensions)
    table = (numbers.astype(np.float32) - np.float32(0.5)).reshape(-1, dimensions)
    vectors, label_vectors = table[:LARGE_PRODUCT_ROWS], table[LARGE_PRODUCT_ROWS:]
    parts = [
        vectors[first : first + PRODUCT_ROWS] @ label_vectors.T for first in range(0, LARGE_PRODUCT_ROWS, PRODUCT_ROWS)
    ]
    return np.array_equal(vectors @ label_vectors.T, np.concatenate(parts))
