"""Confidences where the truth is known: a small case, what is removed, and what is checked."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.accuracy.confidence import CONFIDENCE, Sizes, _measure, removed, score

from vse_ens.data.datasets.scenes import scenes
from vse_ens.streams import Streams


def test_confidences_are_nearer_to_the_truth_than_hits() -> None:
    errors = _measure(Sizes(images=1_500, draws=2, epochs=8), rate=0.5, by_label=False, seed=3)
    assert errors["completeness"] == pytest.approx(0.5, abs=0.02)
    assert errors["given"] < 0.5 * errors["hit"]
    assert errors["estimated"] < errors["hit"]
    assert errors["200"] < errors["hit"]


def test_removed_labels_depend_on_the_law() -> None:
    data = scenes(images=1_000, seed=0)
    for by_label in (False, True):
        gone = removed(data, 0.3, by_label, Streams(0))
        assert gone.mean() == pytest.approx(0.3, abs=0.04)
        frequent = np.flatnonzero(data.images_per_label > 30)
        rates = [gone[data.indices == label].mean() for label in frequent]
        assert (np.std(rates) > 0.1) == by_label


def test_estimate_is_judged_by_the_hit_others_by_a_limit() -> None:
    facts = {"hit": [0.1, 0.2], "estimated": [0.04, 0.05], "given": [0.5, 0.5], "by label": [0.02, 0.04]}
    facts |= {"50": [0.1, 0.1], "200": [0.01, 0.02], "completeness": [0.7, 0.7], "estimate": [0.6, 0.8]}
    raw = {"cases": {"30 % removed by label": facts}, "draws": 1, "images": 9, "skipped": []}
    found = {check.name: (round(check.value, 6), check.verdict) for check in score(raw).checks}
    assert found == {
        "30 % removed by label, estimated / hit": (0.3, "met"),
        "30 % removed by label, completeness given by label": (0.03, "met"),
        "30 % removed by label, 200 verdicts": (0.015, "met"),
    }
    assert CONFIDENCE.full.seeds == (10, 11, 12)
