"""Indexes for Faiss and usearch, opened with these libraries."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.saved_models import random_annotator
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError, MissingPartError
from vse_ens.export.vectors import write_vectors

IDS = Vocabulary.from_ids([f"naïve {number:03}" for number in range(40)], "image")
VECTORS = np.random.default_rng(1).normal(size=(40, 6)).astype(np.float32)


def written(path: Path) -> list[str]:
    write_vectors(path, IDS, 6, (VECTORS[:25], VECTORS[25:]))
    return path.with_suffix(".ids.txt").read_text(encoding="utf-8").splitlines()


def best(query: np.ndarray) -> list[str]:
    """The five ids with the largest inner products, by brute force."""
    return [IDS.id(int(number)) for number in np.argsort(-(VECTORS @ query))[:5]]


def test_faiss_finds_the_largest_inner_products(tmp_path: Path) -> None:
    faiss = pytest.importorskip("faiss")
    ids = written(tmp_path / "images.faiss")
    index = faiss.read_index(str(tmp_path / "images.faiss"))
    _, found = index.search(VECTORS[30:31] * 2, 5)
    assert [ids[number] for number in found[0]] == best(VECTORS[30])
    np.testing.assert_array_equal(index.reconstruct_n(0, 40), VECTORS)


def test_usearch_finds_the_largest_inner_products(tmp_path: Path) -> None:
    usearch = pytest.importorskip("usearch.index")
    ids = written(tmp_path / "images.usearch")
    index = usearch.Index.restore(str(tmp_path / "images.usearch"))
    found = index.search(VECTORS[30] * 2, 5)
    assert [ids[int(number)] for number in found.keys] == best(VECTORS[30])
    np.testing.assert_array_equal(index.get(np.arange(40)), VECTORS)


@pytest.mark.parametrize("suffix", ["faiss", "usearch"])
def test_equal_vectors_give_equal_files(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip(suffix)
    for name in ("one", "two"):
        written(tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", ["faiss", "usearch"])
def test_a_model_exports_both_kinds_of_vectors(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip(suffix)
    model = random_annotator("id", images=30, labels=12)
    model.export_vectors(tmp_path / f"labels.{suffix}")
    model.export_vectors(tmp_path / f"images.{suffix}", "images")
    assert (tmp_path / "labels.ids.txt").read_text().splitlines() == list(model.known_.labels)
    assert (tmp_path / "images.ids.txt").read_text().splitlines() == list(model.known_.images)


@pytest.mark.parametrize("suffix", ["faiss", "usearch"])
def test_an_id_with_a_line_break(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip(suffix)
    with pytest.raises(DataError, match=r"'a\\nb' contains a line break; write a \.parquet file instead"):
        write_vectors(tmp_path / f"a.{suffix}", Vocabulary.from_ids(["a\nb"], "label"), 6, [VECTORS[:1]])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("suffix", "module", "extra"), [("faiss", "faiss", "faiss"), ("usearch", "usearch.index", "index")]
)
def test_without_the_library(
    tmp_path: Path, suffix: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPartError, match=rf"needs the library {suffix}: pip install 'vse-ens\[{extra}\]'"):
        written(tmp_path / f"a.{suffix}")
