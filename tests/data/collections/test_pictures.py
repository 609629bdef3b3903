from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.data.collections.pictures import Pictures
from vse_ens.errors import DataError
from vse_ens.model.store import StoredModel, load_model, save_model

DATA = Annotations.from_pairs([("a", "sea"), ("a", "sand"), ("b", "sea"), ("c", "sand")])
PLACES = {"a": "https://example.org/ä.jpg", "c": "/elsewhere/c.jpg"}


@pytest.mark.parametrize("verify", [True, False])
def test_a_saved_model_knows_where_the_pictures_are(tmp_path: Path, verify: bool) -> None:
    known = replace(DATA, pictures=Pictures("/pictures", "coco", PLACES, "/labels/instances.json"))
    save_model(tmp_path / "model", StoredModel({}, {"x": np.zeros(2, np.float32)}, known, ""))
    found = load_model(tmp_path / "model", verify=verify).known.pictures
    assert found is not None
    assert (found.root, found.format, dict(found.locations), len(found.locations)) == ("/pictures", "coco", PLACES, 2)
    assert found.source == "/labels/instances.json"
    assert [found.location(image) for image in "abc"] == [PLACES["a"], "b", PLACES["c"]]


def test_the_model_of_a_file_of_pairs_has_no_pictures(tmp_path: Path) -> None:
    save_model(tmp_path / "model", StoredModel({}, {}, DATA, ""))
    assert load_model(tmp_path / "model").known.pictures is None
    assert "pictures" not in (tmp_path / "model" / "model.json").read_text()


def test_pictures_stay_with_changed_copies() -> None:
    data = replace(DATA, pictures=Pictures("/pictures", "photos"))
    others = Annotations.from_pairs([("d", "sea")])
    assert data.joined(others).pictures == others.joined(data).pictures == data.pictures
    assert data.leave_one_out().train.pictures == data.pictures
    assert data.with_features(np.zeros((3, 2), np.float32)).pictures == data.pictures


@pytest.mark.parametrize("offsets", [[0, 1], [0, 2, 1, 3], [1, 1, 1, 1], [0, 1, 2, 9]])
def test_offsets_that_do_not_fit_are_refused(offsets: list[int]) -> None:
    arrays = {"picture_locations": np.zeros(3, np.uint8), "picture_offsets": np.array(offsets)}
    with pytest.raises(DataError, match="picture_offsets does not describe the locations of 3 images"):
        Pictures.stored({"root": "/", "format": "coco"}, DATA.images, arrays)


@pytest.mark.parametrize(
    "arrays",
    [
        {"picture_offsets": np.zeros(4, np.int64)},
        {"picture_locations": np.zeros(3, np.uint8)},
        {"picture_locations": np.zeros(3, np.int8), "picture_offsets": np.zeros(4, np.int64)},
        {"picture_locations": np.zeros(3, np.uint8), "picture_offsets": np.zeros(4)},
        {"picture_locations": np.zeros(3, np.uint8), "picture_offsets": np.zeros((4, 1), np.int64)},
    ],
    ids=str,
)
def test_arrays_of_another_type_are_refused(arrays: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="must be one-dimensional, of type uint8 and int64"):
        Pictures.stored({"root": "/", "format": "coco"}, DATA.images, arrays)


@pytest.mark.parametrize("settings", [{}, {"root": "/"}, {"root": 1, "format": "coco"}, "photos"])
def test_settings_that_are_not_those_of_pictures_are_refused(settings: Any) -> None:
    with pytest.raises(DataError, match="the settings of pictures have no root or format"):
        Pictures.stored(settings, DATA.images, {})
