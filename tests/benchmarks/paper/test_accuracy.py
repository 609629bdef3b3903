"""Means over seeds, their intervals, and paired differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.paper.accuracy import accuracy, differences, image_values
from benchmarks.paper.training import METRICS


def run(ranks: Any, labels: int = 50) -> dict[str, Any]:
    values = np.asarray(ranks)
    return {
        "ranks": values.tolist(),
        "metrics": {metric: float(image_values(metric, values, labels).mean()) for metric in METRICS},
    }


def test_metrics_of_one_rank_worked_by_hand() -> None:
    ranks = np.array([1, 3, 10, 11, 50])
    assert image_values("recall@5", ranks, 50).tolist() == [1, 1, 0, 0, 0]
    assert image_values("precision@10", ranks, 50) == pytest.approx([0.1, 0.1, 0.1, 0, 0])
    assert image_values("map", ranks, 50) == pytest.approx([1, 1 / 3, 0.1, 1 / 11, 0.02])
    assert image_values("auc", ranks, 50) == pytest.approx([1, 47 / 49, 40 / 49, 39 / 49, 0])
    assert image_values("auc@10", ranks, 50) == pytest.approx([1, 47 / 49, 40 / 49, 0.5, 0.5])


def test_interval_of_a_share_is_that_of_a_binomial() -> None:
    ranks = np.where(np.arange(1_000) < 300, 1, 40)
    estimate = accuracy([run(ranks)], 50)["recall@10"]
    half = 1.96 * np.sqrt(0.3 * 0.7 / 999)
    assert estimate == pytest.approx((0.3, 0.3 - half, 0.3 + half), rel=1e-3)


def test_seeds_that_differ_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    runs = [run(np.where(rng.random(4_000) < share, 1, 40)) for share in (0.2, 0.3, 0.4)]
    estimate = accuracy(runs, 50)["recall@10"]
    assert estimate.mean == pytest.approx(0.3, abs=0.01)
    # Student's t with about two degrees of freedom: the seeds differ by more than the images explain.
    assert estimate.high - estimate.mean == pytest.approx(4.3 * 0.1 / np.sqrt(3), rel=0.15)


def test_differences_are_paired_by_image() -> None:
    """Two models that miss the same images differ by little, however uncertain each is."""
    rng = np.random.default_rng(1)
    worse = np.where(rng.random(2_000) < 0.3, 1, 40)
    better = worse.copy()
    better[np.flatnonzero(worse == 40)[:30]] = 1
    found = differences([run(better)], [run(worse)], 50)
    assert found is not None
    lead = found["recall@10"]
    assert lead.mean == pytest.approx(0.015)
    assert 0 < lead.low < lead.mean < lead.high < 0.021
    own = accuracy([run(better)], 50)["recall@10"]
    assert own.high - own.low > 3 * (lead.high - lead.low)


def test_without_ranks_there_is_no_difference() -> None:
    diverged = {"ranks": [], "metrics": dict.fromkeys(METRICS, 0.0)}
    assert differences([run([1, 2])], [diverged], 50) is None
    assert accuracy([diverged], 50)["map"] == (0.0, 0.0, 0.0)
