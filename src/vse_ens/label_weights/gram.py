"""The co-occurrence matrix G = X^T D X: entry (a, b) sums the weights of the images that have both labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.gram_ridge import WeightedPairs, gram_rows
from vse_ens.label_weights.pairs import PairSource, known_pairs, label_tasks, map_ranges, pair_settings, read_only
from vse_ens.run.pool import Payload, Pool, TaskFn
from vse_ens.run.threads import Workers

# Images that are processed at a time.
_BLOCK = 1 << 20


def gram_matrix(data: PairSource, pool: Pool, row_power: float = 0.0) -> NDArray[np.float64]:
    """Return G, |A| x |A|, with image weights of ``row_power``."""
    settings = pair_settings(data)
    pairs = known_pairs(settings)
    settings["size_weights"] = size_weights(pairs.by_image.indptr, pairs.labels, row_power)
    sums = np.empty((pairs.labels, pairs.labels))
    tasks = label_tasks(pairs.by_label.indptr)
    for task, result in zip(tasks, pool.map(f"{__name__}.gram_rows_task", settings, tasks), strict=True):
        sums[task["first"] : task["last"]] = result["rows"]
    return sums


def gram_rows_task(settings: Payload, workers: Workers) -> TaskFn:
    """Return a function that computes rows of G."""
    pairs = weighted_pairs(settings)
    labels = len(pairs.by_label.indptr) - 1

    def compute(task: Payload) -> Payload:
        first, last = task["first"], task["last"]
        rows = np.zeros((last - first, labels))
        map_ranges(workers, first, last, lambda a, b: gram_rows(pairs, rows[a - first : b - first], a, b))
        return {"rows": rows}

    return compute


def weighted_pairs(settings: Payload) -> WeightedPairs:
    """Return the pairs and the ``size_weights`` of a task's settings."""
    pairs = known_pairs(settings)
    return WeightedPairs(pairs.by_image, pairs.by_label, read_only(settings["size_weights"]))


def size_weights(image_starts: NDArray[np.int64], labels: int, row_power: float) -> NDArray[np.float64]:
    """Return the weight of an image by its number of labels n: n^-row_power, scaled to a mean of 1 over all pairs.

    Because of the scale, a regularization means the same with any power.
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
