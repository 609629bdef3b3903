"""Pairs sorted out by image: the same as read at once, whatever the parts, in little memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.partition.build import partition
from vse_ens.data.partition.parts import PartFiles, shard_images
from vse_ens.data.partition.store import Partition
from vse_ens.errors import DataError


@pytest.fixture(scope="module")
def data() -> Annotations:
    return scenes(300, 60)


@pytest.fixture(scope="module")
def parts(data: Annotations, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files, rows in no order, some twice."""
    folder = tmp_path_factory.mktemp("parts")
    frame = data.to_frame("polars").with_columns(pl.lit("ö").alias("other"))
    order = np.random.default_rng(0).permutation(len(frame))
    for number, rows in enumerate(np.array_split(order, 3)):
        frame[np.concatenate([rows, rows[:5]])].write_parquet(folder / f"part-{number}.parquet")
    return folder


@pytest.mark.parametrize("bucket_pairs", [100, 700, 10**6])
def test_partition_has_the_pairs_that_reading_gives(
    data: Annotations, parts: Path, tmp_path: Path, bucket_pairs: int
) -> None:
    made = partition(PartFiles.find(parts), tmp_path / "sorted", 4, bucket_pairs)
    assert made.known == data
    for shard in range(4):
        wanted = data.rows(shard_images(len(data.images), shard, 4))
        assert all(np.array_equal(a, b) for a, b in zip(made.rows(shard), wanted, strict=True))
    assert Partition.open(tmp_path / "sorted") == made
    assert not list(tmp_path.glob(".*"))
    assert not list((tmp_path / "sorted").glob("bucket-*"))


def test_the_digest_is_that_of_the_pairs_alone(data: Annotations, parts: Path, tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    data.to_frame("polars").write_parquet(tmp_path / "whole" / "all.parquet")
    one = partition(PartFiles.find(parts), tmp_path / "one", 2)
    other = partition(PartFiles.find(tmp_path / "whole"), tmp_path / "other", 3, 100)
    assert one.digest == other.digest
    assert one.made_from != other.made_from


def test_lists_of_labels_are_pairs_too(tmp_path: Path) -> None:
    frame = pl.DataFrame({"image": ["b", "a"], "labels": [["x", "y"], ["y"]]})
    frame.write_parquet(tmp_path / "one.parquet")
    made = partition(PartFiles.find(tmp_path), tmp_path / "sorted", 1)
    assert made.known == Annotations.from_pairs([("b", "x"), ("b", "y"), ("a", "y")])


def test_partition_is_reused_unless_parts_or_shards_differ(parts: Path, tmp_path: Path) -> None:
    def made(shards: int) -> int:
        partition(PartFiles.find(parts), tmp_path / "sorted", shards)
        return (tmp_path / "sorted" / "indptr").stat().st_mtime_ns

    first = made(2)
    assert made(2) == first
    assert made(3) != first


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (pl.DataFrame({"image": ["a", None], "label": ["x", "y"]}), r"empty image or label id in rows 1 to 2"),
        (pl.DataFrame({"image": ["a", " "], "label": ["x", "y"]}), r"has a blank image id"),
        (pl.DataFrame({"image": ["a", "b"], "label": ["x", ""]}), r"has a blank label"),
    ],
)
def test_blank_ids_are_refused(frame: pl.DataFrame, told: str, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    frame.write_parquet(tmp_path / "parts" / "one.parquet")
    with pytest.raises(DataError, match=told):
        partition(PartFiles.find(tmp_path / "parts"), tmp_path / "sorted", 1)
    assert not (tmp_path / "sorted").exists()


def test_missing_files_are_named(parts: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no Parquet files, nor pictures"):
        PartFiles.find(tmp_path)
    with pytest.raises(DataError, match="cannot be listed"):
        PartFiles.find(tmp_path / "nothing")
    with pytest.raises(DataError, match=r"holds no partition\.json"):
        Partition.open(tmp_path)
    made = partition(PartFiles.find(parts), tmp_path / "sorted", 2)
    (made.folder / "indices").write_bytes(b"1234")
    with pytest.raises(DataError, match="indices is missing or truncated"):
        Partition.open(made.folder)


@pytest.mark.parametrize("bucket_pairs", [100, 10**6])
def test_progress_is_reported(parts: Path, tmp_path: Path, bucket_pairs: int) -> None:
    told: list[int] = []
    files = PartFiles.find(parts)
    partition(files, tmp_path / "sorted", 2, bucket_pairs, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == files.rows
