"""One training: what is measured, and when it ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.paper.numbers import MODELS, PAPER
from benchmarks.paper.stand_ins import Shape, stand_in
from benchmarks.paper.training import (
    METRICS,
    READINGS,
    Limits,
    Stopped,
    TrainingRun,
    paper_config,
    sample_pairs,
    score_function,
)

from vse_ens.data.annotations import Split
from vse_ens.evaluate.rank import mean_metrics


@pytest.fixture(scope="module")
def split() -> Split:
    return stand_in(Shape(300, 60, 1_500, 280)).leave_one_out(0)


def small(model: str = "vse-ens", **settings: Any) -> Any:
    return paper_config(model).override(**{"dimensions": 8, "epochs": 40, "learning_rate": 0.1, **settings})


@pytest.mark.parametrize("model", MODELS)
def test_settings_are_those_that_the_paper_prints(model: str) -> None:
    config, setup = paper_config(model, seed=3), PAPER["setup"]
    assert config.dimensions == setup["dimensions"]
    assert (config.learning_rate, config.regularization) == (
        float(setup["learning_rate"]),
        float(setup["regularization"]),
    )
    assert config.epochs == PAPER["convergence"]["iterations"][model]
    assert (config.engine, config.label_bias, config.seed) == ("serial", False, 3)


def test_both_readings_of_the_initialization() -> None:
    assert READINGS["deviation"] == 0.01
    assert READINGS["variance"] ** 2 == pytest.approx(0.01)
    assert [paper_config("warp", 0, reading).init_scale for reading in READINGS] == list(READINGS.values())


def test_a_curve_is_measured_as_training_goes_on(split: Split) -> None:
    seen: list[int] = []
    run = TrainingRun(small(), split, Limits(points=4), observe=lambda epoch, _model: seen.append(epoch))
    result = run.run()
    assert [point[0] for point in result["points"]] == [1, 2, 3, 4, 5, 10, 20, 30, 40]
    assert seen == [0, 1, 2, 3, 4, 5, 10, 20, 30, 40]
    seconds = [point[1] for point in result["points"]]
    assert seconds == sorted(seconds)
    assert (result["ending"], result["iterations"], len(result["epochs"])) == ("done", 40, 40)
    assert result["projected_seconds"] == result["seconds"] >= sum(epoch["seconds"] for epoch in result["epochs"])


def test_the_last_iteration_counts_and_not_the_best(split: Split) -> None:
    last: list[Any] = []
    result = TrainingRun(small(epochs=60), split, observe=lambda _epoch, model: last.append(model.copy())).run()
    found = mean_metrics(score_function(last[-1], split.train), split.train, split.test, 1)
    assert result["metrics"] == pytest.approx({name: found[name] for name in METRICS})
    assert result["points"][-1][2] == pytest.approx(result["metrics"]["recall@10"])
    ranks = np.array(result["ranks"])
    assert len(ranks) == split.test.pairs
    assert (ranks <= 10).mean() == pytest.approx(result["metrics"]["recall@10"], abs=0.01)


def test_out_of_time_ends_the_iteration_and_projects_the_rest(split: Split) -> None:
    result = TrainingRun(small(), split, Limits(seconds=1e-9)).run()
    assert (result["ending"], result["iterations"], len(result["points"])) == ("out of time", 1, 1)
    assert result["projected_seconds"] == pytest.approx(result["seconds"] + 39 * result["epochs"][-1]["seconds"])


def test_a_training_that_diverges_has_no_accuracy(split: Split) -> None:
    config = small("vse-ens", regularization=0.0, learning_rate=10.0, init_scale=10.0)
    result = TrainingRun(config, split).run()
    assert (result["ending"], result["ranks"], set(result["metrics"].values())) == ("diverged", [], {0.0})


def test_training_stops_when_asked(split: Split) -> None:
    with pytest.raises(Stopped):
        TrainingRun(small(), split, stopped=lambda: True).run()


def test_a_sample_is_always_the_same(split: Split) -> None:
    few = sample_pairs(split.test, 50)
    assert few.pairs == 50
    assert few == sample_pairs(split.test, 50)
    assert sample_pairs(split.test, 10_000) is split.test
