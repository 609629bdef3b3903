"""The distribution each sampler states, worked out the slow way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.support.kernel_problems import Problem
from vse_ens.train.sampling import popularity_probabilities, rank_probabilities

Probabilities = NDArray[np.float64]


def one_look(problem: Problem, image: int) -> Probabilities:
    """p(a) of the label a sampler looks at first, before labels the image has are drawn again."""
    config, labels = problem.config, problem.labels
    if config.sampler == "popularity":
        counts = np.bincount(problem.pairs.indices, minlength=labels)
        return popularity_probabilities(counts, config.popularity_power)
    if config.sampler == "vse-ens":
        return ensemble(problem, image)
    if config.sampler == "naive":
        by_rank = np.argsort(-problem.scores(image), kind="stable")
        probabilities = np.zeros(labels)
        probabilities[by_rank] = rank_probabilities(labels, config.rank_distribution, config.rank_scale)
        return probabilities
    return np.full(labels, 1.0 / labels)


def ensemble(problem: Problem, image: int) -> Probabilities:
    """p(a|i) = sum_f p(f|i) p(rank of a in f), with the bias as one more factor whose image side is 1."""
    config, labels = problem.config, problem.labels
    rank_probability = rank_probabilities(labels, config.rank_distribution, config.rank_scale)
    side = np.append(problem.vector(image), 1.0).astype(np.float64)
    table = np.column_stack([problem.tables.labels, problem.tables.bias]).astype(np.float64)
    factor_probability = np.abs(side) * table.std(axis=0)
    factor_probability /= factor_probability.sum()
    probabilities = np.zeros(labels)
    for factor, ranking in enumerate(problem.sampling.rankings):
        best_first = ranking if side[factor] > 0 else ranking[::-1]
        for rank, label in enumerate(best_first):
            probabilities[label] += factor_probability[factor] * rank_probability[rank]
    return probabilities


def without_owned(probabilities: Probabilities, positives: NDArray[np.int32]) -> Probabilities:
    """What is left when labels the image has are drawn again."""
    left = probabilities.copy()
    left[positives] = 0.0
    return left / left.sum()


def best_of(uniform: Probabilities, scores: NDArray[np.floating], draws: int) -> Probabilities:
    """The highest-scored of this many uniform draws: P(best is the j-th lowest of n) = (j/n)^m - ((j-1)/n)^m."""
    candidates = np.flatnonzero(uniform)
    lowest_first = candidates[np.argsort(scores[candidates])]
    at_most = (np.arange(len(candidates) + 1) / len(candidates)) ** draws
    best = np.zeros(len(uniform))
    best[lowest_first] = np.diff(at_most)
    return best
