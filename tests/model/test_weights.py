"""Dense and sparse label weights give the same scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from vse_ens.kernels.arrays import Csr
from vse_ens.model.checkpoint_store import load_state, save_state
from vse_ens.model.weights import LabelWeights

LABELS = 9
_numbers = np.random.default_rng(2)
WEIGHTS = (_numbers.normal(size=(LABELS, LABELS)) * (_numbers.random((LABELS, LABELS)) < 0.4)).astype(np.float32)
_rows = sparse.csr_array(WEIGHTS)
FORMS = {
    "dense": LabelWeights(WEIGHTS),
    "sparse": LabelWeights(_rows.data, _rows.indptr.astype(np.int64), _rows.indices.astype(np.int32)),
}
KNOWN = Csr(np.array([0, 2, 2, 5]), np.array([1, 8, 0, 3, 4], np.int32))
SCALES = np.array([0.5, 3.0, -2.0], np.float32)


@pytest.mark.parametrize("form", FORMS)
def test_scores_are_added_by_the_known_labels(form: str) -> None:
    scores = np.ones((3, LABELS), np.float32)
    FORMS[form].add_scores(KNOWN, SCALES, scores)
    expected = [1 + 0.5 * (WEIGHTS[1] + WEIGHTS[8]), np.ones(LABELS), 1 - 2 * WEIGHTS[[0, 3, 4]].sum(axis=0)]
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_weights_between_labels(form: str) -> None:
    some = np.array([7, 0, 8, 2])
    for label in range(LABELS):
        found = FORMS[form].weights_between(some, label)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, WEIGHTS[some, label])
        np.testing.assert_array_equal(FORMS[form].weights_for(label), WEIGHTS[:, label])
    assert FORMS[form].weights_between(np.array([], np.int64), 3).shape == (0,)


@pytest.mark.parametrize("form", FORMS)
def test_it_is_saved_and_comes_back(form: str, tmp_path: Path) -> None:
    weights = FORMS[form]
    save_state(tmp_path / "state", weights.arrays(), {})
    again = LabelWeights.from_arrays(load_state(tmp_path / "state").arrays)
    assert again is not None
    assert again.is_dense == weights.is_dense
    scores = np.zeros((3, LABELS), np.float32)
    again.add_scores(KNOWN, SCALES, scores)  # from read-only arrays
    assert scores.any()


def test_no_arrays_are_no_label_weights() -> None:
    assert LabelWeights.from_arrays({"label_bias": np.zeros(3)}) is None
