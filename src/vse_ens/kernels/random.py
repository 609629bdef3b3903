"""Random numbers inside kernels: SplitMix64, whose state is a counter and whose start is a stream's key."""

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
    """The next 64 random bits; moves ``state[0]`` on."""
    state[0] += _STEP
    word = state[0]
    word = (word ^ (word >> _S30)) * _MIX_1
    word = (word ^ (word >> _S27)) * _MIX_2
    return word ^ (word >> _S31)


@inline
def next_uniform(state: NDArray[np.uint64]) -> np.float32:
    """A number in [0, 1) with 24 bits."""
    return np.float32(next_word(state) >> _S40) * _UNIT_24


@inline
def next_below(state: NDArray[np.uint64], bound: int) -> int:
    """A whole number in [0, bound), bound < 2**31 (its bias, bound / 2**32, is far below what a run can see)."""
    return np.int64(((next_word(state) >> _S32) * np.uint64(bound)) >> _S32)


@kernel
def shuffle(items: NDArray[np.int64], state: NDArray[np.uint64]) -> None:
    """Put items in a random order: Fisher-Yates, in place."""
    for last in range(items.shape[0] - 1, 0, -1):
        other = next_below(state, last + 1)
        items[last], items[other] = items[other], items[last]
