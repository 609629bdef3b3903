from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.data.io.write import write_parquet
from vse_ens.errors import DataError

PAIRS = [("img 2", "sea"), ("img 10", "日本"), ("img 2", "007")]


def test_pairs_are_written_sorted_as_text(tmp_path: Path) -> None:
    write_parquet({tmp_path / "new" / "folder" / "a.parquet": Annotations.from_pairs(PAIRS)})
    frame = pl.read_parquet(tmp_path / "new" / "folder" / "a.parquet")
    assert frame.schema == {"image": pl.String, "label": pl.String}
    assert frame.rows() == sorted(PAIRS)
    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == ["a.parquet"]


def test_the_same_pairs_are_the_same_bytes(tmp_path: Path) -> None:
    many = [(f"{image:05}", f"{image % label}") for image in range(3_000) for label in range(1, 8)]
    one, other = tmp_path / "one.parquet", tmp_path / "other.parquet"
    write_parquet({one: Annotations.from_pairs(many), other: Annotations.from_pairs(many[::-1])})
    assert one.read_bytes() == other.read_bytes()


def test_a_file_that_was_there_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("old")
    write_parquet({tmp_path / "a.parquet": Annotations.from_pairs(PAIRS)})
    assert pl.read_parquet(tmp_path / "a.parquet").height == 3


def test_no_file_is_changed_when_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").write_text("old")
    write_table = pq.ParquetWriter.write_table

    def disk_fills_up(writer: pq.ParquetWriter, table: pa.Table) -> None:
        write_table(writer, table)
        if "b.parquet" in str(writer.where):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", disk_fills_up)
    data = Annotations.from_pairs(PAIRS)
    with pytest.raises(DataError, match=r"b\.parquet could not be written: No space left on device"):
        write_parquet({tmp_path / "a.parquet": data, tmp_path / "b.parquet": data})
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]
    assert (tmp_path / "a.parquet").read_text() == "old"


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(DataError, match=r"out/a\.parquet could not be written: "):
        write_parquet({tmp_path / "out" / "a.parquet": Annotations.from_pairs(PAIRS)})
