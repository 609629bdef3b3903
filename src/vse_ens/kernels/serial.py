"""Algorithm 1 of the paper as printed: one stream of SGD steps, one (image, label) pair per step.

A step draws a pair, then a negative from the vectors as they are at this step. `train_steps` makes the steps between
two refreshes of the rankings; `sort_factors` refreshes them, with an exact sort.

The vectors are regularized on every draw, also where the margin holds, as in `vse_ens.kernels.sgd`.
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
    REJECTED,
    TRIES,
    VIOLATIONS,
    Floats,
    Sampling,
    SharedTables,
    Step,
    TrainingArrays,
)
from vse_ens.kernels.jit import inline, kernel
from vse_ens.kernels.random import next_below, next_uniform
from vse_ens.kernels.rank_table import RankScratch, rank_factors
from vse_ens.kernels.sgd import SgdScratch, add_loss

_ONE = np.float32(1.0)
# The columns of a trace: the pair drawn, its negative, and for `vse-ens` the rank, counted from 0, and the factor.
PAIR, NEGATIVE, RANK, FACTOR = range(4)
TRACED = 4

SerialKernel = Callable[..., float]


@kernel
def sort_factors(tables: SharedTables, sampling: Sampling, chosen: NDArray[np.int64], scratch: RankScratch) -> None:
    """Write the exact rankings and the standard deviations (eq. 8) of the chosen factors; ties by label number."""
    rank_factors(tables, sampling, chosen, scratch)
    labels, column = tables.labels.shape[0], scratch.columns[0]
    for n in range(chosen.shape[0]):
        f = chosen[n]
        if not np.isfinite(sampling.spread[f]):  # the old order was kept
            continue
        for a in range(labels):
            column[a] = tables.labels[a, f]
        # Labels within one step of the range, about ``together``, are in the order of their numbers: a Shell sort.
        order, gap = sampling.rankings[f], 1
        deviations = (column[order[0]] - column[order[labels - 1]]) / sampling.spread[f]
        together = np.float32(labels) * deviations / np.float32(scratch.positions.shape[0])
        while gap < min(together, np.float32(labels // 3)):
            gap = 3 * gap + 1
        while gap > 0:
            for position in range(gap, labels):
                label, place = np.int64(order[position]), position
                while place >= gap and _comes_before(column, label, np.int64(order[place - gap])):
                    order[place] = order[place - gap]
                    place -= gap
                order[place] = label
            gap //= 3


@inline
def _comes_before(column: Floats, label: int, other: int) -> bool:
    return column[label] > column[other] or (column[label] == column[other] and label < other)


@inline
def draw_factor(cumulative: Floats, state: NDArray[np.uint64]) -> int:
    """Draw f with p(f|i) ~ |v_if| sigma_f (eq. 7), given the running sums; 0 if all are 0."""
    factors = cumulative.shape[0] - 1
    total = cumulative[factors]
    point = next_uniform(state) * total
    factor = np.int32(0)
    for f in range(factors):
        factor += np.int32(cumulative[f] <= point)
    if factor == factors:  # the product was rounded up to the total: the last factor that may be drawn
        factor = np.int32(0)
        for f in range(factors):
            factor += np.int32(cumulative[f] < total)
        factor = min(factor, np.int32(factors - 1))
    return np.int64(factor)


@inline
def label_at(sampling: Sampling, vector: Floats, factor: int, rank: int) -> int:
    """Return the label at a rank from 0 of a factor: from the top if v_if > 0, else from the bottom (algorithm 1).

    With r = rank + 1 these are positions r and |A| - r + 1 of the list sorted by the factor.
    """
    last = sampling.rankings.shape[1] - 1
    return np.int64(sampling.rankings[factor, rank if vector[factor] > np.float32(0.0) else last - rank])


@inline
def violated_by_any(
    vector: Floats, positive_score: np.float32, margin: np.float32, tables: SharedTables, excluded: NDArray[np.int32]
) -> bool:
    """Return whether any label that is not excluded violates the margin (eq. 4)."""
    for label in range(tables.bias.shape[0]):
        if margin + samplers.score(vector, tables, label) > positive_score and not samplers.has_label(excluded, label):
            return True
    return False


@cache
def serial_kernel(
    dimensions: int, sampler: int, loss: int, independent: bool, redraw: bool, capped: bool
) -> SerialKernel:
    """Return the kernel for these parts, all of which are compile-time constants.

    With ``independent``, every step draws one of all pairs; else the pairs come in the given order. With ``redraw``, a
    drawn label that the image has is drawn again; else it is kept. ``capped`` limits WARP to |A| - 1 tries per step.
    """
    vse_ens, warp = sampler == samplers.VSE_ENS, sampler == samplers.WARP
    endless = warp and not capped
    rank_weighted, logistic = loss == losses.WARP, loss == losses.LOGISTIC

    @kernel
    def train_steps(
        arrays: TrainingArrays,
        image_of_pair: NDArray[np.int32],
        sampling: Sampling,
        scratch: SgdScratch,
        order: NDArray[np.int64],
        steps: int,
        step: Step,
        state: NDArray[np.uint64],
        counts: NDArray[np.int64],
        trace: NDArray[np.int64],
    ) -> float:
        image_vectors, tables, pairs = arrays.image_vectors, arrays.tables, arrays.pairs
        vector, labels = scratch.vector, tables.labels
        rate = step.learning_rate
        shrink = _ONE - rate * step.regularization
        total_loss, product = 0.0, 1.0
        for number in range(steps):
            pair = next_below(state, pairs.indices.shape[0]) if independent else order[number]
            image, positive = np.int64(image_of_pair[pair]), np.int64(pairs.indices[pair])
            own = pairs.indices[pairs.indptr[image] : pairs.indptr[image + 1]]
            excluded = own if redraw else own[:0]
            draws = samplers.ImageDraws(tables, sampling, excluded, state, counts)
            for f in range(dimensions):
                vector[f] = image_vectors[image, f]
            counts[DRAWS] += 1
            weight = _ONE
            rank, factor = -1, -1

            if vse_ens:
                samplers.accumulate_factors(vector, sampling, scratch.cumulative)
                negative = -1
                for _ in range(sampling.max_redraws):
                    counts[TRIES] += 1
                    rank = samplers.draw_alias(sampling, state)
                    factor = draw_factor(scratch.cumulative, state)
                    label = label_at(sampling, vector, factor, rank)
                    if not samplers.has_label(excluded, label):
                        negative = label
                        break
                    counts[REJECTED] += 1
            else:
                positive_score = samplers.score(vector, tables, positive) if warp else np.float32(0.0)
                tried = 0
                while True:
                    negative, more = samplers.draw(sampler, vector, positive_score, step.margin, draws, scratch)
                    tried += more
                    if not endless or negative >= 0:
                        break
                    # Without a cap a step ends only where a label violates the margin: look for one.
                    if not violated_by_any(vector, positive_score, step.margin, tables, excluded):
                        break
                if rank_weighted and negative >= 0:
                    # L(rank) of eq. 2, with the rank estimated as floor((|A| - 1) / N): 0 after more than |A| - 1 tries
                    weight = step.rank_weight[(labels.shape[0] - 1) // tried]
            if number < trace.shape[0]:
                trace[number, PAIR], trace[number, NEGATIVE] = pair, negative
                trace[number, RANK], trace[number, FACTOR] = rank, factor

            if negative < 0:
                counts[GIVEN_UP] += 1
                # Without a negative there is no step, but regularization applies to every draw.
                for f in range(dimensions):
                    image_vectors[image, f] = shrink * vector[f]
                    labels[positive, f] *= shrink
                continue
            if not redraw and samplers.has_label(own, negative):
                counts[REJECTED] += 1

            difference = np.float32(0.0)
            for f in range(dimensions):
                difference += vector[f] * (labels[positive, f] - labels[negative, f])
            total_loss, product, slope = add_loss(logistic, difference, step.margin, weight, total_loss, product)
            counts[VIOLATIONS] += difference < step.margin
            if negative == positive:  # the two gradients cancel out
                for f in range(dimensions):
                    image_vectors[image, f] = shrink * vector[f]
                    labels[positive, f] *= shrink
                continue
            step_scale = rate * weight * slope
            for f in range(dimensions):
                image_f, positive_f, negative_f = vector[f], labels[positive, f], labels[negative, f]
                image_vectors[image, f] = shrink * image_f + step_scale * (positive_f - negative_f)
                labels[positive, f] = shrink * positive_f + step_scale * image_f
                labels[negative, f] = shrink * negative_f - step_scale * image_f
        return total_loss + np.log(product)

    return train_steps
