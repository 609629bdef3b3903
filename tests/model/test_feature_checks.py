"""A model with features that were damaged, correctly sealed, is refused by the name of the array."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from vse_ens import Annotations, Annotator
from vse_ens.errors import ModelError
from vse_ens.model.checks import check_arrays
from vse_ens.model.store import load_model


@pytest.fixture(scope="module", params=["dense", "sparse"])
def stored(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    random = np.random.default_rng(0)
    matrix = np.maximum(random.normal(size=(60, 5)), 0).astype(np.float32)
    image, label = np.nonzero(matrix @ random.normal(size=(5, 6)) > 0.4)
    pairs = [(f"i{n:02d}", f"l{m}") for n, m in zip(image, label, strict=True)]
    features = {f"i{n:02d}": row for n, row in enumerate(matrix)}
    data = Annotations.from_pairs(pairs)
    given: Any = features
    if request.param == "sparse":
        given = sparse.csr_array(np.stack([features[one] for one in data.images]))
    path: Path = tmp_path_factory.mktemp("model") / "model"
    model = Annotator(epochs=2, dimensions=8).fit(data, features=given)
    model.save(path)
    return load_model(path), model.config_


def refused(stored: Any, name: str, value: Any) -> str:
    model, config = stored
    arrays = dict(model.arrays) | {name: value}
    if value is None:
        del arrays[name]
    with pytest.raises(ModelError) as error:
        check_arrays(arrays, config, len(model.known.images), len(model.known.labels))
    return str(error.value)


def test_a_good_model_is_accepted(stored: Any) -> None:
    model, config = stored
    check_arrays(model.arrays, config, len(model.known.images), len(model.known.labels))


def test_every_missing_array_is_named(stored: Any) -> None:
    for name in stored[0].arrays:
        if name.startswith(("feature_", "features_")) and name not in ("feature_weights", "features_indptr"):
            assert name in refused(stored, name, None) or name == "features_values"


def test_every_other_shape_is_named(stored: Any) -> None:
    for name, array in stored[0].arrays.items():
        if name.startswith(("feature", "confidence_both", "confidence_features")) and name != "feature_map":
            assert refused(stored, name, array[:-1])
            assert refused(stored, name, array.astype(np.float16))


def test_numbers_out_of_range_are_named(stored: Any) -> None:
    arrays = stored[0].arrays
    assert "feature_leverages" in refused(stored, "feature_leverages", arrays["feature_leverages"] + 1)
    assert "feature_folds" in refused(stored, "feature_folds", arrays["feature_folds"] + 2)
    assert "feature_factors" in refused(stored, "feature_factors", -arrays["feature_factors"] - 1)
    assert "feature_weights" in refused(stored, "feature_weights", arrays["feature_weights"] * np.float32(np.nan))
    assert "confidence_features_shares" in refused(
        stored, "confidence_features_shares", arrays["confidence_features_shares"][::-1].copy()
    )
    if "features_indices" in arrays:
        assert "features_indices" in refused(stored, "features_indices", arrays["features_indices"] + 5)
        assert "features_indptr" in refused(stored, "features_indptr", arrays["features_indptr"][::-1].copy())
        assert "columns" in refused(stored, "features_columns", arrays["features_columns"] + 1)
