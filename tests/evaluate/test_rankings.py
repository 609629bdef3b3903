from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given

from tests.support.brute_force import Problem, problems
from vse_ens.errors import DataError
from vse_ens.evaluate import bootstrap
from vse_ens.evaluate.rankings import Rankings
from vse_ens.evaluate.report import summarize

PROBLEM = Problem(
    {"a": {"größe": 2.0, "sea": 1.0, "日本": 1.0}, "b": {"größe": 0.0, "sea": 1.0, "日本": 1.0}},
    {"a": {"sea"}, "b": set()},
    {"a": {"größe", "unseen"}, "b": {"sea"}, "stranger": {"sea"}},
)


@pytest.mark.unhurried
@given(problem=problems())
def test_all_that_metrics_need_comes_back(problem: Problem, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("rankings") / "rankings.parquet"
    before = problem.rank(top=3)
    before.save(path)
    after = Rankings.load(path)
    with patch.object(bootstrap, "RESAMPLES", 50):
        assert summarize(after, tops=(1, 3)) == summarize(before, tops=(1, 3))
    assert after.images == before.images
    assert after.labels.ids(after.label) == before.labels.ids(before.label)
    assert after.top.shape == before.top.shape


def test_the_file_is_in_words(tmp_path: Path) -> None:
    PROBLEM.rank(top=2).save(tmp_path / "new" / "rankings.parquet")
    frame = pl.read_parquet(tmp_path / "new" / "rankings.parquet")
    assert frame.rows(named=True) == [
        {
            "image": "a",
            "candidates": 2,
            "labels": ["größe", "unseen"],
            "above": [0, 2],
            "tied": [1, 0],
            "seen": [0, 0],
            "top": ["größe", "日本"],
        },
        {
            "image": "b",
            "candidates": 3,
            "labels": ["sea"],
            "above": [0],
            "tied": [2],
            "seen": [1],
            "top": ["sea", "日本"],
        },
        {
            "image": "stranger",
            "candidates": -1,
            "labels": ["sea"],
            "above": [0],
            "tied": [0],
            "seen": [1],
            "top": [],
        },
    ]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["rankings.parquet"]


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing.parquet does not exist"):
        Rankings.load(tmp_path / "nothing.parquet")
    (tmp_path / "text.parquet").write_text("image,label\n")
    with pytest.raises(DataError, match=r"text.parquet cannot be read as Parquet"):
        Rankings.load(tmp_path / "text.parquet")
    pl.DataFrame({"image": ["a"], "label": ["sea"]}).write_parquet(tmp_path / "pairs.parquet")
    with pytest.raises(DataError, match=r"pairs.parquet has no rankings"):
        Rankings.load(tmp_path / "pairs.parquet")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"file/rankings.parquet could not be written"):
        PROBLEM.rank().save(tmp_path / "file" / "rankings.parquet")


def test_only_some_pairs() -> None:
    rankings = PROBLEM.rank()
    part = rankings.only(rankings.tied > 0)
    assert list(part.images) == ["a", "b"]
    assert part.labels.ids(part.label) == ["größe", "sea"]
    assert (part.indptr.tolist(), part.candidates.tolist(), part.tied.tolist()) == ([0, 1, 2], [2, 3], [1, 2])
