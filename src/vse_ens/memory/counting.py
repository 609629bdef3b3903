"""Which labels occur together: sums over the images that two labels share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.kernels.memory import Sources, sum_rows, turn_pairs
from vse_ens.kernels.tables import Pairs
from vse_ens.run.threads import Task, Workers

# Labels a worker takes at a time: small enough that the last ones are not waited for.
_PIECE = 256


def sources(data: Annotations, row_power: float = 0.0) -> Sources:
    """The pairs, read both ways; an image with n labels counts for n^-row_power, on the scale that pairs count 1 on
    average, so that a regularisation means the same with any power.
    """
    sizes = np.maximum(data.labels_per_image, 1).astype(np.float64)
    weights = sizes**-row_power
    if data.pairs:
        weights *= data.pairs / float(data.labels_per_image @ weights)
    return Sources(Pairs(data.indptr, data.indices), images_by_label(data), weights)


def images_by_label(data: Annotations) -> Pairs:
    """The images of every label in CSR form."""
    indptr = np.concatenate([[0], np.cumsum(data.images_per_label)])
    images = np.empty(data.pairs, np.int32)
    turn_pairs(Pairs(data.indptr, data.indices), indptr[:-1].copy(), images)
    return Pairs(indptr, images)


def gram(pairs: Sources, workers: Workers) -> NDArray[np.float64]:
    """G = X^T D X, |A| x |A|: entry (a, b) sums the weights of the images that have both."""
    labels = len(pairs.by_label.indptr) - 1
    sums = np.zeros((labels, labels))
    workers.run(pieces(labels, lambda first, last: sum_rows(pairs, sums, first, last)))
    return sums


def pieces(labels: int, work: Callable[[int, int], Any]) -> list[Task]:
    """``work`` on all labels, a range a task: each label is worked on alone, so the cut cannot matter."""

    def task(first: int) -> Task:
        return lambda _worker: work(first, min(first + _PIECE, labels))

    return [task(first) for first in range(0, labels, _PIECE)]
