from __future__ import annotations

import pytest

from vse_ens.experiments.paper.draws import Grid, growth, measure_costs, series
from vse_ens.experiments.paper.example import draw_example


def test_growth_is_the_exponent() -> None:
    grid = Grid((50, 100), (100, 1_000, 10_000))
    costs = [
        {"sampler": "naive", "dimensions": k, "labels": a, "nanoseconds": 3.0 * k * a**0.5} for k, a in grid.points()
    ]
    assert growth(costs, "naive", "labels", grid) == pytest.approx(0.5)
    assert growth(costs, "naive", "dimensions", grid) == pytest.approx(1.0)
    assert [x for x, _ in series(costs, "naive", "labels", grid)] == [100, 1_000, 10_000]


def test_every_sampler_is_timed_at_every_grid_point() -> None:
    steps: list[str] = []
    costs = measure_costs(Grid((100,), (60, 120), at_labels=60), 0, steps.append)
    assert steps == ["k = 100, |A| = 60", "k = 100, |A| = 120"]
    assert len(costs) == 8
    for one in costs:
        assert one["nanoseconds"] > 0
        assert one["tries"] >= 1


def test_the_worked_example_follows_the_rule() -> None:
    one = draw_example(0)
    assert (len(one["vector"]), len(one["exact_ranking"])) == (5, 10)
    assert sum(one["factor_chance"]) == pytest.approx(1.0)
    weights = [abs(value) * spread for value, spread in zip(one["vector"], one["spread"], strict=True)]
    assert one["factor_chance"] == pytest.approx([weight / sum(weights) for weight in weights])
    for labels, values in zip(one["rankings"], one["values"], strict=True):
        assert sorted(labels) == sorted(one["exact_ranking"])
        assert values == sorted(values, reverse=True)
    for step in one["steps"]:
        assert step["from_top"] is (one["vector"][step["factor"]] > 0)
        ranking = one["rankings"][step["factor"]]
        assert step["label"] == (ranking if step["from_top"] else ranking[::-1])[step["rank"]]
        assert step["owned"] is (step["label"] in one["labels"])
