r"""The lookup tables of the samplers, and the distributions they draw from.

How each sampler draws is in `vse_ens.kernels.samplers`:

| name | draws | cost |
|---|---|---|
| `uniform` | any label the image does not have | O(1) |
| `popularity` | by the number of images of a label | O(1) |
| `dns` | the best-scored of m uniform draws | O(m k) |
| `warp` | uniformly until one violates the margin | O(N k), N up to \|A\| - 1 |
| `vse-ens` | rank r by p(r), factor by eq. 7, label at rank r of that factor | O(k) |
| `naive` | rank by p(r), eq. 5, on the exact ranking | O(\|A\| k) |
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import Sampling
from vse_ens.kernels.rank_table import Probes

# A drawn positive is redrawn at most this often. With half of all labels positive, one draw in 2**64 is given up.
_MAX_REDRAWS = 64
# The least lambda |A| of the fast engine; engine `serial` has no limit.
_LEAST_DEPTH = 1.0
# Pairs of ranks that a ranking is probed at, from each end.
_PROBES = 32


def make_sampling(config: Config, data: Annotations, factors: int) -> Sampling:
    """Return the lookup tables of the configured sampler; the first refresh fills the rankings."""
    labels = len(data.labels)
    threshold, alias = np.empty(0, np.float32), np.empty(0, np.int32)
    rankings = np.empty((0, 0), np.uint16)
    if config.sampler in ("vse-ens", "naive"):
        least = 0.0 if config.engine == "serial" else _LEAST_DEPTH
        probabilities = rank_probabilities(labels, config.rank_distribution, config.rank_scale, least)
        threshold, alias = alias_table(probabilities if config.engine == "serial" else _drawable(probabilities))
    elif config.sampler == "popularity":
        threshold, alias = alias_table(popularity_probabilities(data.images_per_label, config.popularity_power))
    if config.sampler == "vse-ens":
        small = labels <= np.iinfo(np.uint16).max + 1  # half the memory, half the cache misses
        rankings = np.zeros((factors + 1, labels), np.uint16 if small else np.int32)
    return Sampling(
        rankings=rankings,
        spread=np.zeros(factors + 1, np.float32),
        threshold=threshold,
        alias=alias,
        candidates=max(labels - 1, 1) if config.sampler == "warp" else config.candidates,
        max_redraws=_MAX_REDRAWS,
    )


def ranking_probes(config: Config, labels: int) -> Probes:
    """Return where the rankings of a vocabulary are probed: at the ranks that the configured distribution draws.

    Labels that moved by a twentieth of lambda |A| ranks on average change a fortieth of the draws. By then, about an
    eighth of the pairs that were a tenth of lambda |A| apart have changed places.
    """
    depth = max(config.rank_scale * labels, _LEAST_DEPTH)
    gap = int(min(max(depth / 10, 1.0), labels - 1))
    shares = np.cumsum(rank_probabilities(labels, config.rank_distribution, config.rank_scale))
    ranks = np.searchsorted(shares, (np.arange(_PROBES) + 0.5) / _PROBES)
    return Probes(np.minimum(ranks, labels - 1 - gap).astype(np.int64), gap, 2 * _PROBES // 8)


def rank_probabilities(labels: int, kind: str, scale: float, least_depth: float = _LEAST_DEPTH) -> NDArray[np.float64]:
    """Return p(r) for the ranks r = 0 .. |A| - 1, with lambda = ``scale`` as a share of the number of labels |A|.

    exponential  p(r) ~ exp(-r / (lambda |A|))
    geometric    p(r) ~ (1 - q)^r, q = 1 / (lambda |A|)
    linear       p(r) ~ lambda |A| - r for r < lambda |A|, else 0

    lambda |A| is at least ``least_depth``; as it goes to 0, all draws have rank 0.

    The paper prints exp(-r) / lambda in eq. 5, which does not depend on lambda, and exp(-r / lambda) in its sampling
    steps. Lambda as a share of |A| is not in the paper; it follows the authors' Java code.
    """
    ranks = np.arange(labels, dtype=np.float64)
    # Not below the smallest normal number, since lambda |A| = 0 has no distribution.
    depth = max(scale * labels, least_depth, np.finfo(np.float64).tiny)
    if kind == "exponential":
        with np.errstate(over="ignore"):  # exp(-inf) = 0
            weights = np.exp(-ranks / depth)
    elif kind == "geometric":
        weights = np.power(max(1.0 - 1.0 / depth, 0.0), ranks)
    else:
        weights = np.maximum(depth - ranks, 0.0)
    return np.asarray(weights / weights.sum())


def _drawable(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities without the last ranks, which together are drawn less than once in 2**32 draws.

    A shorter alias table stays in the cache.
    """
    tail = np.cumsum(probabilities[::-1])[::-1]
    return probabilities[: int(np.searchsorted(-tail, -(2.0**-32)))]


def popularity_probabilities(images_per_label: NDArray[np.int64], power: float) -> NDArray[np.float64]:
    """Return p(a) ~ (images of a) ^ power."""
    weights = np.power(images_per_label.astype(np.float64), power)
    weights[images_per_label == 0] = 0.0
    return np.asarray(weights / weights.sum())


def alias_table(probabilities: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return the threshold and the alias of every cell of an alias table (Walker 1977, Vose 1991).

    A draw then takes one random word and one lookup. It is not a kernel: compiling one takes longer than the loop.
    """
    cells = len(probabilities)
    threshold, alias = np.ones(cells, np.float32), np.arange(cells, dtype=np.int32)
    weights = (probabilities * cells).tolist()
    small = [cell for cell in range(cells) if weights[cell] < 1.0]
    large = [cell for cell in range(cells) if weights[cell] >= 1.0]
    while small and large:
        poor, rich = small.pop(), large[-1]
        threshold[poor] = weights[poor]
        alias[poor] = rich
        weights[rich] -= 1.0 - weights[poor]
        if weights[rich] < 1.0:
            small.append(large.pop())
    return threshold, alias


def rank_weights(labels: int, kind: str, top_n: int) -> NDArray[np.float32]:
    """Return L(rank) = sum of xi_j for j = 1 .. rank, at index rank (eq. 2; Weston, Bengio and Usunier 2011).

    harmonic  xi_j = 1 / j                the default: errors at the top count most
    mean      xi_j = 1 / (|A| - 1)        the mean rank, that is AUC
    top-n     xi_j = 1 / j for j <= n, 0 beyond
    """
    ranks_from_1 = np.arange(1, labels + 1, dtype=np.float64)
    if kind == "harmonic":
        steps = 1.0 / ranks_from_1
    elif kind == "mean":
        steps = np.full(labels, 1.0 / max(labels - 1, 1))
    else:
        steps = np.where(ranks_from_1 <= top_n, 1.0 / ranks_from_1, 0.0)
    return np.concatenate([[0.0], np.cumsum(steps)]).astype(np.float32)
