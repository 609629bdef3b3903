"""The form that image features are held in, whatever they came as."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import DataError


def plain_features(features: Any) -> Any:
    """A float32 array, row after row, or a float32 scipy CSR matrix whose columns are sorted and distinct in every row.

    What has this form already is returned as it is; what was given is never changed.
    """
    is_sparse = hasattr(features, "tocsr")
    try:
        with np.errstate(over="ignore"):  # too large for float32 is infinite, and told below
            plain: Any = (
                features.tocsr().astype(np.float32, copy=False)
                if is_sparse
                else np.ascontiguousarray(features, dtype=np.float32)
            )
    except (TypeError, ValueError):
        raise DataError(
            f"image features must be a 2-d array or a scipy sparse matrix of numbers, got {type(features).__name__}"
        ) from None
    if is_sparse and not plain.has_canonical_format:
        plain = plain.copy()
        plain.sum_duplicates()
    if not np.isfinite(plain.data if is_sparse else plain).all():
        raise DataError("the image features hold numbers that are not finite; replace them first")
    return plain


def squared_lengths(plain: Any) -> NDArray[np.float64]:
    """|x_i|^2 of every row of `plain_features`."""
    if isinstance(plain, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", plain, plain, dtype=np.float64))
    rows = np.repeat(np.arange(plain.shape[0]), np.diff(plain.indptr))
    squares = np.square(plain.data, dtype=np.float64)
    return np.bincount(rows, squares, minlength=plain.shape[0]).astype(np.float64, copy=False)
