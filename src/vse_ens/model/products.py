"""Products of image and label vectors, in which a row has the same bits in any company.

Matrix libraries have several ways to multiply, chosen by the shapes and the number of threads, and these round in
different ways. So a row is always part of a product of the same few rows, by one thread; of more rows only where these
are seen to give the same bits.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from vse_ens.model.embeddings import Floats
from vse_ens.streams import Streams

FEW, MANY = 16, 256
"""Rows of a product: always so many, or so many where that does not matter."""


def row_products(vectors: Floats, label_vectors: Floats) -> Floats:
    """v_i . v_a, a row for each vector; to be called within `vse_ens.model.blas.one_thread`."""
    products = np.empty((len(vectors), len(label_vectors)), np.float32)
    many = MANY if len(vectors) >= MANY and _round_alike(*label_vectors.shape) else FEW
    whole = len(vectors) - len(vectors) % many
    for first in range(0, whole, many):
        np.matmul(vectors[first : first + many], label_vectors.T, out=products[first : first + many])
    for first in range(whole, len(vectors), FEW):
        some = vectors[first : first + FEW]
        products[first : first + FEW] = (np.resize(some, (FEW, some.shape[1])) @ label_vectors.T)[: len(some)]
    return products


@cache
def _round_alike(labels: int, dimensions: int) -> bool:
    """Whether many rows give the same bits as a few: tried on random numbers."""
    numbers = Streams(0).child("products", labels, dimensions).uniforms((labels + MANY) * dimensions)
    table = (numbers.astype(np.float32) - np.float32(0.5)).reshape(-1, dimensions)
    vectors, label_vectors = table[:MANY], table[MANY:]
    few = [vectors[first : first + FEW] @ label_vectors.T for first in range(0, MANY, FEW)]
    return np.array_equal(vectors @ label_vectors.T, np.concatenate(few))
