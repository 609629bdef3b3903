"""Rows of labels in CSR form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr


def take_rows(indptr: NDArray[np.int64], indices: NDArray[np.int32], wanted: NDArray[np.integer]) -> Csr:
    """The rows of some images, one for each of ``wanted`` in their order."""
    counts = indptr[wanted + 1] - indptr[wanted]
    starts = np.concatenate([[0], np.cumsum(counts)])
    places = np.arange(starts[-1]) + np.repeat(indptr[wanted] - starts[:-1], counts)
    return Csr(starts, indices[places])
