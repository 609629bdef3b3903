"""The best labels of rows of scores by NumPy, to compare the kernels of `vse_ens.model.topk` with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.model.embeddings import Floats


def top_labels(scores: Floats, count: int) -> tuple[NDArray[np.int64], Floats]:
    """The ``count`` best-scored labels of every row, best first, equal scores in the order of numbers.

    Labels to leave out have the score -inf; where fewer than ``count`` are left, they come last.
    """
    count = min(count, scores.shape[1])
    if count < scores.shape[1]:
        # The value at the edge may be shared by more labels than fit: of these the lowest numbers are taken.
        edge = -np.partition(-scores, count - 1, axis=1)[:, count - 1 : count]
        above, at = scores > edge, scores == edge
        room = count - above.sum(axis=1, keepdims=True)
        chosen = above | (at & (np.cumsum(at, axis=1) <= room))
        labels = np.nonzero(chosen)[1].reshape(len(scores), count)
    else:
        labels = np.broadcast_to(np.arange(count), (len(scores), count))
    found = np.take_along_axis(scores, labels, axis=1)
    order = np.argsort(-found, axis=1, kind="stable")
    return np.take_along_axis(labels, order, axis=1), np.take_along_axis(found, order, axis=1)
