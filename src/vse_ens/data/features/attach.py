"""The matrix of image features, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import DataError


def plain_features(features: Any) -> Any:
    """Return features as a C-ordered float32 array or a float32 SciPy CSR matrix in canonical format.

    Features that have this form already are returned as they are. The input is never changed.
    """
    is_sparse = hasattr(features, "tocsr")
    try:
        with np.errstate(over="ignore"):  # values too large for float32 become infinite, which is checked below
            plain: Any = (
                features.tocsr().astype(np.float32, copy=False)
                if is_sparse
                else np.ascontiguousarray(features, dtype=np.float32)
            )
    except (TypeError, ValueError):
        raise DataError(
            f"image features must be a 2-d array or a SciPy sparse matrix of numbers, got {type(features).__name__}"
        ) from None
    if is_sparse and not plain.has_canonical_format:
        plain = plain.copy()
        plain.sum_duplicates()
    if not np.isfinite(plain.data if is_sparse else plain).all():
        raise DataError("the image features contain NaN or infinite values; replace them first")
    return plain


def squared_lengths(plain: Any) -> NDArray[np.float64]:
    """Return the squared norm of every row of `plain_features`."""
    if isinstance(plain, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", plain, plain, dtype=np.float64))
    rows = np.repeat(np.arange(plain.shape[0]), np.diff(plain.indptr))
    squares = np.square(plain.data, dtype=np.float64)
    return np.bincount(rows, squares, minlength=plain.shape[0]).astype(np.float64, copy=False)
