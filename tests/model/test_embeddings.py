"""Vectors and scores of every tower, what they are saved as, and what is left of features after training."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from tests.support.kernel_problems import annotations
from vse_ens.model.embeddings import Embeddings

rng = np.random.default_rng(1)
LABELS, BIAS = rng.normal(size=(4, 3)).astype(np.float32), rng.normal(size=4).astype(np.float32)
IDS, MAP = rng.normal(size=(6, 3)).astype(np.float32), rng.normal(size=(5, 3)).astype(np.float32)
NOTHING = np.empty((0, 3), np.float32)
FEATURES = (rng.normal(size=(6, 5)) * (rng.random((6, 5)) < 0.6)).astype(np.float32)
SOME = np.array([4, 0, 4])

# Two of the label pairs have an input vector of their own.
KNOWN = annotations([[0, 1, 3], [2], [0, 1], [0, 1, 2, 3], [1, 2], []], 4)
INPUTS, COMBINATIONS = rng.normal(size=(6, 3)).astype(np.float32), np.array([[1, 2], [0, 1]], np.int32)
SQUARES = {"label_squares": rng.random(4).astype(np.float32), "input_squares": rng.random(6).astype(np.float32)}
CONTEXT = np.array(
    [
        (INPUTS[0] + INPUTS[1] + INPUTS[3]) / np.sqrt(3) + INPUTS[5],
        INPUTS[2],
        (INPUTS[0] + INPUTS[1]) / np.sqrt(2) + INPUTS[5],
        INPUTS[:4].sum(axis=0) / 2 + (INPUTS[4] + INPUTS[5]) / np.sqrt(2),
        (INPUTS[1] + INPUTS[2]) / np.sqrt(2) + INPUTS[4],
        np.zeros(3),
    ]
)


def with_context(ids: np.ndarray, feature_map: np.ndarray) -> Embeddings:
    return Embeddings(LABELS, BIAS, ids, feature_map, INPUTS, COMBINATIONS, **SQUARES)


TOWERS = {
    "id": (Embeddings(LABELS, BIAS, IDS, NOTHING), IDS),
    "features": (Embeddings(LABELS, BIAS, NOTHING, MAP), FEATURES @ MAP),
    "id+features": (Embeddings(LABELS, BIAS, IDS, MAP), IDS + FEATURES @ MAP),
}
# Of these the own part of an image: its context is added.
CONTEXT_TOWERS = {
    "context": (with_context(NOTHING, NOTHING), np.zeros((6, 3))),
    "context+id": (with_context(IDS, NOTHING), IDS),
    "context+features": (with_context(NOTHING, MAP), FEATURES @ MAP),
}


@pytest.mark.parametrize("tower", TOWERS)
@pytest.mark.parametrize("features", [FEATURES, sparse.csr_array(FEATURES), sparse.csr_matrix(FEATURES)])
def test_vectors_and_scores(tower: str, features: object) -> None:
    check_vectors_and_scores(TOWERS[tower][0], features, TOWERS[tower][1])


@pytest.mark.parametrize("tower", CONTEXT_TOWERS)
@pytest.mark.parametrize("features", [FEATURES, sparse.csr_array(FEATURES)])
def test_vectors_and_scores_with_context(tower: str, features: object) -> None:
    check_vectors_and_scores(CONTEXT_TOWERS[tower][0], features, CONTEXT_TOWERS[tower][1] + CONTEXT)


def check_vectors_and_scores(embeddings: Embeddings, features: object, expected: np.ndarray) -> None:
    vectors = embeddings.vectors(SOME, features, KNOWN)
    assert_allclose(embeddings.vectors(slice(1, 5), features, KNOWN), expected[1:5], rtol=1e-5, atol=1e-6)
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
    settled = embeddings.with_features(FEATURES)
    assert_allclose(settled.image_vectors, expected, rtol=1e-5, atol=1e-6)
    assert (settled.feature_map == embeddings.feature_map).all()


@pytest.mark.parametrize("tower", CONTEXT_TOWERS)
def test_settled_vectors_of_a_context_tower_are_the_images_own_parts(tower: str) -> None:
    embeddings, own = CONTEXT_TOWERS[tower]
    settled = embeddings.with_features(FEATURES)
    if tower == "context":
        assert settled is embeddings
        return
    assert_allclose(settled.image_vectors, own, rtol=1e-5, atol=1e-6)
    assert settled.has_context
    assert settled.input_vectors is embeddings.input_vectors


def test_the_context_of_labels_alone_is_that_of_an_image_with_them() -> None:
    embeddings, _ = CONTEXT_TOWERS["context+id"]
    rows = embeddings.context(np.array([0, 3, 3, 4]), np.array([0, 1, 3, 2], np.int32))
    assert_allclose(rows, CONTEXT[[0, 5, 1]], rtol=1e-5, atol=1e-6)


def test_a_context_tower_without_the_known_labels_is_told() -> None:
    with pytest.raises(TypeError, match="needs the known labels"):
        CONTEXT_TOWERS["context"][0].vectors(SOME)


def same(one: Embeddings, other: Embeddings) -> bool:
    ours, theirs = one.arrays(), other.arrays()
    return ours.keys() == theirs.keys() and all(
        ours[name].dtype == theirs[name].dtype and np.array_equal(ours[name], theirs[name]) for name in ours
    )


@pytest.mark.parametrize("tower", ["id+features", *CONTEXT_TOWERS])
def test_arrays_go_out_and_come_back(tower: str) -> None:
    embeddings, _ = (TOWERS | CONTEXT_TOWERS)[tower]
    arrays = embeddings.arrays()
    assert list(arrays) == sorted(arrays)
    again = Embeddings.from_arrays({**arrays, "something else": LABELS})
    assert same(again, embeddings)
    assert again.has_context == ("context" in tower)
    assert embeddings.dimensions == 3


def test_a_model_without_context_saves_nothing_of_it() -> None:
    plain, context = TOWERS["id"][0].arrays(), CONTEXT_TOWERS["context+id"][0].arrays()
    assert context.keys() - plain.keys() == {"input_vectors", "label_pairs", "label_squares", "input_squares"}


def test_an_array_of_the_context_that_is_missing_is_told() -> None:
    arrays = CONTEXT_TOWERS["context"][0].arrays()
    del arrays["input_squares"]
    with pytest.raises(KeyError, match="input_squares"):
        Embeddings.from_arrays(arrays)


@pytest.mark.parametrize("tower", ["id+features", *CONTEXT_TOWERS])
def test_vectors_are_widened_with_zeros_and_cut_again(tower: str) -> None:
    embeddings, _ = (TOWERS | CONTEXT_TOWERS)[tower]
    wide = embeddings.resized(8)
    assert wide.dimensions == 8
    assert wide.has_context == embeddings.has_context
    assert not wide.label_vectors[:, 3:].any()
    assert not wide.input_vectors[:, 3:].any()
    assert same(wide.resized(3), embeddings)
    copy = embeddings.resized(3).arrays()
    assert not any(np.shares_memory(array, copy[name]) for name, array in embeddings.arrays().items())
    both = (each.vectors(SOME, FEATURES, KNOWN) for each in (embeddings, wide))
    assert_allclose(*(vectors[:, :3] for vectors in both), rtol=1e-6)


@pytest.mark.parametrize("tower", ["id", "context+id"])
def test_a_copy_has_memory_of_its_own(tower: str) -> None:
    embeddings, _ = (TOWERS | CONTEXT_TOWERS)[tower]
    copy = embeddings.copy()
    assert same(copy, embeddings)
    assert not any(np.shares_memory(ours, copy.arrays()[name]) for name, ours in embeddings.arrays().items())
