from __future__ import annotations

import numpy as np
import pytest

from vse_ens.errors import ConfigError
from vse_ens.evaluate.reliability import Reliability, binned_calibration_error, reliability


def test_bins_and_error_by_hand() -> None:
    confidences = [0.9, 0.1, 0.3, 0.7, 0.2, 0.8]
    hits = [True, False, True, True, False, False]
    low, middle, high = reliability(confidences, hits, bins=3)
    assert (low.confidence, low.right, low.count) == (pytest.approx(0.15), 0.0, 2)
    assert (middle.confidence, middle.right, middle.count) == (pytest.approx(0.5), 1.0, 2)
    assert (high.confidence, high.right, high.count) == (pytest.approx(0.85), 0.5, 2)
    assert binned_calibration_error(reliability(confidences, hits, bins=3)) == pytest.approx((0.15 + 0.5 + 0.35) / 3)


def test_equal_confidences_stay_together_whatever_their_order() -> None:
    assert reliability([0.5, 0.5, 0.5, 0.5], [1, 0, 1, 0], bins=4) == [Reliability(0.5, 0.5, 4)]
    assert binned_calibration_error(reliability([0.5] * 4, [1, 1, 0, 0])) == 0.0
    assert [one.count for one in reliability([0.25, 0.5, 0.5, 0.5], [0, 1, 0, 1], bins=2)] == [1, 3]


def test_a_rectangle_of_suggestions_is_as_good_as_a_row() -> None:
    confidences, hits = np.arange(12).reshape(4, 3) / 12, np.arange(12).reshape(4, 3) % 2 == 0
    assert reliability(confidences, hits) == reliability(confidences.ravel(), hits.ravel())
    assert len(reliability(confidences, hits, bins=15)) == 12


def test_numbers_that_do_not_match_are_refused() -> None:
    with pytest.raises(ConfigError, match="bins must be at least 1, got 0"):
        reliability([0.5], [True], bins=0)
    with pytest.raises(ConfigError, match="got 1 for 2"):
        reliability([0.5, 0.5], [True])
    with pytest.raises(ConfigError, match="got 0 for 0"):
        reliability([], [])
