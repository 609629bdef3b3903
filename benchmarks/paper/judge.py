"""How an interval decides a statement: it agrees, it contradicts, or it cannot be decided.

Every decision has an equivalence margin, a difference that does not matter, and a power requirement: an interval that
reaches from one side of the margin to the other decides nothing. Fewer than `MIN_SEEDS` seeds have no interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import t as student_t

Outcome = Literal["agrees", "contradicts", "cannot be decided here"]
AGREES: Outcome = "agrees"
CONTRADICTS: Outcome = "contradicts"
UNDECIDED: Outcome = "cannot be decided here"

MIN_SEEDS = 3
"""Trainings of each model that a statement on trained models needs; two have an interval that decides nothing."""


class Estimate(NamedTuple):
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of_seeds(cls, values: Sequence[float]) -> Estimate:
        """Return the mean over seeds with Student's interval, which a single seed does not have."""
        if len(values) < 2:
            return cls(float(np.mean(values)), -math.inf, math.inf)
        return cls.of_sample(values, [0.0] * len(values), [2] * len(values))

    @classmethod
    def of_sample(cls, means: Sequence[float], variances: Sequence[float], counts: Sequence[int]) -> Estimate:
        """Return the mean over seeds, each the mean of ``counts`` images with a variance of that mean.

        The variance of images and that between seeds add up; Student's t has the degrees of freedom of Welch and
        Satterthwaite. A single seed has the interval of its images.
        """
        mean, seeds = float(np.mean(means)), len(means)
        within, between = float(np.mean(variances)), 0.0
        if seeds > 1:
            between = float(np.var(means, ddof=1)) / seeds
        total = within + between
        if total == 0.0:
            return cls(mean, mean, mean)
        freedom = total**2 / (within**2 / (min(counts) - 1) + (between**2 / (seeds - 1) if seeds > 1 else 0.0))
        half = float(student_t.ppf(0.975, freedom)) * math.sqrt(total)
        return cls(mean, mean - half, mean + half)

    @classmethod
    def of_ratios(cls, ratios: Sequence[float]) -> Estimate:
        """Return the geometric mean of ratios with Student's interval of their logarithms."""
        return cls(*map(_exp, cls.of_seeds(np.log(ratios).tolist())))

    def widened(self, factor: float) -> Estimate:
        """Return a ratio whose interval reaches further by a factor on both sides."""
        return Estimate(self.mean, self.low / factor, self.high * factor)

    def text(self, style: str = ".2f") -> str:
        """Return the estimate in words."""
        if not math.isfinite(self.high) or not math.isfinite(self.low):
            return f"{self.mean:{style}} (no interval)"
        return f"{self.mean:{style}} ({self.low:{style}} to {self.high:{style}})"


def _exp(value: float) -> float:
    return math.exp(value) if value < 700.0 else math.inf


def equal(estimate: Estimate, low: float, high: float) -> Outcome:
    """Decide whether a value lies from ``low`` to ``high``, the stated value with its margin."""
    if low <= estimate.low and estimate.high <= high:
        return AGREES
    return CONTRADICTS if estimate.high < low or estimate.low > high else UNDECIDED


def better(lead: Estimate, margin: float) -> Outcome:
    """Decide whether a lead is positive, however small, as those of the paper are.

    A tie is not better: an interval around 0 within the margin.
    """
    if lead.low > 0.0:
        return AGREES
    tie = -margin <= lead.low and lead.high <= margin
    return CONTRADICTS if lead.high < 0.0 or tie else UNDECIDED


def not_worse(lead: Estimate, margin: float) -> Outcome:
    """Decide whether a lead is above minus the margin."""
    return AGREES if lead.low >= -margin else CONTRADICTS if lead.high < -margin else UNDECIDED


def faster(ratio: Estimate, factor: float) -> Outcome:
    """Decide whether a ratio of times is above 1; one surely within a ``factor`` of 1 is a tie, on either side."""
    if 1.0 / factor <= ratio.low and ratio.high <= factor:
        return CONTRADICTS
    return AGREES if ratio.low > 1.0 else CONTRADICTS if ratio.high < 1.0 else UNDECIDED


def all_of(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome of a statement with several parts, all of which must hold."""
    found = set(outcomes)
    if CONTRADICTS in found:
        return CONTRADICTS
    return AGREES if found == {AGREES} else UNDECIDED


def any_of(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome of a statement that can be read in several ways, one of which must hold."""
    found = set(outcomes)
    if AGREES in found:
        return AGREES
    return CONTRADICTS if found == {CONTRADICTS} else UNDECIDED


def unanimous(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome that all settings share; none if they differ."""
    found = set(outcomes)
    return found.pop() if len(found) == 1 else UNDECIDED
