"""Whether confidences are what they say: of suggestions with a confidence of 0.3, three in ten should be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vse_ens.errors import ConfigError

BINS = 15
"""How many bins an expected calibration error has, unless said otherwise."""


@dataclass(frozen=True)
class Reliability:
    """Suggestions of about the same confidence."""

    confidence: float
    """Their mean confidence."""
    right: float
    """The part of them that was right."""
    count: int


def reliability(confidences: ArrayLike, hits: ArrayLike, bins: int = BINS) -> list[Reliability]:
    """Suggestions in bins of about equal size by confidence; those of equal confidence are never parted, so that there
    may be fewer bins than asked for.
    """
    confidence, hit = np.ravel(np.asarray(confidences, np.float64)), np.ravel(np.asarray(hits, np.float64))
    if bins < 1:
        raise ConfigError(f"bins must be at least 1, got {bins}")
    if len(confidence) != len(hit) or not len(hit):
        raise ConfigError(f"calibration needs a hit or miss for each confidence, got {len(hit)} for {len(confidence)}")
    order = np.argsort(confidence, kind="stable")
    ranked = confidence[order]
    starts = bin_starts(ranked, np.arange(1, bins) * len(ranked) // bins)
    counts = np.diff(starts, append=len(ranked))
    means, rights = (np.add.reduceat(values, starts) / counts for values in (ranked, hit[order]))
    return [Reliability(*row) for row in zip(means.tolist(), rights.tolist(), counts.tolist(), strict=True)]


def expected_calibration_error(confidences: ArrayLike, hits: ArrayLike, bins: int = BINS) -> float:
    """How far confidences are from the truth: `mean_distance` of the bins of `reliability`."""
    return binned_calibration_error(reliability(confidences, hits, bins))


def binned_calibration_error(found: Sequence[Reliability]) -> float:
    """The mean distance of confidence and part of hits, over all suggestions."""
    return sum(abs(one.confidence - one.right) * one.count for one in found) / sum(one.count for one in found)


def bin_starts(ranked: NDArray[np.floating], cuts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where piles of rising numbers begin that are cut at ``cuts``, or a little before, where equal ones begin."""
    inside = cuts[cuts < len(ranked)]
    return np.unique(np.concatenate([[0], np.searchsorted(ranked, ranked[inside])]))
