"""Order a vocabulary by popularity."""

import numpy as np
from numpy.typing import NDArray


def descending(amounts: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the indices that sort amounts from the largest to the smallest.

    Nearly equal amounts keep their order, so that the last bit of a sum, which may differ between machines, does not
    matter.
    """
    return np.argsort(-np.round(np.log(amounts + 1e-300), 6), kind="stable")
