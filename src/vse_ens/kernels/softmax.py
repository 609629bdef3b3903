"""The softmax loss: one positive against several negatives, in two-phase batches (see `vse_ens.kernels.two_phase`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from vse_ens.kernels import samplers
from vse_ens.kernels.arrays import DRAWS, GIVEN_UP, VIOLATIONS, Floats, Sampling, Step, TrainingArrays
from vse_ens.kernels.jit import kernel, prefetch_row
from vse_ens.kernels.sgd import SgdScratch, add_features
from vse_ens.kernels.two_phase import (
    CHUNKS_DONE,
    CHUNKS_TAKEN,
    BatchCursor,
    BatchLayout,
    LabelGradients,
    is_batch_before_applied,
)
from vse_ens.kernels.work_counters import count_up

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


@cache
def softmax_kernel(
    dimensions: int, sampler: int, has_ids: bool, has_features: bool, frozen: bool = False
) -> Callable[..., bool]:
    """Return the kernel of the first phase for these parts, all of them compile-time constants.

    It trains the vectors of the images, and writes the gradients of the labels. With ``frozen`` all draws share row 0
    of the gradients, which nothing applies, and each image has its own random state ``random_states[image]``.
    """
    vse_ens = sampler == samplers.VSE_ENS

    @kernel
    def compute_gradients(
        arrays: TrainingArrays,
        gradients: LabelGradients,
        vector_changes: Floats,
        sampling: Sampling,
        step: Step,
        scratch: SgdScratch,
        batch: BatchLayout,
        cursor: BatchCursor,
    ) -> bool:
        if not is_batch_before_applied(cursor):
            return False
        image_vectors, tables, features, pairs = arrays
        vector, labels, bias = scratch.vector, tables.labels, tables.bias
        negatives = gradients.rows.shape[1] - 1
        rate = step.learning_rate
        shrink = _ONE - rate * step.regularization
        chunk = count_up(cursor.counters, CHUNKS_TAKEN)
        while chunk < cursor.chunks:
            state, counts = batch.random_states[chunk], batch.counts[chunk]
            draw = batch.first_draws[chunk]
            total_loss = 0.0
            for visit in range(batch.first_visits[chunk], batch.first_visits[chunk + 1]):
                image = batch.images[visit]
                if frozen:
                    state = batch.random_states[image]
                if has_ids:
                    for f in range(dimensions):
                        vector[f] = image_vectors[image, f]
                else:
                    vector[:] = _ZERO
                if has_features:
                    add_features(features, tables, image, vector)
                    for f in range(dimensions):
                        scratch.start[f] = vector[f]
                positives = pairs.indices[pairs.indptr[image] : pairs.indptr[image + 1]]
                if vse_ens:
                    samplers.accumulate_factors(vector, sampling, scratch.cumulative)
                draws = samplers.ImageDraws(tables, sampling, positives, state, counts)
                for n in range(positives.shape[0]):
                    rows, slopes = gradients.rows[draw], gradients.slopes[draw]
                    rows[0] = positives[n]
                    found = 0
                    for j in range(1, negatives + 1):
                        label, _ = samplers.draw(sampler, vector, _ZERO, _ZERO, draws, scratch)
                        rows[j] = label
                        prefetch_row(labels, max(label, 0))
                        found += label >= 0
                    counts[DRAWS] += 1
                    counts[GIVEN_UP] += found == 0

                    highest = np.float32(-np.inf)
                    for j in range(negatives + 1):
                        label = rows[j]
                        if label < 0:
                            slopes[j] = np.float32(-np.inf)
                            continue
                        total = bias[label]
                        for f in range(dimensions):
                            total += vector[f] * labels[label, f]
                        slopes[j] = total
                        highest = max(highest, total)
                    counts[VIOLATIONS] += highest > slopes[0]
                    total = _ZERO
                    own = slopes[0] - highest
                    for j in range(negatives + 1):
                        slopes[j] = np.exp(slopes[j] - highest)
                        total += slopes[j]
                    total_loss += np.log(total) - own
                    for j in range(negatives + 1):
                        slopes[j] = -slopes[j] / total
                    slopes[0] += _ONE

                    for f in range(dimensions):
                        gradients.vectors[draw, f] = vector[f]
                        vector[f] *= shrink
                    for j in range(negatives + 1):
                        label = rows[j]
                        if label >= 0:
                            step_scale = rate * slopes[j]
                            for f in range(dimensions):
                                vector[f] += step_scale * labels[label, f]
                    if not frozen:
                        draw += 1
                if has_features:
                    for f in range(dimensions):
                        vector_changes[visit, f] = vector[f] - scratch.start[f]
                if has_ids and has_features:
                    for f in range(dimensions):
                        image_vectors[image, f] += vector_changes[visit, f]
                elif has_ids:
                    for f in range(dimensions):
                        image_vectors[image, f] = vector[f]
            batch.losses[chunk] = total_loss
            count_up(cursor.counters, CHUNKS_DONE)
            chunk = count_up(cursor.counters, CHUNKS_TAKEN)
        return True

    return compute_gradients
