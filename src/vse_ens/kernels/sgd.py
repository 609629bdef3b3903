"""One slice: images one after another, each label of an image against one negative (losses hinge, warp, logistic)."""

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
    cache_aligned,
)
from vse_ens.kernels.jit import inline, kernel, prefetch_row, source_version

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


class SgdScratch(NamedTuple):
    """Buffers of one worker for a slice kernel."""

    vector: Floats  # k: the image's vector while its labels are trained
    start: Floats  # k: the vector before, for the feature map
    cumulative: Floats  # k + 1: running sums of p(f|i)
    negatives: NDArray[np.int32]  # as many as an image has labels: drawn ahead
    scores: Floats  # |A| for `naive`, else empty

    @classmethod
    def allocate(cls, dimensions: int, visit: int, scores: int = 0) -> SgdScratch:
        """Buffers for so many dimensions, labels of one image, and scores."""
        return cls(
            cache_aligned(1, dimensions, np.float32)[0],
            cache_aligned(1, dimensions, np.float32)[0],
            cache_aligned(1, dimensions + 1, np.float32)[0],
            cache_aligned(1, visit, np.int32)[0],
            cache_aligned(1, scores, np.float32)[0],
        )


# A product of so much is taken to its logarithm before it could overflow.
_FULL = 1e200

SgdKernel = Callable[..., float]


@inline
def add_features(features: Features, tables: SharedTables, image: int, vector: Floats) -> None:
    """v_i += x_i F."""
    for place in range(features.indptr[image], features.indptr[image + 1]):
        row, value = features.indices[place], features.values[place]
        for f in range(vector.shape[0]):
            vector[f] += value * tables.feature_map[row, f]


@inline
def update_feature_map(features: Features, tables: SharedTables, image: int, start: Floats, vector: Floats) -> None:
    """F += x_i (v_i' - v_i) / |x_i|^2: the chain rule on what the visit did to v_i, free of the features' unit."""
    step_scale = features.step_scale[image]
    for place in range(features.indptr[image], features.indptr[image + 1]):
        row, step = features.indices[place], features.values[place] * step_scale
        for f in range(vector.shape[0]):
            tables.feature_map[row, f] += step * (vector[f] - start[f])


