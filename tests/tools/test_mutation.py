"""Mutation testing: the mutants, the choice of tests, and the forked processes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tools.mutation.areas import AREAS, EQUIVALENT
from tools.mutation.generate import Mutant, mutants
from tools.mutation.progress import Progress, digest_of
from tools.mutation.tracing import LineRecorder

ROOT = Path(__file__).parents[2]
AND_MUTANTS = ("(a or not b)", "(a)", "(not b)", "a and (b)")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("return a < 1", {"return None", "return (a <= 1)", "return a < 2"}),
        (
            "return a and not b",
            {"return None", "return (a or not b)", "return (a)", "return (not b)", "return a and (b)"},
        ),
        ("a.x = b", {"pass"}),
        ("a += 2", {"pass", "a -= 2", "a += 3"}),
        ("a.run(True)", {"pass", "a.run(False)"}),
        ("raise ValueError(f'{a} is not {2}')", {"pass"}),
        ("return a if b else 0", {"return None", "return (0 if b else a)", "return a if b else 1"}),
        ("return 'text' + a", {"return None"}),
        ("_log.info('said %s', 1)", set()),
        ("'''What it does.'''", set()),
        ("a: int = b", set()),
    ],
)
def test_a_line_has_its_mutants(line: str, expected: set[str]) -> None:
    source = f"def work(a, b):\n    {line}\n"
    found = list(mutants(source))
    assert {mutant.after for mutant in found} == expected
    assert all((mutant.line, mutant.before) == (2, line) for mutant in found)
    assert all(mutant.source == f"def work(a, b):\n    {mutant.after}\n" for mutant in found)


def test_defaults_are_changed_and_constants_are_not() -> None:
    source = "MOST = 5\nclass A:\n    most: int = 5\n    def f(self, ä='ö', n=5):\n        return 'ü', n - 1\n"
    assert [mutant.after for mutant in mutants(source)] == [
        "def f(self, ä='ö', n=6):",
        "return None",
        "return 'ü', (n + 1)",
        "return 'ü', n - 2",
    ]


def test_a_statement_of_several_lines_is_replaced_whole() -> None:
    [first, *_] = mutants("def f(a):\n    a.call(\n        a,\n    )\n    return\n")
    assert (first.line, first.before, first.after) == (2, "a.call(\n        a,\n    )", "pass")


def test_tests_that_execute_a_line_come_fastest_first() -> None:
    recorder = LineRecorder(["m.py"])
    recorder.by_test = {"t.py::a": {("m.py", 1)}, "t.py::b": {("m.py", 1)}, "u.py::c": set(), "u.py::d": {("m.py", 2)}}
    recorder.by_file["u.py"] = {("m.py", 3)}
    recorder.imported.add(("m.py", 4))
    recorder.seconds = {"t.py::a": 3.0, "t.py::b": 1.0, "u.py::c": 2.0, "u.py::d": 4.0}
    assert recorder.tests_of("m.py", 1, 60.0) == (["t.py::b", "t.py::a"], 4.0)
    assert recorder.tests_of("m.py", 3, 60.0)[0] == ["u.py::c", "u.py::d"]
    assert recorder.tests_of("m.py", 4, 3.0) == (["t.py::b", "u.py::c"], 3.0)
    assert recorder.tests_of("m.py", 2, 1.0)[0] == ["u.py::d"]
    assert recorder.tests_of("m.py", 9, 60.0) == ([], 0.0)


# In an interpreter of its own: a process with threads, such as a worker of pytest-xdist, cannot fork safely.
FORK = """
import os, sys, time
from pathlib import Path
from tools.mutation import runner
from tools.mutation.runner import forked, run_mutant

runner._TURNS = 12  # on a busy machine, tests that end may take minutes
folder = Path(sys.argv[1])
assert forked(lambda: {"answer": 42}, 300) == {"answer": 42}
assert forked(lambda: os._exit(3), 300) is None
assert forked(lambda: time.sleep(10_000), 0.2) is None
file = folder / "subject.py"
whole = file.read_text()
arguments = [f"--rootdir={folder}", str(folder / "test_subject.py")]
for before, after, limit in (("2 * n", "3 * n", 300), ("n < 0", "n < -0", 300), ("n += 1", "pass", 2)):
    print(run_mutant(file, whole.replace(before, after), arguments, limit))
    assert file.read_text() == whole
"""
TESTS = """
from pathlib import Path
exec(Path(__file__).with_name("subject.py").read_text())

def test_double():
    assert double(2) == 4
    assert double(-2) == 0
"""


@pytest.mark.unhurried
def test_a_mutant_is_judged_and_its_file_restored(
    tmp_path: Path, python: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (tmp_path / "subject.py").write_text("def double(n):\n    while n < 0:\n        n += 1\n    return 2 * n\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_subject.py").write_text(TESTS)
    done = python(FORK, str(tmp_path), PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    assert (done.stdout.split(), done.returncode) == (["killed", "survived", "timeout"], 0), done.stderr


@pytest.mark.unhurried
def test_areas_name_existing_files_and_current_equivalents() -> None:
    for area in AREAS.values():
        assert all((ROOT / "src" / "vse_ens" / f"{module}.py").is_file() for module in area.modules)
        assert all((ROOT / test).exists() for test in area.tests)
    for module, before, after in EQUIVALENT:
        source = (ROOT / "src" / "vse_ens" / f"{module}.py").read_text(encoding="utf-8")
        assert (before, after) in {(mutant.before, mutant.after) for mutant in mutants(source)}


def test_a_stopped_run_continues_and_another_starts_anew(tmp_path: Path) -> None:
    path, run = tmp_path / "build" / "area.jsonl", {"code": "c", "seed": 1}
    first, second = Mutant(1, "a", "b", ""), Mutant(2, "a", "b", "")
    progress = Progress(path, run)
    assert progress.get("m", first) is None
    progress.add("m", first, "killed")
    with path.open("a") as file:
        file.write('["m", 2, "a')  # killed while it wrote
    again = Progress(path, run)
    assert (again.get("m", first), again.get("m", second), again.get("n", first)) == ("killed", None, None)
    again.add("m", second, "survived")
    assert Progress(path, run).get("m", second) == "survived"
    assert Progress(path, {**run, "seed": 2}).get("m", first) is None
    assert Progress(path, run).get("m", first) is None


def test_outcomes_do_not_hold_for_other_code(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    file = tmp_path / "src" / "a.py"
    file.write_text("a = 1\n")
    before = digest_of(tmp_path, ["src", "tests"])
    assert digest_of(tmp_path, ["src", "tests"]) == before
    file.write_text("a = 2\n")
    assert digest_of(tmp_path, ["src", "tests"]) != before
    file.write_text("a = 1\n")
    file.rename(tmp_path / "src" / "b.py")
    assert digest_of(tmp_path, ["src", "tests"]) != before
