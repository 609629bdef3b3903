"""Command, stored results, report and data sets of the benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.core.benchmark import Benchmark, Check, Score
from benchmarks.core.data_sets import REAL, real, zipf
from benchmarks.core.report import DOCUMENT, fill_sections, section
from benchmarks.core.results import Result, load, store
from benchmarks.suite import SUITE

from benchmarks import __main__ as command


def test_document_matches_stored_results() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    sections = {name: section(benchmark, load(name)) for name, benchmark in SUITE.items()}
    assert text == fill_sections(text, sections), "run: python -m benchmarks report"


@pytest.mark.parametrize(
    ("check", "verdict"),
    [
        (Check("x", 0.79, "at least", 0.8), "**below floor**"),
        (Check("x", 0.80, "at least", 0.8), "met"),
        (Check("x", 0.50, "at least", 0.4, 0.7), "met, goal not yet"),
        (Check("x", 0.70, "at least", 0.4, 0.7), "goal met"),
        (Check("x", 2.01, "at most", 2.0), "**over limit**"),
        (Check("x", 2.00, "at most", 2.0), "met"),
    ],
)
def test_verdict_names_a_missed_promise(check: Check, verdict: str) -> None:
    assert check.verdict == verdict


def test_stored_result_loads_unchanged(tmp_path: Path) -> None:
    result = Result({"date": "2026-01-01"}, 1.5, {"turns": [1, 2]})
    store("speed", result, tmp_path)
    assert load("speed", tmp_path) == result
    assert load("labels", tmp_path) is None


def test_document_needs_markers_for_every_benchmark() -> None:
    assert (
        fill_sections("a\n<!-- x -->\nold\n<!-- /x -->\nb", {"x": r"new \1"})
        == "a\n<!-- x -->\nnew \\1\n<!-- /x -->\nb"
    )
    with pytest.raises(ValueError, match="<!-- y -->"):
        fill_sections("a", {"y": "new"})


def test_zipf_pairs_cover_all_images_and_favour_some_labels() -> None:
    data = zipf(images=500, labels=50)
    assert data.labels_per_image.min() >= 1
    counts = np.sort(data.images_per_label)
    assert counts[-1] > 5 * np.median(counts)


def test_missing_data_sets_are_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.core.data_sets._FOLDER", tmp_path)
    found, skipped = real(REAL)
    assert not found
    assert [sentence.split(":")[0] for sentence in skipped] == list(REAL)


def test_quick_run_uses_small_sizes_and_stores_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stored: list[Result] = []
    reported: list[bool] = []
    benchmark = Benchmark("x", "A claim.", 100.0, 1.0, lambda size: {"size": size, "skipped": ["A reason."]}, _score)
    monkeypatch.setattr(command, "SUITE", {"x": benchmark})
    monkeypatch.setattr(command, "store", lambda _, result: stored.append(result) or tmp_path)
    monkeypatch.setattr(command, "report", lambda: reported.append(True))
    command.main(["x", "--quick"])
    assert not stored
    assert not reported
    shown = capsys.readouterr().out
    assert "| a size | 1.00 | at least 2 |  | **below floor** |" in shown
    assert "Skipped: A reason." in shown
    command.main([])
    assert [result.raw["size"] for result in stored] == [100.0]
    assert reported


def _score(raw: dict[str, Any]) -> Score:
    return Score([Check("a size", raw["size"], "at least", 2.0)])


def test_unknown_benchmark_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        command.main(["speeed"])
    assert "no benchmark 'speeed'" in capsys.readouterr().err
