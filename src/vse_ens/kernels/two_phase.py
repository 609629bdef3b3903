"""Two-phase batches: the parts that the softmax loss and the context tower share.

The first phase computes the gradients of every positive in a batch from one snapshot of the shared tables; each worker
has its own images. The second phase applies them in batch order; each worker has its own rows of the tables. Nothing is
copied, no two workers write to the same row, and every sum has the same order for any number of workers.

All workers call the kernels of both phases for every batch. They share the chunks of the first phase and the row ranges
of the second by counters (see `vse_ens.kernels.work_counters`). A kernel spins until the other workers have finished
the phase before. After spinning too long, it returns False; call it again later.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Features, Floats, SharedTables, Step, aligned_table
from vse_ens.kernels.jit import inline_once, kernel, prefetch_row
from vse_ens.kernels.work_counters import Counters, count_up, wait_for

LABELS, FEATURE_MAP, INPUTS = range(3)
"""The tables that the second phase changes; the last one with the context tower only."""

CHUNKS_TAKEN, CHUNKS_DONE, RANGES_DONE, RANGES_TAKEN = range(4)
"""The counters of a batch; from the last one on, one per table."""
COUNTERS = RANGES_TAKEN + 3

# Rows are prefetched this many gradients before they are needed.
PREFETCH_DISTANCE = 4

_ONE = np.float32(1.0)

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


class BatchCursor(NamedTuple):
    """How far the workers have got with a batch."""

    counters: Counters
    before: Counters  # of the batch before
    chunks: int
    ranges: int  # row ranges of all tables
    spins: int  # how often a worker checks whether the others have finished the phase before


class LabelGradients(NamedTuple):
    """The gradients of the labels in a batch: draw ``d`` adds ``slopes[d, j] * vectors[d]`` to label ``rows[d, j]``."""

    rows: NDArray[np.int32]
    """draws x (negatives + 1): the positive first; -1 where no negative was found."""
    slopes: Floats  # draws x (negatives + 1)
    vectors: Floats  # draws x k: v_i at the draw
    squares: Floats  # draws: the mean of the squares of the vector (context tower)

    @classmethod
    def allocate(cls, draws: int, negatives: int, dimensions: int) -> LabelGradients:
        """Return arrays for a batch, which names no label yet."""
        return cls(
            np.full((draws, negatives + 1), -1, np.int32),
            np.empty((draws, negatives + 1), np.float32),
            aligned_table(draws, dimensions),
            np.empty(draws, np.float32),
        )


@inline_once
def is_batch_before_applied(cursor: BatchCursor) -> bool:
    """Spin until the second phase of the batch before this one is done; return whether it is."""
    return wait_for(cursor.before, RANGES_DONE, cursor.ranges, cursor.spins)


@inline_once
def are_gradients_computed(cursor: BatchCursor) -> bool:
    """Spin until the first phase of a batch is done; return whether it is."""
    return wait_for(cursor.counters, CHUNKS_DONE, cursor.chunks, cursor.spins)


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
def apply_label_gradients(
    tables: SharedTables,
    gradients: LabelGradients,
    step: Step,
    selected: NDArray[np.int32],
    draws: int,
    ranges: RowRanges,
    cursor: BatchCursor,
) -> bool:
    """Run the second phase of a batch for the labels, at a fixed rate; a row decays with every gradient applied to it.

    The context tower has `vse_ens.kernels.context_losses.apply_shared_gradients`.
    """
    if not are_gradients_computed(cursor):
        return False
    labels, bias, rate = tables.labels, tables.bias, step.learning_rate
    shrink = _ONE - rate * step.regularization
    shrink_bias = _ONE - step.bias_rate * step.bias_regularization
    width = gradients.rows.shape[1]
    rows, slopes = gradients.rows.reshape(-1), gradients.slopes.reshape(-1)
    taken = count_up(cursor.counters, RANGES_TAKEN + LABELS)
    while taken < ranges.shape[0]:
        first, last = ranges[taken, 0], ranges[taken, 1]
        count = select_entries(rows[: draws * width], first, last, selected)
        for n in range(count):
            if n + PREFETCH_DISTANCE < count:
                prefetch_row(labels, np.int64(rows[selected[n + PREFETCH_DISTANCE]]))
            entry = selected[n]
            label, draw, step_scale = rows[entry], entry // width, rate * slopes[entry]
            for f in range(labels.shape[1]):
                labels[label, f] = shrink * labels[label, f] + step_scale * gradients.vectors[draw, f]
            bias[label] = shrink_bias * bias[label] + step.bias_rate * slopes[entry]
        count_up(cursor.counters, RANGES_DONE)
        taken = count_up(cursor.counters, RANGES_TAKEN + LABELS)
    return True


@kernel
def apply_feature_gradients(
    feature_map: Floats,
    features: Features,
    vector_changes: Floats,
    images: NDArray[np.int64],
    ranges: RowRanges,
    cursor: BatchCursor,
) -> bool:
    """Run the second phase of a batch for the feature map, from the changes of its image vectors.

    Per image this is `vse_ens.kernels.sgd.update_feature_map`.
    """
    if not are_gradients_computed(cursor):
        return False
    taken = count_up(cursor.counters, RANGES_TAKEN + FEATURE_MAP)
    while taken < ranges.shape[0]:
        first, last = ranges[taken, 0], ranges[taken, 1]
        for visit in range(images.shape[0]):
            image = images[visit]
            for entry in range(features.indptr[image], features.indptr[image + 1]):
                row, step = features.indices[entry], features.values[entry] * features.step_scale[image]
                if first <= row < last:
                    for f in range(vector_changes.shape[1]):
                        feature_map[row, f] += step * vector_changes[visit, f]
        count_up(cursor.counters, RANGES_DONE)
        taken = count_up(cursor.counters, RANGES_TAKEN + FEATURE_MAP)
    return True
