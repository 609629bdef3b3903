"""Products of vectors with the rows of a table, in an order of addition that nothing else changes.

A matrix library chooses how to add by the shapes of the matrices, the CPU and the number of threads, and in some of its
kernels a row is rounded by its place among the others. Here v . t is one sum in the order of the factors: the bits of a
product depend on the two vectors and on whether the CPU fuses multiplication and addition, on nothing else.
"""

from __future__ import annotations

import numpy as np

from vse_ens.kernels.arrays import Floats
from vse_ens.kernels.jit import ordered_kernel

TILE = 64
"""Rows of the table in a tile."""


def make_tiles(table: Floats) -> Floats:
    """Return a table as tiles x k x `TILE`, so that `multiply_tiles` reads it in order; padded with zeros."""
    rows, dimensions = table.shape
    tiles = np.zeros((-(-rows // TILE), dimensions, TILE), np.float32)
    whole = rows // TILE
    tiles[:whole] = table[: whole * TILE].reshape(whole, TILE, dimensions).transpose(0, 2, 1)
    if rows % TILE:
        tiles[whole, :, : rows % TILE] = table[whole * TILE :].T
    return tiles


@ordered_kernel
def multiply_tiles(vectors: Floats, tiles: Floats, start: int, products: Floats) -> None:
    """Write the products of each vector with the rows of the tiles to its row of ``products``, from ``start`` on.

    Four vectors and four factors are taken at a time, so that a sum is loaded and stored once per four products.
    """
    rows, dimensions = vectors.shape
    fours, whole = rows - rows % 4, dimensions - dimensions % 4
    sums = np.empty((4, TILE), np.float32)
    s0, s1, s2, s3 = sums[0], sums[1], sums[2], sums[3]
    for tile in range(tiles.shape[0]):
        factors = tiles[tile]
        first = start + tile * TILE
        count = min(TILE, products.shape[1] - first)
        for row in range(0, fours, 4):
            sums[:] = 0.0
            v0, v1, v2, v3 = vectors[row], vectors[row + 1], vectors[row + 2], vectors[row + 3]
            for f in range(0, whole, 4):
                t0, t1, t2, t3 = factors[f], factors[f + 1], factors[f + 2], factors[f + 3]
                a0, a1, a2, a3 = v0[f], v0[f + 1], v0[f + 2], v0[f + 3]
                b0, b1, b2, b3 = v1[f], v1[f + 1], v1[f + 2], v1[f + 3]
                c0, c1, c2, c3 = v2[f], v2[f + 1], v2[f + 2], v2[f + 3]
                d0, d1, d2, d3 = v3[f], v3[f + 1], v3[f + 2], v3[f + 3]
                for a in range(TILE):
                    x0, x1, x2, x3 = t0[a], t1[a], t2[a], t3[a]  # once: a sum might overlap a tile, for all LLVM knows
                    s0[a] = s0[a] + a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
                    s1[a] = s1[a] + b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
                    s2[a] = s2[a] + c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
                    s3[a] = s3[a] + d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3
            for f in range(whole, dimensions):
                t0 = factors[f]
                for n in range(4):
                    value = vectors[row + n, f]
                    for a in range(TILE):
                        sums[n, a] += value * t0[a]
            for n in range(4):
                for a in range(count):
                    products[row + n, first + a] = sums[n, a]
        for row in range(fours, rows):
            s0[:] = 0.0
            v0 = vectors[row]
            for f in range(0, whole, 4):
                t0, t1, t2, t3 = factors[f], factors[f + 1], factors[f + 2], factors[f + 3]
                a0, a1, a2, a3 = v0[f], v0[f + 1], v0[f + 2], v0[f + 3]
                for a in range(TILE):
                    s0[a] = s0[a] + a0 * t0[a] + a1 * t1[a] + a2 * t2[a] + a3 * t3[a]
            for f in range(whole, dimensions):
                t0 = factors[f]
                for a in range(TILE):
                    s0[a] += v0[f] * t0[a]
            for a in range(count):
                products[row, first + a] = s0[a]
