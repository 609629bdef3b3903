"""Products of vectors with the rows of a table, equal to the last bit for one vector or for many."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from vse_ens.kernels.arrays import Floats
from vse_ens.kernels.products import TILE, make_tiles, multiply_tiles

# Larger tables are not copied as a whole: RAM matters more than a few milliseconds.
_MAX_TILE_BYTES = 64 << 20
_BLOCK = 64 * TILE  # rows that are copied at a time


class LabelProducts:
    """The products v_i . v_a with one table of label vectors, which must not change."""

    def __init__(self, label_vectors: Floats) -> None:
        self._label_vectors = label_vectors

    def of(self, vectors: Floats) -> Floats:
        """Return v_i . v_a, one row per vector."""
        if self._tiles is None:
            return row_products(vectors, self._label_vectors)
        products = np.empty((len(vectors), len(self._label_vectors)), np.float32)
        multiply_tiles(_for_kernel(vectors), self._tiles, 0, products)
        return products

    @cached_property
    def _tiles(self) -> Floats | None:
        return make_tiles(self._label_vectors) if self._label_vectors.nbytes <= _MAX_TILE_BYTES else None


def row_products(vectors: Floats, table: Floats) -> Floats:
    """Return the products of each vector with every row of ``table``, which is copied block by block.

    The copy takes longer than the products of one vector: of two tables, ``vectors`` should be the smaller one.
    """
    products, vectors = np.empty((len(vectors), len(table)), np.float32), _for_kernel(vectors)
    for start in range(0, len(table), _BLOCK):
        multiply_tiles(vectors, make_tiles(table[start : start + _BLOCK]), start, products)
    return products


def _for_kernel(vectors: Floats) -> Floats:
    """Return vectors as the kernel is compiled for them: arrays of a cluster are read-only."""
    return np.require(vectors, np.float32, ["C", "W"])
