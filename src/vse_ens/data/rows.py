"""Rows of labels in CSR form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Rows(NamedTuple):
    """The labels of some images, by number, sorted in each row."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]


def take_rows(indptr: NDArray[np.int64], indices: NDArray[np.int32], wanted: NDArray[np.integer]) -> Rows:
    """The rows of some images, one for each of ``wanted`` in their order."""
    counts = indptr[wanted + 1] - indptr[wanted]
    starts = np.concatenate([[0], np.cumsum(counts)])
    places = np.arange(starts[-1]) + np.repeat(indptr[wanted] - starts[:-1], counts)
    return Rows(starts, indices[places])
