from __future__ import annotations

import numpy as np
import pytest

from vse_ens.config import Config
from vse_ens.data.annotations import Split
from vse_ens.evaluate.rank import mean_metrics
from vse_ens.experiments.paper.learning_curve import (
    Limits,
    Point,
    first_reaching,
    measure_learning_curve,
    sample_pairs,
)
from vse_ens.experiments.paper.stand_ins import Shape, stand_in
from vse_ens.presets import preset

CONFIG = preset("vse-ens").override(dimensions=8, epochs=40)


@pytest.fixture(scope="module")
def split() -> Split:
    return stand_in(Shape(300, 60, 1_500, 280)).leave_one_out(0)


def test_a_curve_is_measured_as_training_goes_on(split: Split) -> None:
    curve = measure_learning_curve(CONFIG, split, Limits(points=4), workers=1)
    assert [point.epoch for point in curve.points] == [1, 2, 3, 4, 5, 10, 20, 30, 40]
    seconds = [point.seconds for point in curve.points]
    assert seconds == sorted(seconds)
    assert curve.ending == "all epochs done"
    assert len(curve.epochs) == 40


def test_the_model_kept_is_that_of_the_best_point(split: Split) -> None:
    curve = measure_learning_curve(CONFIG, split, workers=1)
    best = curve.best
    found = mean_metrics(lambda images: best.scores(best.image_vectors[images]), split.train, split.test, 1)
    assert found["recall@10"] == pytest.approx(max(point.recall for point in curve.points))


def test_time_is_up(split: Split) -> None:
    curve = measure_learning_curve(CONFIG, split, Limits(seconds=1e-9), workers=1)
    assert (curve.ending, len(curve.epochs), len(curve.points)) == ("out of time", 1, 1)


def test_a_run_without_progress_ends(split: Split) -> None:
    """So small a step that nothing changes."""
    stuck = Config(sampler="uniform", dimensions=8, epochs=60, learning_rate=1e-12)
    curve = measure_learning_curve(stuck, split, workers=1)
    assert curve.ending == "no improvement"
    assert len(curve.epochs) < 60


def test_the_sample_depends_on_the_seed_only(split: Split) -> None:
    few = sample_pairs(split.test, 50, seed=0)
    assert few.pairs == 50
    assert few == sample_pairs(split.test, 50, seed=0)
    assert few != sample_pairs(split.test, 50, seed=1)
    assert sample_pairs(split.test, 10_000, seed=0) is split.test
    assert np.isin(few.indices, split.test.indices).all()


def test_first_point_at_a_level() -> None:
    points = [Point(1, 0.1, 0.2), Point(2, 0.2, 0.5), Point(3, 0.3, 0.4)]
    assert first_reaching(points, 0.4) == points[1]
    assert first_reaching(points, 0.6) is None
