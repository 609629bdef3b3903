"""Decisions in the file of an audit."""

from __future__ import annotations

from pathlib import Path

import pytest

from vse_ens.data.decisions import Merge, read_decisions
from vse_ens.errors import DataError

HEAD = "kind,image,label,other_label,confidence,reason,decision\n"


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    path = tmp_path / "audit.csv"
    path.write_text(
        f"{HEAD}wrong,a,sea,,0.9,r,accept\nwrong,b,sea,,0.9,r,Reject\nwrong,c,sea,,0.5,r,\nmissing,a,sand,,0.7,r,ADD\n"
        "missing,b,sand,,0.6,r,\nmissing,c,sand,,0.8,r,no\nduplicate,,cars,car,,r,merge\nalike,,mug,cup,,r,accept\n"
        "alike,,oven,sink,,r,\n"
    )
    return path


def test_accepted_rows_of_every_kind(audit: Path) -> None:
    found = read_decisions(audit)
    assert found.remove == [("a", "sea")]
    assert found.add == [("a", "sand")]
    assert found.merge == [Merge("cars", "car", 8), Merge("mug", "cup", 9)]


def test_undecided_findings_are_accepted_from_a_confidence_on(audit: Path) -> None:
    found = read_decisions(audit, accept_from=0.6)
    assert found.remove == [("a", "sea")]
    assert found.add == [("a", "sand"), ("b", "sand")]
    assert [merge.label for merge in found.merge] == ["cars", "mug"]
    assert read_decisions(audit, accept_from=0.0).remove == [("a", "sea"), ("c", "sea")]


def test_a_row_that_ends_early_has_no_decision(tmp_path: Path) -> None:
    (tmp_path / "audit.csv").write_text(f"{HEAD}wrong,a,sea\nwrong,b,sea,,0.9,r,accept\n")
    assert read_decisions(tmp_path / "audit.csv").remove == [("b", "sea")]


def test_file_without_confidences_accepts_nothing_by_them(tmp_path: Path) -> None:
    head = HEAD.replace("confidence,", "")
    (tmp_path / "audit.csv").write_text(f"{head}wrong,a,sea,,r,\nwrong,b,sea,,r,accept\n")
    assert read_decisions(tmp_path / "audit.csv", accept_from=0.1).remove == [("b", "sea")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "is not UTF-8"),
        (b"image,label\n", "has no column 'kind'"),
        (f"{HEAD}odd,a,b,,,,\n".encode(), "line 2 has the kind 'odd'"),
        (
            f"{HEAD}wrong,a,b,,,,\nalike,,b,c,,,maybe\n".encode(),
            "line 3 has the decision 'maybe'; use one of accept, merge",
        ),
    ],
)
def test_a_file_that_is_no_audit_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "audit.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_decisions(path)
    with pytest.raises(DataError, match="cannot be read: no such file"):
        read_decisions(tmp_path / "nowhere.csv")
