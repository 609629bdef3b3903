"""Command, stored results, report and data sets of the benchmarks."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.core.benchmark import Benchmark, Check, Parts, Score
from benchmarks.core.data_sets import REAL, real, zipf
from benchmarks.core.report import DOCUMENT, fill_sections, section
from benchmarks.core.results import Result, load, store
from benchmarks.core.sources import digests
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
    result = Result({"date": "2026-01-01"}, 1.5, {"turns": [1, 2]}, {"train": "0123"})
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


def test_zipf_pairs_cover_all_images_and_favor_some_labels() -> None:
    data = zipf(images=500, labels=50)
    assert data.labels_per_image.min() >= 1
    counts = np.sort(data.images_per_label)
    assert counts[-1] > 5 * np.median(counts)


def test_missing_data_sets_are_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.core.data_sets._FOLDER", tmp_path)
    found, skipped = real(REAL)
    assert not found
    assert [sentence.split(":")[0] for sentence in skipped] == list(REAL)


class Run:
    """The command with one benchmark and other processes that use ``cores`` cores."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cores: float | None = 0.0, **settings: Any) -> None:
        self.stored: list[Result] = []
        self.reports = 0
        benchmark = Benchmark(
            "x",
            "A claim.",
            100.0,
            1.0,
            lambda size: {"size": size, "skipped": ["A reason."]},
            _score,
            measures=("errors",),
            repetitions=lambda size: int(size) // 20,
            **settings,
        )
        monkeypatch.setattr(command, "SUITE", {"x": benchmark})
        monkeypatch.setattr(command, "OtherProcesses", lambda: _Fixed(cores))
        monkeypatch.setattr(command, "store", lambda _, result: self.stored.append(result))
        monkeypatch.setattr(command, "report", self._report)

    def _report(self) -> None:
        self.reports += 1


class _Fixed:
    def __init__(self, cores: float | None) -> None:
        self.cores = cores

    def __enter__(self) -> _Fixed:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_quick_run_uses_small_sizes_and_stores_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(monkeypatch, cores=1.0)
    command.main(["x", "--quick"])
    assert not run.stored
    assert not run.reports
    shown = capsys.readouterr().out
    assert "| a size | 1.00 | at least 2 |  | **below floor** |" in shown
    assert "Skipped: A reason." in shown


def test_result_names_commit_processor_load_and_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch, cores=0.1)
    command.main([])
    (result,) = run.stored
    assert run.reports == 1
    assert result.raw["size"] == 100.0
    assert {"date", "commit", "cpu", "cores", "load"} <= set(result.machine)
    assert (result.machine["repetitions"], result.machine["others"]) == (5, 0.1)
    assert result.sources == digests(["errors"])


def test_times_of_a_busy_machine_are_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(monkeypatch, cores=0.2)
    with pytest.raises(SystemExit, match="1"):
        command.main(["x"])
    assert not run.stored
    assert "the result of x was not stored: other processes used 0.20 cores" in capsys.readouterr().err
    command.main(["x", "--allow-busy"])
    assert run.stored[0].machine["others"] == 0.2


def test_a_missed_required_check_fails_the_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(monkeypatch)
    benchmark = command.SUITE["x"]
    for value, fails in ((0.0, True), (2.0, False)):
        check = Check("a need", value, "at least", 1.0, required=True)
        changed = replace(benchmark, score=lambda _, check=check: Score([check]))
        monkeypatch.setattr(command, "SUITE", {"x": changed})
        with pytest.raises(SystemExit, match="1") if fails else nullcontext():
            command.main(["x"])
        assert ("x failed: a need" in capsys.readouterr().err) == fails
    assert len(run.stored) == run.reports == 2


@pytest.mark.parametrize(("cores", "timed"), [(0.15, True), (None, True), (2.0, False)])
def test_other_results_are_stored(monkeypatch: pytest.MonkeyPatch, cores: float | None, timed: bool) -> None:
    run = Run(monkeypatch, cores, timed=timed)
    command.main(["x"])
    assert len(run.stored) == 1


def test_document_says_that_the_machine_was_busy() -> None:
    facts = {"date": "2026-01-01", "cores": 2, "cpu": "A", "load": 0.5, "python": "3", "numpy": "2", "numba": "1"}
    facts |= {"commit": "abc", "others": 0.4, "repetitions": 7}
    result = Result(facts, 3.0, {"size": 1.0, "skipped": []}, {})
    benchmark = Benchmark("x", "A claim.", 1.0, 1.0, lambda _: {}, _score, measures=())
    shown = section(benchmark, result).replace("\n", " ")
    assert "2026-01-01 at commit abc, 2 cores of A (load 0.5 at the start, 0.4 cores used by other processes" in shown
    assert "meanwhile: **busy**)" in shown
    assert "took 3 s, repetitions: 7." in shown
    assert "busy" not in section(replace(benchmark, timed=False), result)


def _score(raw: dict[str, Any]) -> Score:
    return Score([Check("a size", raw.get("size", 3.0), "at least", 2.0)])


def test_unknown_benchmark_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        command.main(["speeed"])
    assert "no benchmark 'speeed'" in capsys.readouterr().err


def test_parts_are_stored_one_by_one_and_chosen_ones_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(monkeypatch, parts=Parts(lambda _: ["a on x", "b on x"], lambda _, part: {"part": part}, lambda _: ()))
    monkeypatch.setattr(command, "load", lambda _: run.stored[-1] if run.stored else None)
    command.main(["x"])
    assert [list(result.raw["parts"]) for result in run.stored] == [["a on x"], ["a on x", "b on x"]]
    command.main(["x"])
    assert len(run.stored) == 2
    command.main(["x", "--only", "a"])
    assert len(run.stored) == 3
    assert run.reports == 3
    with pytest.raises(SystemExit, match="2"):
        command.main(["x", "--only", "c"])
    assert "no part 'c'; choose from a on x, b on x" in capsys.readouterr().err


def test_parts_of_a_benchmark_without_any_are_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Run(monkeypatch)
    with pytest.raises(SystemExit, match="2"):
        command.main(["x", "--only", "a"])
    assert "--only selects parts of a benchmark, and x has none" in capsys.readouterr().err
