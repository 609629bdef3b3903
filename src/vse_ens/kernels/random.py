"""Random numbers inside kernels: SplitMix64. The state is a counter that starts at the key of a stream."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.jit import inline, kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32, _S40 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32), np.uint64(40)
_UNIT_24 = np.float32(2.0**-24)


@inline
def next_word(state: NDArray[np.uint64]) -> np.uint64:
    """Return the next 64 random bits and advance ``state[0]``."""
    state[0] += _STEP
    word = state[0]
    word = (word ^ (word >> _S30)) * _MIX_1
    word = (word ^ (word >> _S27)) * _MIX_2
    return word ^ (word >> _S31)


@inline
def next_uniform(state: NDArray[np.uint64]) -> np.float32:
    """Return a number in [0, 1) with 24 random bits."""
    return np.float32(next_word(state) >> _S40) * _UNIT_24


@inline
def next_below(state: NDArray[np.uint64], bound: int) -> int:
    """Return an integer in [0, bound), bound < 2**31; its bias, bound / 2**32, is negligible."""
    return np.int64(((next_word(state) >> _S32) * np.uint64(bound)) >> _S32)


@kernel
def shuffle(items: NDArray[np.int64], state: NDArray[np.uint64]) -> None:
    """Shuffle items in place (Fisher-Yates)."""
    for last in range(items.shape[0] - 1, 0, -1):
        other = next_below(state, last + 1)
        items[last], items[other] = items[other], items[last]
