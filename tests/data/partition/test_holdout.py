"""Sorted-out pairs without some: those of a split in memory, file by file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.partition import build
from vse_ens.data.partition.build import partition, without_pairs
from vse_ens.data.partition.parts import PartFiles, shard_images
from vse_ens.data.partition.store import Partition
from vse_ens.data.splits import HeldOut, leave_one_out, one_label_each
from vse_ens.errors import DataError


@pytest.fixture(scope="module")
def data() -> Annotations:
    return scenes(200, 50)


@pytest.fixture(scope="module")
def whole(data: Annotations, tmp_path_factory: pytest.TempPathFactory) -> Partition:
    folder = tmp_path_factory.mktemp("parts")
    data.to_frame("polars").write_parquet(folder / "all.parquet")
    return partition(PartFiles.find(folder), folder / "sorted", 3)


@pytest.mark.parametrize("most", [1, 30, None])
def test_remaining_pairs_are_the_training_part_of_a_split(
    data: Annotations, whole: Partition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int | None
) -> None:
    train = leave_one_out(data, 5, name="validation", max_images=most).train
    monkeypatch.setattr(build, "_BLOCK", 17)
    left = without_pairs(whole, one_label_each(whole.known.indptr, 5, "validation", most), tmp_path / "train")
    assert left.known == train
    assert left.counts.pairs == train.pairs
    for shard in range(3):
        wanted = train.rows(shard_images(len(data.images), shard, 3))
        assert all(map(np.array_equal, left.rows(shard), wanted))


def test_holdout_is_reused_and_made_anew_for_other_pairs(whole: Partition, tmp_path: Path) -> None:
    some, others = (one_label_each(whole.known.indptr, seed, "validation", 20) for seed in (1, 2))
    made = without_pairs(whole, some, tmp_path / "train")
    written = (tmp_path / "train" / "indices").stat().st_mtime_ns
    assert without_pairs(whole, some, tmp_path / "train") == made
    assert (tmp_path / "train" / "indices").stat().st_mtime_ns == written
    assert without_pairs(whole, others, tmp_path / "train").digest != made.digest
    assert made.digest != whole.digest


def test_a_place_that_cannot_be_written_to_is_named(whole: Partition, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    nothing = HeldOut(np.empty(0, np.int64), np.empty(0, np.int64))
    with pytest.raises(DataError, match="file/train could not be written: Not a directory"):
        without_pairs(whole, nothing, tmp_path / "file" / "train")
