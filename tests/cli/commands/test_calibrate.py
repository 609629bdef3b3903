from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vse_ens.annotator import Annotator

Vse = Callable[..., Any]


def first(model: Path) -> Any:
    return Annotator.load(model).annotate("img_0000001", top=1)[0]


def test_a_given_completeness_is_kept_in_the_model(vse: Vse, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = vse("calibrate", model, "--completeness", 0.3, "--out", out, "--json")
    assert answer.document == {
        "model": str(out),
        "completeness": pytest.approx(0.3),
        "given": True,
        "by_label": False,
        "verdicts": 0,
    }
    assert first(out).confidence > first(model).confidence
    assert first(out).hit == first(model).hit
    assert "estimated from the pairs" in vse("calibrate", out).out
    assert first(out) == first(model)


def test_annotate_takes_one_for_a_run(vse: Vse, model: Path, tmp_path: Path) -> None:
    by_label = tmp_path / "labels.csv"
    label = first(model).label
    by_label.write_text(f"label,completeness\n{label},0.3\n")
    found = [
        vse("annotate", model, "img_0000001", "--top", 1, "--json", *more).document[0]["suggestions"][0]
        for more in ((), ("--completeness", 0.3), ("--completeness", by_label))
    ]
    assert found[0]["confidence"] < found[1]["confidence"] == pytest.approx(found[2]["confidence"])
    assert found[0]["hit"] == found[1]["hit"]


def test_questions_and_answers(vse: Vse, model: Path, tmp_path: Path) -> None:
    asked, out = tmp_path / "ask.csv", tmp_path / "out"
    answer = vse("calibrate", model, "--ask", 60, "--out", asked, "--json").document
    with asked.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert answer == {"file": str(asked), "suggestions": len(rows)}
    few = vse("calibrate", model, "--verdicts", asked, "--out", out)
    assert "0 used" in few.out
    for row in rows:
        row["decision"] = "accept"
    with asked.open("w", newline="") as file:
        lines = csv.DictWriter(file, rows[0])
        lines.writeheader()
        lines.writerows(rows[:10])
    few = vse("calibrate", model, "--verdicts", asked, "--out", out)
    assert "note: 10 verdicts change nothing: at least 50 on suggestions are needed" in few.err
    with asked.open("a", newline="") as file:
        csv.DictWriter(file, rows[0]).writerows(rows[10:])
    assert vse("calibrate", model, "--verdicts", asked, "--out", out, "--json").document["verdicts"] == len(rows)
    assert first(out).confidence > first(model).confidence


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--completeness", "much"), "'much' is neither a number such as 0.7 nor a file"),
        (("--completeness", "1.2"), "completeness must be above 0 and at most 1, got 1.2"),
        (("--ask", "20"), "needs --out FILE.csv"),
        (("--ask", "20", "--out", "x.csv", "--completeness", "0.5"), "cannot be combined with --ask"),
    ],
)
def test_bad_input_is_an_error_in_one_line(vse: Vse, model: Path, options: tuple[str, ...], message: str) -> None:
    answer = vse("calibrate", model, *options)
    assert answer.status != 0
    assert message in " ".join(answer.err.split())


def test_a_bad_line_is_named(vse: Vse, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("label,completeness\nsea,0.5\nsand\n")
    answer = vse("calibrate", model, "--completeness", path)
    assert answer.status == 2
    assert "line 3 must be a label and a number, such as beach,0.7" in " ".join(answer.err.split())
