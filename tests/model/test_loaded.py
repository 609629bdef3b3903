from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.support.random_models import random_case
from tests.support.saved_models import random_annotator
from vse_ens.errors import ConfigError, ModelError
from vse_ens.kernels.arrays import Csr
from vse_ens.model.loaded import LoadedModel, ModelRef


def test_what_is_opened_is_what_was_saved(tmp_path: Path) -> None:
    model = random_annotator("context with weights")
    model.save(tmp_path / "model")
    found = LoadedModel.open(ModelRef.of(tmp_path / "model"))
    assert found.known == model.known_
    assert found.model.label_weights_scale == model.model_.label_weights_scale
    assert found.calibration is not None
    for name, array in model.model_.arrays().items():
        assert np.array_equal(found.model.arrays()[name], array)
        assert not found.model.arrays()[name].flags.writeable


def test_home_is_from_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random_annotator("id").save(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    assert ModelRef.of("model") == ModelRef.of(tmp_path / "model")
    assert ModelRef.of("model").path == str(tmp_path / "model")
    assert ModelRef.of("no model").digest == ""


def test_another_model_in_its_place_is_refused(tmp_path: Path) -> None:
    random_annotator("id").save(tmp_path / "model")
    place = ModelRef.of(tmp_path / "model")
    random_annotator("context").save(tmp_path / "model")
    with pytest.raises(ModelError, match="model has changed since the model was loaded; load it again"):
        LoadedModel.open(place)


def test_a_model_that_a_worker_cannot_see_is_a_sentence(tmp_path: Path) -> None:
    random_annotator("id").save(tmp_path / "model")
    place = ModelRef.of(tmp_path / "model")
    shutil.rmtree(tmp_path / "model")
    with pytest.raises(ModelError, match=r"a cluster worker cannot find the model .*model; save it on"):
        LoadedModel.open(place)


def test_labels_and_own_vectors_make_the_vector_of_an_image() -> None:
    images = np.array([7, 3, 200])
    for kind in ("id and context", "context"):
        model, known = random_case(kind, images=300)
        loaded = LoadedModel(model, known)
        found = loaded.vectors_by_labels(Csr(*known.rows(images)), images)
        np.testing.assert_allclose(found, model.embeddings.vectors(images, known=known), rtol=1e-5, atol=1e-6)
    assert loaded.own_vectors(images) is None


def test_an_unseen_image_needs_a_context_tower_or_fold_in() -> None:
    model, known = random_case("id", images=300)
    images, rows = np.array([4]), Csr(*known.rows(np.array([4])))
    loaded = LoadedModel(model, known)
    assert np.array_equal(loaded.vectors_by_labels(rows, images), model.embeddings.image_vectors[images])
    with pytest.raises(ConfigError, match="needs fold-in"):
        loaded.vectors_by_labels(rows)
    folded = np.ones((1, model.embeddings.dimensions), np.float32)
    assert LoadedModel(model, known, fold_in=lambda _: folded).vectors_by_labels(rows) is folded
