"""Two-phase batches for the softmax loss: one positive against several negatives.

From one snapshot of the label tables, the first phase computes what every positive of a batch wants to change; each
worker has its images. The second applies the changes in the order of the batch, each worker only to the label rows it
owns. No copies, no races, and the same sums in the same order whatever the number of workers.
"""

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
from vse_ens.kernels.jit import kernel, prefetch_row, source_version
from vse_ens.kernels.sgd import SgdScratch, add_features

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
# Label rows are asked for so many changes before they are needed.
_AHEAD = 4


class BatchGradients(NamedTuple):
    """What the positives of a batch want: row ``d`` adds ``slopes[d, j] * vectors[d]`` to label ``rows[d, j]``."""

    rows: NDArray[np.int32]  # draws x (negatives + 1): the positive first; -1 where no negative was found
    slopes: Floats  # draws x (negatives + 1)
    vectors: Floats  # draws x k: v_i as it was

    @classmethod
    def allocate(cls, draws: int, negatives: int, dimensions: int) -> BatchGradients:
        """Buffers for a batch of so many draws."""
        return cls(
            np.empty((draws, negatives + 1), np.int32),
            np.empty((draws, negatives + 1), np.float32),
            np.empty((draws, dimensions), np.float32),
        )


@cache
def softmax_kernel(
    dimensions: int, sampler: int, has_ids: bool, has_features: bool, frozen: bool = False
) -> Callable[..., float]:
    """The first phase for one combination, all constants to the compiler.

    ``frozen``: there will be no second phase. All draws share the row ``first_draw`` of ``changes``, and each image has
    a random state of its own at ``states[image]``.
    """
    version = source_version()
    uniform, popularity, vse_ens = (
        sampler == code for code in (samplers.UNIFORM, samplers.POPULARITY, samplers.VSE_ENS)
    )

    @kernel
    def compute_changes(
        image_vectors: Floats,
        tables: SharedTables,
        features: Features,
        pairs: Csr,
        images: NDArray[np.int64],
        first_draw: int,
        changes: BatchGradients,
        moves: Floats,
        sampling: Sampling,
        step: Step,
        scratch: SgdScratch,
        states: NDArray[np.uint64],
        counts: NDArray[np.int64],
    ) -> float:
        version  # noqa: B018  # part of the cache key, see source_version
        vector, labels, bias, state = scratch.vector, tables.labels, tables.bias, states
        negatives = changes.rows.shape[1] - 1
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
                scratch.start[:] = vector
            positives = pairs.indices[pairs.indptr[image] : pairs.indptr[image + 1]]
            if vse_ens:
                samplers.accumulate_factors(vector, sampling, scratch.cumulative)
            for place in range(positives.shape[0]):
                positive = positives[place]
                rows, slopes = changes.rows[draw], changes.slopes[draw]
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
                    changes.vectors[draw, f] = vector[f]
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
                    moves[visit, f] = vector[f] - scratch.start[f]
            if has_ids and has_features:
                for f in range(dimensions):
                    image_vectors[image, f] += moves[visit, f]
            elif has_ids:
                for f in range(dimensions):
                    image_vectors[image, f] = vector[f]
        return total_loss

    return compute_changes


@kernel
def apply_label_gradients(tables: SharedTables, changes: BatchGradients, draws: int, step: Step, first: int, last: int) -> None:
    """The second phase for label rows ``first`` to ``last - 1``: the batch's changes in order, decay on every touch."""
    labels, bias = tables.labels, tables.bias
    shrink = _ONE - step.learning_rate * step.regularization
    shrink_bias = _ONE - step.bias_rate * step.bias_regularization
    width = changes.rows.shape[1]
    rows, slopes = changes.rows.reshape(-1), changes.slopes.reshape(-1)
    # What concerns these rows is gathered first, without a branch that would be wrong every other time.
    mine = np.empty(draws * width + 1, np.int32)
    count = 0
    for entry in range(draws * width):
        mine[count] = entry
        count += (first <= rows[entry]) & (rows[entry] < last)
    for place in range(count):
        if place + _AHEAD < count:
            prefetch_row(labels, np.int64(rows[mine[place + _AHEAD]]))
        entry = mine[place]
        label, draw = rows[entry], entry // width
        step_scale = step.learning_rate * slopes[entry]
        for f in range(labels.shape[1]):
            labels[label, f] = shrink * labels[label, f] + step_scale * changes.vectors[draw, f]
        bias[label] = shrink_bias * bias[label] + step.bias_rate * slopes[entry]


@kernel
def apply_feature_gradients(
    tables: SharedTables, features: Features, images: NDArray[np.int64], moves: Floats, first: int, last: int
) -> None:
    """As `move_features`, for the images of a batch, feature rows ``first`` to ``last - 1`` only."""
    for visit in range(images.shape[0]):
        image = images[visit]
        for place in range(features.indptr[image], features.indptr[image + 1]):
            row, step = features.indices[place], features.values[place] * features.step_scale[image]
            if first <= row < last:
                for f in range(moves.shape[1]):
                    tables.feature_map[row, f] += step * moves[visit, f]