@cache
def sgd_kernel(
    dimensions: int, sampler: int, loss: int, has_ids: bool, has_features: bool, frozen: bool = False
) -> SgdKernel:
    """The kernel of one combination. All six are constants to the compiler: a run-time k is a quarter slower.

    ``frozen`` trains the images' vectors alone, each image on a random state of its own at ``states[image]``.
    """
    version = source_version()
    # Numba compiles only the branches that constants leave open.
    uniform, popularity, vse_ens = (
        sampler == code for code in (samplers.UNIFORM, samplers.POPULARITY, samplers.VSE_ENS)
    )
    warp, dns = sampler == samplers.WARP, sampler == samplers.DNS
    draws_ahead = uniform or popularity or vse_ens
    rank_weighted, logistic = loss == losses.WARP, loss == losses.LOGISTIC

    @kernel
    def train_slice(
        image_vectors: Floats,
        tables: SharedTables,
        features: Features,
        pairs: Csr,
        images: NDArray[np.int64],
        sampling: Sampling,
        step: Step,
        scratch: SgdScratch,
        states: NDArray[np.uint64],
        counts: NDArray[np.int64],
    ) -> float:
        version  # noqa: B018  # part of the cache key, see source_version
        vector, state = scratch.vector, states
        labels, bias = tables.labels, tables.bias
        rate = step.learning_rate
        shrink = _ONE - rate * step.regularization
        shrink_bias = _ONE - step.bias_rate * step.bias_regularization
        total_loss, product = 0.0, 1.0
        for visit in range(images.shape[0]):
            image = images[visit]
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
                scratch.start[:] = vector
            positives = pairs.indices[pairs.indptr[image] : pairs.indptr[image + 1]]
            if draws_ahead:
                # What the steps in between do not change is drawn for all labels of the visit, and its rows asked for.
                if vse_ens:
                    samplers.accumulate_factors(vector, sampling, scratch.cumulative)
                for place in range(positives.shape[0]):
                    if vse_ens:
                        negative = samplers.draw_vse_ens(vector, scratch.cumulative, sampling, positives, state, counts)
                    elif uniform:
                        negative = samplers.draw_uniform(tables, sampling, positives, state, counts)
                    else:
                        negative = samplers.draw_popularity(sampling, positives, state, counts)
                    scratch.negatives[place] = negative
                    prefetch_row(labels, max(negative, 0))
                    prefetch_row(labels, np.int64(positives[place]))

            for place in range(positives.shape[0]):
                positive = positives[place]
                counts[DRAWS] += 1
                weight = _ONE
                if draws_ahead:
                    negative = np.int64(scratch.negatives[place])
                elif warp:
                    own_score = samplers.score(vector, tables, positive)
                    negative, tried = samplers.draw_warp(
                        vector, own_score, step.margin, tables, sampling, positives, state, counts
                    )
                    if rank_weighted and negative >= 0:
                        # rank estimate floor((|A| - 1) / N), weighted by L(.)
                        weight = step.rank_weight[(labels.shape[0] - 1) // tried]
                elif dns:
                    negative = samplers.draw_dns(vector, tables, sampling, positives, state, counts)
                else:
                    negative = samplers.draw_naive(vector, tables, sampling, positives, scratch.scores, state, counts)
                if negative < 0:
                    counts[GIVEN_UP] += 1
                    # No step without a negative, but the regularisation holds on every draw.
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
                if logistic:
                    linear, factor, slope = losses.logistic(difference)
                    total_loss += linear
                    product *= factor
                    if product > _FULL:
                        total_loss += np.log(product)
                        product = 1.0
                else:
                    value, slope = losses.hinge(difference, step.margin)
                    total_loss += weight * value
                counts[VIOLATIONS] += difference < step.margin
                step_scale = rate * weight * slope
                reach_bias = step.bias_rate * weight * slope
                for f in range(dimensions):
                    image_f, positive_f, negative_f = vector[f], labels[positive, f], labels[negative, f]
                    vector[f] = shrink * image_f + step_scale * (positive_f - negative_f)
                    if not frozen:
                        labels[positive, f] = shrink * positive_f + step_scale * image_f
                        labels[negative, f] = shrink * negative_f - step_scale * image_f
                if not frozen:
                    bias[positive] = shrink_bias * bias[positive] + reach_bias
                    bias[negative] = shrink_bias * bias[negative] - reach_bias

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


@kernel
def merge_slice_updates(table: Floats, copies: Floats, first: int, last: int) -> None:
    """Rows ``first`` to ``last - 1``: what the slices changed is combined, in slice order, and all copies start anew.

    With d_s what slice s did to a row, the row moves by sum(d_s) min(1, sum |d_s|^2 / |sum d_s|^2): changes that have
    nothing to do with each other are added, changes that agree are averaged. A common label is moved the same way by
    every slice; their sum would overshoot, and diverge. (The idea of Adasum, Maleki et al. 2021, for many at once.)
    """
    slices, _, width = copies.shape
    total = np.empty(width, np.float32)
    for row in range(first, last):
        total[:] = _ZERO
        cache_aligned, together = _ZERO, _ZERO
        for s in range(slices):
            for f in range(width):
                change = copies[s, row, f] - table[row, f]
                total[f] += change
                cache_aligned += change * change
        for f in range(width):
            together += total[f] * total[f]
        share = cache_aligned / together if together > cache_aligned else _ONE
        for f in range(width):
            table[row, f] += share * total[f]
        for s in range(slices):
            for f in range(width):
                copies[s, row, f] = table[row, f]
