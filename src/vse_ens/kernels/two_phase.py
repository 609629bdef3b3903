"""Two-phase batches: the parts that the softmax loss and the context tower share.

The first phase computes the gradients of every positive in a batch from one snapshot of the shared tables; each worker
has its own images. The second phase applies them in batch order; each worker has its own rows of the tables. Nothing is
copied, no two workers write to the same row, and every sum has the same order for any number of workers.

All workers call the kernels of both phases for every batch. They share the chunks of the first phase and the row ranges
of the second by counters (see `vse_ens.kernels.progress`). A kernel waits for a short time until the other workers have
finished the phase before; if they have not, it returns False, and is to be called again later.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Features, Floats
from vse_ens.kernels.jit import inline_once, kernel
from vse_ens.kernels.progress import Counters, count_up, wait_for

LABELS, FEATURE_MAP, INPUTS = range(3)
"""The tables that the second phase changes; the last one with the context tower only."""

CHUNKS_TAKEN, CHUNKS_DONE, RANGES_DONE, RANGES_TAKEN = range(4)
"""The counters of a batch; those from the last one on are of one table each."""
COUNTERS = RANGES_TAKEN + 3

# Rows are prefetched this many gradients before they are needed.
PREFETCH_DISTANCE = 4

RowRanges = NDArray[np.int64]
"""Ranges x 2: the first row, and the row behind the last one."""


class BatchLayout(NamedTuple):
    """The images of a batch in chunks, and where the output of each chunk begins."""

    images: NDArray[np.int64]
    first_visits: NDArray[np.int64]  # chunks + 1: images before each chunk; the last entry counts all
    first_draws: NDArray[np.int64]  # chunks + 1: the same for positives
    first_entries: NDArray[np.int64]  # chunks + 1: the same for inputs
    random_states: NDArray[np.uint64]  # a row per chunk: where its draws start from, in the first column
    counts: NDArray[np.int64]  # a row per chunk, of at least COUNTS
    losses: NDArray[np.float64]  # chunks


class Progress(NamedTuple):
    """How far the workers have got with a batch."""

    counters: Counters
    before: Counters  # of the batch before
    chunks: int
    ranges: int  # row ranges of all tables
    looks: int  # how often a worker looks whether the others have finished the phase before


@inline_once
def is_batch_before_applied(progress: Progress) -> bool:
    """Wait for a short time until the second phase of the batch before this one is done; return whether it is."""
    return wait_for(progress.before, RANGES_DONE, progress.ranges, progress.looks)


@inline_once
def are_gradients_computed(progress: Progress) -> bool:
    """Wait for a short time until the first phase of a batch is done; return whether it is."""
    return wait_for(progress.counters, CHUNKS_DONE, progress.chunks, progress.looks)


@inline_once
def select_entries(rows: NDArray[np.int32], first: int, last: int, selected: NDArray[np.int32]) -> int:
    """Write the indices of the rows from ``first`` to ``last - 1`` to ``selected``; return their number.

    ``selected`` has one more entry than ``rows``. The loop has no branch: the processor could not predict it.
    """
    count = 0
    for entry in range(rows.shape[0]):
        selected[count] = entry
        count += (first <= rows[entry]) & (rows[entry] < last)
    return count


@kernel
def apply_feature_gradients(
    feature_map: Floats,
    features: Features,
    images: NDArray[np.int64],
    progress: Progress,
    ranges: RowRanges,
    vector_changes: Floats,
) -> bool:
    """Run the second phase of a batch for the feature map, from the changes of its image vectors.

    Per image this is `vse_ens.kernels.sgd.update_feature_map`.
    """
    if not are_gradients_computed(progress):
        return False
    taken = count_up(progress.counters, RANGES_TAKEN + FEATURE_MAP)
    while taken < ranges.shape[0]:
        first, last = ranges[taken, 0], ranges[taken, 1]
        for visit in range(images.shape[0]):
            image = images[visit]
            for entry in range(features.indptr[image], features.indptr[image + 1]):
                row, step = features.indices[entry], features.values[entry] * features.step_scale[image]
                if first <= row < last:
                    for f in range(vector_changes.shape[1]):
                        feature_map[row, f] += step * vector_changes[visit, f]
        count_up(progress.counters, RANGES_DONE)
        taken = count_up(progress.counters, RANGES_TAKEN + FEATURE_MAP)
    return True
