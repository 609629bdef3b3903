"""The context tower with a loss of one positive and one negative: hinge, warp, logistic."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels import losses, samplers
from vse_ens.kernels.arrays import DRAWS, GIVEN_UP, VIOLATIONS, Csr, Features, Floats, Sampling, SharedTables, Step
from vse_ens.kernels.context import (
    ContextGradients,
    ContextScratch,
    ContextTables,
    apply_input_gradients,
    end_visit,
    sum_inputs,
    vector_without,
)
from vse_ens.kernels.jit import inline_once, kernel, prefetch_row
from vse_ens.kernels.progress import count_up, wait_for
from vse_ens.kernels.two_phase import (
    INPUT_ROWS,
    LABEL_ROWS,
    PREFETCH_DISTANCE,
    BatchLayout,
    Round,
    apply_feature_gradients,
    batch_of,
    select_entries,
)

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


@cache
def pairwise_kernel(
    dimensions: int, sampler: int, loss: int, has_ids: bool, has_features: bool, has_pairs: bool
) -> Callable[..., int]:
    """Return the kernel for these parts, all of them compile-time constants.

    It trains the batches of a round from number ``start`` on, and returns the number of the batch at which this worker
    has to wait for others: call it again later. At the end it returns how many batches there are.
    """
    uniform, popularity, vse_ens = (
        sampler == code for code in (samplers.UNIFORM, samplers.POPULARITY, samplers.VSE_ENS)
    )
    warp, dns = sampler == samplers.WARP, sampler == samplers.DNS
    rank_weighted, logistic = loss == losses.WARP, loss == losses.LOGISTIC

    @kernel
    def train_batches(
        image_vectors: Floats,
        tables: SharedTables,
        context: ContextTables,
        features: Features,
        pairs: Csr,
        round_: Round,
        start: int,
        gradients: ContextGradients,
        vector_changes: Floats,
        sampling: Sampling,
        step: Step,
        scratch: ContextScratch,
    ) -> int:
        for number in range(start, round_.chunks_taken.shape[0]):
            batch = batch_of(round_, number)
            chunks, ranges = batch.counts.shape[0], round_.ranges.shape[0]
            chunk = count_up(round_.chunks_taken, number)
            while chunk < chunks:
                batch.losses[chunk] = _compute_chunk(
                    dimensions,
                    uniform,
                    popularity,
                    vse_ens,
                    warp,
                    dns,
                    rank_weighted,
                    logistic,
                    has_ids,
                    has_features,
                    has_pairs,
                    image_vectors,
                    tables,
                    context,
                    features,
                    pairs,
                    batch,
                    chunk,
                    gradients,
                    vector_changes,
                    sampling,
                    step,
                    scratch,
                )
                count_up(round_.chunks_done, number)
                chunk = count_up(round_.chunks_taken, number)
            if not wait_for(round_.chunks_done, number, chunks):
                return number
            taken = count_up(round_.ranges_taken, number)
            while taken < ranges:
                table, first, last = round_.ranges[taken, 0], round_.ranges[taken, 1], round_.ranges[taken, 2]
                if table == LABEL_ROWS:
                    apply_pairwise_gradients(
                        tables, context, gradients, batch.first_draws[-1], step, first, last, scratch.selected
                    )
                elif table == INPUT_ROWS:
                    apply_input_gradients(context, batch, gradients, step, first, last, scratch)
                elif has_features:
                    apply_feature_gradients(tables, features, batch.images, vector_changes, first, last)
                count_up(round_.ranges_done, number)
                taken = count_up(round_.ranges_taken, number)
            if not wait_for(round_.ranges_done, number, ranges):
                return number
        return round_.chunks_taken.shape[0]

    return train_batches


@inline_once
def _compute_chunk(
    dimensions: int,
    uniform: bool,
    popularity: bool,
    vse_ens: bool,
    warp: bool,
    dns: bool,
    rank_weighted: bool,
    logistic: bool,
    has_ids: bool,
    has_features: bool,
    has_pairs: bool,
    image_vectors: Floats,
    tables: SharedTables,
    context: ContextTables,
    features: Features,
    pairs: Csr,
    batch: BatchLayout,
    chunk: int,
    gradients: ContextGradients,
    vector_changes: Floats,
    sampling: Sampling,
    step: Step,
    scratch: ContextScratch,
) -> float:
    """Run the first phase for a chunk of the batch; return its loss."""
    whole, labels = scratch.whole, tables.labels
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
        for n in range(positives.shape[0]):
            positive, vector = np.int64(positives[n]), gradients.vectors[draw]
            vector_without(has_pairs, context, positives, n, pairs_found, scratch, vector, gradients.scales[draw])
            own = samplers.score(vector, tables, positive)
            weight = _ONE
            if vse_ens:
                label = samplers.draw_vse_ens(whole, scratch.cumulative, sampling, positives, state, counts)
            elif uniform:
                label = samplers.draw_uniform(tables, sampling, positives, state, counts)
            elif popularity:
                label = samplers.draw_popularity(sampling, positives, state, counts)
            elif warp:
                label, tried = samplers.draw_warp(vector, own, step.margin, tables, sampling, positives, state, counts)
                if rank_weighted and label >= 0:
                    # L(rank) of eq. 2, with the rank estimated as floor((|A| - 1) / N)
                    weight = step.rank_weight[(labels.shape[0] - 1) // tried]
            elif dns:
                label = samplers.draw_dns(vector, tables, sampling, positives, state, counts)
            else:
                label = samplers.draw_naive(vector, tables, sampling, positives, scratch.scores, state, counts)
            counts[DRAWS] += 1
            counts[GIVEN_UP] += label < 0
            slope = _ZERO
            if label >= 0:
                difference = own - samplers.score(vector, tables, np.int64(label))
                if logistic:
                    linear, factor, slope = losses.logistic(difference)
                    total_loss += linear + np.log(factor)
                else:
                    value, slope = losses.hinge(difference, step.margin)
                    total_loss += weight * value
                counts[VIOLATIONS] += difference < step.margin
                slope *= weight
            gradients.rows[draw, 0] = positive
            gradients.rows[draw, 1] = label
            gradients.slopes[draw, 0] = slope
            gradients.slopes[draw, 1] = -slope
            gradient = gradients.vector_gradients[draw]
            for f in range(dimensions):
                gradient[f] = slope * (labels[positive, f] - labels[np.int64(max(label, 0)), f])
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
            gradients,
            vector_changes,
            step,
            scratch,
        )
    gradients.filled[chunk] = entry - batch.first_entries[chunk]
    return total_loss


@inline_once
def apply_pairwise_gradients(
    tables: SharedTables,
    context: ContextTables,
    gradients: ContextGradients,
    draws: int,
    step: Step,
    first: int,
    last: int,
    selected: NDArray[np.int32],
) -> None:
    """Run the second phase for label rows ``first`` to ``last - 1``; a row decays with every gradient applied to it."""
    labels, bias, squares = tables.labels, tables.bias, context.label_squares
    width = labels.shape[1]
    shrink_bias = _ONE - step.bias_rate * step.bias_regularization
    rows, slopes = gradients.rows.reshape(-1), gradients.slopes.reshape(-1)
    count = select_entries(rows[: 2 * draws], first, last, selected)
    for n in range(count):
        if n + PREFETCH_DISTANCE < count:
            prefetch_row(labels, np.int64(rows[selected[n + PREFETCH_DISTANCE]]))
        entry = selected[n]
        label, vector, slope = rows[entry], gradients.vectors[entry // 2], slopes[entry]
        square = _ZERO
        for f in range(width):
            square += vector[f] * vector[f]
        squares[label] += slope * slope * square / np.float32(width)
        rate = step.learning_rate / np.sqrt(squares[label])
        shrink, step_scale = _ONE - rate * step.regularization, rate * slope
        for f in range(width):
            labels[label, f] = shrink * labels[label, f] + step_scale * vector[f]
        bias[label] = shrink_bias * bias[label] + step.bias_rate * slope
