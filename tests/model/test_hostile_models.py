"""Every hostile but correctly sealed model is refused with a ModelError: none corrupts memory, crashes or hangs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.hostile_models import BASES, Hostile, hostile_models, save_bases, spoil_copy
from tests.support.saved_models import random_annotator
from tests.support.stored_models import reseal
from vse_ens.annotator import Annotator
from vse_ens.errors import ModelError
from vse_ens.model.loaded import LoadedModel, ModelRef

CASES = list(hostile_models())


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bases")
    save_bases(folder)
    return folder


def test_there_are_many_cases_of_different_names() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 170


@pytest.mark.parametrize("kind", BASES)
@pytest.mark.parametrize("verify", [True, False])
def test_the_good_models_load(bases: Path, kind: str, verify: bool) -> None:
    assert Annotator.load(bases / kind, verify=verify).annotate("image-00003", explain=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_is_refused_on_every_load(bases: Path, tmp_path: Path, case: Hostile) -> None:
    model = spoil_copy(case, bases, tmp_path)
    for verify in (True, False):
        with pytest.raises(ModelError, match=r"copy the model again or retrain it$") as refused:
            _use(Annotator.load(model, verify=verify))
        assert "\n" not in str(refused.value)
    with pytest.raises(ModelError):
        _use_loaded(LoadedModel.open(ModelRef.of(model)))


def _use(model: Annotator) -> None:
    """Numbers of image vectors are checked when they are used."""
    model.annotate(list(model.known_.images))


def _use_loaded(loaded: LoadedModel) -> None:
    loaded.model.scores(np.arange(len(loaded.known.images)), loaded.known)


def test_an_image_vector_is_checked_when_it_is_used(tmp_path: Path) -> None:
    random_annotator("id and context", 30, 12).save(tmp_path / "model")
    raw = bytearray((tmp_path / "model" / "arrays.safetensors").read_bytes())
    good = Annotator.load(tmp_path / "model")
    row = good.embeddings_.image_vectors[7].tobytes()
    place = raw.index(row)
    raw[place : place + 4] = np.float32(np.nan).tobytes()
    (tmp_path / "model" / "arrays.safetensors").write_bytes(raw)
    reseal(tmp_path / "model")
    model = Annotator.load(tmp_path / "model", verify=False)
    ids = list(model.known_.images)
    assert model.annotate(ids[6]) == good.annotate(ids[6])
    for use in (
        lambda: model.annotate(ids[7]),
        lambda: model.search([model.known_.labels.id(0)]),
        lambda: model.similar_images(ids[6]),
        lambda: model.audit(),
        lambda: model.export_vectors(tmp_path / "vectors.npy", "images"),
    ):
        with pytest.raises(ModelError, match=r"'image_vectors' contains numbers that are not finite"):
            use()
