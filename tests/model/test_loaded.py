from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.support.saved_models import random_annotator
from vse_ens.errors import ModelError
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
