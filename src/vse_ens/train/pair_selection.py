"""Choosing which label pairs get an input vector of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.label_pairs import collect_label_pairs, pair_count_histogram
from vse_ens.label_weights.pairs import PairSource, known_pairs, label_tasks, map_ranges, pair_settings
from vse_ens.run.pool import LocalPool, Payload, Pool, TaskFn
from vse_ens.run.threads import Workers

# What two labels do together in fewer images is chance.
_FEWEST_IMAGES = 5
_HIGHEST_COUNT = 4_096


def frequent_label_pairs(data: PairSource, most: int, pool: Pool | None = None) -> NDArray[np.int32]:
    """At most ``most`` label pairs (a < b), the most common first; of those with the same count, all or none.

    Counted by the workers of a pool; without one, by this thread.
    """
    if not most:
        return np.empty((0, 2), np.int32)
    pool = pool or LocalPool(Workers(1))
    settings = pair_settings(data)
    tasks = label_tasks(known_pairs(settings).by_label.indptr)
    histogram = np.zeros(_HIGHEST_COUNT + 1, np.int64)
    for result in pool.map(f"{__name__}.counting_bench", settings | {"highest": _HIGHEST_COUNT}, tasks):
        histogram += result["histogram"]
    # How many pairs have a count or more: the lowest count whose pairs all fit.
    at_least = np.cumsum(histogram[::-1])[::-1]
    fitting = np.flatnonzero(at_least <= most)
    fewest = max(_FEWEST_IMAGES, int(fitting[0]) if len(fitting) else _HIGHEST_COUNT)
    found = int(at_least[fewest])
    pairs, counts = np.empty((found, 2), np.int32), np.empty(found, np.int32)
    filled = 0
    for result in pool.map(f"{__name__}.collecting_bench", settings | {"fewest": fewest, "found": found}, tasks):
        end = filled + len(result["counts"])
        pairs[filled:end], counts[filled:end] = result["pairs"], result["counts"]
        filled = end
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -counts))
    # Counts too high to tell apart may be more than fit.
    return np.ascontiguousarray(pairs[order][:most])


def counting_bench(settings: Payload, workers: Workers) -> TaskFn:
    """Counts how many label pairs of some labels occur together how often."""
    by_image, by_label = known_pairs(settings)

    def count(first: int, last: int) -> NDArray[np.int64]:
        histogram = np.zeros(settings["highest"] + 1, np.int64)
        pair_count_histogram(by_image, by_label, histogram, first, last)
        return histogram

    return lambda task: {"histogram": sum(map_ranges(workers, task["first"], task["last"], count))}


def collecting_bench(settings: Payload, workers: Workers) -> TaskFn:
    """Collects the label pairs of some labels that occur together often enough."""
    by_image, by_label = known_pairs(settings)
    fewest, found = settings["fewest"], settings["found"]

    def collect(first: int, last: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        # Room for all that there are costs nothing: memory that is not written to is never taken from the system.
        pairs, counts = np.empty((found, 2), np.int32), np.empty(found, np.int32)
        own = collect_label_pairs(by_image, by_label, fewest, pairs, counts, first, last)
        return pairs[:own].copy(), counts[:own].copy()

    def collect_all(task: Payload) -> Payload:
        pairs, counts = zip(*map_ranges(workers, task["first"], task["last"], collect), strict=True)
        return {"pairs": np.concatenate(pairs), "counts": np.concatenate(counts)}

    return collect_all
