"""Two-phase batches: the parts that the softmax loss and the context tower share.

The first phase computes the gradients of every positive in a batch from one snapshot of the shared tables; each worker
has its own images. The second phase applies them in batch order; each worker has its own rows of the tables. Nothing is
copied, no two workers write to the same row, and every sum has the same order for any number of workers.

A kernel trains all batches of a round. Every worker calls it, and they share the chunks of the first phase and the row
ranges of the second by the counters of `vse_ens.kernels.progress`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Features, Floats, SharedTables
from vse_ens.kernels.jit import inline_once
from vse_ens.kernels.progress import Counters

LABEL_ROWS, INPUT_ROWS, FEATURE_ROWS = range(3)
"""The tables that the second phase changes."""

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
    """Pieces of work of the second phase x 3: table, first row, and the row behind the last one."""
    # One for each batch.
    chunks_taken: Counters
    chunks_done: Counters
    ranges_taken: Counters
    ranges_done: Counters


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


@inline_once
def apply_feature_gradients(
    tables: SharedTables,
    features: Features,
    images: NDArray[np.int64],
    vector_changes: Floats,
    first: int,
    last: int,
) -> None:
    """Apply the changes of the image vectors of a batch to rows ``first`` to ``last - 1`` of the feature map.

    Per image this is `vse_ens.kernels.sgd.update_feature_map`.
    """
    for visit in range(images.shape[0]):
        image = images[visit]
        for entry in range(features.indptr[image], features.indptr[image + 1]):
            row, step = features.indices[entry], features.values[entry] * features.step_scale[image]
            if first <= row < last:
                for f in range(vector_changes.shape[1]):
                    tables.feature_map[row, f] += step * vector_changes[visit, f]
