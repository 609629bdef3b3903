from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from benchmarks.core.baseline_tuning import tune, tune_ease, tune_image_knn
from numpy.typing import NDArray

from tests.support.baseline_cases import annotations
from vse_ens.baselines.base import Baseline, FittedBaseline, Popularity
from vse_ens.baselines.ease import Ease
from vse_ens.baselines.image_knn import ImageKnn
from vse_ens.data.annotations import Annotations
from vse_ens.data.splits import leave_one_out
from vse_ens.errors import ConfigError


@dataclass(frozen=True)
class Constant(Baseline):
    """The same score for all labels of all images."""

    name: ClassVar[str] = "constant"

    def fit(self, data: Annotations) -> FittedConstant:
        return FittedConstant(data)


class FittedConstant(FittedBaseline):
    def score_labels(self, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.float32]:
        return np.zeros((len(indptr) - 1, len(self.labels)), np.float32)


def two_kinds() -> Annotations:
    """Forty images of the sea and forty of the town, each with four of its six labels."""
    image, place = np.arange(80)[:, None], np.arange(12)
    return annotations((place // 6 == image % 2) & ((place + image // 2) % 3 > 0))


def test_reciprocal_ranks_are_those_of_the_slow_way() -> None:
    data = two_kinds()
    tuning = tune([Popularity(), Constant()], data, seed=3)
    train, test = leave_one_out(data, 3, name="tune-baseline")
    by_popularity = []
    for image in range(len(data.images)):
        (held,) = test.label_numbers(image)
        count = train.images_per_label
        rivals = [count[label] for label in range(12) if label not in train.label_numbers(image)]
        above, equal = sum(rival > count[held] for rival in rivals), sum(rival == count[held] for rival in rivals)
        by_popularity.append(1 / (above + (equal + 1) / 2))
    # Of nine labels that are all alike, any one has an expected rank of 5.
    assert tuning.reciprocal_ranks == pytest.approx([np.mean(by_popularity), 1 / 5])


def test_the_best_is_the_best_and_of_equals_the_first() -> None:
    data = two_kinds()
    assert tune([Constant(), Popularity(), Ease(regularization=1.0)], data).best == Ease(regularization=1.0)
    first = Constant()
    assert tune([first, Constant()], data).best is first


def test_ease_is_tuned_over_the_grid() -> None:
    data = two_kinds()
    tuning = tune_ease(data, grid=(1.0, 1e6), seed=1)
    assert tuning.tried == (Ease(regularization=1.0), Ease(regularization=1e6))
    assert tuning == tune_ease(data, grid=(1.0, 1e6), seed=1)


def test_nothing_to_try_is_an_error() -> None:
    with pytest.raises(ConfigError, match="at least one setting"):
        tune([], two_kinds())


def test_power_is_tuned_over_the_grid() -> None:
    data = annotations(np.random.default_rng(0).random((40, 12)) < 0.3)
    tuning = tune_image_knn(data, grid=(4.0, 16.0), seed=1)
    assert tuning.tried == (ImageKnn(4.0), ImageKnn(16.0))
    assert tuning == tune_image_knn(data, grid=(4.0, 16.0), seed=1)
    assert len(tune_image_knn(data).tried) == 7
