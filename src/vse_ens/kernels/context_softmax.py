"""The context tower with the softmax loss: a few positives of an image share their negatives.

    loss = -log( e^s_i(p) / (e^s_i(p) + sum_n e^s_i(n)) )

Negatives are drawn for the image, by its vector with all labels. Up to ``sharing`` of its positives are compared with
the same ones, so that a row of the label table is read and changed once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels import samplers
from vse_ens.kernels.arrays import DRAWS, GIVEN_UP, VIOLATIONS, Csr, Features, Floats, Sampling, SharedTables, Step
from vse_ens.kernels.context import (
    ContextGradients,
    ContextScratch,
    ContextTables,
    InputGradients,
    end_visit,
    sum_inputs,
    vector_without,
)
from vse_ens.kernels.exponential import exp_below_zero
from vse_ens.kernels.jit import inline, inline_once, kernel, prefetch_row
from vse_ens.kernels.progress import count_up
from vse_ens.kernels.two_phase import (
    CHUNKS_DONE,
    CHUNKS_TAKEN,
    LABELS,
    PREFETCH_DISTANCE,
    RANGES_DONE,
    RANGES_TAKEN,
    BatchLayout,
    Progress,
    RowRanges,
    are_gradients_computed,
    is_batch_before_applied,
    select_entries,
)

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)

_AT_ONCE = 4
MAX_SHARING = 3
"""The most positives of an image that share negatives; `apply_softmax_gradients` has this number written out."""


@cache
def softmax_kernel(
    dimensions: int, sampler: int, sharing: int, has_ids: bool, has_features: bool, has_pairs: bool
) -> Callable[..., bool]:
    """Return the kernel of the first phase for these parts, all of them compile-time constants."""
    uniform, popularity, vse_ens = (
        sampler == code for code in (samplers.UNIFORM, samplers.POPULARITY, samplers.VSE_ENS)
    )

    @kernel
    def compute_gradients(
        image_vectors: Floats,
        tables: SharedTables,
        context: ContextTables,
        features: Features,
        pairs: Csr,
        batch: BatchLayout,
        progress: Progress,
        gradients: ContextGradients,
        input_gradients: InputGradients,
        vector_changes: Floats,
        sampling: Sampling,
        step: Step,
        scratch: ContextScratch,
    ) -> bool:
        if not is_batch_before_applied(progress):
            return False
        whole, labels, negatives = scratch.whole, tables.labels, scratch.negatives
        scores, bias = scratch.scores, scratch.negative_bias
        wanted = gradients.rows.shape[1] - 1
        chunk = count_up(progress.counters, CHUNKS_TAKEN)
        while chunk < progress.chunks:
            draw, entry, total_loss = batch.first_draws[chunk], batch.first_entries[chunk], 0.0
            state, counts = batch.random_states[chunk], batch.counts[chunk]
            for visit in range(batch.first_visits[chunk], batch.first_visits[chunk + 1]):
                image = batch.images[visit]
                positives = pairs.indices[pairs.indptr[image] : pairs.indptr[image + 1]]
                pairs_found = sum_inputs(
                    has_ids,
                    has_features,
                    has_pairs,
                    image_vectors,
                    tables,
                    context,
                    features,
                    image,
                    positives,
                    scratch,
                )
                if vse_ens:
                    samplers.accumulate_factors(whole, sampling, scratch.cumulative)
                for start in range(0, positives.shape[0], sharing):
                    stop = min(start + sharing, positives.shape[0])
                    rows = gradients.rows[draw]
                    found = 0
                    if vse_ens:
                        found = samplers.fill_vse_ens(
                            dimensions,
                            whole,
                            scratch.cumulative,
                            labels,
                            sampling,
                            positives,
                            state,
                            counts,
                            rows[1:],
                            scratch.factors,
                        )
                    else:
                        for _ in range(wanted):
                            if uniform:
                                label = samplers.draw_uniform(tables, sampling, positives, state, counts)
                            elif popularity:
                                label = samplers.draw_popularity(sampling, positives, state, counts)
                            else:
                                label = samplers.draw_dns(whole, tables, sampling, positives, state, counts)
                            if label >= 0:
                                found += 1
                                rows[found] = label
                                prefetch_row(labels, np.int64(label))
                    rows[found + 1 :] = -1
                    # Rows are taken four at a time below; the rest of the last four are zeros.
                    padded = -(-found // _AT_ONCE) * _AT_ONCE
                    for j in range(found):
                        label = np.int64(rows[j + 1])
                        for f in range(dimensions):
                            negatives[j, f] = labels[label, f]
                        bias[j] = tables.bias[label]
                    negatives[found:padded] = _ZERO

                    for n in range(start, stop):
                        positive, vector = np.int64(positives[n]), gradients.vectors[draw]
                        vector_without(
                            has_pairs, context, positives, n, pairs_found, scratch, vector, input_gradients.scales[draw]
                        )
                        square = _ZERO
                        for f in range(dimensions):
                            square += vector[f] * vector[f]
                        gradients.squares[draw] = square / np.float32(dimensions)
                        gradients.rows[draw, 0] = positive
                        for j in range(1, wanted + 1):
                            gradients.rows[draw, j] = rows[j]
                        _multiply(negatives[:padded], vector, scores)
                        for j in range(found):
                            scores[j] += bias[j]
                        own = samplers.score(vector, tables, positive)
                        loss, own_slope, violated = _softmax_slopes(own, scores, found)
                        total_loss += loss
                        counts[DRAWS] += 1
                        counts[GIVEN_UP] += found == 0
                        counts[VIOLATIONS] += violated
                        scores[found:padded] = _ZERO
                        gradients.slopes[draw, 0] = own_slope
                        for j in range(found):
                            gradients.slopes[draw, j + 1] = scores[j]
                        gradient = input_gradients.vectors[draw]
                        for f in range(dimensions):
                            gradient[f] = own_slope * labels[positive, f]
                        _add_weighted(negatives[:padded], scores, gradient)
                        draw += 1
                entry = end_visit(
                    has_ids,
                    has_features,
                    image_vectors,
                    labels.shape[0],
                    image,
                    positives,
                    pairs_found,
                    visit,
                    draw - positives.shape[0],
                    entry,
                    input_gradients,
                    vector_changes,
                    step,
                    scratch,
                )
            input_gradients.filled[chunk] = entry - batch.first_entries[chunk]
            batch.losses[chunk] = total_loss
            count_up(progress.counters, CHUNKS_DONE)
            chunk = count_up(progress.counters, CHUNKS_TAKEN)
        return True

    return compute_gradients


@inline_once
def _multiply(rows: Floats, vector: Floats, products: Floats) -> None:
    """Write the product of each row with the vector, four rows at a time."""
    for j in range(0, rows.shape[0], _AT_ONCE):
        sum_0, sum_1, sum_2, sum_3 = _ZERO, _ZERO, _ZERO, _ZERO
        for f in range(vector.shape[0]):
            sum_0 += vector[f] * rows[j, f]
            sum_1 += vector[f] * rows[j + 1, f]
            sum_2 += vector[f] * rows[j + 2, f]
            sum_3 += vector[f] * rows[j + 3, f]
        products[j] = sum_0
        products[j + 1] = sum_1
        products[j + 2] = sum_2
        products[j + 3] = sum_3


@inline_once
def _add_weighted(rows: Floats, weights: Floats, total: Floats) -> None:
    """Add the rows times their weights, four rows at a time."""
    for j in range(0, rows.shape[0], _AT_ONCE):
        weight_0, weight_1, weight_2, weight_3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        for f in range(total.shape[0]):
            total[f] += (
                weight_0 * rows[j, f]
                + weight_1 * rows[j + 1, f]
                + weight_2 * rows[j + 2, f]
                + weight_3 * rows[j + 3, f]
            )


@inline_once
def _softmax_slopes(own: np.float32, scores: Floats, negatives: int) -> tuple[float, np.float32, bool]:
    """Replace the scores of the negatives by minus the slopes of the loss.

    Returns the loss, minus its slope in the positive's score, and whether a negative scores higher than the positive.
    """
    highest = own
    for j in range(negatives):
        highest = max(highest, scores[j])
    own_share = exp_below_zero(own - highest)
    total = own_share
    for j in range(negatives):
        scores[j] = exp_below_zero(scores[j] - highest)
        total += scores[j]
    for j in range(negatives):
        scores[j] /= -total
    return np.log(total) - (own - highest), _ONE - own_share / total, highest > own


@kernel
def apply_softmax_gradients(
    tables: SharedTables,
    label_squares: Floats,
    images: NDArray[np.int64],
    first_positives: NDArray[np.int64],
    progress: Progress,
    ranges: RowRanges,
    gradients: ContextGradients,
    step: Step,
    sharing: int,
    selected: NDArray[np.int32],
) -> bool:
    """Run the second phase of a batch for the labels.

    A negative makes one step for all positives that share it, with the sum of their gradients, and decays for each.
    AdaGrad adds the squares of the gradients one by one: the square of their sum would make the steps too short.
    """
    if not are_gradients_computed(progress):
        return False
    width = tables.labels.shape[1]
    vectors, slopes, squares = gradients.vectors, gradients.slopes, gradients.squares
    taken = count_up(progress.counters, RANGES_TAKEN + LABELS)
    while taken < ranges.shape[0]:
        first, last = ranges[taken, 0], ranges[taken, 1]
        end = 0
        for visit in range(images.shape[0]):
            image = images[visit]
            start, end = end, end + first_positives[image + 1] - first_positives[image]
            for one in range(start, end, sharing):
                two, three = min(one + 1, end - 1), min(one + 2, end - 1)
                draws = min(sharing, end - one)
                for draw in range(one, one + draws):
                    label, slope = np.int64(gradients.rows[draw, 0]), slopes[draw, 0]
                    if first <= label < last:
                        rate = _move_bias(
                            tables.bias, label_squares, label, slope, slope * slope * squares[draw], 1, step
                        )
                        shrink = max(_ONE - rate * step.regularization, _ZERO)
                        for f in range(width):
                            tables.labels[label, f] = shrink * tables.labels[label, f] + rate * slope * vectors[draw, f]
                rows = gradients.rows[one, 1:]
                count = select_entries(rows, first, last, selected)
                for n in range(min(PREFETCH_DISTANCE, count)):
                    prefetch_row(tables.labels, np.int64(rows[selected[n]]))
                for n in range(count):
                    if n + PREFETCH_DISTANCE < count:
                        prefetch_row(tables.labels, np.int64(rows[selected[n + PREFETCH_DISTANCE]]))
                    j, label = selected[n] + 1, np.int64(rows[selected[n]])
                    slope_1 = slopes[one, j]
                    slope_2 = slopes[two, j] if draws > 1 else _ZERO
                    slope_3 = slopes[three, j] if draws > 2 else _ZERO
                    square = (
                        slope_1 * slope_1 * squares[one]
                        + slope_2 * slope_2 * squares[two]
                        + slope_3 * slope_3 * squares[three]
                    )
                    rate = _move_bias(
                        tables.bias, label_squares, label, slope_1 + slope_2 + slope_3, square, draws, step
                    )
                    shrink = max(_ONE - rate * step.regularization * np.float32(draws), _ZERO)
                    slope_1 *= rate
                    slope_2 *= rate
                    slope_3 *= rate
                    for f in range(width):
                        tables.labels[label, f] = shrink * tables.labels[label, f] + (
                            slope_1 * vectors[one, f] + slope_2 * vectors[two, f] + slope_3 * vectors[three, f]
                        )
        count_up(progress.counters, RANGES_DONE)
        taken = count_up(progress.counters, RANGES_TAKEN + LABELS)
    return True


@inline
def _move_bias(
    bias: Floats,
    squares: Floats,
    label: int,
    slope: np.float32,
    square: np.float32,
    times: int,
    step: Step,
) -> np.float32:
    """Make a plain step of the bias of a label, and return the rate of AdaGrad for its vector."""
    squares[label] += square
    shrink = max(_ONE - step.bias_rate * step.bias_regularization * np.float32(times), _ZERO)
    bias[label] = shrink * bias[label] + step.bias_rate * slope
    return step.learning_rate / np.sqrt(squares[label])
