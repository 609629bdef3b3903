r"""The samplers by name: what each needs looked up. How each draws is in `vse_ens.kernels.samplers`.

| name | draws | cost |
|---|---|---|
| `uniform` | any label the image has not | O(1) |
| `popularity` | by how many images a label has | O(1) |
| `dns` | the best-scored of m uniform draws | O(m k) |
| `warp` | uniformly until one violates the margin | O(N k), N up to \|A\| - 1 |
| `vse-ens` | rank by eq. 8, factor by eq. 7, label from that factor's ranking | O(k) |
| `naive` | rank by eq. 8 on the exact ranking | O(\|A\| k) |

How ranks and labels are drawn: the distributions, and the alias tables they are drawn from.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.alias import fill_alias
from vse_ens.kernels.arrays import Sampling

# A label the image has is drawn again at most so often; at one label in two known, one draw in 2**64 would be given up.
_MAX_REDRAWS = 64


def make_sampling(config: Config, data: Annotations, factors: int) -> Sampling:
    """The tables of a configuration's sampler for vectors of so many factors; the first refresh fills the rankings."""
    labels = len(data.labels)
    threshold, alias = np.empty(0, np.float32), np.empty(0, np.int32)
    rankings = np.empty((0, 0), np.uint16)
    if config.sampler in ("vse-ens", "naive"):
        threshold, alias = alias_table(rank_probabilities(labels, config.rank_distribution, config.rank_scale))
    elif config.sampler == "popularity":
        threshold, alias = alias_table(popularity_probabilities(data.images_per_label, config.popularity_power))
    if config.sampler == "vse-ens":
        small = labels <= np.iinfo(np.uint16).max + 1  # half the memory, and half the misses
        rankings = np.zeros((factors + 1, labels), np.uint16 if small else np.int32)
    return Sampling(
        rankings=rankings,
        spread=np.zeros(factors + 1, np.float32),
        threshold=threshold,
        alias=alias,
        candidates=max(labels - 1, 1) if config.sampler == "warp" else config.candidates,
        max_redraws=_MAX_REDRAWS,
    )


def rank_probabilities(labels: int, kind: str, scale: float) -> NDArray[np.float64]:
    """p(r) for the ranks r = 0 .. |A| - 1, with lambda = ``scale`` a share of the label count |A|.

    exponential  p(r) ~ exp(-r / (lambda |A|))      eq. 8 (the paper prints exp(-r)/lambda and means this)
    geometric    p(r) ~ (1 - q)^r, q = 1 / (lambda |A|)
    linear       p(r) ~ lambda |A| - r up to there, 0 beyond

    lambda |A| is taken as 1 where it is less: then nearly all draws are of rank 0.
    """
    ranks = np.arange(labels, dtype=np.float64)
    step_scale = max(scale * labels, 1.0)
    if kind == "exponential":
        weights = np.exp(-ranks / step_scale)
    elif kind == "geometric":
        weights = np.power(1.0 - 1.0 / step_scale, ranks)
    else:
        weights = np.maximum(step_scale - ranks, 0.0)
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
