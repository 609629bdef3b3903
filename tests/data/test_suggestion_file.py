from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from vse_ens.data.suggestion_file import Suggested, suggestion_file
from vse_ens.errors import ConfigError

ROWS = [
    Suggested("Bild, 1", "größe", 1.5, 0.25),
    Suggested("b", 'say "x"', -2.0, None),
    Suggested("日本", "c", 0.125, 1.0),
]


def read(path: Path) -> list[Suggested]:
    if path.suffix == ".jsonl":
        return [Suggested(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    frame = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)
    assert frame.columns == list(Suggested._fields)
    return [Suggested(*row) for row in frame.rows()]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_what_is_written_block_by_block_is_read_back(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"new/suggestions{suffix}"
    with suggestion_file(path) as write:
        write(ROWS[:2])
        write([])
        write(ROWS[2:])
        assert not path.exists()
    assert read(path) == ROWS
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_a_file_that_was_not_finished_is_not_there(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"suggestions{suffix}"
    path.write_text("before", encoding="utf-8")
    with pytest.raises(AttributeError), suggestion_file(path) as write:
        write([*ROWS, None])  # type: ignore[list-item]
    assert path.read_text(encoding="utf-8") == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_the_suffix_must_say_what_to_write(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match=r"x\.txt must end in one of \.parquet, \.csv, \.jsonl"),
        suggestion_file(tmp_path / "x.txt"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []
