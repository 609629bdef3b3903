from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from vse_ens.model.calibration import LABELS, Calibration, Curve, Temperature
from vse_ens.model.embeddings import Floats

CURVE = Curve(Temperature(2.0, 0.5), np.array([0, 0.25, 0.5], "f4"), np.array([0, 0.125, 0.5], "f4"))
CALIBRATION = Calibration({LABELS: CURVE})


def whole(calibration: Calibration, scores: Floats, known: int = 1) -> Floats:
    """The confidences of all labels of some rows."""
    counts = np.full(len(scores), known)
    return calibration.held_out_probabilities(scores, calibration.log_totals(scores, counts)[:, None], counts[:, None])


def test_a_worked_case() -> None:
    # Shares at temperature 2: 0.5, 0.25 and twice 0.125; the last two lie half-way to the first knot.
    scores = np.array([[4.0, 2.0, 1.0, 1.0]], "f4") * np.float32(np.log(2))
    scores[0, 1:] = np.log(np.array([0.5, 0.25, 0.25])) * 2 + scores[0, 0]
    assert whole(CALIBRATION, scores)[0] == pytest.approx([0.5, 0.125, 0.0625, 0.0625], rel=1e-5)
    # With four known labels the temperature is twice as high.
    assert whole(CALIBRATION, 2 * scores, known=4)[0] == pytest.approx([0.5, 0.125, 0.0625, 0.0625], rel=1e-5)
    assert np.array_equal(whole(CALIBRATION, scores, known=0), whole(CALIBRATION, scores, known=1))


def test_a_single_entry_is_as_good_as_the_row() -> None:
    scores = np.linspace(-3, 5, 24, dtype=np.float32).reshape(4, 6)
    counts = np.ones(4, np.int64)
    totals = CALIBRATION.log_totals(scores, counts)
    alone = CALIBRATION.held_out_probabilities(scores[[0, 3], [5, 1]], totals[[0, 3]], counts[:2])
    assert np.array_equal(alone, whole(CALIBRATION, scores)[[0, 3], [5, 1]])


def test_known_labels_have_no_share() -> None:
    scores = np.array([[1.0, -np.inf, 1.0], [-np.inf] * 3], "f4")
    assert whole(CALIBRATION, scores).tolist() == [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]


@given(some.lists(some.floats(-1e4, 1e4, width=32), min_size=1, max_size=30))
def test_a_higher_score_is_never_less_likely(scores: list[float]) -> None:
    row = np.sort(np.array(scores, "f4"))[None]
    found = whole(CALIBRATION, row)
    assert (np.diff(found) >= 0).all()
    assert found.min() >= 0
    assert found.max() <= 0.5


def test_extreme_scores_and_a_common_shift_do_not_matter() -> None:
    for shift in (0, 2_000, -60_000):
        scores = np.array([[3e4, -3e4, 3e4]], "f4") + np.float32(shift)
        assert whole(CALIBRATION, scores)[0] == pytest.approx([0.5, 0.0, 0.5], rel=5e-3)


def test_it_comes_back_from_its_arrays() -> None:
    arrays = CALIBRATION.arrays()
    assert all(name.startswith("confidence_") and array.dtype == np.float32 for name, array in arrays.items())
    again = Calibration.from_arrays(arrays)
    assert again is not None
    scores = np.linspace(-3, 5, 24, dtype=np.float32).reshape(4, 6)
    assert np.array_equal(whole(again, scores), whole(CALIBRATION, scores))
    assert Calibration.from_arrays({"label_bias": np.zeros(3)}) is None
