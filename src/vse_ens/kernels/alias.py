"""Alias tables (Walker 1977, Vose 1991): a draw from a finite distribution with one random word and one lookup."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.jit import allocating_kernel


@allocating_kernel
def fill_alias(weights: NDArray[np.float64], threshold: NDArray[np.float32], alias: NDArray[np.int32]) -> None:
    """Fill ``threshold`` and ``alias``; ``weights`` must have a mean of 1 and are overwritten."""
    cells = weights.shape[0]
    small = np.empty(cells, np.int32)
    large = np.empty(cells, np.int32)
    smalls, larges = 0, 0
    for cell in range(cells):
        threshold[cell] = 1.0
        alias[cell] = cell
        if weights[cell] < 1.0:
            small[smalls] = cell
            smalls += 1
        else:
            large[larges] = cell
            larges += 1
    while smalls and larges:
        smalls -= 1
        poor, rich = small[smalls], large[larges - 1]
        threshold[poor] = weights[poor]
        alias[poor] = rich
        weights[rich] -= 1.0 - weights[poor]
        if weights[rich] < 1.0:
            larges -= 1
            small[smalls] = rich
            smalls += 1
