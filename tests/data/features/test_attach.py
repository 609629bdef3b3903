"""Joining features with pairs: every kind of input, missing rows, images without pairs, and growing data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from vse_ens import Annotations
from vse_ens.data.features import FeatureTable, attach_features
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError

ROWS = [[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]]


@pytest.fixture
def data() -> Annotations:
    return Annotations.from_pairs([("a", "x"), ("c", "y"), ("c", "x")])


def kinds(folder: Path) -> dict[str, Any]:
    (folder / "features.csv").write_text("image,u,v\nc,3,4\nb,1,2\n")
    matrix = np.array([[1, 2], [3, 4]], np.float32)
    images = Vocabulary.from_ids(["b", "c"], "image")
    return {
        "mapping": {"c": [3, 4], "b": np.array([1.0, 2.0])},
        "pandas": pd.DataFrame({"image": ["c", "b"], "u": [3, 1], "v": [4.0, 2.0]}),
        "polars lists": pl.DataFrame({"image": ["c", "b"], "vector": [[3.0, 4.0], [1.0, 2.0]]}),
        "path": folder / "features.csv",
        "table": FeatureTable(images, matrix, None),
        "sparse table": FeatureTable(images, sparse.csr_array(matrix), None),
    }


def plain(features: Any) -> Any:
    return features.toarray() if sparse.issparse(features) else features


def test_every_kind_joins_the_same(data: Annotations, tmp_path: Path) -> None:
    for name, features in kinds(tmp_path).items():
        joined = attach_features(data, features)
        assert plain(joined.features).tolist() == ROWS, name
        assert list(joined.images) == ["a", "b", "c"], name
        assert [joined.labels_of(image) for image in joined.images] == [["x"], [], ["x", "y"]], name
        assert joined.notes == ("1 of 3 images have no features", "1 images have features and no pairs"), name
        assert list(data.images) == ["a", "c"]


def test_an_aligned_matrix_has_a_row_per_image(data: Annotations) -> None:
    for matrix in (np.array([[0, 0], [3, 4]]), sparse.csr_array([[0, 0], [3, 4]])):
        joined = attach_features(data, matrix)
        assert plain(joined.features).tolist() == [[0, 0], [3, 4]]
        assert joined.notes == ("1 of 2 images have no features",)
    with pytest.raises(DataError, match="one row for each of 2 images"):
        attach_features(data, np.ones((3, 2)))


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"a": [1.0], "c": [1.0, 2.0]}, "must have one length"),
        ({"a": [np.nan], "c": [1.0]}, "NaN"),
        (pd.DataFrame({"image": ["a", "a"], "u": [1, 2]}), "more than one row for image 'a'"),
        (pd.DataFrame({"image": ["a", "c"], "u": ["p", "q"]}), "column 'u' of the features does not hold numbers"),
        (pd.DataFrame({"image": ["a", "c"]}), "needs an image column and columns"),
        (pd.DataFrame({"image": ["p", "q"], "u": [1, 2]}), "no image of the features is in the pairs"),
        (7, "must be a FeatureTable, a path"),
    ],
)
def test_what_cannot_be_joined_says_why(data: Annotations, features: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        attach_features(data, features)


@pytest.mark.parametrize("kind", ["mapping", "sparse table"])
def test_later_features_replace_earlier_ones(data: Annotations, kind: str, tmp_path: Path) -> None:
    before = attach_features(data, kinds(tmp_path)[kind])
    kept = plain(before.features).copy()
    new = sparse.csr_array([[9.0, 0], [7, 7]]) if kind != "mapping" else np.array([[9.0, 0], [7, 7]], np.float32)
    more = attach_features(
        Annotations.from_pairs([("c", "z")]), FeatureTable(Vocabulary.from_ids(["c", "d"], "image"), new, None)
    )
    joined = before.joined(more)
    assert plain(joined.features).tolist() == [[0, 0], [1, 2], [9, 0], [7, 7]]
    assert joined.labels_of("c") == ["x", "y", "z"]
    assert plain(before.features).tolist() == kept.tolist()
    assert plain(before.joined(Annotations.from_pairs([("e", "x")])).features).tolist() == [*ROWS, [0, 0]]
    assert data.joined(Annotations.from_pairs([("e", "x")])).features is None
    with pytest.raises(DataError, match="same columns as before, got 3 and not 2"):
        before.joined(attach_features(data, {"a": [1.0, 2.0, 3.0]}))
