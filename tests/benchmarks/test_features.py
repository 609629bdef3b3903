"""The metrics and anchors of the benchmark `features`, on cases worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.accuracy.features import (
    LOGISTIC,
    NEAREST,
    RIDGE,
    SUM,
    image_metrics,
    revealed,
    tuned,
    word_metrics,
)


def test_metrics_by_image_and_by_word() -> None:
    scores = np.pad(np.array([[9.0, 8, 7, 6, 5, 4, 3], [3.0, 4, 5, 6, 7, 8, 9]]), ((0, 0), (0, 5)))
    truth = np.pad(np.array([[1.0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 1, 0]]), ((0, 0), (0, 5)))
    found = image_metrics(scores, truth)
    assert found["precision@1"] == 0.5
    assert found["precision@3"] == pytest.approx(1 / 3)
    assert found["map"] == pytest.approx(((1 + 2 / 7) / 2 + 1 / 2) / 2)
    # Labels 0 and 5 are shown where they are right; 6 is shown for the other image only.
    assert word_metrics(scores, truth) == pytest.approx({"precision": 2 / 3, "recall": 2 / 3, "F1": 2 / 3, "words": 2})


def test_some_labels_are_revealed_and_one_stays() -> None:
    truth = np.array([[1.0, 1, 1, 1, 0], [0, 1, 0, 0, 0], [0, 1, 0, 0, 1]])
    assert revealed(truth, "0").sum() == 0
    assert revealed(truth, "1").sum(axis=1).tolist() == [1, 0, 1]
    assert revealed(truth, "2").sum(axis=1).tolist() == [2, 0, 0]
    assert revealed(truth, "half").sum(axis=1).tolist() == [2, 0, 1]
    assert (revealed(truth, "2") <= truth).all()


@pytest.mark.parametrize("name", [RIDGE, NEAREST, SUM, LOGISTIC])
def test_anchors_learn_what_follows_from_features(name: str) -> None:
    random = np.random.default_rng(0)
    features = random.normal(size=(400, 6)).astype(np.float32)
    labels = (features @ random.normal(size=(6, 12)) > 1).astype(np.float64)
    scorer, settings = tuned(name, features[:300], labels[:300], seed=0)
    chance = image_metrics(random.random((100, 12)), labels[300:])["map"]
    assert image_metrics(scorer(features[300:]), labels[300:])["map"] > chance + 0.2
    assert settings
