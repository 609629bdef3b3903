from __future__ import annotations

import numpy as np
import pytest

from tests.support.random_models import random_case
from tests.support.saved_models import KINDS
from vse_ens.evaluate.rank_model import ModelScores
from vse_ens.kernels.arrays import Csr
from vse_ens.model.loaded import LoadedModel
from vse_ens.model.topk import run_serial
from vse_ens.run.threads import Workers


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_the_model(kind: str) -> None:
    model, known = random_case(kind, images=300)
    images = np.random.default_rng(0).permutation(300)[:290]
    found = ModelScores.of_known(model, known, run_serial)(images)
    np.testing.assert_allclose(found, model.scores(images, known), rtol=1e-4, atol=1e-5)
    for count in (2, 3):
        with Workers(count) as workers:
            assert np.array_equal(ModelScores.of_known(model, known, workers.run)(images), found)


def test_images_known_by_labels_have_no_own_vectors() -> None:
    model, known = random_case("context with weights")
    images = np.array([7, 3, 7])
    rows = Csr(known.indptr, known.indices)
    expected = ModelScores.of_known(model, known, run_serial)(images)
    assert np.array_equal(
        ModelScores.of_labels(LoadedModel(model, known), rows, np.arange(len(known.images)), run_serial)(images),
        expected,
    )
    model, known = random_case("id and context")
    vectors = model.embeddings.context(*known.rows(images))
    found = ModelScores.of_labels(LoadedModel(model, known), Csr(known.indptr, known.indices), None, run_serial)(images)
    np.testing.assert_allclose(found, model.embeddings.scores(vectors), rtol=1e-4, atol=1e-5)


def test_no_images_have_no_scores() -> None:
    model, known = random_case("id")
    assert ModelScores.of_known(model, known, run_serial)(np.empty(0, np.int64)).shape == (0, 40)
