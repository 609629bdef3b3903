"""Products of a few vectors with all label vectors, without the copy that a matrix library makes for each product."""

from __future__ import annotations

import numpy as np

from vse_ens.kernels.arrays import Floats
from vse_ens.kernels.jit import ordered_kernel

TILE = 64
"""Labels of a tile: their sums fit the vector registers."""


def make_tiles(label_vectors: Floats) -> Floats:
    """Return label vectors as tiles x k x `TILE`, so that `tile_products` reads them in order; padded with zeros."""
    labels, dimensions = label_vectors.shape
    tiles = np.zeros((-(-labels // TILE), dimensions, TILE), np.float32)
    whole = labels // TILE
    tiles[:whole] = label_vectors[: whole * TILE].reshape(whole, TILE, dimensions).transpose(0, 2, 1)
    if labels % TILE:
        tiles[whole, :, : labels % TILE] = label_vectors[whole * TILE :].T
    return tiles


@ordered_kernel
def tile_products(vectors: Floats, tiles: Floats, products: Floats) -> None:
    """Write v_i . v_a to ``products[i, a]``: one sum in the order of the factors, whatever is computed beside it."""
    labels = products.shape[1]
    sums = np.empty(TILE, np.float32)
    for tile in range(tiles.shape[0]):
        factors = tiles[tile]
        first = tile * TILE
        for row in range(vectors.shape[0]):
            sums[:] = 0.0
            for f in range(vectors.shape[1]):
                value, line = vectors[row, f], factors[f]
                for a in range(TILE):
                    sums[a] += value * line[a]
            for a in range(min(TILE, labels - first)):
                products[row, first + a] = sums[a]
