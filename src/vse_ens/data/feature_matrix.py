"""The one form that image features are held in, whatever they came as."""

from __future__ import annotations

from typing import Any

import numpy as np

from vse_ens.errors import DataError


def plain_features(features: Any) -> Any:
    """A float32 array, rows one after another, or a float32 CSR matrix with sorted, distinct columns in every row.

    From anything like either; what has this form already is returned as it is, and what was given is never changed.
    """
    is_sparse = hasattr(features, "tocsr")
    try:
        with np.errstate(over="ignore"):  # becomes infinite, and is told as such
            plain = features.tocsr().astype(np.float32, copy=False) if is_sparse else _dense(features)
    except (TypeError, ValueError):
        raise DataError("image features must be numbers: a 2-d array or a scipy sparse matrix") from None
    if plain.ndim != 2:
        raise DataError(f"image features must have one row an image and so two dimensions, got shape {plain.shape}")
    if is_sparse and not plain.has_canonical_format:
        plain = plain.copy()
        plain.sum_duplicates()
    if not np.isfinite(plain.data if is_sparse else plain).all():
        raise DataError("the image features hold numbers that are not finite; replace them first")
    return plain


def _dense(features: Any) -> Any:
    return np.ascontiguousarray(np.asarray(features), dtype=np.float32)
