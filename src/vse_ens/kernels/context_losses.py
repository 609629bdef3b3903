"""The gradients of the context tower: the first phase of a batch with any loss, and the second for the labels.

    softmax loss = -log( e^s_i(p) / (e^s_i(p) + sum_n e^s_i(n)) )

Negatives of the softmax loss are drawn for the image, by its vector with all labels. Up to ``sharing`` of its positives
are compared with the same ones, so that a row of the label table is read and changed once for all of them. The other
losses compare each positive with one negative.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels import losses, samplers
from vse_ens.kernels.arrays import (
    DRAWS,
    GIVEN_UP,
    VIOLATIONS,
    Floats,
    Sampling,
    SharedTables,
    Step,
    TrainingArrays,
)
from vse_ens.kernels.context import (
    ContextScratch,
    ContextTables,
    InputGradients,
    end_visit,
    sum_inputs,
    vector_without,
)
from vse_ens.kernels.jit import inline, inline_once, kernel, prefetch_row
from vse_ens.kernels.two_phase import (
    CHUNKS_DONE,
    CHUNKS_TAKEN,
    LABELS,
    PREFETCH_DISTANCE,
    RANGES_DONE,
    RANGES_TAKEN,
    BatchCursor,
    BatchLayout,
    LabelGradients,
    RowRanges,
    are_gradients_computed,
    is_batch_before_applied,
    select_entries,
)
from vse_ens.kernels.work_counters import count_up

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)

_AT_ONCE = 4
MAX_SHARING = 3
"""The most positives of an image that share negatives; `apply_shared_gradients` has this number written out."""


@cache
def context_kernel(
    dimensions: int, sampler: int, loss: int, sharing: int, has_ids: bool, has_features: bool, has_pairs: bool
) -> Callable[..., bool]:
    """Return the kernel of the first phase for these parts, all of them compile-time constants."""
    vse_ens, rank_weighted = sampler == samplers.VSE_ENS, loss == losses.WARP
    softmax, logistic = loss == losses.SOFTMAX, loss == losses.LOGISTIC

    @kernel
    def compute_gradients(
        arrays: TrainingArrays,
        context: ContextTables,
        gradients: LabelGradients,
        input_gradients: InputGradients,
        vector_changes: Floats,
        sampling: Sampling,
        step: Step,
        scratch: ContextScratch,
        batch: BatchLayout,
        cursor: BatchCursor,
    ) -> bool:
        if not is_batch_before_applied(cursor):
            return False
        tables, pairs, whole = arrays.tables, arrays.pairs, scratch.whole
        labels = tables.labels
        chunk = count_up(cursor.counters, CHUNKS_TAKEN)
        while chunk < cursor.chunks:
            draw, entry, total_loss = batch.first_draws[chunk], batch.first_entries[chunk], 0.0
            state, counts = batch.random_states[chunk], batch.counts[chunk]
            for visit in range(batch.first_visits[chunk], batch.first_visits[chunk + 1]):
                image = batch.images[visit]
                positives = pairs.indices[pairs.indptr[image] : pairs.indptr[image + 1]]
                pairs_found = sum_inputs(has_ids, has_features, has_pairs, arrays, context, image, positives, scratch)
                if vse_ens:
                    samplers.accumulate_factors(whole, sampling, scratch.cumulative)
                draws = samplers.ImageDraws(tables, sampling, positives, state, counts)
                for start in range(0, positives.shape[0], sharing):
                    if softmax:
                        shared = gradients.rows[draw]
                        found = _draw_shared(dimensions, sampler, draws, shared, scratch)
                    for n in range(start, min(start + sharing, positives.shape[0])):
                        positive, vector = np.int64(positives[n]), gradients.vectors[draw]
                        vector_without(
                            has_pairs, context, positives, n, pairs_found, scratch, vector, input_gradients.scales[draw]
                        )
                        square = _ZERO
                        for f in range(dimensions):
                            square += vector[f] * vector[f]
                        gradients.squares[draw] = square / np.float32(dimensions)
                        own = samplers.score(vector, tables, positive)
                        gradient = input_gradients.vectors[draw]
                        gradients.rows[draw, 0] = positive
                        counts[DRAWS] += 1
                        if softmax:
                            total_loss += _compare(
                                dimensions, tables, shared, found, own, draw, gradients, gradient, scratch, counts
                            )
                        else:
                            seen = whole if vse_ens else vector
                            label, tried = samplers.draw(sampler, seen, own, step.margin, draws, scratch)
                            counts[GIVEN_UP] += label < 0
                            slope = _ZERO
                            if label >= 0:
                                difference = own - samplers.score(vector, tables, np.int64(label))
                                if logistic:
                                    linear, factor, slope = losses.logistic(difference)
                                    total_loss += linear + np.log(factor)
                                else:
                                    # L(rank) of eq. 2, with the rank estimated as floor((|A| - 1) / N)
                                    weight = step.rank_weight[(labels.shape[0] - 1) // tried] if rank_weighted else _ONE
                                    value, slope = losses.hinge(difference, step.margin)
                                    total_loss += weight * value
                                    slope *= weight
                                counts[VIOLATIONS] += difference < step.margin
                            gradients.rows[draw, 1] = label
                            gradients.slopes[draw, 0] = slope
                            gradients.slopes[draw, 1] = -slope
                            for f in range(dimensions):
                                gradient[f] = slope * (labels[positive, f] - labels[np.int64(max(label, 0)), f])
                        draw += 1
                entry = end_visit(
                    has_ids,
                    has_features,
                    arrays,
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
            count_up(cursor.counters, CHUNKS_DONE)
            chunk = count_up(cursor.counters, CHUNKS_TAKEN)
        return True

    return compute_gradients


@inline_once
def _draw_shared(
    dimensions: int, sampler: int, draws: samplers.ImageDraws, rows: NDArray[np.int32], scratch: ContextScratch
) -> int:
    """Draw the negatives of a few positives, and copy their vectors and biases; return their number.

    They are written to ``rows`` behind the place of the positive; -1 stands for none.
    """
    whole, labels, negatives = scratch.whole, draws.tables.labels, scratch.negatives
    found = 0
    if sampler == samplers.VSE_ENS:
        found = samplers.fill_vse_ens(dimensions, whole, scratch.cumulative, draws, rows[1:], scratch.factors)
    else:
        for _ in range(rows.shape[0] - 1):
            label, _tried = samplers.draw(sampler, whole, _ZERO, _ZERO, draws, scratch)
            if label >= 0:
                found += 1
                rows[found] = label
                prefetch_row(labels, np.int64(label))
    rows[found + 1 :] = -1
    for j in range(found):
        label = np.int64(rows[j + 1])
        for f in range(dimensions):
            negatives[j, f] = labels[label, f]
        scratch.negative_bias[j] = draws.tables.bias[label]
    # Rows are taken four at a time; the rest of the last four are zeros.
    negatives[found : _padded(found)] = _ZERO
    return found


@inline
def _padded(count: int) -> int:
    return -(-count // _AT_ONCE) * _AT_ONCE


@inline_once
def _compare(
    dimensions: int,
    tables: SharedTables,
    shared: NDArray[np.int32],
    found: int,
    own: np.float32,
    draw: int,
    gradients: LabelGradients,
    gradient: Floats,
    scratch: ContextScratch,
    counts: NDArray[np.int64],
) -> float:
    """Compare a positive, whose score is ``own``, with the negatives of `_draw_shared`.

    Writes the gradients of the labels, and of the image's vector to ``gradient``; returns the loss.
    """
    vector, scores, bias = gradients.vectors[draw], scratch.scores, scratch.negative_bias
    negatives = scratch.negatives[: _padded(found)]
    for j in range(1, shared.shape[0]):
        gradients.rows[draw, j] = shared[j]
    _multiply(negatives, vector, scores)
    for j in range(found):
        scores[j] += bias[j]
    loss, own_slope, violated = _softmax_slopes(own, scores, found)
    counts[GIVEN_UP] += found == 0
    counts[VIOLATIONS] += violated
    scores[found : negatives.shape[0]] = _ZERO
    gradients.slopes[draw, 0] = own_slope
    for j in range(found):
        gradients.slopes[draw, j + 1] = scores[j]
    positive = np.int64(gradients.rows[draw, 0])
    for f in range(dimensions):
        gradient[f] = own_slope * tables.labels[positive, f]
    _add_weighted(negatives, scores, gradient)
    return loss


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
    own_share = losses.exp_below_zero(own - highest)
    total = own_share
    for j in range(negatives):
        scores[j] = losses.exp_below_zero(scores[j] - highest)
        total += scores[j]
    for j in range(negatives):
        scores[j] /= -total
    return np.log(total) - (own - highest), _ONE - own_share / total, highest > own


@kernel
def apply_shared_gradients(
    tables: SharedTables,
    label_squares: Floats,
    gradients: LabelGradients,
    step: Step,
    sharing: int,
    selected: NDArray[np.int32],
    first_positives: NDArray[np.int64],
    images: NDArray[np.int64],
    ranges: RowRanges,
    cursor: BatchCursor,
) -> bool:
    """Run the second phase of a batch for the labels. With losses of one negative, ``sharing`` is 1.

    A negative makes one step for all positives that share it, with the sum of their gradients, and decays for each.
    AdaGrad adds the squares of the gradients one by one: the square of their sum would make the steps too short.
    """
    if not are_gradients_computed(cursor):
        return False
    width = tables.labels.shape[1]
    vectors, slopes, squares = gradients.vectors, gradients.slopes, gradients.squares
    taken = count_up(cursor.counters, RANGES_TAKEN + LABELS)
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
        count_up(cursor.counters, RANGES_DONE)
        taken = count_up(cursor.counters, RANGES_TAKEN + LABELS)
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
