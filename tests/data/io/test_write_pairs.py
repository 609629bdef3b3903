from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.data.io import write
from vse_ens.data.io.write import write_as, write_parquet
from vse_ens.errors import ConfigError, DataError

PAIRS = [(f"img {image:03}", f"label {label}") for image in range(50) for label in range(image % 7 + 1)]


@pytest.mark.parametrize("group", [1, 10, 1 << 20])
def test_written_pairs_are_read_again(group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "_GROUP_PAIRS", group)
    data, path = Annotations.from_pairs(PAIRS), tmp_path / "new" / "pairs.parquet"
    write_parquet({path: data})
    assert pl.read_parquet(path).rows() == sorted(PAIRS)
    assert Annotations.read(path) == data
    assert [file.name for file in path.parent.iterdir()] == ["pairs.parquet"]


def test_an_image_without_labels_is_passed_by(tmp_path: Path) -> None:
    data = Annotations.from_pairs(PAIRS).with_pairs(Annotations.from_pairs(PAIRS).indices == 6)
    write_parquet({tmp_path / "pairs.parquet": data})
    assert pl.read_parquet(tmp_path / "pairs.parquet").height == data.pairs == 7


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"pairs\.csv must end in \.parquet"):
        write_as(tmp_path / "pairs.csv", Annotations.from_pairs(PAIRS), "parquet")


def test_when_writing_fails_nothing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def disk_fills_up(data: Annotations) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write, "_groups", disk_fills_up)
    with pytest.raises(DataError, match=r"pairs\.parquet could not be written: No space left on device"):
        write_parquet({tmp_path / "pairs.parquet": Annotations.from_pairs(PAIRS)})
    assert list(tmp_path.iterdir()) == []
