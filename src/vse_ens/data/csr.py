"""Select rows of a CSR table, and check one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr

# Entries checked at a time: the temporary arrays fit the processor's cache.
_BLOCK = 1 << 17


def take_rows(indptr: NDArray[np.int64], indices: NDArray[np.int32], rows: NDArray[np.integer]) -> Csr:
    """Return the given rows of a CSR table, in that order; a row may occur more than once."""
    if len(rows) == 1:  # in a few microseconds; a copy, because a model's files are mapped read-only
        first, last = indptr[rows[0]], indptr[rows[0] + 1]
        return Csr(np.array([0, last - first]), indices[first:last].copy())
    counts = indptr[rows + 1] - indptr[rows]
    starts = np.concatenate([[0], np.cumsum(counts)])
    positions = np.arange(starts[-1]) + np.repeat(indptr[rows] - starts[:-1], counts)
    return Csr(starts, indices[positions])


def rows_with(indptr: NDArray[np.int64], indices: NDArray[np.int32], entry: int) -> NDArray[np.int64]:
    """Return the rows that have an entry, ascending; read in blocks, which takes about a nanosecond per entry."""
    found = [
        first + np.flatnonzero(indices[first : first + _BLOCK] == entry) for first in range(0, len(indices), _BLOCK)
    ]
    return np.searchsorted(indptr, np.concatenate([*found, np.empty(0, np.int64)]), side="right") - 1


def ends_match(indptr: NDArray[np.int64], indices: NDArray[np.int32], rows: int) -> bool:
    """Whether ``indptr`` has an entry per row and one more, starts at 0 and ends at the number of ``indices``."""
    return indptr.shape == (rows + 1,) and indices.ndim == 1 and int(indptr[0]) == 0 and int(indptr[-1]) == len(indices)


def rises(indptr: NDArray[np.int64]) -> bool:
    """Whether no entry is lower than the one before it; read in blocks, as it may be mapped from a large file."""
    return not any(
        (indptr[first + 1 : first + _BLOCK + 1] < indptr[first : first + _BLOCK][: len(indptr) - first - 1]).any()
        for first in range(0, len(indptr) - 1, _BLOCK)
    )


def rows_ascend(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> bool:
    """Whether the entries of every row of a valid ``indptr`` are sorted and distinct; read in blocks."""
    for first in range(0, len(indices) - 1, _BLOCK):
        block = indices[first : first + _BLOCK + 1]
        ascends = block[1:] > block[:-1]
        # The entry at position p may be lower than the one before it if a row starts at p.
        starts = indptr[slice(*np.searchsorted(indptr, (first + 1, first + len(block))))]
        ascends[starts - first - 1] = True
        if not ascends.all():
            return False
    return True
