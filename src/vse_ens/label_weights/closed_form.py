"""Every label from all the others by one ridge regression, in closed form (EASE: Steck, WWW 2019).

The inverse of a symmetric positive definite matrix, in place, by Cholesky.

What EASE will cost, told before it is paid.
"""

from __future__ import annotations

import time
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import ConfigError
from vse_ens.model.blas import one_thread


def dense_label_weights(gram: NDArray[np.float64], regularization: float) -> NDArray[np.float32]:
    """B = I - P diag(1 / diag P) with P = (G + lambda I)^-1; the memory of ``gram``, G = X^T D X, is used up."""
    np.einsum("ii->i", gram)[:] += regularization
    inverse = invert_in_place(gram)
    weights = np.empty(inverse.shape, np.float32)
    np.divide(inverse, -inverse.diagonal(), out=weights, casting="same_kind")
    np.fill_diagonal(weights, 0.0)
    return weights


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


# Matrices of |A|^2 doubles at the peak, measured: the counts, inverted in place, and the float32 weights.
_MATRICES = 1.6
# The time of the inverse over that of a matrix product of the same size: 0.55 to 0.9 measured.
_PRODUCTS = 0.8
# Fewer labels than this take seconds on any machine, and are not worth an estimate.
_FEW_LABELS = 3_000
_TRIAL_LABELS = 1_024


def refuse_unaffordable(labels: int, memory_limit: float, time_limit: float) -> None:
    """Refuse a label count that needs more than ``memory_limit`` gigabytes or ``time_limit`` seconds."""
    gigabytes = ram_needed(labels)
    if gigabytes > memory_limit:
        _refuse(f"{gigabytes:,.1f} GB of memory", labels, f"memory_limit of {memory_limit:g} GB")
    if labels > _FEW_LABELS:
        seconds = time_needed(labels)
        if seconds > time_limit:
            _refuse(f"{seconds:,.0f} seconds", labels, f"time_limit of {time_limit:g} seconds")


def ram_needed(labels: int) -> float:
    """Gigabytes at the peak of fitting."""
    return _MATRICES * 8e-9 * labels**2


def time_needed(labels: int) -> float:
    """Seconds of fitting on this machine as it is now, by a small matrix product: the time grows with the cube."""
    matrix = np.ones((_TRIAL_LABELS, _TRIAL_LABELS))
    seconds = []
    with one_thread():  # as the inverse is made
        for _ in range(3):
            start = time.perf_counter()
            np.matmul(matrix, matrix)
            seconds.append(time.perf_counter() - start)
    return _PRODUCTS * min(seconds) * (labels / _TRIAL_LABELS) ** 3


def _refuse(need: str, labels: int, limit: str) -> NoReturn:
    raise ConfigError(
        f"ease needs about {need} for {labels:,} labels, more than its {limit}; raise the limit, leave out rare labels "
        "with min_images_per_label, or use cooccurrence, whose cost grows with the pairs"
    )
