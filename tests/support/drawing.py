"""Many draws of one sampler, and whether they look like what it states."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chisquare

from tests.support.kernel_problems import JIT, Problem, no_counts, random_state
from vse_ens.kernels import samplers
from vse_ens.kernels.jit import kernel

DRAWS = 40_000 if JIT else 1_500


@cache
def draw_kernel(sampler: int) -> Callable[..., None]:
    @kernel
    def draw_many(
        vector: Any, positive_score: Any, margin: Any, draws: Any, scratch: Any, labels: Any, tried: Any
    ) -> None:
        if sampler == samplers.VSE_ENS:
            samplers.accumulate_factors(vector, draws.sampling, scratch.cumulative)
        for n in range(labels.shape[0]):
            labels[n], tried[n] = samplers.draw(sampler, vector, positive_score, margin, draws, scratch)

    return draw_many


class Drawn(NamedTuple):
    labels: NDArray[np.int64]
    counts: NDArray[np.int64]
    tried: NDArray[np.int64]  # `warp` only: N


def draw(
    problem: Problem, image: int, draws: int = DRAWS, seed: int = 1, positive_score: float = -1e3, margin: float = 1.0
) -> Drawn:
    """Draws for an image; with the given score of its positive, `warp` takes any label."""
    drawn = Drawn(np.full(draws, -2, np.int64), no_counts(), np.zeros(draws, np.int64))
    draw_kernel(samplers.CODES[problem.config.sampler])(
        problem.vector(image),
        np.float32(positive_score),
        np.float32(margin),
        samplers.ImageDraws(
            problem.tables, problem.sampling, problem.positives(image), random_state(seed), drawn.counts
        ),
        problem.scratch(),
        drawn.labels,
        drawn.tried,
    )
    return drawn


def drawn_p_value(found: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """The chi-square p-value of numbers 0, 1, ... drawn from ``probabilities``; rare ones are put together."""
    assert abs(probabilities.sum() - 1.0) < 1e-9
    observed = np.bincount(found, minlength=len(probabilities)).astype(float)
    assert len(observed) == len(probabilities)
    assert not observed[probabilities == 0.0].any(), "drawn though its probability is 0"
    expected = probabilities * len(found)
    rare = expected < 8.0
    if expected[rare].sum() >= 8.0:
        expected = np.append(expected[~rare], expected[rare].sum())
        observed = np.append(observed[~rare], observed[rare].sum())
    else:  # too few even together: with the rarest of the others
        host = np.flatnonzero(~rare)[np.argmin(expected[~rare])]
        expected[host] += expected[rare].sum()
        observed[host] += observed[rare].sum()
        expected, observed = expected[~rare], observed[~rare]
    return float(chisquare(observed, expected).pvalue) if len(expected) > 1 else 1.0


def assert_drawn_from(found: NDArray[np.int64], probabilities: NDArray[np.float64]) -> None:
    """Seeds are fixed: a p-value this low is a wrong distribution, not bad luck."""
    p_value = drawn_p_value(found, probabilities)
    assert p_value > 1e-3, f"chi-square p-value {p_value:.2g}"
