"""The context tower: the vector of an image is computed from its other labels.

    v_i = |N|^-1/2 sum_{b in N} u_b + |C|^-1/2 sum_{c in C} u_c

N are the labels of the image, C the label pairs among them, u the input vectors. The positive that is trained is always
left out of N and C. Training uses two-phase batches (see `vse_ens.kernels.two_phase`) and row-wise AdaGrad: one sum of
squared gradients per row.
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
from vse_ens.kernels.jit import inline, kernel, prefetch_row
from vse_ens.kernels.label_pairs import LabelPairs, PairMatches, find_label_pairs
from vse_ens.kernels.sgd import add_features
from vse_ens.kernels.two_phase import PREFETCH_DISTANCE, select_entries

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


class ContextTables(NamedTuple):
    """The tables of the context tower, beside the shared ones."""

    inputs: Floats  # (|A| + label pairs) x k: u
    input_squares: Floats  # |A| + label pairs: AdaGrad's sums of squared gradients
    label_squares: Floats  # |A|: the same for the label vectors
    label_pairs: LabelPairs


class ContextGradients(NamedTuple):
    """The gradients of a batch: those of its draws, and how the gradients of the inputs follow from them."""

    rows: NDArray[np.int32]  # draws x (negatives + 1): the positive first; -1 where no negative was found
    slopes: Floats  # draws x (negatives + 1): draw ``d`` adds ``slopes[d, j] * vectors[d]`` to label ``rows[d, j]``
    vectors: Floats  # draws x k: v_i without the positive
    squares: Floats  # draws: the mean square of that vector
    vector_gradients: Floats  # draws x k: minus the gradient of the loss in the vector
    scales: Floats  # draws x 2: |N|^-1/2 and |C|^-1/2 without the positive
    sums: Floats  # visits x 2k: the scaled vector gradients, summed over the positives of an image
    entries: NDArray[np.int32]  # inputs x 5: row, visit, number of draws that use it, the one or two draws that do not
    filled: NDArray[np.int64]  # chunks: how many entries each chunk wrote from its start

    @classmethod
    def allocate(
        cls, draws: int, visits: int, entries: int, chunks: int, negatives: int, dimensions: int
    ) -> ContextGradients:
        """Return uninitialised arrays for a batch."""
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
    whole: Floats  # k: v_i with all labels, which the adaptive sampler uses
    base: Floats  # k: the image's own part of v_i
    sums: Floats  # 2 x k: of the inputs of labels, and of label pairs
    pair_sums: Floats  # labels x k: sums of the inputs of the label pairs that contain each label
    pair_counts: NDArray[np.int64]  # labels: their numbers
    cumulative: Floats  # k + 1: running sums of p(f|i)
    scores: Floats  # |A| for `naive`, else empty
    found: PairMatches

    @classmethod
    def allocate(cls, dimensions: int, image_labels: int, has_pairs: bool, scores: int = 0) -> ContextScratch:
        """Return buffers for images with up to ``image_labels`` labels."""
        return cls(
            cache_aligned(1, dimensions, np.float32)[0],
            cache_aligned(1, dimensions, np.float32)[0],
            cache_aligned(1, dimensions, np.float32)[0],
            np.empty((2, dimensions), np.float32),
            np.empty((image_labels if has_pairs else 0, dimensions), np.float32),
            np.zeros(image_labels, np.int64),
            cache_aligned(1, dimensions + 1, np.float32)[0],
            cache_aligned(1, scores, np.float32)[0],
            PairMatches.allocate(image_labels if has_pairs else 0),
        )


@inline
def _scale(count: int) -> np.float32:
    """Return count^-1/2, and 1 for 0."""
    return _ONE / np.sqrt(np.float32(max(count, 1)))


@inline
def _add_label_pairs(
    inputs: Floats,
    found: PairMatches,
    pairs_found: int,
    labels: int,
    sums: Floats,
    pair_sums: Floats,
    pair_counts: NDArray[np.int64],
) -> None:
    """Sum the inputs of the label pairs of an image: all of them, and those that contain each label."""
    width = inputs.shape[1]
    for n in range(pairs_found):
        row = labels + found.numbers[n]
        first, second = found.first[n], found.second[n]
        pair_counts[first] += 1
        pair_counts[second] += 1
        for f in range(width):
            value = inputs[row, f]
            sums[1, f] += value
            pair_sums[first, f] += value
            pair_sums[second, f] += value


@cache
def context_kernel(
    dimensions: int, sampler: int, loss: int, has_ids: bool, has_features: bool, has_pairs: bool
) -> Callable[..., float]:
    """Return the kernel of the first phase for these parts, all of them compile-time constants."""
    uniform, popularity, vse_ens = (
        sampler == code for code in (samplers.UNIFORM, samplers.POPULARITY, samplers.VSE_ENS)
    )
    warp, dns = sampler == samplers.WARP, sampler == samplers.DNS
    softmax, rank_weighted, logistic = (loss == code for code in (losses.SOFTMAX, losses.WARP, losses.LOGISTIC))

    @kernel
    def compute_gradients(
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
        gradients: ContextGradients,
        vector_changes: Floats,
        sampling: Sampling,
        step: Step,
        scratch: ContextScratch,
        state: NDArray[np.uint64],
        counts: NDArray[np.int64],
    ) -> float:
        vector, whole, base = scratch.vector, scratch.whole, scratch.base
        sums, pair_sums, pair_counts, found = scratch.sums, scratch.pair_sums, scratch.pair_counts, scratch.found
        labels, inputs = tables.labels, context.inputs
        negatives = gradients.rows.shape[1] - 1
        draw, entry = first_draw, first_entry
        pairs_found = 0
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

            # The same for all labels of the image: the sums of its inputs, and the factors of the adaptive sampler.
            sums[:] = _ZERO
            for n in range(positives.shape[0]):
                for f in range(dimensions):
                    sums[0, f] += inputs[positives[n], f]
            if has_pairs:
                pairs_found = find_label_pairs(positives, context.label_pairs, found)
                pair_sums[: positives.shape[0]] = _ZERO
                pair_counts[: positives.shape[0]] = 0
                _add_label_pairs(inputs, found, pairs_found, labels.shape[0], sums, pair_sums, pair_counts)
            scale, pair_scale = _scale(positives.shape[0]), _scale(pairs_found)
            for f in range(dimensions):
                whole[f] = base[f] + scale * sums[0, f] + pair_scale * sums[1, f]
            if vse_ens:
                samplers.accumulate_factors(whole, sampling, scratch.cumulative)

            visit_sums = gradients.sums[first_visit + visit]
            visit_sums[:] = _ZERO
            scale = _scale(others)
            for n in range(positives.shape[0]):
                positive = np.int64(positives[n])
                for f in range(dimensions):
                    vector[f] = base[f] + scale * (sums[0, f] - inputs[positive, f])
                if has_pairs:
                    pair_scale = _scale(pairs_found - pair_counts[n])
                    for f in range(dimensions):
                        vector[f] += pair_scale * (sums[1, f] - pair_sums[n, f])
                rows, slopes = gradients.rows[draw], gradients.slopes[draw]
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
                            # L(rank) of eq. 2, with the rank estimated as floor((|A| - 1) / N)
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

                gradient, square = gradients.vector_gradients[draw], _ZERO
                for f in range(dimensions):
                    gradient[f] = slopes[0] * labels[positive, f]
                for j in range(1, negatives + 1):
                    label = np.int64(rows[j])
                    if label >= 0:
                        for f in range(dimensions):
                            gradient[f] += slopes[j] * labels[label, f]
                for f in range(dimensions):
                    square += vector[f] * vector[f]
                    gradients.vectors[draw, f] = vector[f]
                gradients.squares[draw] = square / np.float32(dimensions)
                gradients.scales[draw, 0] = scale
                gradients.scales[draw, 1] = pair_scale
                for f in range(dimensions):
                    visit_sums[f] += scale * gradient[f]
                    visit_sums[dimensions + f] += pair_scale * gradient[f]
                draw += 1

            first = draw - positives.shape[0]
            if others > 0:
                for n in range(positives.shape[0]):
                    _write_entry(gradients.entries[entry], positives[n], first_visit + visit, others, first + n, -1)
                    entry += 1
            for n in range(pairs_found if others > 1 else 0):
                row = labels.shape[0] + found.numbers[n]
                one, other = first + found.first[n], first + found.second[n]
                _write_entry(gradients.entries[entry], row, first_visit + visit, others - 1, one, other)
                entry += 1
            if has_ids or has_features:
                # The image's own part: one plain gradient step for all of its labels.
                decay = min(step.learning_rate * step.regularization * np.float32(positives.shape[0]), _ONE)
                for f in range(dimensions):
                    gradient_sum = _ZERO
                    for d in range(first, draw):
                        gradient_sum += gradients.vector_gradients[d, f]
                    base[f] = step.learning_rate * gradient_sum - decay * base[f]
                if has_features:
                    for f in range(dimensions):
                        vector_changes[visit, f] = base[f]
                if has_ids:
                    for f in range(dimensions):
                        image_vectors[image, f] += base[f]
        gradients.filled[chunk] = entry - first_entry
        return total_loss

    return compute_gradients


@inline
def _write_entry(entry: NDArray[np.int32], row: int, visit: int, times: int, one: int, other: int) -> None:
    entry[0] = row
    entry[1] = visit
    entry[2] = times
    entry[3] = one
    entry[4] = other


@kernel
def apply_label_gradients(
    tables: SharedTables,
    context: ContextTables,
    gradients: ContextGradients,
    draws: int,
    step: Step,
    first: int,
    last: int,
) -> None:
    """Run the second phase for label rows ``first`` to ``last - 1``; a row decays with every gradient applied to it."""
    labels, bias, squares = tables.labels, tables.bias, context.label_squares
    shrink_bias = _ONE - step.bias_rate * step.bias_regularization
    width = gradients.rows.shape[1]
    rows, slopes = gradients.rows.reshape(-1), gradients.slopes.reshape(-1)
    selected = np.empty(draws * width + 1, np.int32)
    count = select_entries(rows[: draws * width], first, last, selected)
    for n in range(count):
        if n + PREFETCH_DISTANCE < count:
            prefetch_row(labels, np.int64(rows[selected[n + PREFETCH_DISTANCE]]))
        entry = selected[n]
        label, draw, slope = rows[entry], entry // width, slopes[entry]
        squares[label] += slope * slope * gradients.squares[draw]
        rate = step.learning_rate / np.sqrt(squares[label])
        shrink, step_scale = _ONE - rate * step.regularization, rate * slope
        for f in range(labels.shape[1]):
            labels[label, f] = shrink * labels[label, f] + step_scale * gradients.vectors[draw, f]
        bias[label] = shrink_bias * bias[label] + step.bias_rate * slope


@kernel
def apply_input_gradients(
    context: ContextTables, gradients: ContextGradients, starts: NDArray[np.int64], step: Step, first: int, last: int
) -> None:
    """Run the second phase for input rows ``first`` to ``last - 1``; the entries of a chunk begin at ``starts[chunk]``.

    All positives of an image contribute to the gradient of an input, except the label itself or, for a label pair, its
    two labels. The row decays once per contribution.
    """
    inputs, squares = context.inputs, context.input_squares
    width = inputs.shape[1]
    gradient = np.empty(width, np.float32)
    for chunk in range(starts.shape[0]):
        for entry in range(starts[chunk], starts[chunk] + gradients.filled[chunk]):
            row = gradients.entries[entry, 0]
            if first <= row < last:
                sums = gradients.sums[gradients.entries[entry, 1]]
                times, one, other = (
                    gradients.entries[entry, 2],
                    gradients.entries[entry, 3],
                    gradients.entries[entry, 4],
                )
                square = _ZERO
                if other < 0:
                    for f in range(width):
                        gradient[f] = sums[f] - gradients.scales[one, 0] * gradients.vector_gradients[one, f]
                        square += gradient[f] * gradient[f]
                else:
                    for f in range(width):
                        gradient[f] = (
                            sums[width + f]
                            - gradients.scales[one, 1] * gradients.vector_gradients[one, f]
                            - gradients.scales[other, 1] * gradients.vector_gradients[other, f]
                        )
                        square += gradient[f] * gradient[f]
                squares[row] += square / np.float32(width)
                rate = step.learning_rate / np.sqrt(squares[row])
                shrink = max(_ONE - rate * step.regularization * np.float32(times), _ZERO)
                for f in range(width):
                    inputs[row, f] = shrink * inputs[row, f] + rate * gradient[f]


@kernel
def context_vectors(pairs: Csr, inputs: Floats, label_pairs: LabelPairs, vectors: Floats) -> None:
    """Add to row i of ``vectors`` the context of row i of ``pairs``, with all of its labels."""
    labels = label_pairs.indptr.shape[0] - 1
    longest = 0
    for image in range(vectors.shape[0]):
        longest = max(longest, pairs.indptr[image + 1] - pairs.indptr[image])
    most_pairs = min(longest * (longest - 1) // 2, 1 << 16) if label_pairs.numbers.shape[0] else 0
    found = PairMatches(np.empty(most_pairs, np.int32), np.empty(most_pairs, np.int32), np.empty(most_pairs, np.int32))
    for image in range(vectors.shape[0]):
        positives = pairs.indices[pairs.indptr[image] : pairs.indptr[image + 1]]
        vector = vectors[image]
        scale = _scale(positives.shape[0])
        for n in range(positives.shape[0]):
            for f in range(vector.shape[0]):
                vector[f] += scale * inputs[positives[n], f]
        pairs_found = find_label_pairs(positives, label_pairs, found) if label_pairs.numbers.shape[0] else 0
        scale = _scale(pairs_found)
        for n in range(pairs_found):
            row = labels + found.numbers[n]
            for f in range(vector.shape[0]):
                vector[f] += scale * inputs[row, f]
