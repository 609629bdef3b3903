"""Select rows of a CSR table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr


def take_rows(indptr: NDArray[np.int64], indices: NDArray[np.int32], rows: NDArray[np.integer]) -> Csr:
    """Return the given rows of a CSR table, in that order; a row may occur more than once."""
    counts = indptr[rows + 1] - indptr[rows]
    starts = np.concatenate([[0], np.cumsum(counts)])
    positions = np.arange(starts[-1]) + np.repeat(indptr[rows] - starts[:-1], counts)
    return Csr(starts, indices[positions])
