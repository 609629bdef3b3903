"""Probabilities from statistics, against Bayes' rule the slow way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from vse_ens.curate.audit.odds import alone, confidences_of, doubts, fit_logistic_regression
from vse_ens.streams import Streams


def test_odds_are_the_ratio_of_the_densities() -> None:
    # Two normal distributions of variance 1: the log of the ratio of densities is linear.
    streams = Streams(0).child("densities")
    known, controls = (streams.child(n).normals(40_000).reshape(-1, 2) for n in (1, 2))
    weights = fit_logistic_regression(known + np.array([1.0, 0.5]), controls, np.ones(20_000, bool))
    assert weights == pytest.approx([1.0, 0.5, -0.625], abs=0.05)


def test_at_most_one_label_of_an_image_is_wrong() -> None:
    # Image 5 has three labels, image 2 two, image 0 one.
    images, ratios = np.array([5, 2, 5, 0, 5, 2]), np.array([-2.0, 6.0, 1.0, 3.0, 0.0, 6.5])
    prior = 0.1 / 0.9
    for place, doubt in enumerate(doubts(ratios, images)):
        # Of "none is wrong" and "this one is wrong, by itself", for each label of the image.
        cases = [1.0, *(prior * np.exp(ratios[other]) for other in range(6) if images[other] == images[place])]
        probability = prior * np.exp(ratios[place]) / sum(cases)
        assert doubt == pytest.approx(np.log(probability / (1 - probability)))


def test_a_label_without_others_has_no_competition() -> None:
    ratios = np.array([-90.0, 0.0, 79.0])
    assert doubts(ratios, np.array([3, 1, 0])) == pytest.approx(alone(ratios))


def test_two_labels_that_contradict_each_other_share_the_blame() -> None:
    found = doubts(np.array([70.0, 70.0]), np.array([0, 0]))
    assert found == pytest.approx([0.0, 0.0], abs=1e-6)


@pytest.mark.parametrize("share", [0.001, 0.02, 0.5, 0.9])
def test_probabilities_keep_the_expected_mean_and_the_order(share: float) -> None:
    sample = 3.0 * Streams(0).child("sample").normals(2_000) - 4.0
    found = confidences_of(sample, sample, share)
    assert found.mean() == pytest.approx(share, rel=1e-4)
    order = np.argsort(sample)
    assert all(one <= other for one, other in pairwise(found[order].tolist()))
    # A change of the log odds by the same amount for all.
    changed = np.log(found / (1 - found)) - sample
    assert np.ptp(changed[(found > 1e-4) & (found < 0.99)]) < 1e-2


def test_equal_doubts_all_get_the_expected_share() -> None:
    assert confidences_of(np.full(3, 7.0), np.full(3, 7.0), 0.02) == pytest.approx([0.02] * 3)
    assert confidences_of(np.zeros(1), np.zeros(0), 0.02) == pytest.approx([0.5])  # nothing to go by
