"""Which label pairs get their own input vector: the most frequent ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.label_pairs import CountScratch, collect_label_pairs, pair_count_histogram
from vse_ens.label_weights.pairs import PairSource, known_pairs, label_tasks, map_ranges, pair_settings
from vse_ens.run.pool import LocalPool, Payload, Pool, TaskFn
from vse_ens.run.threads import Workers

# Label pairs in fewer images are chance.
_MIN_IMAGES = 5
# Higher counts are counted as this one.
_MAX_COUNT = 4_096


def frequent_label_pairs(data: PairSource, most: int, pool: Pool | None = None) -> NDArray[np.int32]:
    """Return at most ``most`` label pairs (a < b), most frequent first; of pairs with the same count, all or none.

    The workers of ``pool`` do the counting; without a pool, this thread does.
    """
    if not most:
        return np.empty((0, 2), np.int32)
    pool = pool or LocalPool(Workers(1))
    settings = pair_settings(data)
    tasks = label_tasks(known_pairs(settings).by_label.indptr)
    histogram = np.zeros(_MAX_COUNT + 1, np.int64)
    for result in pool.map(f"{__name__}.count_task", settings | {"highest": _MAX_COUNT}, tasks):
        histogram += result["histogram"]
    # The lowest count at which all pairs with at least that count fit.
    at_least = np.cumsum(histogram[::-1])[::-1]
    fitting = np.flatnonzero(at_least <= most)
    min_count = max(_MIN_IMAGES, int(fitting[0]) if len(fitting) else _MAX_COUNT)
    found = int(at_least[min_count])
    pairs, counts = np.empty((found, 2), np.int32), np.empty(found, np.int32)
    filled = 0
    for result in pool.map(f"{__name__}.collect_task", settings | {"min_count": min_count, "found": found}, tasks):
        end = filled + len(result["counts"])
        pairs[filled:end], counts[filled:end] = result["pairs"], result["counts"]
        filled = end
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -counts))
    # Pairs of the highest count may be more than fit.
    return np.ascontiguousarray(pairs[order][:most])


def count_task(settings: Payload, workers: Workers) -> TaskFn:
    """Return a task that makes a histogram of the counts of label pairs, for a range of labels."""
    by_image, by_label = known_pairs(settings)

    def count(first: int, last: int) -> NDArray[np.int64]:
        histogram = np.zeros(settings["highest"] + 1, np.int64)
        pair_count_histogram(
            by_image, by_label, histogram, first, last, CountScratch.allocate(len(by_label.indptr) - 1)
        )
        return histogram

    return lambda task: {"histogram": sum(map_ranges(workers, task["first"], task["last"], count))}


def collect_task(settings: Payload, workers: Workers) -> TaskFn:
    """Return a task that collects the frequent label pairs of a range of labels."""
    by_image, by_label = known_pairs(settings)
    min_count, found = settings["min_count"], settings["found"]

    def collect(first: int, last: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        # Space for all pairs costs nothing: pages that are not written to are never allocated.
        pairs, counts = np.empty((found, 2), np.int32), np.empty(found, np.int32)
        scratch = CountScratch.allocate(len(by_label.indptr) - 1)
        own = collect_label_pairs(by_image, by_label, min_count, pairs, counts, first, last, scratch)
        return pairs[:own].copy(), counts[:own].copy()

    def collect_all(task: Payload) -> Payload:
        pairs, counts = zip(*map_ranges(workers, task["first"], task["last"], collect), strict=True)
        return {"pairs": np.concatenate(pairs), "counts": np.concatenate(counts)}

    return collect_all
