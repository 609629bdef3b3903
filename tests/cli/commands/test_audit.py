from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vse_ens.annotator import Annotator
from vse_ens.curate.audit.audit import audit_rows

Vse = Callable[..., Any]


def test_json_is_what_the_library_finds(vse: Vse, model: Path) -> None:
    answer = vse("audit", model, "--top", 4, "--json")
    assert (answer.status, answer.err) == (0, "")
    assert answer.document == {**Annotator.load(model).audit(top=4).to_dict(), "out": None, "page": None}


def test_the_screen_shows_the_first_and_the_files_have_all(vse: Vse, model: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "audit.csv", tmp_path / "audit.html"
    answer = vse("audit", model, "--top", 8, "--out", out, "--page", page)
    assert (answer.status, answer.err) == (0, "")
    assert "Labels likely missing: the first 5 of 8\n" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80
    findings = Annotator.load(model).audit(top=8)
    assert findings.missing[4].image in answer.out
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(findings.wrong) + len(findings.missing) + len(findings.duplicates)
    assert [row["image"] for row in rows if row["kind"] == "missing"] == [one.image for one in findings.missing]
    assert all(one.image in page.read_text(encoding="utf-8") for one in findings.missing)


def test_a_short_list_is_shown_whole(vse: Vse, model: Path) -> None:
    answer = vse("audit", model, "--top", 2)
    assert "Labels likely missing: 2\n" in answer.out
    assert answer.out.endswith("use --out FILE.csv, --page FILE.html or --json for all findings\n")


def test_the_share_of_wrong_labels_sets_the_confidence(vse: Vse, model: Path) -> None:
    few, many = (
        vse("audit", model, "--wrong-share", share, "--json").document["wrong"][0]["confidence"]
        for share in (0.01, 0.1)
    )
    assert few < many


def test_progress_counts_all_rows(vse: Vse, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr("vse_ens.cli.console.Progress.__call__", lambda _, done: told.append(done))
    vse("audit", model)
    assert told == sorted(told)
    assert told[-1] == audit_rows(Annotator.load(model).known_)


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["--out", "audit.txt"], 2, "audit.txt must end in .csv"),
        (["--page", "audit.csv"], 2, "audit.csv must end in .html"),
        (["--defuse-formulas"], 2, "'--defuse-formulas': needs --out FILE.csv"),
        (["--top", "0"], 2, "--top must be"),
        (["--wrong-share", "1"], 1, "--wrong-share must lie between 0 and 1"),
    ],
)
def test_bad_input_is_an_error_in_one_line(
    arguments: list[str], status: int, sentence: str, vse: Vse, model: Path
) -> None:
    answer = vse("audit", model, *arguments)
    assert (answer.status, answer.out) == (status, "")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1


def test_a_model_that_is_not_there(vse: Vse, model: Path) -> None:
    answer = vse("audit", model.with_name(f"{model.name}s"))
    assert answer.status == 1
    assert "did you mean" in answer.err
