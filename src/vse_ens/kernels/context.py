"""The context tower: an image's vector is built from the image's other labels.

    v_i = |N|^-1/2 sum_{b in N} u_b + |C|^-1/2 sum_{c in C} u_c,    N the image's labels, C the combinations among them

The positive in question is always left out, of N and with it of C. Trained in two-phase batches like
`vse_ens.kernels.softmax`: from one snapshot, the first phase computes what every positive of a batch wants; the second
applies the changes in the order of the batch, each worker only to the rows it owns. Steps are those of row-wise
AdaGrad: one sum of squared slopes a row.
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
    cache_aligned,
)
from vse_ens.kernels.jit import inline, kernel, prefetch_row, source_version
from vse_ens.kernels.label_pairs import LabelPairs, PairMatches, find_label_pairs
from vse_ens.kernels.sgd import add_features

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
# Rows are asked for so many changes before they are needed.
_AHEAD = 4


class ContextTables(NamedTuple):
    """What the context tower adds to the shared tables."""

    inputs: Floats  # (|A| + combinations) x k: u
    input_squares: Floats  # as many: sums of squared slopes, by which steps shrink
    label_squares: Floats  # |A|
    label_pairs: LabelPairs


class ContextGradients(NamedTuple):
    """What the positives of a batch want, and how their images' inputs follow from it."""

    rows: NDArray[np.int32]  # draws x (negatives + 1): the positive first; -1 where no negative was found
    slopes: Floats  # draws x (negatives + 1): row ``d`` adds ``slopes[d, j] * vectors[d]`` to label ``rows[d, j]``
    vectors: Floats  # draws x k: v_i without the positive
    squares: Floats  # draws: the mean square of that vector
    pulls: Floats  # draws x k: where the vector should go, minus the slope of the loss
    scales: Floats  # draws x 2: |N|^-1/2 and |C|^-1/2 without the positive
    sums: Floats  # visits x 2k: the scaled pulls of all of an image's positives
    entries: NDArray[np.int32]  # inputs x 5: row, visit, how many draws pull it, the draw or two that leave it out
    filled: NDArray[np.int64]  # chunks: how many entries each chunk wrote at its start

    @classmethod
    def allocate(
        cls, draws: int, visits: int, entries: int, chunks: int, negatives: int, dimensions: int
    ) -> ContextGradients:
        """Buffers for a batch."""
        return cls(
            np.empty((draws, negatives + 1), np.int32),
            np.empty((draws, negatives + 1), np.float32),
            np.empty((draws, dimensions), np.float32),
            np.empty(draws, np.float32),
            np.empty((draws, dimensions), np.float32),
            np.empty((draws, 2), np.float32),
            np.empty((visits, 2 * dimensions), np.float32),
            np.empty((entries, 5), np.int32),
            np.zeros(chunks, np.int64),
        )


class ContextScratch(NamedTuple):
    """Buffers of one worker."""

    vector: Floats  # k: v_i without the positive
    whole: Floats  # k: v_i with all labels, which the adaptive sampler looks at
    base: Floats  # k: the image's own part of v_i
    sums: Floats  # 2 x k: of the inputs of labels, of combinations
    parts: Floats  # labels x k: sums of the inputs of the combinations with each label
    members: NDArray[np.int64]  # labels: how many these are
    cumulative: Floats  # k + 1: running sums of p(f|i)
    scores: Floats  # |A| for `naive`, else empty
    found: PairMatches

    @classmethod
    def allocate(cls, dimensions: int, visit: int, label_pairs: bool, scores: int = 0) -> ContextScratch:
        """Buffers for so many dimensions, labels of one image, and scores."""
        return cls(
            cache_aligned(1, dimensions, np.float32)[0],
            cache_aligned(1, dimensions, np.float32)[0],
            cache_aligned(1, dimensions, np.float32)[0],
            np.empty((2, dimensions), np.float32),
            np.empty((visit if label_pairs else 0, dimensions), np.float32),
            np.zeros(visit, np.int64),
            cache_aligned(1, dimensions + 1, np.float32)[0],
            cache_aligned(1, scores, np.float32)[0],
            PairMatches.allocate(visit if label_pairs else 0),
        )


