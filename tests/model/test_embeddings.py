"""Vectors and scores of every tower, and what is left of features once a model is trained."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from vse_ens.model.embeddings import Embeddings

rng = np.random.default_rng(1)
LABELS, BIAS = rng.normal(size=(4, 3)).astype(np.float32), rng.normal(size=4).astype(np.float32)
IDS, MAP = rng.normal(size=(6, 3)).astype(np.float32), rng.normal(size=(5, 3)).astype(np.float32)
NOTHING = np.empty((0, 3), np.float32)
FEATURES = (rng.normal(size=(6, 5)) * (rng.random((6, 5)) < 0.6)).astype(np.float32)
SOME = np.array([4, 0, 4])

TOWERS = {
    "id": (Embeddings(LABELS, BIAS, IDS, NOTHING), IDS),
    "features": (Embeddings(LABELS, BIAS, NOTHING, MAP), FEATURES @ MAP),
    "id+features": (Embeddings(LABELS, BIAS, IDS, MAP), IDS + FEATURES @ MAP),
}


@pytest.mark.parametrize("tower", TOWERS)
@pytest.mark.parametrize("features", [FEATURES, sparse.csr_array(FEATURES), sparse.csr_matrix(FEATURES)])
def test_vectors_and_scores(tower: str, features: object) -> None:
    embeddings, expected = TOWERS[tower]
    vectors = embeddings.vectors(SOME, features)
    assert vectors.dtype == np.float32
    assert_allclose(vectors, expected[SOME], rtol=1e-5, atol=1e-6)
    scores = embeddings.scores(vectors)
    assert scores.dtype == np.float32
    for row, image in enumerate(SOME):
        for label in range(4):
            assert scores[row, label] == pytest.approx(expected[image] @ LABELS[label] + BIAS[label], abs=1e-5)


@pytest.mark.parametrize("tower", TOWERS)
def test_settled_vectors_need_no_features(tower: str) -> None:
    embeddings, expected = TOWERS[tower]
    settled = embeddings.settled(FEATURES)
    assert_allclose(settled.image_vectors, expected, rtol=1e-5, atol=1e-6)
    assert (settled.feature_map == embeddings.feature_map).all()


def test_arrays_go_out_and_come_back() -> None:
    embeddings, _ = TOWERS["id+features"]
    again = Embeddings.from_arrays(embeddings.arrays())
    assert all((array == embeddings.arrays()[name]).all() for name, array in again.arrays().items())
    assert embeddings.dimensions == 3


def test_vectors_are_widened_with_zeros_and_cut_again() -> None:
    embeddings, _ = TOWERS["id+features"]
    wide = embeddings.widened(8)
    assert wide.dimensions == 8
    assert not wide.label_vectors[:, 3:].any()
    again = wide.widened(3)
    assert all((array == embeddings.arrays()[name]).all() for name, array in again.arrays().items())
    assert not np.shares_memory(embeddings.widened(3).label_bias, embeddings.label_bias)


def test_a_copy_has_memory_of_its_own() -> None:
    embeddings, _ = TOWERS["id"]
    copy = embeddings.copy()
    assert not any(np.shares_memory(ours, copy.arrays()[name]) for name, ours in embeddings.arrays().items())
