"""Pairs by label: those by image read the other way, in memory and in files that appear when they are complete."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from tests.support.baseline_cases import Matrix, annotations, matrices
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.partition import store
from vse_ens.data.partition.build import partition
from vse_ens.data.partition.parts import PartFiles
from vse_ens.data.partition.store import Partition, transpose
from vse_ens.errors import DataError
from vse_ens.kernels.arrays import Csr

NAMES = ("by_label.indptr", "by_label.indices")


@pytest.fixture(scope="module")
def data() -> Annotations:
    return scenes(300, 60)


@pytest.fixture
def pairs(data: Annotations, tmp_path: Path) -> Partition:
    data.to_frame("polars").write_parquet(tmp_path / "all.parquet")
    return partition(PartFiles.find(tmp_path), tmp_path / "sorted", 2)


def in_memory(data: Annotations) -> Csr:
    return transpose(Csr(data.indptr, data.indices), len(data.labels))


def same(one: Csr, other: Csr) -> bool:
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@given(matrix=matrices)
def test_the_images_of_a_label_are_those_that_have_it(matrix: Matrix) -> None:
    found = in_memory(annotations(matrix))
    for label, column in enumerate(matrix.T):
        images = found.indices[found.indptr[label] : found.indptr[label + 1]]
        np.testing.assert_array_equal(images, np.flatnonzero(column))


@pytest.mark.parametrize("block", [1, 7, 299, 300])
def test_blocks_change_nothing(block: int, data: Annotations, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = in_memory(data)
    monkeypatch.setattr(store, "_BLOCK", block)
    assert same(in_memory(data), whole)


def test_files_hold_what_memory_would(data: Annotations, pairs: Partition) -> None:
    pairs.build_label_index()
    assert same(pairs.by_label, in_memory(data))
    assert same(Partition.open(pairs.folder).by_label, in_memory(data))
    assert not list(pairs.folder.glob(".*"))


def test_they_are_made_once(pairs: Partition) -> None:
    pairs.build_label_index()
    made = [(pairs.folder / name).stat().st_mtime_ns for name in NAMES]
    pairs.build_label_index()
    assert [(pairs.folder / name).stat().st_mtime_ns for name in NAMES] == made


def test_interrupted_index_is_made_again(data: Annotations, pairs: Partition, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(store, "transpose_pairs", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            pairs.build_label_index()
    assert not any((pairs.folder / name).exists() for name in NAMES)
    with pytest.raises(DataError, match=r"by_label.indices is missing or truncated; train again"):
        _ = pairs.by_label
    pairs.build_label_index()
    assert same(pairs.by_label, in_memory(data))
    assert not list(pairs.folder.glob(".*"))


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", NAMES)
def test_truncated_index_is_refused_and_made_again(name: str, data: Annotations, pairs: Partition) -> None:
    pairs.build_label_index()
    with (pairs.folder / name).open("r+b") as file:
        file.truncate(8)
    with pytest.raises(DataError, match="is missing or truncated"):
        _ = pairs.by_label
    pairs.build_label_index()
    assert same(pairs.by_label, in_memory(data))


def test_a_folder_that_cannot_be_written_to_is_told(pairs: Partition) -> None:
    (pairs.folder / "by_label.indices").mkdir()
    with pytest.raises(DataError, match=r"by_label\.indptr could not be written: Is a directory"):
        pairs.build_label_index()
