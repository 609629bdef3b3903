"""Every label from all the others by one ridge regression, in closed form (EASE: Steck, WWW 2019)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.memory.inverse import invert_in_place


def label_weights(gram: NDArray[np.float64], regularization: float) -> NDArray[np.float32]:
    """B = I - P diag(1 / diag P) with P = (G + lambda I)^-1; the memory of ``gram``, G = X^T D X, is used up."""
    np.einsum("ii->i", gram)[:] += regularization
    inverse = invert_in_place(gram)
    weights = np.empty(inverse.shape, np.float32)
    np.divide(inverse, -inverse.diagonal(), out=weights, casting="same_kind")
    np.fill_diagonal(weights, 0.0)
    return weights
