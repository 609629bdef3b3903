"""The context tower: the vector of an image is computed from its other labels.

    v_i = |N|^-1/2 sum_{b in N} u_b + |C|^-1/2 sum_{c in C} u_c

N are the labels of the image, C the label pairs among them, u the input vectors. The positive that is trained is always
left out of N and C. Training uses two-phase batches (see `vse_ens.kernels.two_phase`) and row-wise AdaGrad: one sum of
squared gradients per row. This module has the parts that all losses share; the first phase is in
`vse_ens.kernels.context_losses`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr, Floats, Step, TrainingArrays, aligned_table, cache_aligned
from vse_ens.kernels.jit import inline, inline_once, kernel, prefetch_row
from vse_ens.kernels.label_pairs import LabelPairs, PairMatches, find_label_pairs
from vse_ens.kernels.sgd import add_features
from vse_ens.kernels.two_phase import (
    INPUTS,
    PREFETCH_DISTANCE,
    RANGES_DONE,
    RANGES_TAKEN,
    BatchCursor,
    RowRanges,
    are_gradients_computed,
    select_entries,
)
from vse_ens.kernels.work_counters import count_up

_ZERO, _HALF, _ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)

# Inputs of label pairs are prefetched this many pairs before they are needed.
_PAIRS_AHEAD = 8


class ContextTables(NamedTuple):
    """The tables of the context tower, in addition to the shared ones."""

    inputs: Floats  # (|A| + label pairs) x k: u
    input_squares: Floats  # |A| + label pairs: AdaGrad's sums of squared gradients
    label_squares: Floats  # |A|: the same for the label vectors
    label_pairs: LabelPairs


class InputGradients(NamedTuple):
    """How the gradients of the inputs in a batch follow from those of the vectors."""

    vectors: Floats  # draws x k: minus the gradient of the loss in the vector
    scales: Floats  # draws x 2: |N|^-1/2 and |C|^-1/2 without the positive
    sums: Floats  # visits x 2k: the scaled vector gradients, summed over the positives of an image
    entries: NDArray[np.int32]  # inputs x 5: row, visit, number of draws that use it, the one or two draws that do not
    filled: NDArray[np.int64]  # chunks: how many entries each chunk wrote from its start

    @classmethod
    def allocate(cls, draws: int, visits: int, entries: int, chunks: int, dimensions: int) -> InputGradients:
        """Return arrays for a batch."""
        return cls(
            aligned_table(draws, dimensions),
            np.empty((draws, 2), np.float32),
            aligned_table(visits, 2 * dimensions),
            np.empty((entries, 5), np.int32),
            np.zeros(chunks, np.int64),
        )


class ContextScratch(NamedTuple):
    """Buffers of one worker."""

    gradient: Floats  # k: of an input, in the second phase
    whole: Floats  # k: v_i with all labels, which the adaptive sampler uses
    base: Floats  # k: the image's own part of v_i
    sums: Floats  # 2 x k: of the inputs of labels, and of label pairs
    pair_sums: Floats  # labels x k: sums of the inputs of the label pairs that contain each label
    pair_counts: NDArray[np.int64]  # labels: their numbers
    cumulative: Floats  # k + 1: running sums of p(f|i)
    scores: Floats  # |A| for `naive`, and the scores of the negatives with the softmax loss
    negatives: Floats  # negatives x k: the vectors of the negatives of a few positives (softmax), else empty
    negative_bias: Floats  # negatives: their biases
    factors: NDArray[np.int32]  # negatives: the factors that they were drawn from
    selected: NDArray[np.int32]  # entries of a batch that the second phase applies to a range of rows
    found: PairMatches

    @classmethod
    def allocate(
        cls, dimensions: int, image_labels: int, has_pairs: bool, entries: int, scores: int = 0, negatives: int = 0
    ) -> ContextScratch:
        """Return buffers for images with up to ``image_labels`` labels, and batches of up to ``entries`` entries."""
        negatives = -(-negatives // 4) * 4  # the kernel takes four at a time
        scores = max(scores, negatives)
        return cls(
            cache_aligned(dimensions, np.float32),
            cache_aligned(dimensions, np.float32),
            cache_aligned(dimensions, np.float32),
            aligned_table(2, dimensions),
            aligned_table(image_labels if has_pairs else 0, dimensions),
            np.zeros(image_labels, np.int64),
            cache_aligned(dimensions + 1, np.float32),
            cache_aligned(scores, np.float32),
            aligned_table(negatives, dimensions),
            np.zeros(negatives, np.float32),
            np.empty(negatives, np.int32),
            np.empty(entries + 1, np.int32),
            PairMatches.allocate(image_labels if has_pairs else 0),
        )


@inline
def _scale(count: int) -> np.float32:
    """Return count^-1/2, and 1 for 0."""
    return _ONE / np.sqrt(np.float32(max(count, 1)))


@inline_once
def _add_label_pairs(inputs: Floats, pairs_found: int, labels: int, positives: int, scratch: ContextScratch) -> None:
    """Sum the inputs of the label pairs of an image: all of them, and those that contain each label."""
    found, sums, width = scratch.found, scratch.sums[1], inputs.shape[1]
    pair_sums, pair_counts = scratch.pair_sums, scratch.pair_counts
    pair_sums[:positives] = _ZERO
    pair_counts[:positives] = 0
    for n in range(min(_PAIRS_AHEAD, pairs_found)):
        prefetch_row(inputs, np.int64(labels + found.numbers[n]))
    for n in range(pairs_found):
        if n + _PAIRS_AHEAD < pairs_found:
            prefetch_row(inputs, np.int64(labels + found.numbers[n + _PAIRS_AHEAD]))
        row, first, second = inputs[labels + found.numbers[n]], pair_sums[found.first[n]], pair_sums[found.second[n]]
        pair_counts[found.first[n]] += 1
        pair_counts[found.second[n]] += 1
        for f in range(width):
            first[f] += row[f]
            second[f] += row[f]
    # Every label pair is in the sums of two labels.
    for n in range(positives):
        for f in range(width):
            sums[f] += pair_sums[n, f]
    for f in range(width):
        sums[f] *= _HALF


@inline_once
def sum_inputs(
    has_ids: bool,
    has_features: bool,
    has_pairs: bool,
    arrays: TrainingArrays,
    context: ContextTables,
    image: int,
    positives: NDArray[np.int32],
    scratch: ContextScratch,
) -> int:
    """Compute what the positives of an image share: its own part, the sums of its inputs, and v_i with all labels.

    Returns the number of label pairs found.
    """
    base, sums, whole, inputs = scratch.base, scratch.sums, scratch.whole, context.inputs
    width = base.shape[0]
    for n in range(positives.shape[0]):
        prefetch_row(inputs, np.int64(positives[n]))
    base[:] = _ZERO
    if has_ids:
        for f in range(width):
            base[f] = arrays.image_vectors[image, f]
    if has_features:
        add_features(arrays.features, arrays.tables, image, base)
    sums[:] = _ZERO
    for n in range(positives.shape[0]):
        for f in range(width):
            sums[0, f] += inputs[positives[n], f]
    pairs_found = 0
    if has_pairs:
        pairs_found = find_label_pairs(positives, context.label_pairs, scratch.found)
        _add_label_pairs(inputs, pairs_found, arrays.tables.labels.shape[0], positives.shape[0], scratch)
    scale, pair_scale = _scale(positives.shape[0]), _scale(pairs_found)
    for f in range(width):
        whole[f] = base[f] + scale * sums[0, f] + pair_scale * sums[1, f]
    return pairs_found


@inline_once
def vector_without(
    has_pairs: bool,
    context: ContextTables,
    positives: NDArray[np.int32],
    n: int,
    pairs_found: int,
    scratch: ContextScratch,
    vector: Floats,
    scales: Floats,
) -> None:
    """Write v_i without positive ``n`` of the image, and the two scales of its inputs."""
    positive, base, sums = np.int64(positives[n]), scratch.base, scratch.sums
    scale, pair_scale = _scale(positives.shape[0] - 1), _ONE
    for f in range(base.shape[0]):
        vector[f] = base[f] + scale * (sums[0, f] - context.inputs[positive, f])
    if has_pairs:
        pair_scale = _scale(pairs_found - scratch.pair_counts[n])
        for f in range(base.shape[0]):
            vector[f] += pair_scale * (sums[1, f] - scratch.pair_sums[n, f])
    scales[0] = scale
    scales[1] = pair_scale


@inline_once
def end_visit(
    has_ids: bool,
    has_features: bool,
    arrays: TrainingArrays,
    image: int,
    positives: NDArray[np.int32],
    pairs_found: int,
    visit: int,
    first: int,
    entry: int,
    gradients: InputGradients,
    vector_changes: Floats,
    step: Step,
    scratch: ContextScratch,
) -> int:
    """Sum the vector gradients of an image's draws, which begin at ``first``, and list the inputs they reach.

    An image's own part makes one plain gradient step for all of its labels. Returns the index behind the last entry.
    """
    base, found, width = scratch.base, scratch.found, scratch.base.shape[0]
    count, labels = positives.shape[0], arrays.tables.labels.shape[0]
    sums = gradients.sums[visit]
    sums[:] = _ZERO
    for draw in range(first, first + count):
        scale, pair_scale = gradients.scales[draw, 0], gradients.scales[draw, 1]
        for f in range(width):
            sums[f] += scale * gradients.vectors[draw, f]
            sums[width + f] += pair_scale * gradients.vectors[draw, f]
    if count > 1:
        for n in range(count):
            _write_entry(gradients.entries[entry], positives[n], visit, count - 1, first + n, -1)
            entry += 1
    if count > 2:
        for n in range(pairs_found):
            row, one, other = labels + found.numbers[n], first + found.first[n], first + found.second[n]
            _write_entry(gradients.entries[entry], row, visit, count - 2, one, other)
            entry += 1
    if has_ids or has_features:
        decay = min(step.learning_rate * step.regularization * np.float32(count), _ONE)
        for f in range(width):
            gradient_sum = _ZERO
            for draw in range(first, first + count):
                gradient_sum += gradients.vectors[draw, f]
            base[f] = step.learning_rate * gradient_sum - decay * base[f]
        if has_features:
            for f in range(width):
                vector_changes[visit, f] = base[f]
        if has_ids:
            for f in range(width):
                arrays.image_vectors[image, f] += base[f]
    return entry


@inline_once
def _write_entry(entry: NDArray[np.int32], row: int, visit: int, times: int, one: int, other: int) -> None:
    entry[0] = row
    entry[1] = visit
    entry[2] = times
    entry[3] = one
    entry[4] = other


@kernel
def apply_input_gradients(
    inputs: Floats,
    squares: Floats,
    gradients: InputGradients,
    step: Step,
    gradient: Floats,
    selected: NDArray[np.int32],
    first_entries: NDArray[np.int64],
    ranges: RowRanges,
    cursor: BatchCursor,
) -> bool:
    """Run the second phase of a batch for the inputs.

    All positives of an image contribute to the gradient of an input, except the label itself or, for a label pair, its
    two labels. The row decays once per contribution. ``gradient`` and ``selected`` are buffers of the worker.
    """
    if not are_gradients_computed(cursor):
        return False
    width = inputs.shape[1]
    taken = count_up(cursor.counters, RANGES_TAKEN + INPUTS)
    while taken < ranges.shape[0]:
        first, last = ranges[taken, 0], ranges[taken, 1]
        for chunk in range(cursor.chunks):
            start = first_entries[chunk]
            own = gradients.entries[start : start + gradients.filled[chunk]]
            count = select_entries(own[:, 0], first, last, selected)
            for n in range(count):
                if n + PREFETCH_DISTANCE < count:
                    prefetch_row(inputs, np.int64(own[selected[n + PREFETCH_DISTANCE], 0]))
                entry = own[selected[n]]
                row, times, one, other = entry[0], entry[2], entry[3], entry[4]
                sums = gradients.sums[entry[1]]
                square = _ZERO
                if other < 0:
                    for f in range(width):
                        gradient[f] = sums[f] - gradients.scales[one, 0] * gradients.vectors[one, f]
                        square += gradient[f] * gradient[f]
                else:
                    for f in range(width):
                        gradient[f] = (
                            sums[width + f]
                            - gradients.scales[one, 1] * gradients.vectors[one, f]
                            - gradients.scales[other, 1] * gradients.vectors[other, f]
                        )
                        square += gradient[f] * gradient[f]
                squares[row] += square / np.float32(width)
                rate = step.learning_rate / np.sqrt(squares[row])
                shrink = max(_ONE - rate * step.regularization * np.float32(times), _ZERO)
                for f in range(width):
                    inputs[row, f] = shrink * inputs[row, f] + rate * gradient[f]
        count_up(cursor.counters, RANGES_DONE)
        taken = count_up(cursor.counters, RANGES_TAKEN + INPUTS)
    return True


def context_vectors(pairs: Csr, inputs: Floats, label_pairs: LabelPairs, vectors: Floats) -> None:
    """Add to row i of ``vectors`` the context of row i of ``pairs``, with all of its labels."""
    longest = int(np.diff(pairs.indptr).max(initial=0)) if label_pairs.pairs else 0
    _add_contexts(pairs, inputs, label_pairs, vectors, PairMatches.allocate(longest))


@kernel
def _add_contexts(pairs: Csr, inputs: Floats, label_pairs: LabelPairs, vectors: Floats, found: PairMatches) -> None:
    labels = label_pairs.labels
    for image in range(vectors.shape[0]):
        positives = pairs.indices[pairs.indptr[image] : pairs.indptr[image + 1]]
        vector = vectors[image]
        scale = _scale(positives.shape[0])
        for n in range(positives.shape[0]):
            for f in range(vector.shape[0]):
                vector[f] += scale * inputs[positives[n], f]
        pairs_found = find_label_pairs(positives, label_pairs, found) if label_pairs.pairs else 0
        scale = _scale(pairs_found)
        for n in range(pairs_found):
            row = labels + found.numbers[n]
            for f in range(vector.shape[0]):
                vector[f] += scale * inputs[row, f]
