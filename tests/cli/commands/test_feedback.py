from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.data.feedback.verdicts import Feedback

Vse = Callable[..., Any]


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A feedback file: Anna accepted two and took one back, Ben rejected one and agreed with Anna."""
    path = tmp_path / "f.sqlite"
    feedback = Feedback(path)
    for image, label, verdict, by in (
        ("a", "sea", "accept", "anna"),
        ("b", 'quoted, "said"', "accept", "anna"),
        ("a", "fog", "accept", "anna"),
        ("a", "sea", "accept", "ben"),
        ("b", "ice", "reject", "ben"),
    ):
        feedback.add(image, label, verdict, by=by, source="page", confidence=0.5, model="abc")  # type: ignore[arg-type]
    feedback.undo(3, by="anna", model="abc")
    feedback.close()
    return path


def test_json_counts_by_verdict_person_and_day(vse: Vse, judged: Path) -> None:
    answer = vse("feedback", judged, "--json")
    assert (answer.status, answer.err) == (0, "")
    document = answer.document
    assert {name: document[name] for name in ("file", "events", "undone", "in_force", "out", "written")} == {
        "file": str(judged),
        "events": 6,
        "undone": 1,
        "in_force": {"accepted": 2, "rejected": 1},
        "out": None,
        "written": None,
    }
    assert list(document["by_person"].items()) == [
        ("ben", {"accepted": 1, "rejected": 1}),
        ("anna", {"accepted": 1, "rejected": 0}),
    ]
    assert sum(day["accepted"] for day in document["by_day"].values()) == 2
    assert max(document["by_day"]) == datetime.now(UTC).strftime("%Y-%m-%d")


def test_counts_are_shown_as_tables(vse: Vse, judged: Path) -> None:
    answer = vse("feedback", judged)
    assert (answer.status, answer.err) == (0, "")
    lines = [line.split() for line in answer.out.splitlines()]
    assert ["accepted", "2"] in lines
    assert ["person", "accepted", "rejected"] in lines
    assert ["ben", "1", "1"] in lines
    assert ["day", "accepted", "rejected"] in lines


def test_a_file_that_nobody_wrote_to_is_empty(vse: Vse, tmp_path: Path) -> None:
    Feedback(tmp_path / "f.sqlite").close()
    answer = vse("feedback", tmp_path / "f.sqlite", "--out", tmp_path / "pairs.csv")
    assert (answer.status, answer.err) == (0, "")
    assert "person" not in answer.out
    assert (tmp_path / "pairs.csv").read_text() == '"image","label","by","at","model"\n'


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_accepted_pairs_are_written_for_every_command(vse: Vse, judged: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / "new" / f"pairs.{suffix}"
    answer = vse("feedback", judged, "--out", out, "--json")
    assert (answer.document["out"], answer.document["written"]) == (str(out), 2)
    assert Annotations.read(out) == Annotations.from_pairs([("a", "sea"), ("b", 'quoted, "said"')])
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}[suffix]
    frame = read(out)
    assert frame.columns == ["image", "label", "by", "at", "model"]
    assert frame["by"].to_list() == ["ben", "anna"]


def test_bad_input_is_an_error_in_one_line(vse: Vse, judged: Path, pairs: Path, tmp_path: Path) -> None:
    for arguments, sentence in (
        ((tmp_path / "none.sqlite",), "does not exist"),
        ((pairs,), "is not a feedback file; name one that vse serve wrote"),
        ((judged, "--out", tmp_path / "pairs.xlsx"), "must end in one of .csv, .parquet, .jsonl"),
    ):
        answer = vse("feedback", *arguments)
        assert (answer.status, answer.out) == (1, "")
        assert sentence in answer.err
        assert answer.err.count("\n") == 1


def test_formulas_are_defused_in_a_csv_only(vse: Vse, tmp_path: Path) -> None:
    feedback = Feedback(tmp_path / "f.sqlite")
    feedback.add("a", "=1+1", "accept", by="@anna", source="page", confidence=0.5, model="abc")
    feedback.close()
    assert vse("feedback", tmp_path / "f.sqlite", "--out", tmp_path / "x.csv", "--defuse-formulas").status == 0
    assert pl.read_csv(tmp_path / "x.csv").select("image", "label", "by").rows() == [("a", "'=1+1", "'@anna")]
    answer = vse("feedback", tmp_path / "f.sqlite", "--out", tmp_path / "x.parquet", "--defuse-formulas")
    assert (answer.status, answer.out) == (2, "")
    assert "'--defuse-formulas': needs --out FILE.csv" in answer.err
