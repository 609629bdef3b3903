"""Reliability of probabilities: of suggestions with a confidence of 0.3, three in ten should be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vse_ens.errors import ConfigError

BINS = 15
"""Default number of bins."""


@dataclass(frozen=True)
class Reliability:
    """A bin of suggestions with similar confidence."""

    confidence: float
    """Mean of the probabilities: of hits for held-out labels, of confidences where the truth is known."""
    right: float
    """Fraction of suggestions that were right."""
    count: int
    """Number of suggestions."""


def reliability(confidences: ArrayLike, hits: ArrayLike, bins: int = BINS) -> list[Reliability]:
    """Group suggestions by confidence into bins of about equal size.

    Suggestions of equal confidence stay in one bin, so there may be fewer than ``bins``.
    """
    confidence, hit = np.ravel(np.asarray(confidences, np.float64)), np.ravel(np.asarray(hits, np.float64))
    if bins < 1:
        raise ConfigError(f"bins must be at least 1, got {bins}")
    if len(confidence) != len(hit) or not len(hit):
        raise ConfigError(f"calibration needs a hit or miss for each confidence, got {len(hit)} for {len(confidence)}")
    order = np.argsort(confidence, kind="stable")
    ordered = confidence[order]
    starts = bin_starts(ordered, np.arange(1, bins) * len(ordered) // bins)
    counts = np.diff(starts, append=len(ordered))
    means, rights = (np.add.reduceat(values, starts) / counts for values in (ordered, hit[order]))
    return [Reliability(*row) for row in zip(means.tolist(), rights.tolist(), counts.tolist(), strict=True)]


def binned_calibration_error(points: Sequence[Reliability]) -> float:
    """Return the expected calibration error of bins: differences weighted by the number of suggestions."""
    return sum(abs(one.confidence - one.right) * one.count for one in points) / sum(one.count for one in points)


def bin_starts(ordered: NDArray[np.floating], cuts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where bins of sorted numbers start: at ``cuts``, moved back to the first of equal numbers."""
    inside = cuts[cuts < len(ordered)]
    return np.unique(np.concatenate([[0], np.searchsorted(ordered, ordered[inside])]))
