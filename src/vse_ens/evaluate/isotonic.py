"""The rising step function nearest to some values: pool adjacent violators."""

from __future__ import annotations

import numpy as np

from vse_ens.evaluate.ties import Numbers


def isotonic(values: Numbers, weights: Numbers) -> Numbers:
    """The values, none below the one before it, with the least weighted sum of squared changes."""
    means: list[float] = []
    masses: list[float] = []
    sizes: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, mass, size = value, weight, 1
        while means and means[-1] >= mean:
            before = masses.pop()
            mean = (means.pop() * before + mean * mass) / (before + mass)
            mass, size = mass + before, size + sizes.pop()
        means.append(mean)
        masses.append(mass)
        sizes.append(size)
    return np.repeat(np.array(means, np.float64), sizes)
