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
    InputGradients,
    end_visit,
    sum_inputs,
    vector_without,
)
from vse_ens.kernels.jit import kernel, prefetch_row
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


@cache
def pairwise_kernel(
    dimensions: int, sampler: int, loss: int, has_ids: bool, has_features: bool, has_pairs: bool
) -> Callable[..., bool]:
    """Return the kernel of the first phase for these parts, all of them compile-time constants."""
    uniform, popularity, vse_ens = (
        sampler == code for code in (samplers.UNIFORM, samplers.POPULARITY, samplers.VSE_ENS)
    )
    warp, dns = sampler == samplers.WARP, sampler == samplers.DNS
    rank_weighted, logistic = loss == losses.WARP, loss == losses.LOGISTIC

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
        whole, labels = scratch.whole, tables.labels
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
                for n in range(positives.shape[0]):
                    positive, vector = np.int64(positives[n]), gradients.vectors[draw]
                    vector_without(
                        has_pairs, context, positives, n, pairs_found, scratch, vector, input_gradients.scales[draw]
                    )
                    own = samplers.score(vector, tables, positive)
                    weight = _ONE
                    if vse_ens:
                        label = samplers.draw_vse_ens(whole, scratch.cumulative, sampling, positives, state, counts)
                    elif uniform:
                        label = samplers.draw_uniform(tables, sampling, positives, state, counts)
                    elif popularity:
                        label = samplers.draw_popularity(sampling, positives, state, counts)
                    elif warp:
                        label, tried = samplers.draw_warp(
                            vector, own, step.margin, tables, sampling, positives, state, counts
                        )
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
                    gradient = input_gradients.vectors[draw]
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


@kernel
def apply_pairwise_gradients(
    tables: SharedTables,
    squares: Floats,
    draws: int,
    progress: Progress,
    ranges: RowRanges,
    gradients: ContextGradients,
    step: Step,
    selected: NDArray[np.int32],
) -> bool:
    """Run the second phase of a batch for the labels; a row decays with every gradient applied to it."""
    if not are_gradients_computed(progress):
        return False
    labels, bias, width = tables.labels, tables.bias, tables.labels.shape[1]
    shrink_bias = _ONE - step.bias_rate * step.bias_regularization
    rows, slopes = gradients.rows.reshape(-1), gradients.slopes.reshape(-1)
    taken = count_up(progress.counters, RANGES_TAKEN + LABELS)
    while taken < ranges.shape[0]:
        first, last = ranges[taken, 0], ranges[taken, 1]
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
        count_up(progress.counters, RANGES_DONE)
        taken = count_up(progress.counters, RANGES_TAKEN + LABELS)
    return True
