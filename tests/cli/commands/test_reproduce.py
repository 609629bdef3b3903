from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Answer
from vse_ens.experiments.paper import run
from vse_ens.experiments.paper.draws import Grid
from vse_ens.experiments.paper.learning_curve import Limits


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """--quick, but in seconds."""
    effort = run.Effort(
        "quick",
        {"iaprtc12": 0.01, "nuswide": 0.001, "openimages": 0.001},
        Limits(points=1, seconds=0.05, scores=5_000),
        Grid((100,), (50,), at_labels=50),
    )
    monkeypatch.setattr(run, "QUICK", effort)


@pytest.mark.slow
def test_the_report_is_written_and_named(vse: Callable[..., Answer], tmp_path: Path) -> None:
    answer = vse("reproduce", "--quick", "--out", tmp_path, "--workers", "1")
    assert answer.status == 0
    assert "report.html" in "".join(answer.out.split())  # a long path is folded
    assert "23 of 23: tables 2 and 4: opt-auc on Open Images" in answer.err
    assert {"report.html", "report.json", "parts"} <= {path.name for path in tmp_path.iterdir()}

    again: Any = vse("reproduce", "--quick", "--out", tmp_path, "--workers", "1", "--json").document
    assert again["complete"]
    assert len(again["models"]["openimages"]) == 6


def test_a_file_in_place_of_the_folder_is_refused_before_the_work(vse: Callable[..., Answer], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = vse("reproduce", "--quick", "--out", tmp_path / "file")
    assert answer.status == 1
    assert answer.err == f"error: {tmp_path / 'file'} is a file; choose a folder with --out\n"


def test_a_file_that_is_not_there_is_named(vse: Callable[..., Answer], tmp_path: Path) -> None:
    answer = vse("reproduce", "--quick", "--out", tmp_path, "--iaprtc12", tmp_path / "none.csv")
    assert answer.status == 1
    assert "none.csv" in answer.err
    answer = vse("reproduce", "--quick", "--out", tmp_path, "--paper", tmp_path / "none.json")
    assert answer.status == 1
    assert "none.json could not be read" in answer.err
