"""Two-phase batches: the parts that the softmax loss and the context tower share.

The first phase computes the gradients of every positive in a batch from one snapshot of the shared tables; each worker
has its own images. The second phase applies them in batch order; each worker has its own rows of the tables. Nothing is
copied, no two workers write to the same row, and every sum has the same order for any number of workers.

All workers call the kernels of both phases for every batch of a round. They share the chunks of the first phase and the
row ranges of the second by the counters of `vse_ens.kernels.progress`. A kernel waits for a short time until the other
workers have finished the phase before; if they have not, it returns False, and is to be called again later.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Features, Floats, SharedTables
from vse_ens.kernels.jit import inline, inline_once, kernel
from vse_ens.kernels.progress import Counters, count_up, wait_for

LABELS, FEATURE_MAP, INPUTS = range(3)
"""The tables that the second phase changes; the last one with the context tower only."""

# Rows are prefetched this many gradients before they are needed.
PREFETCH_DISTANCE = 4


class BatchLayout(NamedTuple):
    """The images of a batch in chunks, and where the output of each chunk begins."""

    images: NDArray[np.int64]
    first_visits: NDArray[np.int64]  # chunks + 1: images before each chunk; the last entry counts all
    first_draws: NDArray[np.int64]  # chunks + 1: the same for positives
    first_entries: NDArray[np.int64]  # chunks + 1: the same for inputs
    random_states: NDArray[np.uint64]  # chunks x 1: where the draws of each chunk start from
    counts: NDArray[np.int64]  # chunks x COUNTS
    losses: NDArray[np.float64]  # chunks


class Round(NamedTuple):
    """The batches of a round, and how far the workers have got with them."""

    images: NDArray[np.int64]
    first_images: NDArray[np.int64]  # batches + 1: images before each batch
    first_chunks: NDArray[np.int64]  # batches + 1: chunks before each batch
    # The arrays of `BatchLayout`, one batch behind the other; the first three have one entry more than chunks.
    first_visits: NDArray[np.int64]
    first_draws: NDArray[np.int64]
    first_entries: NDArray[np.int64]
    random_states: NDArray[np.uint64]
    counts: NDArray[np.int64]
    losses: NDArray[np.float64]
    ranges: NDArray[np.int64]
    """Row ranges of the second phase x 2: first row, and the row behind the last one; of one table after the other."""
    first_ranges: NDArray[np.int64]  # tables + 1: ranges before those of each table
    looks: int  # how often a worker looks whether the others have finished the phase before
    # How many chunks of each batch, and row ranges of each table in it, a worker has taken and finished.
    chunks_taken: Counters
    chunks_done: Counters
    ranges_taken: Counters  # batches * tables
    ranges_done: Counters  # batches

    @classmethod
    def begin(cls, **fields: Any) -> Round:
        """Return a round of which nothing is done yet, from all fields but the counters."""
        batches, tables = len(fields["first_chunks"]) - 1, len(fields["first_ranges"]) - 1
        lengths = (batches, batches, batches * tables, batches)
        return cls(**fields, **dict(zip(cls._fields[-4:], (np.zeros(n, np.int64) for n in lengths), strict=True)))


@inline_once
def batch_of(round_: Round, number: int) -> BatchLayout:
    """Return the layout of a batch of the round."""
    first, last = round_.first_chunks[number], round_.first_chunks[number + 1]
    return BatchLayout(
        round_.images[round_.first_images[number] : round_.first_images[number + 1]],
        round_.first_visits[first + number : last + number + 1],
        round_.first_draws[first + number : last + number + 1],
        round_.first_entries[first + number : last + number + 1],
        round_.random_states[first:last],
        round_.counts[first:last],
        round_.losses[first:last],
    )


@inline
def is_batch_before_applied(round_: Round, number: int) -> bool:
    """Wait for a short time until the second phase of the batch before this one is done; return whether it is."""
    return number == 0 or wait_for(round_.ranges_done, number - 1, round_.ranges.shape[0], round_.looks)


@inline
def are_gradients_computed(round_: Round, number: int) -> bool:
    """Wait for a short time until the first phase of a batch is done; return whether it is."""
    chunks = round_.first_chunks[number + 1] - round_.first_chunks[number]
    return wait_for(round_.chunks_done, number, chunks, round_.looks)


@inline
def take_range(round_: Round, number: int, table: int) -> tuple[int, int]:
    """Return the next row range of a table in the second phase of a batch, which is empty at the end."""
    tables = round_.first_ranges.shape[0] - 1
    taken = round_.first_ranges[table] + count_up(round_.ranges_taken, number * tables + table)
    if taken < round_.first_ranges[table + 1]:
        return round_.ranges[taken, 0], round_.ranges[taken, 1]
    return 0, 0


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
    tables: SharedTables, features: Features, round_: Round, number: int, vector_changes: Floats
) -> bool:
    """Run the second phase of a batch for the feature map, from the changes of its image vectors.

    Per image this is `vse_ens.kernels.sgd.update_feature_map`.
    """
    if not are_gradients_computed(round_, number):
        return False
    images = round_.images[round_.first_images[number] : round_.first_images[number + 1]]
    first, last = take_range(round_, number, FEATURE_MAP)
    while first < last:
        for visit in range(images.shape[0]):
            image = images[visit]
            for entry in range(features.indptr[image], features.indptr[image + 1]):
                row, step = features.indices[entry], features.values[entry] * features.step_scale[image]
                if first <= row < last:
                    for f in range(vector_changes.shape[1]):
                        tables.feature_map[row, f] += step * vector_changes[visit, f]
        count_up(round_.ranges_done, number)
        first, last = take_range(round_, number, FEATURE_MAP)
    return True
