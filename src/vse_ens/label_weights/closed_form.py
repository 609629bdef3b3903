"""Dense label weights in closed form: a ridge regression of every label on all others (EASE: Steck, WWW 2019)."""

from __future__ import annotations

import time
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import ConfigError
from vse_ens.model.blas import one_thread

BLOCK = 512
"""Rows and columns that are mirrored at a time; this takes three temporary blocks of doubles."""

# Below this condition number, single precision, which takes half the time, is exact to four digits.
_SINGLE_CONDITION = 2_000.0
# Peak number of |A|^2 matrices of doubles: G, and its float32 copy or, if G itself is inverted, the float32 weights.
_MATRICES = 1.5
# The time of the inverse relative to a matrix product of the same size: 0.55 to 0.9 measured.
_PRODUCTS = 0.8
# Fewer labels than this take seconds on any machine and need no estimate.
_FEW_LABELS = 3_000
_PROBE_LABELS = 1_024


def dense_label_weights(gram: NDArray[np.float64], regularization: float) -> NDArray[np.float32]:
    """Return B = I - P diag(1 / diag P) with P = (G + lambda I)^-1; ``gram``, G, is overwritten.

    G is freed as soon as it is copied, unless the caller holds it.
    """
    np.einsum("ii->i", gram)[:] += regularization
    # G has no negative eigenvalue, so the condition number is at most the largest row sum over lambda.
    condition = float(gram.sum(axis=1).max()) / regularization
    matrix: NDArray[Any] = gram.astype(np.float32) if condition < _SINGLE_CONDITION else gram
    del gram
    inverse = invert_in_place(matrix)
    weights = np.empty(inverse.shape, np.float32)
    np.divide(inverse, -inverse.diagonal(), out=weights, casting="same_kind")
    np.fill_diagonal(weights, 0.0)
    return weights


def invert_in_place(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the inverse of a symmetric positive definite matrix, by Cholesky; ``matrix`` is overwritten."""
    from scipy.linalg import lapack

    single = matrix.dtype == np.float32
    factorize, invert = (lapack.spotrf, lapack.spotri) if single else (lapack.dpotrf, lapack.dpotri)
    with one_thread():
        # LAPACK is column-major: given the transpose, which is the same matrix, it works without a copy.
        factor, failed = factorize(matrix.T, lower=0, clean=0, overwrite_a=1)
        if not failed:
            inverse, failed = invert(factor, lower=0, overwrite_c=1)
    if failed:
        raise ConfigError(
            "regularization is too small for these pairs: the matrix of ease cannot be inverted; raise it"
        )
    rows: NDArray[Any] = inverse.T
    _mirror(rows)
    return rows


def _mirror(matrix: NDArray[Any]) -> None:
    """Copy the lower triangle, which LAPACK fills, to the upper one, block by block."""
    for start in range(0, len(matrix), BLOCK):
        stop = start + BLOCK
        corner = np.tril(matrix[start:stop, start:stop])
        matrix[start:stop, start:stop] = corner + np.tril(corner, -1).T
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T


def check_cost(labels: int, memory_limit: float, time_limit: float) -> None:
    """Raise an error if this number of labels needs more than ``memory_limit`` gigabytes or ``time_limit`` seconds."""
    gigabytes = ram_needed(labels)
    if gigabytes > memory_limit:
        _raise_too_costly(f"{gigabytes:,.1f} GB of RAM", labels, f"memory_limit of {memory_limit:g} GB")
    if labels > _FEW_LABELS:
        seconds = time_needed(labels)
        if seconds > time_limit:
            _raise_too_costly(f"{seconds:,.0f} seconds", labels, f"time_limit of {time_limit:g} seconds")


def ram_needed(labels: int) -> float:
    """Return the peak RAM of the closed form in gigabytes."""
    return _MATRICES * 8e-9 * labels**2


def time_needed(labels: int) -> float:
    """Estimate the seconds of the closed form on this machine from a small matrix product: it grows with |A|^3."""
    matrix = np.ones((_PROBE_LABELS, _PROBE_LABELS))
    seconds = []
    with one_thread():  # like the inverse
        for _ in range(3):
            start = time.perf_counter()
            np.matmul(matrix, matrix)
            seconds.append(time.perf_counter() - start)
    return _PRODUCTS * min(seconds) * (labels / _PROBE_LABELS) ** 3


def _raise_too_costly(need: str, labels: int, limit: str) -> NoReturn:
    raise ConfigError(
        f"ease needs about {need} for {labels:,} labels, more than its {limit}; raise the limit, leave out rare labels "
        "with min_images_per_label, or use cooccurrence, whose cost grows with the pairs"
    )
