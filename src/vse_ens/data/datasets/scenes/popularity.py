"""The order of a vocabulary: the most popular first."""

import numpy as np
from numpy.typing import NDArray


def falling(amounts: NDArray[np.float64]) -> NDArray[np.intp]:
    """Places from the largest amount to the smallest.

    Nearly equal amounts keep their order, so that the last bit of a sum, which machines may differ in, decides nothing.
    """
    return np.argsort(-np.round(np.log(amounts + 1e-300), 6), kind="stable")
