"""Which labels often occur together, and how kernels look that up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.combinations import Combinations

# Of the combinations of an image with many labels, so many a label are used: it bites from 18 labels on.
_SHARE = 8


def combination_table(pairs: NDArray[np.int32], labels: int) -> Combinations:
    """Label pairs a < b, the most common first, as kernels look them up."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    indptr = np.searchsorted(pairs[order, 0], np.arange(labels + 1)).astype(np.int64)
    return Combinations(indptr, np.ascontiguousarray(pairs[order, 1]), order.astype(np.int32), _SHARE)
