"""How ranks and labels are drawn: the distributions, and the alias tables they are drawn from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.alias import fill_alias


def rank_probabilities(labels: int, kind: str, scale: float) -> NDArray[np.float64]:
    """p(r) for the ranks r = 0 .. |A| - 1, with lambda = ``scale`` a share of the label count |A|.

    exponential  p(r) ~ exp(-r / (lambda |A|))      eq. 8 (the paper prints exp(-r)/lambda and means this)
    geometric    p(r) ~ (1 - q)^r, q = 1 / (lambda |A|)
    linear       p(r) ~ lambda |A| - r up to there, 0 beyond

    lambda |A| is taken as 1 where it is less: then nearly all draws are of rank 0.
    """
    ranks = np.arange(labels, dtype=np.float64)
    reach = max(scale * labels, 1.0)
    if kind == "exponential":
        weights = np.exp(-ranks / reach)
    elif kind == "geometric":
        weights = np.power(1.0 - 1.0 / reach, ranks)
    else:
        weights = np.maximum(reach - ranks, 0.0)
    return np.asarray(weights / weights.sum())


def popularity_probabilities(images_per_label: NDArray[np.int64], power: float) -> NDArray[np.float64]:
    """p(a) ~ (images of a) ^ power."""
    weights = np.power(images_per_label.astype(np.float64), power)
    weights[images_per_label == 0] = 0.0
    return np.asarray(weights / weights.sum())


def alias_table(probabilities: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Threshold and alias of every cell."""
    threshold = np.empty(len(probabilities), np.float32)
    alias = np.empty(len(probabilities), np.int32)
    fill_alias(probabilities * len(probabilities), threshold, alias)
    return threshold, alias


def rank_weights(labels: int, kind: str, top_n: int) -> NDArray[np.float32]:
    """L(rank) = sum of xi_j for j = 1 .. rank, at index rank (Weston, Bengio and Usunier 2011).

    harmonic  xi_j = 1 / j                the default: errors at the top weigh most
    mean      xi_j = 1 / (|A| - 1)        the mean rank, that is AUC
    top-n     xi_j = 1 / j for j <= n, 0 beyond
    """
    places = np.arange(1, labels + 1, dtype=np.float64)
    if kind == "harmonic":
        steps = 1.0 / places
    elif kind == "mean":
        steps = np.full(labels, 1.0 / max(labels - 1, 1))
    else:
        steps = np.where(places <= top_n, 1.0 / places, 0.0)
    return np.concatenate([[0.0], np.cumsum(steps)]).astype(np.float32)
