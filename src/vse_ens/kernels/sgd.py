"""Stochastic gradient descent with one negative per positive, for the losses `hinge`, `warp` and `logistic`.

The images of a round are split into slices. Each slice trains its own copy of the shared tables, one image after
another; `merge_slice_updates` then combines the copies.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels import losses, samplers
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
    TrainingArrays,
    cache_aligned,
)
from vse_ens.kernels.jit import allocating_kernel, inline, inline_once, kernel, prefetch_item, prefetch_row

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


class SgdScratch(NamedTuple):
    """Buffers of one worker."""

    vector: Floats  # k: v_i while the labels of the image are trained
    start: Floats  # k: v_i before, for the feature map
    cumulative: Floats  # k + 1: running sums of p(f|i)
    negatives: NDArray[np.int64]  # one per label of the image: drawn ahead; none for `vse_ens.kernels.serial`
    scores: Floats  # |A| for `naive`, else empty

    @classmethod
    def allocate(cls, dimensions: int, image_labels: int, scores: int = 0) -> SgdScratch:
        """Return buffers for images with up to ``image_labels`` labels."""
        return cls(
            cache_aligned(dimensions, np.float32),
            cache_aligned(dimensions, np.float32),
            cache_aligned(dimensions + 1, np.float32),
            cache_aligned(image_labels, np.int64),
            cache_aligned(scores, np.float32),
        )


# A product above this limit is replaced by its logarithm before it can overflow.
_MAX_PRODUCT = 1e200

# Labels in one cache line of pairs.
_LINE = 16

SgdKernel = Callable[..., float]


@inline
def add_features(features: Features, tables: SharedTables, image: int, vector: Floats) -> None:
    """v_i += x_i F."""
    for entry in range(features.indptr[image], features.indptr[image + 1]):
        row, value = features.indices[entry], features.values[entry]
        for f in range(vector.shape[0]):
            vector[f] += value * tables.feature_map[row, f]


@inline
def update_feature_map(features: Features, tables: SharedTables, image: int, start: Floats, vector: Floats) -> None:
    """F += x_i (v_i' - v_i) / |x_i|^2: the chain rule on the change of v_i, independent of the features' scale."""
    step_scale = features.step_scale[image]
    for entry in range(features.indptr[image], features.indptr[image + 1]):
        row, step = features.indices[entry], features.values[entry] * step_scale
        for f in range(vector.shape[0]):
            tables.feature_map[row, f] += step * (vector[f] - start[f])


@inline_once
def add_loss(
    logistic: bool, difference: np.float32, margin: np.float32, weight: np.float32, total: float, product: float
) -> tuple[float, float, np.float32]:
    """Add the loss of a draw to the sum ``total`` + ln ``product``; return both, and minus its slope."""
    if logistic:
        linear, factor, slope = losses.logistic(difference)
        total += linear
        product *= factor
        if product > _MAX_PRODUCT:
            total += np.log(product)
            product = 1.0
    else:
        value, slope = losses.hinge(difference, margin)
        total += weight * value
    return total, product, slope


@inline_once
def prefetch_pairs(pairs: Csr, images: NDArray[np.int64], visit: int) -> None:
    """Prefetch the labels of the images to come: two visits ahead, and where they begin two visits before that.

    Images are in random order, so that every visit would wait for both, one after the other.
    """
    visits = images.shape[0]
    if visit + 4 < visits:
        prefetch_item(pairs.indptr, images[visit + 4])
    if visit + 2 < visits:
        first, last = pairs.indptr[images[visit + 2]], pairs.indptr[images[visit + 2] + 1]
        prefetch_item(pairs.indices, first)
        prefetch_item(pairs.indices, min(first + _LINE, last))


@cache
def sgd_kernel(
    dimensions: int, sampler: int, loss: int, has_ids: bool, has_features: bool, frozen: bool = False
) -> SgdKernel:
    """Return the kernel for these parts. All six are compile-time constants: a run-time k is a quarter slower.

    With ``frozen`` only the image vectors are trained, and each image has its own random state ``states[image]``.
    """
    # Numba compiles only the branches that constants leave open.
    vse_ens, warp = sampler == samplers.VSE_ENS, sampler == samplers.WARP
    draws_ahead = sampler in (samplers.UNIFORM, samplers.POPULARITY, samplers.VSE_ENS)
    rank_weighted, logistic = loss == losses.WARP, loss == losses.LOGISTIC

    @kernel
    def train_slice(
        arrays: TrainingArrays,
        images: NDArray[np.int64],
        sampling: Sampling,
        step: Step,
        scratch: SgdScratch,
        states: NDArray[np.uint64],
        counts: NDArray[np.int64],
    ) -> float:
        image_vectors, tables, features, pairs = arrays
        vector, state = scratch.vector, states
        labels, bias = tables.labels, tables.bias
        rate = step.learning_rate
        shrink = _ONE - rate * step.regularization
        shrink_bias = _ONE - step.bias_rate * step.bias_regularization
        total_loss, product = 0.0, 1.0
        for visit in range(images.shape[0]):
            image = images[visit]
            prefetch_pairs(pairs, images, visit)
            if frozen:
                state = states[image : image + 1]
            if has_ids:
                if visit + 1 < images.shape[0]:
                    prefetch_row(image_vectors, images[visit + 1])
                for f in range(dimensions):
                    vector[f] = image_vectors[image, f]
            else:
                vector[:] = 0.0
            if has_features:
                add_features(features, tables, image, vector)
                for f in range(dimensions):
                    scratch.start[f] = vector[f]
            positives = pairs.indices[pairs.indptr[image] : pairs.indptr[image + 1]]
            draws = samplers.ImageDraws(tables, sampling, positives, state, counts)
            # These draws do not depend on the steps in between: draw for all labels, and prefetch the rows.
            if vse_ens:
                samplers.accumulate_factors(vector, sampling, scratch.cumulative)
                samplers.draw_vse_ens_ahead(dimensions, vector, scratch.cumulative, draws, scratch.negatives)
            elif draws_ahead:
                for n in range(positives.shape[0]):
                    negative, _ = samplers.draw(sampler, vector, _ZERO, _ZERO, draws, scratch)
                    scratch.negatives[n] = negative
                    prefetch_row(labels, max(negative, 0))
                    prefetch_row(labels, np.int64(positives[n]))

            for n in range(positives.shape[0]):
                positive = positives[n]
                counts[DRAWS] += 1
                weight = _ONE
                if draws_ahead:
                    negative = scratch.negatives[n]
                else:
                    own_score = samplers.score(vector, tables, positive) if warp else _ZERO
                    negative, tried = samplers.draw(sampler, vector, own_score, step.margin, draws, scratch)
                    if rank_weighted and negative >= 0:
                        # L(rank) of eq. 2, with the rank estimated as floor((|A| - 1) / N)
                        weight = step.rank_weight[(labels.shape[0] - 1) // tried]
                if negative < 0:
                    counts[GIVEN_UP] += 1
                    # Without a negative there is no step, but regularization applies to every draw.
                    for f in range(dimensions):
                        vector[f] *= shrink
                        if not frozen:
                            labels[positive, f] *= shrink
                    if not frozen:
                        bias[positive] *= shrink_bias
                    continue

                difference = bias[positive] - bias[negative]
                for f in range(dimensions):
                    difference += vector[f] * (labels[positive, f] - labels[negative, f])
                total_loss, product, slope = add_loss(logistic, difference, step.margin, weight, total_loss, product)
                counts[VIOLATIONS] += difference < step.margin
                step_scale = rate * weight * slope
                bias_step = step.bias_rate * weight * slope
                for f in range(dimensions):
                    image_f, positive_f, negative_f = vector[f], labels[positive, f], labels[negative, f]
                    vector[f] = shrink * image_f + step_scale * (positive_f - negative_f)
                    if not frozen:
                        labels[positive, f] = shrink * positive_f + step_scale * image_f
                        labels[negative, f] = shrink * negative_f - step_scale * image_f
                if not frozen:
                    bias[positive] = shrink_bias * bias[positive] + bias_step
                    bias[negative] = shrink_bias * bias[negative] - bias_step

            if has_features and not frozen:
                update_feature_map(features, tables, image, scratch.start, vector)
            if has_ids and has_features:
                for f in range(dimensions):
                    image_vectors[image, f] += vector[f] - scratch.start[f]
            elif has_ids:
                for f in range(dimensions):
                    image_vectors[image, f] = vector[f]
        return total_loss + np.log(product)

    return train_slice


@allocating_kernel
def merge_slice_updates(table: Floats, copies: Floats, first: int, last: int) -> None:
    """Combine the updates of all slices to rows ``first`` to ``last - 1``, in slice order, and reset the copies.

    With d_s the update of a row by slice s, the row changes by sum(d_s) min(1, sum |d_s|^2 / |sum d_s|^2): orthogonal
    updates are added, equal updates are averaged. Every slice moves a common label in the same direction; the plain sum
    would overshoot and diverge. This is the idea of Adasum (Maleki et al. 2021), for more than two updates.
    """
    slices, _, width = copies.shape
    total = np.empty(width, np.float32)
    for row in range(first, last):
        total[:] = _ZERO
        separate, combined = _ZERO, _ZERO
        for s in range(slices):
            for f in range(width):
                change = copies[s, row, f] - table[row, f]
                total[f] += change
                separate += change * change
        for f in range(width):
            combined += total[f] * total[f]
        factor = separate / combined if combined > separate else _ONE
        for f in range(width):
            table[row, f] += factor * total[f]
        for s in range(slices):
            for f in range(width):
                copies[s, row, f] = table[row, f]
