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


def test_a_part_that_is_gone_is_a_change(package: Path) -> None:
    measured = digests(["train", "config"], package)
    (package / "config.py").rename(package / "settings.py")
    assert changed(measured, package) == ["config"]


CODE = '''
"""A module."""

from os import path as place


class Point(Pair):
    """A point."""

    x: int = 1
    """Across."""

    def show(self, *rest, wide=False, **more):
        """Show it."""
        lines = [f"{self.x:>{wide}} {rest!r}" "." for line in rest[1:] if line is not None]
        return "\\n".join(lines) + "é" if wide else {"a": b"1", **more}
'''


@pytest.mark.parametrize(
    ("old", "new", "is_change"),
    [
        ("x: int = 1", "x: int = 1  # across", False),
        ('"""A module."""', "", False),
        ('"""Across."""', '"""Down."""', False),
        ('        """Show it."""\n', "", False),
        ("*rest, wide=False, **more", "\n        *rest,\n        wide=False,\n        **more,\n    ", False),
        ('{wide}} {rest!r}" "."', '{wide}} {rest!r}."', False),
        ("= 1", "= 2", True),
        ("= 1", "= True", True),
        ("= 1", '= "1"', True),
        ('b"1"', '"1"', True),
        ("!r", "!s", True),
        ("wide=False", "wide=None", True),
        ("*rest, wide=False", "wide=False, *rest", True),
        ("is not None", "is None", True),
        ("rest[1:]", "rest[:1]", True),
        ("path as place", "place as path", True),
    ],
)
def test_only_code_is_a_change(package: Path, old: str, new: str, is_change: bool) -> None:
    file = package / "config.py"
    file.write_text(CODE, encoding="utf-8")
    measured = digests(["config"], package)
    assert old in CODE
    file.write_text(CODE.replace(old, new), encoding="utf-8")
    assert bool(changed(measured, package)) == is_change


def test_digest_is_the_same_for_every_version_of_python(package: Path) -> None:
    (package / "config.py").write_text(CODE, encoding="utf-8")
    assert digests(["config"], package) == {"config": "0a9aba54ee48142b"}


@pytest.mark.parametrize("name", SUITE)
def test_every_benchmark_names_parts_that_exist(name: str) -> None:
    benchmark = SUITE[name]
    # The rows of attacks have commits of their own; tests hold what they found.
    assert benchmark.measures or name == "attacks"
    assert all(files(part) for part in benchmark.measures)
    assert benchmark.repetitions(benchmark.full) >= 1
    stored = load(name)
    # A part that was renamed since has made the result stale; any other difference is a result of unknown code.
    assert stored is None or set(stored.sources or ()) == set(benchmark.measures) or changed(stored.sources or {})


def test_commit_without_git_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit() == "unknown"
