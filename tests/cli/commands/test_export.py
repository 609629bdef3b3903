from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from vse_ens.annotator import Annotator

Vse = Callable[..., Any]


def test_vectors_of_labels_and_images(vse: Vse, model: Path, tmp_path: Path) -> None:
    annotator = Annotator.load(model)
    path = tmp_path / "labels.parquet"
    answer = vse("export", model, "--out", path, "--json")
    dimensions = annotator.embeddings_.dimensions
    labels = len(annotator.known_.labels)
    assert answer.document == {"file": str(path), "what": "labels", "vectors": labels, "dimensions": dimensions}
    frame = pl.read_parquet(path)
    assert frame["id"].to_list() == list(annotator.known_.labels)
    np.testing.assert_array_equal(frame["vector"].to_numpy(), annotator.embeddings_.label_vectors)

    assert vse("export", model, "--what", "images", "--out", tmp_path / "images.npy").status == 0
    assert np.load(tmp_path / "images.npy").shape == (len(annotator.known_.images), dimensions)


def test_a_name_must_tell_the_format(vse: Vse, model: Path, tmp_path: Path) -> None:
    answer = vse("export", model, "--out", tmp_path / "labels.doc")
    assert (answer.status, answer.out) == (1, "")
    assert "labels.doc must end in .parquet, .npy, .txt, .vec, .faiss, .usearch" in answer.err
