"""The softmax loss: one positive against several negatives, in two-phase batches (see `vse_ens.kernels.two_phase`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels import samplers
from vse_ens.kernels.arrays import (
    DRAWS,
    GIVEN_UP,
    VIOLATIONS,
    Csr,
    Features,
    Floats,
    Sampling,
    SharedTables,
    Step,
)
from vse_ens.kernels.jit import inline_once, kernel, prefetch_row
from vse_ens.kernels.progress import count_up
from vse_ens.kernels.sgd import SgdScratch, add_features
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


class BatchGradients(NamedTuple):
    """The gradients of a batch: draw ``d`` adds ``slopes[d, j] * vectors[d]`` to label ``rows[d, j]``."""

    rows: NDArray[np.int32]  # draws x (negatives + 1): the positive first; -1 where no negative was found
    slopes: Floats  # draws x (negatives + 1)
    vectors: Floats  # draws x k: v_i at the draw

    @classmethod
    def allocate(cls, draws: int, negatives: int, dimensions: int) -> BatchGradients:
        """Return arrays for a batch, which names no label yet."""
        return cls(
            np.full((draws, negatives + 1), -1, np.int32),
            np.empty((draws, negatives + 1), np.float32),
            np.empty((draws, dimensions), np.float32),
        )


@cache
def softmax_kernel(dimensions: int, sampler: int, has_ids: bool, has_features: bool) -> Callable[..., bool]:
    """Return the kernel of the first phase for these parts, all of them compile-time constants."""
    uniform, popularity, vse_ens = (
        sampler == code for code in (samplers.UNIFORM, samplers.POPULARITY, samplers.VSE_ENS)
    )

    @kernel
    def compute_gradients(
        image_vectors: Floats,
        tables: SharedTables,
        features: Features,
        pairs: Csr,
        batch: BatchLayout,
        progress: Progress,
        gradients: BatchGradients,
        vector_changes: Floats,
        sampling: Sampling,
        step: Step,
        scratch: SgdScratch,
    ) -> bool:
        if not is_batch_before_applied(progress):
            return False
        chunk = count_up(progress.counters, CHUNKS_TAKEN)
        while chunk < progress.chunks:
            first, last = batch.first_visits[chunk], batch.first_visits[chunk + 1]
            batch.losses[chunk] = _train_images(
                dimensions,
                uniform,
                popularity,
                vse_ens,
                has_ids,
                has_features,
                False,
                image_vectors,
                tables,
                features,
                pairs,
                batch.images[first:last],
                batch.first_draws[chunk],
                gradients,
                vector_changes[first:],
                sampling,
                step,
                scratch,
                batch.random_states[chunk],
                batch.counts[chunk],
            )
            count_up(progress.counters, CHUNKS_DONE)
            chunk = count_up(progress.counters, CHUNKS_TAKEN)
        return True

    return compute_gradients


@cache
def frozen_softmax_kernel(dimensions: int, sampler: int) -> Callable[..., None]:
    """Return a kernel that trains vectors of images, and leaves the labels as they are.

    All draws share row 0 of ``gradients``, and each image has its own random state ``states[image]``.
    """
    uniform, popularity, vse_ens = (
        sampler == code for code in (samplers.UNIFORM, samplers.POPULARITY, samplers.VSE_ENS)
    )

    @kernel
    def train_images(
        image_vectors: Floats,
        tables: SharedTables,
        features: Features,
        pairs: Csr,
        images: NDArray[np.int64],
        gradients: BatchGradients,
        sampling: Sampling,
        step: Step,
        scratch: SgdScratch,
        states: NDArray[np.uint64],
        counts: NDArray[np.int64],
    ) -> None:
        _train_images(
            dimensions,
            uniform,
            popularity,
            vse_ens,
            True,
            False,
            True,
            image_vectors,
            tables,
            features,
            pairs,
            images,
            0,
            gradients,
            gradients.vectors,
            sampling,
            step,
            scratch,
            states,
            counts,
        )

    return train_images


@inline_once
def _train_images(
    dimensions: int,
    uniform: bool,
    popularity: bool,
    vse_ens: bool,
    has_ids: bool,
    has_features: bool,
    frozen: bool,
    image_vectors: Floats,
    tables: SharedTables,
    features: Features,
    pairs: Csr,
    images: NDArray[np.int64],
    first_draw: int,
    gradients: BatchGradients,
    vector_changes: Floats,
    sampling: Sampling,
    step: Step,
    scratch: SgdScratch,
    states: NDArray[np.uint64],
    counts: NDArray[np.int64],
) -> float:
    """Train the vectors of some images, and note the gradients of the labels; return the loss."""
    vector, labels, bias, state = scratch.vector, tables.labels, tables.bias, states
    negatives = gradients.rows.shape[1] - 1
    rate = step.learning_rate
    shrink = _ONE - rate * step.regularization
    draw = first_draw
    total_loss = 0.0
    for visit in range(images.shape[0]):
        image = images[visit]
        if frozen:
            state = states[image : image + 1]
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
        for n in range(positives.shape[0]):
            positive = positives[n]
            rows, slopes = gradients.rows[draw], gradients.slopes[draw]
            rows[0] = positive
            found = 0
            for j in range(1, negatives + 1):
                if vse_ens:
                    label = samplers.draw_vse_ens(vector, scratch.cumulative, sampling, positives, state, counts)
                elif uniform:
                    label = samplers.draw_uniform(tables, sampling, positives, state, counts)
                elif popularity:
                    label = samplers.draw_popularity(sampling, positives, state, counts)
                else:
                    label = samplers.draw_dns(vector, tables, sampling, positives, state, counts)
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
    return total_loss


@kernel
def apply_label_gradients(
    tables: SharedTables,
    draws: int,
    progress: Progress,
    ranges: RowRanges,
    gradients: BatchGradients,
    step: Step,
    selected: NDArray[np.int32],
) -> bool:
    """Run the second phase of a batch for the labels; a row decays with every gradient applied to it."""
    if not are_gradients_computed(progress):
        return False
    labels, bias = tables.labels, tables.bias
    shrink = _ONE - step.learning_rate * step.regularization
    shrink_bias = _ONE - step.bias_rate * step.bias_regularization
    width = gradients.rows.shape[1]
    rows, slopes = gradients.rows.reshape(-1), gradients.slopes.reshape(-1)
    taken = count_up(progress.counters, RANGES_TAKEN + LABELS)
    while taken < ranges.shape[0]:
        first, last = ranges[taken, 0], ranges[taken, 1]
        count = select_entries(rows[: draws * width], first, last, selected)
        for n in range(count):
            if n + PREFETCH_DISTANCE < count:
                prefetch_row(labels, np.int64(rows[selected[n + PREFETCH_DISTANCE]]))
            entry = selected[n]
            label, draw = rows[entry], entry // width
            step_scale = step.learning_rate * slopes[entry]
            for f in range(labels.shape[1]):
                labels[label, f] = shrink * labels[label, f] + step_scale * gradients.vectors[draw, f]
            bias[label] = shrink_bias * bias[label] + step.bias_rate * slopes[entry]
        count_up(progress.counters, RANGES_DONE)
        taken = count_up(progress.counters, RANGES_TAKEN + LABELS)
    return True
