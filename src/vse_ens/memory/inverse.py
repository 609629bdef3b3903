"""The inverse of a symmetric positive definite matrix, in place, by Cholesky."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import ConfigError
from vse_ens.model.blas import one_thread

BLOCK = 512
"""Rows and columns that are mirrored at a time: three times a block of doubles is made on the way."""


def invert_in_place(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse; the memory of ``matrix`` is used up."""
    from scipy.linalg.lapack import dpotrf, dpotri

    with one_thread():
        # LAPACK counts by columns: the transpose, which is the same matrix, lets it work in the memory it is given.
        factor, failed = dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)
        if not failed:
            inverse, failed = dpotri(factor, lower=0, overwrite_c=1)
    if failed:
        raise ConfigError(
            "regularization is too small for these pairs: the matrix of ease cannot be inverted; raise it"
        )
    rows: NDArray[np.float64] = inverse.T
    _mirror(rows)
    return rows


def _mirror(matrix: NDArray[np.float64]) -> None:
    """Copy the lower triangle, all that LAPACK fills, to the upper one, block by block."""
    for start in range(0, len(matrix), BLOCK):
        stop = start + BLOCK
        corner = np.tril(matrix[start:stop, start:stop])
        matrix[start:stop, start:stop] = corner + np.tril(corner, -1).T
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T
