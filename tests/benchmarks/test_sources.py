"""Results become stale with the code they measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.core import report, sources
from benchmarks.core.report import stale_note
from benchmarks.core.results import Result, load
from benchmarks.core.sources import changed, commit, digests, files
from benchmarks.suite import SUITE


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "train" / "inner").mkdir(parents=True)
    (tmp_path / "train" / "a.py").write_text("a\n")
    (tmp_path / "train" / "inner" / "b.js").write_text("b\n")
    (tmp_path / "config.py").write_text("c\n")
    return tmp_path


def test_changed_parts_are_named(package: Path) -> None:
    measured = digests(["train", "config"], package)
    assert changed(measured, package) == []
    (package / "train" / "inner" / "b.js").write_text("B\n")
    assert changed(measured, package) == ["train"]
    (package / "config.py").write_text("C\n")
    assert changed(measured, package) == ["train", "config"]


@pytest.mark.parametrize("change", ["renamed", "added", "removed", "moved text"])
def test_other_files_are_a_change(package: Path, change: str) -> None:
    measured = digests(["train"], package)
    file = package / "train" / "a.py"
    if change == "renamed":
        file.rename(package / "train" / "z.py")
    elif change == "added":
        (package / "train" / "c.py").write_text("")
    elif change == "removed":
        file.unlink()
    else:
        file.write_text("")
        (package / "train" / "inner" / "b.js").write_text("a\nb\n")
    assert changed(measured, package) == ["train"]


def test_line_ends_and_compiled_files_are_no_change(package: Path) -> None:
    measured = digests(["train"], package)
    (package / "train" / "a.py").write_bytes(b"a\r\n")
    (package / "train" / "__pycache__").mkdir()
    (package / "train" / "__pycache__" / "a.pyc").write_bytes(b"\xff")
    assert changed(measured, package) == []


def test_note_joins_the_changes_of_all_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "changed", list)
    fresh, old, older, unknown = (Result({}, 1.0, {}, parts) for parts in ({}, {"b": ""}, {"a": "", "b": ""}, None))
    assert stale_note([fresh]) == ""
    assert stale_note([fresh, unknown]) == "**Perhaps stale: it is not known with which code this was measured.**"
    assert stale_note([fresh, old, older, unknown]) == "**Stale: measured before changes in `a`, `b`.**"


@pytest.mark.parametrize("name", SUITE)
def test_every_benchmark_names_parts_that_exist(name: str) -> None:
    benchmark = SUITE[name]
    assert benchmark.measures
    assert all(files(part) for part in benchmark.measures)
    assert benchmark.repetitions(benchmark.full) >= 1
    stored = load(name)
    assert stored is None or set(stored.sources or ()) == set(benchmark.measures)


def test_commit_without_git_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit() == "unknown"
