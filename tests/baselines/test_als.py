"""The baseline als, with a stand-in for the library, and with the library itself where it is installed."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.support.baseline_cases import annotations, everything
from vse_ens.baselines.als import Als
from vse_ens.data.annotations import Annotations
from vse_ens.errors import MissingPartError


def two_kinds() -> Annotations:
    """Images of one kind or the other, each with two of the three labels of its kind."""
    image, place = np.arange(60)[:, None], np.arange(6)
    return annotations((place // 3 == image % 2) & ((place + image // 2) % 3 > 0))


class StandIn:
    """Takes the number of labels for an image vector, and 1, 2, 3, ... for label vectors."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    def fit(self, matrix: Any, show_progress: bool) -> None:
        assert not show_progress
        self.user_factors = np.asarray(matrix.sum(axis=1), np.float32)
        self.item_factors = np.arange(1, matrix.shape[1] + 1, dtype=np.float32)[:, None]

    def recalculate_user(self, numbers: Any, matrix: Any) -> Any:
        assert len(numbers) == matrix.shape[0]
        return np.asarray(matrix.sum(axis=1), np.float32)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("implicit", "implicit.cpu", "implicit.cpu.als"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(sys.modules["implicit.cpu.als"], "AlternatingLeastSquares", StandIn, raising=False)


@pytest.mark.usefixtures("stand_in")
def test_the_library_is_given_the_settings_and_a_named_seed() -> None:
    fitted = Als(factors=7, regularization=2.0, alpha=3.0, iterations=4, seed=5).fit(two_kinds())
    settings = dict(fitted.model.settings)
    seed = settings.pop("random_state")
    assert settings == {"factors": 7, "regularization": 2.0, "alpha": 3.0, "iterations": 4}
    assert seed == Als(seed=5).fit(two_kinds()).model.settings["random_state"]
    assert seed != Als(seed=6).fit(two_kinds()).model.settings["random_state"]


@pytest.mark.usefixtures("stand_in")
def test_scores_are_products_of_the_vectors() -> None:
    data = annotations(np.array([[1, 1, 0], [0, 0, 1]], dtype=bool))
    fitted = Als().fit(data)
    assert fitted.scores(np.array([1, 0])).tolist() == [[1, 2, 3], [2, 4, 6]]
    assert fitted.score_labels(np.array([0, 3, 3]), np.array([0, 1, 2], np.int32)).tolist() == [[3, 6, 9], [0, 0, 0]]
    assert fitted.knowing(annotations(np.ones((1, 3), dtype=bool))).scores(np.array([0])).tolist() == [[3, 6, 9]]


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "implicit", None)
    with pytest.raises(MissingPartError, match=r'pip install "vse-ens\[als\]"'):
        Als().fit(two_kinds())


def test_the_real_library_finds_the_missing_label() -> None:
    pytest.importorskip("implicit")
    data = two_kinds()
    scores = Als(factors=2, regularization=1.0, alpha=4.0).fit(data).scores(everything(data))
    scores[data.image_numbers(), data.indices] = -np.inf
    assert (scores.argmax(axis=1) // 3 == everything(data) % 2).all()


def test_the_real_library_repeats_itself() -> None:
    pytest.importorskip("implicit")
    first, again, other = (Als(factors=4, seed=seed).fit(two_kinds()) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.model.item_factors, again.model.item_factors)
    np.testing.assert_array_equal(first.image_vectors, again.image_vectors)
    assert (first.model.item_factors != other.model.item_factors).any()


def test_the_real_library_solves_for_a_new_image() -> None:
    pytest.importorskip("implicit")
    baseline, data = Als(factors=4, regularization=0.5, alpha=8.0), two_kinds()
    fitted = baseline.fit(data)
    labels = fitted.model.item_factors.astype(np.float64)
    known = np.array([True, False, True, False, False, False])
    weight = np.where(known, baseline.alpha, 1.0)
    # The minimum over v of sum_a weight_a (known_a - v . v_a)^2 + regularization |v|^2.
    vector = np.linalg.solve(
        (labels.T * weight) @ labels + baseline.regularization * np.eye(4), (labels.T * weight) @ known
    )
    scores = fitted.score_labels(np.array([0, 2]), np.flatnonzero(known).astype(np.int32))
    np.testing.assert_allclose(scores[0], labels @ vector, rtol=1e-3, atol=1e-4)