@inline
def _scale(count: int) -> np.float32:
    """count^-1/2, and 1 where there is nothing to scale."""
    return _ONE / np.sqrt(np.float32(max(count, 1)))


@inline
def _add_combinations(
    inputs: Floats, found: PairMatches, combined: int, labels: int, sums: Floats, parts: Floats, members: NDArray[np.int64]
) -> None:
    """Sum the inputs of an image's combinations: of all, and of those with each label."""
    width = inputs.shape[1]
    for place in range(combined):
        row = labels + found.numbers[place]
        first, second = found.first[place], found.second[place]
        members[first] += 1
        members[second] += 1
        for f in range(width):
            value = inputs[row, f]
            sums[1, f] += value
            parts[first, f] += value
            parts[second, f] += value


@cache
def context_kernel(
    dimensions: int, sampler: int, loss: int, has_ids: bool, has_features: bool, has_combinations: bool
) -> Callable[..., float]:
    """The first phase for one combination of parts, all constants to the compiler."""
    version = source_version()
    uniform, popularity, vse_ens = (
        sampler == code for code in (samplers.UNIFORM, samplers.POPULARITY, samplers.VSE_ENS)
    )
    warp, dns = sampler == samplers.WARP, sampler == samplers.DNS
    softmax, rank_weighted, logistic = (loss == code for code in (losses.SOFTMAX, losses.WARP, losses.LOGISTIC))

    @kernel
    def compute_changes(
        image_vectors: Floats,
        tables: SharedTables,
        context: ContextTables,
        features: Features,
        pairs: Csr,
        images: NDArray[np.int64],
        chunk: int,
        first_draw: int,
        first_visit: int,
        first_entry: int,
        changes: ContextGradients,
        moves: Floats,
        sampling: Sampling,
        step: Step,
        scratch: ContextScratch,
        state: NDArray[np.uint64],
        counts: NDArray[np.int64],
    ) -> float:
        version  # noqa: B018  # part of the cache key, see source_version
        vector, whole, base = scratch.vector, scratch.whole, scratch.base
        sums, parts, members, found = scratch.sums, scratch.parts, scratch.members, scratch.found
        labels, inputs = tables.labels, context.inputs
        negatives = changes.rows.shape[1] - 1
        draw, entry = first_draw, first_entry
        combined = 0
        total_loss = 0.0
        for visit in range(images.shape[0]):
            image = images[visit]
            positives = pairs.indices[pairs.indptr[image] : pairs.indptr[image + 1]]
            others = positives.shape[0] - 1
            base[:] = _ZERO
            if has_ids:
                for f in range(dimensions):
                    base[f] = image_vectors[image, f]
            if has_features:
                add_features(features, tables, image, base)

            # What all labels of the image share: the sums of its inputs, and where its negatives come from.
            sums[:] = _ZERO
            for place in range(positives.shape[0]):
                for f in range(dimensions):
                    sums[0, f] += inputs[positives[place], f]
            if has_combinations:
                combined = find_label_pairs(positives, context.label_pairs, found)
                parts[: positives.shape[0]] = _ZERO
                members[: positives.shape[0]] = 0
                _add_combinations(inputs, found, combined, labels.shape[0], sums, parts, members)
            scale, scale_combined = _scale(positives.shape[0]), _scale(combined)
            for f in range(dimensions):
                whole[f] = base[f] + scale * sums[0, f] + scale_combined * sums[1, f]
            if vse_ens:
                samplers.accumulate_factors(whole, sampling, scratch.cumulative)

            visit_sums = changes.sums[first_visit + visit]
            visit_sums[:] = _ZERO
            scale = _scale(others)
            for place in range(positives.shape[0]):
                positive = np.int64(positives[place])
                for f in range(dimensions):
                    vector[f] = base[f] + scale * (sums[0, f] - inputs[positive, f])
                if has_combinations:
                    scale_combined = _scale(combined - members[place])
                    for f in range(dimensions):
                        vector[f] += scale_combined * (sums[1, f] - parts[place, f])
                rows, slopes = changes.rows[draw], changes.slopes[draw]
                rows[0] = positive
                slopes[0] = samplers.score(vector, tables, positive)
                found_any = False
                weight = _ONE
                for j in range(1, negatives + 1):
                    if vse_ens:
                        label = samplers.draw_vse_ens(whole, scratch.cumulative, sampling, positives, state, counts)
                    elif uniform:
                        label = samplers.draw_uniform(tables, sampling, positives, state, counts)
                    elif popularity:
                        label = samplers.draw_popularity(sampling, positives, state, counts)
                    elif warp:
                        label, tried = samplers.draw_warp(
                            vector, slopes[0], step.margin, tables, sampling, positives, state, counts
                        )
                        if rank_weighted and label >= 0:
                            # rank estimate floor((|A| - 1) / N), weighted by L(.)
                            weight = step.rank_weight[(labels.shape[0] - 1) // tried]
                    elif dns:
                        label = samplers.draw_dns(vector, tables, sampling, positives, state, counts)
                    else:
                        label = samplers.draw_naive(vector, tables, sampling, positives, scratch.scores, state, counts)
                    rows[j] = label
                    prefetch_row(labels, np.int64(max(label, 0)))
                    found_any |= label >= 0
                counts[DRAWS] += 1
                counts[GIVEN_UP] += not found_any
                for j in range(1, negatives + 1):
                    label = np.int64(rows[j])
                    slopes[j] = samplers.score(vector, tables, label) if label >= 0 else np.float32(-np.inf)

                if softmax:
                    highest = slopes[0]
                    for j in range(1, negatives + 1):
                        highest = max(highest, slopes[j])
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
                elif found_any:
                    difference = slopes[0] - slopes[1]
                    if logistic:
                        linear, factor, slope = losses.logistic(difference)
                        total_loss += linear + np.log(factor)
                    else:
                        value, slope = losses.hinge(difference, step.margin)
                        total_loss += weight * value
                    counts[VIOLATIONS] += difference < step.margin
                    slopes[0] = weight * slope
                    slopes[1] = -weight * slope
                else:
                    slopes[0] = _ZERO

                pull, square = changes.pulls[draw], _ZERO
                for f in range(dimensions):
                    pull[f] = slopes[0] * labels[positive, f]
                for j in range(1, negatives + 1):
                    label = np.int64(rows[j])
                    if label >= 0:
                        for f in range(dimensions):
                            pull[f] += slopes[j] * labels[label, f]
                for f in range(dimensions):
                    square += vector[f] * vector[f]
                    changes.vectors[draw, f] = vector[f]
                changes.squares[draw] = square / np.float32(dimensions)
                changes.scales[draw, 0] = scale
                changes.scales[draw, 1] = scale_combined
                for f in range(dimensions):
                    visit_sums[f] += scale * pull[f]
                    visit_sums[dimensions + f] += scale_combined * pull[f]
                draw += 1

            first = draw - positives.shape[0]
            if others > 0:
                for place in range(positives.shape[0]):
                    _write_entry(
                        changes.entries[entry], positives[place], first_visit + visit, others, first + place, -1
                    )
                    entry += 1
            for place in range(combined if others > 1 else 0):
                row = labels.shape[0] + found.numbers[place]
                one, other = first + found.first[place], first + found.second[place]
                _write_entry(changes.entries[entry], row, first_visit + visit, others - 1, one, other)
                entry += 1
            if has_ids or has_features:
                # The image's own part: one plain step, for all of its labels at once.
                decay = min(step.learning_rate * step.regularization * np.float32(positives.shape[0]), _ONE)
                for f in range(dimensions):
                    pulled = _ZERO
                    for d in range(first, draw):
                        pulled += changes.pulls[d, f]
                    base[f] = step.learning_rate * pulled - decay * base[f]
                if has_features:
                    for f in range(dimensions):
                        moves[visit, f] = base[f]
                if has_ids:
                    for f in range(dimensions):
                        image_vectors[image, f] += base[f]
        changes.filled[chunk] = entry - first_entry
        return total_loss

    return compute_changes


@inline
def _write_entry(entry: NDArray[np.int32], row: int, visit: int, times: int, one: int, other: int) -> None:
    entry[0] = row
    entry[1] = visit
    entry[2] = times
    entry[3] = one
    entry[4] = other


@kernel
def apply_label_gradients(
    tables: SharedTables, context: ContextTables, changes: ContextGradients, draws: int, step: Step, first: int, last: int
) -> None:
    """The second phase for label rows ``first`` to ``last - 1``: the batch's changes in order, decay on every touch."""
    labels, bias, squares = tables.labels, tables.bias, context.label_squares
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
        label, draw, slope = rows[entry], entry // width, slopes[entry]
        squares[label] += slope * slope * changes.squares[draw]
        rate = step.learning_rate / np.sqrt(squares[label])
        shrink, step_scale = _ONE - rate * step.regularization, rate * slope
        for f in range(labels.shape[1]):
            labels[label, f] = shrink * labels[label, f] + step_scale * changes.vectors[draw, f]
        bias[label] = shrink_bias * bias[label] + step.bias_rate * slope


@kernel
def apply_input_gradients(
    context: ContextTables, changes: ContextGradients, starts: NDArray[np.int64], step: Step, first: int, last: int
) -> None:
    """The second phase for input rows ``first`` to ``last - 1``; ``starts`` are where each chunk's entries begin.

    An input is pulled by all of its image's positives but those that leave it out: itself, or for a combination its two
    labels. It decays once for each that pulls.
    """
    inputs, squares = context.inputs, context.input_squares
    width = inputs.shape[1]
    pull = np.empty(width, np.float32)
    for chunk in range(starts.shape[0]):
        for entry in range(starts[chunk], starts[chunk] + changes.filled[chunk]):
            row = changes.entries[entry, 0]
            if first <= row < last:
                sums = changes.sums[changes.entries[entry, 1]]
                times, one, other = changes.entries[entry, 2], changes.entries[entry, 3], changes.entries[entry, 4]
                square = _ZERO
                if other < 0:
                    for f in range(width):
                        pull[f] = sums[f] - changes.scales[one, 0] * changes.pulls[one, f]
                        square += pull[f] * pull[f]
                else:
                    for f in range(width):
                        pull[f] = (
                            sums[width + f]
                            - changes.scales[one, 1] * changes.pulls[one, f]
                            - changes.scales[other, 1] * changes.pulls[other, f]
                        )
                        square += pull[f] * pull[f]
                squares[row] += square / np.float32(width)
                rate = step.learning_rate / np.sqrt(squares[row])
                shrink = max(_ONE - rate * step.regularization * np.float32(times), _ZERO)
                for f in range(width):
                    inputs[row, f] = shrink * inputs[row, f] + rate * pull[f]


def _context_vectors() -> Callable[..., None]:
    version = source_version()

    @kernel
    def context_vectors(pairs: Csr, inputs: Floats, known: LabelPairs, vectors: Floats) -> None:
        """Add to row i of ``vectors`` the context of row i of ``pairs``, all of its labels in it."""
        version  # noqa: B018  # part of the cache key, see source_version
        labels = known.indptr.shape[0] - 1
        longest = 0
        for image in range(vectors.shape[0]):
            longest = max(longest, pairs.indptr[image + 1] - pairs.indptr[image])
        room = min(longest * (longest - 1) // 2, 1 << 16) if known.numbers.shape[0] else 0
        found = PairMatches(np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32))
        for image in range(vectors.shape[0]):
            positives = pairs.indices[pairs.indptr[image] : pairs.indptr[image + 1]]
            vector = vectors[image]
            scale = _scale(positives.shape[0])
            for place in range(positives.shape[0]):
                for f in range(vector.shape[0]):
                    vector[f] += scale * inputs[positives[place], f]
            combined = find_label_pairs(positives, known, found) if known.numbers.shape[0] else 0
            scale = _scale(combined)
            for place in range(combined):
                row = labels + found.numbers[place]
                for f in range(vector.shape[0]):
                    vector[f] += scale * inputs[row, f]

    return context_vectors


context_vectors = _context_vectors()
