"""How intervals decide, and learning curves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.paper.curves import best, change_at_end, converged, reach
from benchmarks.paper.judge import (
    AGREES,
    CONTRADICTS,
    UNDECIDED,
    Estimate,
    all_of,
    any_of,
    better,
    equal,
    faster,
    not_worse,
    unanimous,
)


def around(mean: float, half: float) -> Estimate:
    return Estimate(mean, mean - half, mean + half)


@pytest.mark.parametrize(
    ("estimate", "outcome"),
    [
        (around(2.5, 0.1), AGREES),
        (around(2.5, 0.6), UNDECIDED),  # wider than the margin
        (around(2.9, 0.3), UNDECIDED),
        (around(3.5, 0.4), CONTRADICTS),
        (around(1.5, 0.4), CONTRADICTS),
        (Estimate(2.5, -math.inf, math.inf), UNDECIDED),
    ],
)
def test_equal(estimate: Estimate, outcome: str) -> None:
    assert equal(estimate, 2.0, 3.0) == outcome


@pytest.mark.parametrize(
    ("lead", "outcome", "no_worse"),
    [
        (around(0.02, 0.01), AGREES, AGREES),
        (around(0.0, 0.004), CONTRADICTS, AGREES),  # a tie
        (around(0.0, 0.006), UNDECIDED, UNDECIDED),
        (around(0.004, 0.008), UNDECIDED, AGREES),
        (around(-0.02, 0.01), CONTRADICTS, CONTRADICTS),
        (around(-0.004, 0.003), CONTRADICTS, UNDECIDED),
        (Estimate(1.0, -math.inf, math.inf), UNDECIDED, UNDECIDED),
    ],
)
def test_better_and_not_worse(lead: Estimate, outcome: str, no_worse: str) -> None:
    assert better(lead, 0.005) == outcome
    assert not_worse(lead, 0.005) == no_worse


@pytest.mark.parametrize(
    ("ratio", "outcome"),
    [
        (Estimate(2.0, 1.5, 2.5), AGREES),
        (Estimate(1.0, 0.95, 1.05), CONTRADICTS),
        (Estimate(1.0, 0.8, 1.25), UNDECIDED),
        (Estimate(0.5, 0.4, 0.6), CONTRADICTS),
        (Estimate(0.0, 0.0, 0.0), CONTRADICTS),  # never
    ],
)
def test_faster(ratio: Estimate, outcome: str) -> None:
    assert faster(ratio, 1.1) == outcome


def test_parts_readings_and_settings() -> None:
    assert all_of([AGREES, AGREES]) == any_of([CONTRADICTS, AGREES]) == unanimous([AGREES, AGREES]) == AGREES
    assert all_of([AGREES, UNDECIDED, CONTRADICTS]) == any_of([CONTRADICTS]) == CONTRADICTS
    assert all_of([AGREES, UNDECIDED]) == any_of([CONTRADICTS, UNDECIDED]) == UNDECIDED
    assert unanimous([AGREES, CONTRADICTS]) == unanimous([AGREES, UNDECIDED]) == unanimous([]) == UNDECIDED


def test_interval_over_seeds_is_students() -> None:
    estimate = Estimate.of_seeds([1.0, 2.0, 3.0])
    assert estimate == pytest.approx((2.0, 2.0 - 4.30265 / np.sqrt(3), 2.0 + 4.30265 / np.sqrt(3)), abs=1e-4)
    assert Estimate.of_seeds([2.0]) == (2.0, -np.inf, np.inf)
    assert Estimate.of_seeds([2.0, 2.0]) == (2.0, 2.0, 2.0)


def test_images_and_seeds_both_widen_an_interval() -> None:
    """Many images: Student's t of the seeds. Seeds alike: that of the images."""
    seeds = Estimate.of_seeds([1.0, 2.0, 3.0])
    assert Estimate.of_sample([1.0, 2.0, 3.0], [1e-12] * 3, [1_000] * 3) == pytest.approx(seeds, abs=1e-4)
    both = Estimate.of_sample([1.0, 2.0, 3.0], [0.3] * 3, [1_000] * 3)
    assert both.high - both.mean == pytest.approx(1.96 * math.sqrt(0.3 + 1 / 3), rel=0.4)
    images = Estimate.of_sample([2.0], [0.09], [11])
    assert images.high - 2.0 == pytest.approx(0.3 * 2.228, abs=1e-3)  # t with ten degrees of freedom


def test_ratios_are_averaged_as_logarithms() -> None:
    estimate = Estimate.of_ratios([0.5, 1.0, 2.0])
    assert estimate.mean == pytest.approx(1.0)
    assert estimate.low * estimate.high == pytest.approx(1.0)
    assert Estimate.of_ratios([2.0]).high == math.inf
    assert estimate.widened(2.0) == pytest.approx((1.0, estimate.low / 2, estimate.high * 2))


def test_estimate_in_words() -> None:
    assert around(0.5, 0.1).text() == "0.50 (0.40 to 0.60)"
    assert Estimate.of_seeds([0.5]).text() == "0.50 (no interval)"


CURVE = [[1, 0.5, 0.1], [10, 5.0, 0.4], [20, 12.0, 0.5], [40, 30.0, 0.3]]


def test_a_curve_is_read_between_its_points() -> None:
    assert reach(CURVE, 0.05) == pytest.approx((0.5, 0.25))
    assert reach(CURVE, 0.45) == pytest.approx((15.0, 8.5))
    assert reach(CURVE, 0.5) == pytest.approx((20.0, 12.0))
    assert reach(CURVE, 0.51) is None
    assert best(CURVE) == 0.5
    assert best([]) == 0.0


def test_decline_does_not_count_as_time_to_converge() -> None:
    assert converged(CURVE) == reach(CURVE, 0.495)
    assert converged(CURVE).iterations < 20


def test_change_at_end_is_over_the_last_quarter_of_the_iterations() -> None:
    points = [[at, 1.0, 0.5 if at <= 70 else 0.6] for at in (10, 70, 80, 100)]
    assert change_at_end(points) == pytest.approx(0.2)
    assert change_at_end(points, window=0.1) == pytest.approx(0.0)
    assert change_at_end(points[:1]) == 0.0
