"""Scores are sums of products of vectors, label weights and neighbors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.kernel_problems import annotations
from vse_ens.kernels.arrays import Csr
from vse_ens.model.checkpoint_store import load_state, save_state
from vse_ens.model.embeddings import Embeddings
from vse_ens.model.model import Model
from vse_ens.model.weights import LabelWeights

LABELS, DIMENSIONS = 7, 4
KNOWN = annotations([[0, 3], [], [2], [1, 4, 6]], LABELS)
_numbers = np.random.default_rng(9)


def normal(*shape: int) -> Any:
    return _numbers.normal(size=shape).astype(np.float32)


IDS = Embeddings(normal(LABELS, DIMENSIONS), normal(LABELS), normal(4, DIMENSIONS), normal(0, DIMENSIONS))
CONTEXT = replace(
    IDS,
    image_vectors=normal(0, DIMENSIONS),
    input_vectors=normal(LABELS, DIMENSIONS),
    label_squares=normal(LABELS),
    input_squares=normal(LABELS),
)
WEIGHTS = LabelWeights(normal(LABELS, LABELS))
MODELS = {
    "id": Model(IDS),
    "context": Model(CONTEXT),
    "id with weights": Model(IDS, WEIGHTS, 2.5),
    "context with weights": Model(CONTEXT, WEIGHTS, 20.0),
    "weights with a scale of 0": Model(IDS, WEIGHTS, 0.0),
}


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_what_the_definition_says(name: str) -> None:
    model = MODELS[name]
    images = np.array([3, 0, 1, 3])
    scores = model.scores(images, KNOWN)
    vectors = model.embeddings.vectors(images, known=KNOWN)
    expected = vectors @ model.embeddings.label_vectors.T + model.embeddings.label_bias
    for row, image in enumerate(images):
        expected[row] += model.label_weights_scale * WEIGHTS.values[KNOWN.label_numbers(image)].sum(axis=0)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(model.scores_of(vectors, Csr(*KNOWN.rows(images)), images), scores)


def test_an_image_of_which_nothing_is_known_is_told_by_its_vector_alone() -> None:
    with_weights, without = (MODELS[name].scores(np.array([1]), KNOWN) for name in ("id with weights", "id"))
    np.testing.assert_array_equal(with_weights, without)
    np.testing.assert_array_equal(MODELS["context with weights"].scores(np.array([1]), KNOWN)[0], CONTEXT.label_bias)


def test_a_model_with_features_included_scores_without_them() -> None:
    features = normal(4, 3)
    embeddings = replace(CONTEXT, feature_map=normal(3, DIMENSIONS))
    model = Model(embeddings, WEIGHTS, 3.0)
    images = np.arange(4)
    expected = model.scores(images, KNOWN, features)
    included = model.with_features(features)
    np.testing.assert_allclose(included.scores(images, KNOWN), expected, rtol=1e-5, atol=1e-5)
    assert (included.label_weights, included.label_weights_scale) == (WEIGHTS, 3.0)


@pytest.mark.parametrize("name", MODELS)
def test_arrays_go_out_and_come_back(name: str, tmp_path: Path) -> None:
    model = MODELS[name]
    save_state(tmp_path / "state", model.arrays(), {})
    again = Model.from_arrays(load_state(tmp_path / "state").arrays, model.label_weights_scale)
    assert again.arrays().keys() == model.arrays().keys()
    assert (again.label_weights is None) is (model.label_weights is None)
    images = np.arange(4)
    np.testing.assert_array_equal(again.scores(images, KNOWN), model.scores(images, KNOWN))
