from __future__ import annotations

import numpy as np
import pytest

from vse_ens.evaluate.bootstrap import Sample, _poisson_table, intervals
from vse_ens.streams import Streams

STREAMS = Streams(0).child("bootstrap")


def of(values: np.ndarray, streams: Streams = STREAMS) -> np.ndarray:
    return intervals(len(values), [Sample(np.arange(len(values)), values)], streams)[0]


def test_the_weights_are_poisson_numbers() -> None:
    weights = _poisson_table()
    assert weights.mean() == pytest.approx(1.0, abs=1e-4)
    assert weights.var() == pytest.approx(1.0, abs=1e-3)
    assert [np.mean(weights == number) for number in range(4)] == pytest.approx(
        [np.exp(-1), np.exp(-1), np.exp(-1) / 2, np.exp(-1) / 6], abs=2e-5
    )


def test_the_interval_of_a_mean_is_that_of_the_normal_limit() -> None:
    values = np.column_stack([np.random.default_rng(0).normal(3.0, 2.0, 4000), np.arange(4000) % 4 == 0])
    error = values.std(axis=0) / np.sqrt(4000)
    low, high = of(values.astype(float)).T
    assert low == pytest.approx(values.mean(axis=0) - 1.96 * error, abs=0.3 * error.max())
    assert high == pytest.approx(values.mean(axis=0) + 1.96 * error, abs=0.3 * error.max())


def test_intervals_cover_the_truth_as_often_as_stated() -> None:
    numbers = np.random.default_rng(1)
    covered = 0
    for trial in range(30):
        # Columns are independent of each other. Resamples are what takes time, and columns share them.
        low, high = of(numbers.random((60, 10)) ** 2, Streams(trial)).T
        covered += np.count_nonzero((low <= 1 / 3) & (high >= 1 / 3))
    assert 0.90 <= covered / 300 <= 0.98


def test_intervals_are_close_to_drawing_with_replacement() -> None:
    values = np.random.default_rng(2).random(200) ** 3
    drawn = np.random.default_rng(3).integers(0, 200, (20_000, 200))
    expected = np.quantile(values[drawn].mean(axis=1), (0.025, 0.975))
    assert of(values[:, None])[0] == pytest.approx(expected, abs=0.1 * (expected[1] - expected[0]))


def test_a_part_is_resampled_as_if_it_were_alone() -> None:
    values = np.random.default_rng(4).random((5000, 1))
    rows = np.arange(0, 5000, 5)
    whole, part = intervals(5000, [Sample(np.arange(5000), values), Sample(rows, values[rows])], STREAMS)
    error = values[rows].std() / np.sqrt(1000)
    assert part[0] == pytest.approx(values[rows].mean() + np.array([-1.96, 1.96]) * error, abs=0.2 * error)
    assert np.array_equal(whole, of(values))


def test_the_same_seed_gives_the_same_ends_and_another_others() -> None:
    values = np.random.default_rng(5).random((100, 2))
    assert np.array_equal(of(values), of(values))
    assert not np.array_equal(of(values), of(values, Streams(1)))


@pytest.mark.parametrize("images", [1, 2, 1000])
def test_intervals_of_constants_have_no_width(images: int) -> None:
    assert of(np.full((images, 1), 0.1)).tolist() == [[0.1, 0.1]]
