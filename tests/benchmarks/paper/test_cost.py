"""The cost of a step, and how it grows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.paper.cost import Exponent, Grid, growth, measure_costs, relative_growth, series

GRID = Grid((50, 100, 200), (100, 1_000, 10_000))


def test_growth_is_the_exponent() -> None:
    costs = [
        {"sampler": "naive", "dimensions": k, "labels": a, "nanoseconds": 3.0 * k * a**0.5} for k, a in GRID.points()
    ]
    assert growth(costs, "naive", "labels", GRID) == pytest.approx((0.5, 0.5, 0.5))
    assert growth(costs, "naive", "dimensions", GRID).value == pytest.approx(1.0)
    assert [x for x, _ in series(costs, "naive", "labels", GRID)] == [100, 1_000, 10_000]


def test_cost_that_two_samplers_share_cancels() -> None:
    costs = [
        {"sampler": sampler, "dimensions": k, "labels": a, "nanoseconds": factor * a**0.3}
        for k, a in GRID.points()
        for sampler, factor in (("vse-ens", 2.0), ("opt-auc", 1.0))
    ]
    assert relative_growth(costs, "vse-ens", "opt-auc", "labels", GRID).value == pytest.approx(0.0, abs=1e-12)


def test_scatter_widens_the_interval() -> None:
    xs = [10.0**power for power in range(2, 8)]
    noise = np.random.default_rng(0).normal(0, 0.2, len(xs))
    exponent = Exponent.fitted([(x, x**0.5 * math.exp(e)) for x, e in zip(xs, noise, strict=True)])
    assert exponent.low < 0.5 < exponent.high
    assert 0.01 < exponent.high - exponent.low < 0.3
    assert Exponent.fitted([(1.0, 1.0), (2.0, 2.0)]) == (pytest.approx(1.0), -math.inf, math.inf)


def test_every_sampler_is_timed_at_every_grid_point() -> None:
    steps: list[str] = []
    costs = measure_costs(Grid((100,), (60, 120), at_labels=60), steps.append)
    assert steps == ["k = 100, |A| = 60", "k = 100, |A| = 120"]
    assert len(costs) == 8
    for one in costs:
        assert one["nanoseconds"] > 0
        assert one["tries"] >= 1
