"""The benchmark of the audit."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks.accuracy import audit

from vse_ens.data.datasets.scenes import scenes
from vse_ens.streams import Streams


def test_planted_labels_are_new_and_marked() -> None:
    data = scenes(300, 60)
    noisy, planted = audit.plant(data, 0.05, Streams(0))
    assert noisy.with_pairs(~planted) == data
    assert planted.sum() == pytest.approx(0.05 * data.pairs, abs=2)


def test_area_under_curve_matches_all_comparisons() -> None:
    numbers = np.random.default_rng(0)
    confidences, wrong = numbers.integers(0, 9, 80).astype(np.float32), numbers.random(80) < 0.3
    compared = [(a > b) + 0.5 * (a == b) for a in confidences[wrong] for b in confidences[~wrong]]
    assert audit.area_under_curve(confidences, wrong) == pytest.approx(np.mean(compared))


def test_measures_and_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "real", lambda _: ({"synthetic": scenes(200, 60)}, []))
    raw = json.loads(json.dumps(audit.measure(audit.Sizes(seeds=(0,), epochs=1)), allow_nan=False))
    score = audit.score(raw)
    assert [check.limit for check in score.checks] == [0.92, 10.0, 10.0, 0.1]
    run = raw["sets"]["synthetic"]["runs"][0]
    assert score.checks[0].value == run["wrong"]["auc"]
    chance = run["wrong"]["planted"] / run["wrong"]["pairs"]
    assert score.checks[1].value == pytest.approx(run["wrong"]["first"] / 100 / chance)
    assert score.checks[3].value == run["wrong"]["calibration_error"]
    assert 0.0 < score.checks[3].value < 1.0
    del run["wrong"]["calibration_error"]
    assert len(audit.score(raw).checks) == 3
    assert [row[:2] for row in score.tables[0].rows] == [("synthetic", "0")]
