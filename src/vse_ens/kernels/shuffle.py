"""A random order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.jit import kernel
from vse_ens.kernels.random import next_below


@kernel
def shuffle(items: NDArray[np.int64], state: NDArray[np.uint64]) -> None:
    """Fisher-Yates, in place."""
    for last in range(items.shape[0] - 1, 0, -1):
        other = next_below(state, last + 1)
        items[last], items[other] = items[other], items[last]
