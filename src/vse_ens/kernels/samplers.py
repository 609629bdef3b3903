"""Negative samplers: draw a label that the image does not have.

Every sampler adds to the counts the labels it drew (tries) and those of them that the image has (rejected), and returns
-1 when it gives up. ``vector`` is v_i. Kernels call `draw`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import REJECTED, TRIES, Floats, Sampling, SharedTables
from vse_ens.kernels.jit import inline, inline_once, prefetch_item, prefetch_row
from vse_ens.kernels.random import next_below, next_uniform, next_word

UNIFORM, POPULARITY, WARP, VSE_ENS, NAIVE, DNS = range(6)
CODES = {"uniform": UNIFORM, "popularity": POPULARITY, "warp": WARP, "vse-ens": VSE_ENS, "naive": NAIVE, "dns": DNS}

_S32 = np.uint64(32)
_S8 = np.uint64(8)
_LOW_24 = np.uint64(0xFFFFFF)
_UNIT_24 = np.float32(2.0**-24)
# A place in the rankings is stored as one number: the factor, then 32 bits for the position.
_HALF_WORD = np.int64(32)
_LOW_32 = np.int64(0xFFFFFFFF)


class ImageDraws(NamedTuple):
    """What the draws for one image read and count."""

    tables: SharedTables
    sampling: Sampling
    positives: NDArray[np.int32]  # the labels of the image
    state: NDArray[np.uint64]
    counts: NDArray[np.int64]


@inline
def has_label(positives: NDArray[np.int32], label: int) -> bool:
    """Return whether the image has the label. There is no early exit, so that the loop vectorizes."""
    found = False
    for n in range(positives.shape[0]):
        found |= positives[n] == label
    return found


@inline
def score(vector: Floats, tables: SharedTables, label: int) -> np.float32:
    """Return s_i(a) = v_i . v_a + b_a: eq. 1 with a label bias."""
    total = tables.bias[label]
    for f in range(vector.shape[0]):
        total += vector[f] * tables.labels[label, f]
    return total


@inline
def draw_alias(sampling: Sampling, state: NDArray[np.uint64]) -> int:
    """Draw from the distribution of the alias table: a uniform cell, kept or replaced by its alias."""
    word = next_word(state)
    cell = np.int64(((word >> _S32) * np.uint64(sampling.alias.shape[0])) >> _S32)
    keep = np.int64(np.float32((word >> _S8) & _LOW_24) * _UNIT_24 < sampling.threshold[cell])
    # Arithmetic instead of a branch, which would often be mispredicted.
    alias = np.int64(sampling.alias[cell])
    return alias + keep * (cell - alias)


@inline
def draw_uniform(draws: ImageDraws) -> int:
    """`uniform`: all labels that the image does not have are equally likely."""
    for _ in range(draws.sampling.max_redraws):
        draws.counts[TRIES] += 1
        label = next_below(draws.state, draws.tables.bias.shape[0])
        if not has_label(draws.positives, label):
            return label
        draws.counts[REJECTED] += 1
    return -1


@inline
def draw_dns(vector: Floats, draws: ImageDraws) -> int:
    """`dns` (dynamic negative sampling): the highest-scored of m uniform draws."""
    best, best_score = -1, np.float32(-np.inf)
    for _ in range(draws.sampling.candidates):
        label = draw_uniform(draws)
        if label < 0:
            return best
        label_score = score(vector, draws.tables, label)
        if best < 0 or label_score > best_score:
            best, best_score = label, label_score
    return best


@inline
def draw_warp(vector: Floats, positive_score: np.float32, margin: np.float32, draws: ImageDraws) -> tuple[int, int]:
    """`warp`: uniform draws until one violates the margin, margin + s_i(n) > s_i(p) (eq. 4).

    Returns the label and N, the number of draws; (-1, N) if none violated. There are at most |A| - 1 draws, as in
    Weston, Bengio and Usunier (2011); the paper does not mention a limit.
    """
    for tried in range(1, draws.sampling.candidates + 1):
        label = draw_uniform(draws)
        if label < 0:
            return -1, tried
        if margin + score(vector, draws.tables, label) > positive_score:
            return label, tried
    return -1, draws.sampling.candidates


@inline_once
def accumulate_factors(vector: Floats, sampling: Sampling, cumulative: Floats) -> None:
    """Write the running sums of p(f|i) ~ |v_if| sigma_f (eq. 7), not normalized; the bias factor has |v_if| = 1.

    Computed once per image: the draws for all of its labels use them.
    """
    factors = vector.shape[0]
    quarter = factors // 4
    # Four chains of additions in parallel instead of a single one: first the sum before each chain, then all sums.
    for f in range(factors):
        cumulative[f] = abs(vector[f]) * sampling.spread[f]
    sums_0, sums_1, sums_2 = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    for f in range(quarter):
        sums_0 += cumulative[f]
        sums_1 += cumulative[quarter + f]
        sums_2 += cumulative[2 * quarter + f]
    chain_0, chain_1 = np.float32(0.0), sums_0
    chain_2, chain_3 = sums_0 + sums_1, sums_0 + sums_1 + sums_2
    for f in range(quarter):
        chain_0 += cumulative[f]
        chain_1 += cumulative[quarter + f]
        chain_2 += cumulative[2 * quarter + f]
        chain_3 += cumulative[3 * quarter + f]
        cumulative[f] = chain_0
        cumulative[quarter + f] = chain_1
        cumulative[2 * quarter + f] = chain_2
        cumulative[3 * quarter + f] = chain_3
    for f in range(4 * quarter, factors):
        chain_3 += cumulative[f]
        cumulative[f] = chain_3
    cumulative[factors] = chain_3 + sampling.spread[factors]


@inline_once
def _place_vse_ens(
    factors: int, vector: Floats, cumulative: Floats, sampling: Sampling, state: NDArray[np.uint64]
) -> tuple[int, int]:
    """Draw a place in the rankings: rank r ~ p(r), factor f ~ |v_if| sigma_f (eq. 7).

    The rank counts from the top where v_if > 0, else from the bottom (eq. 9).
    """
    last = sampling.rankings.shape[1] - 1
    rank = draw_alias(sampling, state)
    point = next_uniform(state) * cumulative[factors]
    # Counting has no branches and vectorizes: faster than bisection at these sizes.
    factor = np.int32(0)
    for f in range(factors):
        factor += np.int32(cumulative[f] <= point)
    # Arithmetic instead of a branch, which would be mispredicted every other time. The bias factor has no sign.
    from_bottom = np.int64(factor < factors) & np.int64(vector[min(factor, vector.shape[0] - 1)] <= np.float32(0.0))
    return np.int64(factor), rank + from_bottom * (last - 2 * rank)


@inline_once
def _try_vse_ens(
    factors: int, vector: Floats, cumulative: Floats, sampling: Sampling, state: NDArray[np.uint64]
) -> int:
    """Draw a label that the image may have."""
    factor, position = _place_vse_ens(factors, vector, cumulative, sampling, state)
    return np.int64(sampling.rankings[factor, position])


@inline_once
def draw_vse_ens_ahead(
    factors: int, vector: Floats, cumulative: Floats, draws: ImageDraws, drawn: NDArray[np.int64]
) -> None:
    """Draw a label by `vse-ens` for each label of the image, -1 where it gives up, and prefetch their rows.

    All places in the rankings are drawn and prefetched before the first is read. ``factors`` is k: a kernel where it is
    a constant counts faster.
    """
    tables, sampling, positives, state, counts = draws
    labels = tables.labels
    for n in range(positives.shape[0]):
        factor, position = _place_vse_ens(factors, vector, cumulative, sampling, state)
        drawn[n] = (factor << _HALF_WORD) | position
        prefetch_item(sampling.rankings[factor], position)
        prefetch_row(labels, np.int64(positives[n]))
    for n in range(positives.shape[0]):
        label = np.int64(sampling.rankings[drawn[n] >> _HALF_WORD, drawn[n] & _LOW_32])
        tries = 1
        while has_label(positives, label) and tries < sampling.max_redraws:
            label = _try_vse_ens(factors, vector, cumulative, sampling, state)
            tries += 1
        found = not has_label(positives, label)
        counts[TRIES] += tries
        counts[REJECTED] += tries - np.int64(found)
        drawn[n] = label if found else -1
        prefetch_row(labels, label)


@inline_once
def fill_vse_ens(
    factors: int,
    vector: Floats,
    cumulative: Floats,
    draws: ImageDraws,
    drawn: NDArray[np.int32],
    drawn_factors: NDArray[np.int32],
) -> int:
    """Fill ``drawn`` with labels by `vse-ens`; return their number, and prefetch their rows.

    First all places are drawn, then all labels read: the processor waits for them once, not one after another.
    ``drawn_factors`` is a buffer as long as ``drawn``; ``factors`` is k, see `draw_vse_ens_ahead`.
    """
    tables, sampling, positives, state, counts = draws
    labels = tables.labels
    tries = found = 0
    limit = sampling.max_redraws * drawn.shape[0]
    while found < drawn.shape[0] and tries < limit:
        first, end = found, min(drawn.shape[0], found + limit - tries)
        for n in range(first, end):
            drawn_factors[n], drawn[n] = _place_vse_ens(factors, vector, cumulative, sampling, state)
        for n in range(first, end):
            drawn[n] = sampling.rankings[drawn_factors[n], drawn[n]]
        # A rejected label is overwritten by the next one, so that there is no branch to mispredict.
        for n in range(first, end):
            label = drawn[n]
            prefetch_row(labels, np.int64(label))
            drawn[found] = label
            found += np.int64(not has_label(positives, label))
        tries += end - first
    counts[TRIES] += tries
    counts[REJECTED] += tries - found
    return found


@inline
def label_at_rank(scores: Floats, rank: int) -> int:
    """Return the label at a rank from 0, ties by label number; found by bisecting the score, without a copy."""
    labels = scores.shape[0]
    low = high = scores[0]
    for label in range(labels):  # not scores.min(), which allocates
        if np.isnan(scores[label]):
            return -1  # the draw is given up
        low, high = min(low, scores[label]), max(high, scores[label])
    # The score of that label is the largest value with more than `rank` scores at or above it.
    while True:
        middle = low + (high - low) * np.float32(0.5)
        if not low < middle < high:
            break
        above = 0
        for label in range(labels):
            above += scores[label] >= middle
        if above > rank:
            low = middle
        else:
            high = middle
    above = 0
    for label in range(labels):
        above += scores[label] >= high
    value = high if above > rank else low
    position = 0
    for label in range(labels):
        position += scores[label] > value
    for label in range(labels):
        if scores[label] == value:
            if position == rank:
                return label
            position += 1
    return -1  # only if scores are infinite: the draw is given up


@inline_once
def draw(
    sampler: int, vector: Floats, positive_score: np.float32, margin: np.float32, draws: ImageDraws, scratch: Any
) -> tuple[int, int]:
    """Draw a negative with a sampler of `CODES`, a constant of the kernel; return the label, and N of `warp`.

    A label that the image has is drawn again.

    ``positive_score`` and ``margin`` are for `warp`. ``scratch`` has the buffers ``cumulative`` of `vse-ens`, filled by
    `accumulate_factors`, and ``scores`` of `naive`.
    """
    label, tried = -1, 0
    if sampler == UNIFORM:
        label = draw_uniform(draws)
    elif sampler == WARP:
        label, tried = draw_warp(vector, positive_score, margin, draws)
    elif sampler == DNS:
        label = draw_dns(vector, draws)
    else:
        tables, sampling, positives, state, counts = draws
        if sampler == NAIVE:
            for candidate in range(tables.bias.shape[0]):
                scratch.scores[candidate] = score(vector, tables, candidate)
        # Algorithm 1 of the paper does not check whether the image has the label.
        for _ in range(sampling.max_redraws):
            counts[TRIES] += 1
            if sampler == POPULARITY:  # p(a) ~ (images of a) ^ power
                candidate = draw_alias(sampling, state)
            elif sampler == VSE_ENS:  # a rank, a factor, and the label there: O(k)
                candidate = _try_vse_ens(vector.shape[0], vector, scratch.cumulative, sampling, state)
            else:  # rank r ~ p(r) in the exact ranking by s_i (eq. 5), selected without sorting: O(|A| k)
                candidate = label_at_rank(scratch.scores, draw_alias(sampling, state))
            if not has_label(positives, candidate):
                label = candidate
                break
            counts[REJECTED] += 1
    return label, tried
