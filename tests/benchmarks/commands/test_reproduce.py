from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.paper.cost import Grid
from benchmarks.paper.training import Limits

from benchmarks.paper import run
from tests.cli.conftest import Answer


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """--quick, but in seconds."""
    effort = run.Effort(
        "quick",
        {"iaprtc12": 0.01, "nuswide": 0.001, "openimages": 0.001},
        Limits(points=1, seconds=0.05, scores=5_000),
        Grid((100,), (50,), at_labels=50),
        readings=("deviation",),
        seeds=1,
        trials=0,
    )
    monkeypatch.setattr(run, "QUICK", effort)


@pytest.mark.slow
def test_the_report_is_written_and_named(vse: Callable[..., Answer], tmp_path: Path) -> None:
    options = ("reproduce", "--quick", "--out", tmp_path, "--workers", "1", "--data-set", "openimages")
    answer = vse(*options)
    assert answer.status == 0
    assert "report.html" in "".join(answer.out.split())  # a long path is folded
    assert "Open Images, deviation, warp, seed 0: recall@10" in answer.err
    assert {"report.html", "report.md", "report.json", "parts"} <= {path.name for path in tmp_path.iterdir()}

    again: Any = vse(*options, "--json").document
    assert again["complete"]
    assert list(again["data_sets"]) == ["openimages"]
    assert set(again["runs"]["openimages"]["deviation"]["models"]) == {"vse-ens", "warp", "opt-auc"}


@pytest.mark.slow
def test_budgets_are_options(vse: Callable[..., Answer], tmp_path: Path) -> None:
    options = ("--seeds", "2", "--trials", "1", "--minutes", "0.0001", "--data-set", "nuswide")
    found: Any = vse("reproduce", "--quick", "--out", tmp_path, "--workers", "1", *options, "--json").document
    assert (found["seeds"], found["trials"], found["limits"]["seconds"]) == (2, 1, pytest.approx(0.006))


def test_file_in_place_of_the_folder_is_refused_first(vse: Callable[..., Answer], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = vse("reproduce", "--quick", "--out", tmp_path / "file")
    assert answer.status == 1
    assert answer.err == f"error: {tmp_path / 'file'} is a file; choose a folder with --out\n"


def test_a_file_that_is_not_there_is_named(vse: Callable[..., Answer], tmp_path: Path) -> None:
    answer = vse("reproduce", "--quick", "--out", tmp_path, "--iaprtc12", tmp_path / "none.csv")
    assert answer.status == 1
    assert "none.csv" in answer.err


def test_an_unknown_data_set_names_the_known_ones(vse: Callable[..., Answer], tmp_path: Path) -> None:
    answer = vse("reproduce", "--out", tmp_path, "--data-set", "flickr")
    assert answer.status == 1
    assert answer.err == "error: --data-set must be one of openimages, nuswide, iaprtc12, got 'flickr'\n"
