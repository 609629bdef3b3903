"""Choosing which label pairs get an input vector of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.kernels.combinations import collect_pairs, count_counts
from vse_ens.kernels.tables import Pairs
from vse_ens.memory.counting import images_by_label

# What two labels do together in fewer images is chance.
_FEWEST_IMAGES = 5
_HIGHEST_COUNT = 4_096


def common_combinations(data: Annotations, most: int) -> NDArray[np.int32]:
    """At most ``most`` label pairs (a < b), the most common first; of those with the same count, all or none."""
    if not most:
        return np.empty((0, 2), np.int32)
    by_image, by_label = Pairs(data.indptr, data.indices), images_by_label(data)
    histogram = np.zeros(_HIGHEST_COUNT + 1, np.int64)
    count_counts(by_image, by_label, histogram)
    # How many pairs have a count or more: the lowest count whose pairs all fit.
    at_least = np.cumsum(histogram[::-1])[::-1]
    fitting = np.flatnonzero(at_least <= most)
    fewest = max(_FEWEST_IMAGES, int(fitting[0]) if len(fitting) else _HIGHEST_COUNT)
    found = int(at_least[fewest])
    pairs, counts = np.empty((found, 2), np.int32), np.empty(found, np.int32)
    collect_pairs(by_image, by_label, fewest, pairs, counts)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -counts))
    # Counts too high to tell apart may be more than fit.
    return np.ascontiguousarray(pairs[order][:most])
