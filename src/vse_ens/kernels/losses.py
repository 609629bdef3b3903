"""The pairwise losses as functions of the score difference x = s_i(p) - s_i(n), with their slopes; e^x for softmax."""

from __future__ import annotations

import numpy as np

from vse_ens.kernels.jit import inline

HINGE, WARP, LOGISTIC, SOFTMAX = range(4)
CODES = {"hinge": HINGE, "warp": WARP, "logistic": LOGISTIC, "softmax": SOFTMAX}

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_LOG2_E = np.float32(1.4426950408889634)
# Below this, e^x is 0 in the slopes of a softmax: a share of 1e-38.
_LOWEST = np.float32(-87.0)
_HALF = np.float32(0.5)
# 2^x on [-1/2, 1/2] as 1 + x P(x), the polynomial of Cephes' exp2f.
_C0, _C1, _C2, _C3, _C4, _C5 = (
    np.float32(value)
    for value in (
        1.535336188319500e-4,
        1.339887440266574e-3,
        9.618437357674640e-3,
        5.550332471162809e-2,
        2.402264791363012e-1,
        6.931472028550421e-1,
    )
)


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


@inline
def exp_below_zero(x: np.float32) -> np.float32:
    """Return e^x for x <= 0, with a relative error below 1e-5, and about 1e-38 below -87.

    The loops that call it vectorize; libm's exp is scalar.
    """
    power = max(x, _LOWEST) * _LOG2_E
    whole = np.floor(power + _HALF)
    rest = power - whole
    polynomial = ((((_C0 * rest + _C1) * rest + _C2) * rest + _C3) * rest + _C4) * rest + _C5
    power_of_two = np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)
    return (_ONE + rest * polynomial) * power_of_two
