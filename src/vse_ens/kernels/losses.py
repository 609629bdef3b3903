"""The pairwise losses as functions of the score difference x = s_i(p) - s_i(n), with their slopes."""

from __future__ import annotations

import numpy as np

from vse_ens.kernels.jit import inline

HINGE, WARP, LOGISTIC, SOFTMAX = range(4)
CODES = {"hinge": HINGE, "warp": WARP, "logistic": LOGISTIC, "softmax": SOFTMAX}

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


@inline
def hinge(difference: np.float32, margin: np.float32) -> tuple[np.float32, np.float32]:
    """Return max(0, margin - x), the hinge of eq. 2, and minus its slope: 1 where the margin is violated (eq. 4)."""
    shortfall = margin - difference
    return (shortfall, _ONE) if shortfall > _ZERO else (_ZERO, _ZERO)


@inline
def logistic(difference: np.float32) -> tuple[np.float32, np.float32, np.float32]:
    """Return ln(1 + exp(-x)) as a + ln b, and minus its slope 1 / (1 + exp(x)): (a, b, slope), without overflow.

    A sum over many draws multiplies the b and takes one logarithm at the end.
    """
    decay = np.exp(-abs(difference))
    factor = _ONE + decay
    slope = decay / factor if difference > _ZERO else _ONE / factor
    return max(-difference, _ZERO), factor, slope
