"""Completeness: a worked case, the estimate against a slow twin, per label, and what is saved."""

from __future__ import annotations

import numpy as np
import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.errors import ConfigError
from vse_ens.model import completeness as module
from vse_ens.model.calibration import LABELS, Calibration, Curve, Temperature
from vse_ens.model.completeness import Completeness, Correction, LabelCountLaw, estimate_completeness, wilson_bound
from vse_ens.streams import Streams

POISSON = LabelCountLaw(4.0, 4.0)  # M(r) is 4 for any r


def test_a_worked_case() -> None:
    # Two of three labels are recorded: images lack half as many as they have, 2 of them. n = 2 x 0.25.
    two_thirds = Completeness(np.array([2 / 3], "f4"), POISSON)
    counts = two_thirds.counts(np.array([0.25], "f4"), np.array([3]), np.array([7]))
    assert counts == pytest.approx([0.5])
    assert two_thirds.confidences(counts) == pytest.approx([1 - np.exp(-0.5)])
    corrected = two_thirds.corrected(Correction(np.log(3.0), 2.0, 60))
    assert corrected.confidences(counts) == pytest.approx([1 - np.exp(-3 * 0.25)])
    assert Completeness(np.ones(1, "f4"), POISSON).counts(counts, np.array([3]), np.array([7])) == pytest.approx([0])


def test_the_expected_number_of_missing_labels_is_right_where_it_is_known() -> None:
    # Of Poisson numbers of labels, each of which is kept with probability c, the missing ones have the mean (1 - c) m.
    draws = np.random.default_rng(0)
    every = draws.poisson(6.0, 200_000)
    kept = draws.binomial(every, 0.7)
    law = LabelCountLaw.of(kept)
    missing = Completeness(np.array([0.7], "f4"), law).counts(np.ones(9, "f4"), np.arange(9), np.zeros(9, int))
    for known in range(2, 9):
        assert missing[known] == pytest.approx((every - kept)[kept == known].mean(), rel=0.05)


def test_each_label_has_its_own() -> None:
    data = Annotations.from_pairs([("i", "a"), ("j", "a"), ("k", "b"), ("k", "c")])
    given = Completeness.given({"a": 0.8, "c": 0.2}, data)
    assert given.shares == pytest.approx([0.8, 0.6, 0.2])  # b has the mean, a counting twice
    counts = given.counts(np.ones((2, 2), "f4"), np.array([[1], [2]]), np.array([[0, 2], [2, 0]]))
    assert counts[0, 1] / counts[0, 0] == pytest.approx((0.8 / 0.2) / (0.2 / 0.8))
    grown = given.for_labels(data.labels, Annotations.from_pairs([("i", "aa"), ("i", "c"), ("i", "a")]).labels)
    assert grown.shares == pytest.approx([0.8, given.mean, 0.2])
    one = Completeness.given(0.5, data)
    assert one.for_labels(data.labels, data.labels) is one


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (0.0, "completeness must be above 0"),
        (1.5, "got 1.5"),
        ({"a": -1.0}, "the completeness of 'a'"),
        ({}, "no labels"),
        ({"x": 0.5}, "unknown label 'x'"),
    ],
)
def test_what_cannot_be_is_refused(given: float | dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError if not isinstance(given, dict) or "x" not in given else Exception, match=message):
        Completeness.given(given, Annotations.from_pairs([("i", "a")]))


def slow_estimate(data: Annotations) -> float:
    """The same, label by label."""
    images = {label: {image for image in data.images if label in data.labels_of(image)} for label in data.labels}
    total = weight = 0.0
    for label, own in images.items():
        if len(own) < 20:
            continue
        best = 0.0
        for other, theirs in images.items():
            both = len(own & theirs)
            if other != label and len(theirs) >= 10 and 0 < both < len(theirs):
                best = max(best, float(wilson_bound(np.array([both]), np.array([len(theirs)]), 0.5)[0]))
        total, weight = total + best * len(own), weight + len(own)
    return min(max(total / weight / 0.55, 0.1), 0.9)


def test_the_estimate_is_that_of_a_slow_twin() -> None:
    data = scenes(images=250, labels=60, seed=3)
    rest = data.with_pairs(Streams(0).uniforms(data.pairs) < 0.5)
    assert 0.1 < slow_estimate(rest) < 0.9
    assert estimate_completeness(rest) == pytest.approx(slow_estimate(rest), rel=1e-6)


def test_the_fewer_labels_are_left_the_lower_the_estimate() -> None:
    data = scenes(images=2_000, seed=0)
    draws = Streams(1).uniforms(data.pairs)
    found = [estimate_completeness(data.with_pairs(draws < share)) for share in (0.9, 0.7, 0.5)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.75
    assert found[2] < 0.65


def test_large_data_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    data = scenes(images=1_500, labels=60, seed=0)
    rest = data.with_pairs(Streams(0).uniforms(data.pairs) < 0.5)
    every = estimate_completeness(rest)
    monkeypatch.setattr(module, "_MAX_COUNTED", int((rest.labels_per_image**2).sum()) // 2)
    assert estimate_completeness(rest) != every
    assert estimate_completeness(rest) == pytest.approx(every, abs=0.1)


def test_without_data_the_estimate_is_its_upper_bound() -> None:
    assert estimate_completeness(Annotations.from_pairs([("i", "a"), ("i", "b")])) == 0.9


def test_it_comes_back_from_its_arrays() -> None:
    given = Completeness(np.array([0.25, 0.5], "f4"), LabelCountLaw(3.5, 2.25), True, Correction(-0.5, 1.25, 75))
    back = Completeness.from_arrays(given.arrays())
    assert back is not None
    assert back.shares.tolist() == given.shares.tolist()
    assert (back.law, back.is_given, back.correction) == (given.law, given.is_given, given.correction)
    assert Completeness.from_arrays({}) is None


def test_a_calibration_gives_both_probabilities() -> None:
    knots = np.array([0.0, 1.0], "f4")
    without = Calibration({LABELS: Curve(Temperature(1.0, 0.0), knots, knots)})
    hits = np.array([0.25], "f4")
    assert without.confidences(hits, np.array([3]), np.array([0])) == pytest.approx(hits)
    assert Calibration.from_arrays(without.arrays()).completeness is None  # type: ignore[union-attr]
    with_it = without.with_completeness(Completeness(np.array([0.5], "f4"), POISSON))
    assert with_it.confidences(hits, np.array([3]), np.array([0])) == pytest.approx([1 - np.exp(-1)])
    back = Calibration.from_arrays(with_it.arrays())
    assert back is not None
    assert back.confidences(hits, np.array([3]), np.array([0])) == pytest.approx([1 - np.exp(-1)])
