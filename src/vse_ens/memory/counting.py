"""Which labels occur together: sums over the images that two labels share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.memory import Sources, sum_rows
from vse_ens.memory.both_ways import Known, both_ways, fixed, pair_settings
from vse_ens.memory.ranges import label_tasks, run_pieces
from vse_ens.run.pool import Bench, Plain, Pool
from vse_ens.run.threads import Workers

# Images that are looked at in one go.
_BLOCK = 1 << 20


def size_weights(image_starts: NDArray[np.int64], labels: int, row_power: float) -> NDArray[np.float64]:
    """What an image with n labels counts for, at n: n^-row_power, on the scale that pairs count 1 on average, so that a
    regularisation means the same with any power.
    """
    images = np.zeros(labels + 1, np.int64)
    for first in range(0, len(image_starts) - 1, _BLOCK):
        images += np.bincount(np.diff(image_starts[first : first + _BLOCK + 1]), minlength=labels + 1)
    longest = int(np.flatnonzero(images).max(initial=0))
    sizes = np.arange(longest + 1)
    weights: NDArray[np.float64] = np.maximum(sizes, 1).astype(np.float64) ** -row_power
    if longest:
        pairs = images[: longest + 1] * sizes
        weights *= int(pairs.sum()) / float((pairs * weights).sum())
    return weights


def sources(settings: Plain) -> Sources:
    """The pairs and the ``size_weights`` that a bench is told of."""
    pairs = both_ways(settings)
    return Sources(pairs.by_image, pairs.by_label, fixed(settings["size_weights"]))


def gram(data: Known, pool: Pool, row_power: float = 0.0) -> NDArray[np.float64]:
    """G = X^T D X, |A| x |A|: entry (a, b) sums the weights of the images that have both."""
    settings = pair_settings(data)
    pairs = both_ways(settings)
    settings["size_weights"] = size_weights(pairs.by_image.indptr, pairs.labels, row_power)
    sums = np.empty((pairs.labels, pairs.labels))
    tasks = label_tasks(pairs.by_label.indptr)
    for task, result in zip(tasks, pool.map(f"{__name__}.row_bench", settings, tasks), strict=True):
        sums[task["first"] : task["last"]] = result["rows"]
    return sums


def row_bench(settings: Plain, workers: Workers) -> Bench:
    """Makes rows of G."""
    pairs = sources(settings)
    labels = len(pairs.by_label.indptr) - 1

    def rows(task: Plain) -> Plain:
        first, last = task["first"], task["last"]
        made = np.zeros((last - first, labels))
        run_pieces(workers, first, last, lambda a, b: sum_rows(pairs, made[a - first : b - first], a, b))
        return {"rows": made}

    return rows
