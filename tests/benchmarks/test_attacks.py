"""The attacks: each holds at a small size, faults are seen, and SECURITY.md has the table of the stored results."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from benchmarks.core.results import Result, load
from benchmarks.robustness.attacks import suite
from benchmarks.robustness.attacks.attack import Attack, Child, Outcome, all_limited, killed_at, limited
from benchmarks.robustness.attacks.repeated import REPEATED

from vse_ens.errors import DataError

ROOT = Path(__file__).parents[2]
QUICK = [name for name in suite.ALL if name not in REPEATED]


def test_the_table_equals_the_stored_results() -> None:
    stored = load("attacks")
    assert stored is not None
    assert suite.DOCUMENT.read_text(encoding="utf-8") == suite.filled(stored), "run: python -m benchmarks report"
    assert stored.raw["parts"].keys() <= suite.ALL.keys()


def test_every_row_is_whole_or_has_its_reason() -> None:
    stored = load("attacks")
    assert stored is not None
    for name, part in stored.raw["parts"].items():
        found = part["raw"]
        assert "skipped" in found or found["tried"] > 0, name
        assert found["faults"] == [], name
        assert {"date", "commit"} <= part["machine"].keys()


def test_a_row_says_what_did_not_hold_and_what_was_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Attack("`x`", lambda _: Outcome(), 1, 1, "crashed")
    monkeypatch.setattr(suite, "ALL", {"a": one, "b": one, "c": one, "d": one})
    facts = {"date": "2026-01-01", "commit": "abc"}
    raws = {
        "a": {"tried": 1_200, "faults": ["a | b", "c"], "seen": "x"},
        "b": {"tried": 3, "faults": [], "seen": "refused"},
        "c": {"tried": 0, "faults": [], "seen": "", "skipped": "needs root"},
    }
    parts = {name: {"raw": raw, "machine": facts} for name, raw in raws.items()}
    lines = suite.table(Result({}, 1.0, {"parts": parts}, None)).splitlines()
    assert lines[2:] == [
        "| `x` | crashed | 1,200 | 1,198 | **2 not: a \\| b** | 2026-01-01, abc |",
        "| `x` | crashed | 3 | 3 | refused | 2026-01-01, abc |",
        "| `x` | crashed |  |  | not run: needs root | 2026-01-01, abc |",
        "| `x` | crashed |  |  | not run yet |  |",
    ]


def test_tests_that_are_repeated_exist() -> None:
    for name, attack in REPEATED.items():
        for test in attack.run.__closure__[0].cell_contents:  # type: ignore[index]
            file, _, function = test.partition("::")
            assert f"def {function}" in (ROOT / "tests" / file).read_text(encoding="utf-8"), name


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_an_attack_holds_at_a_small_size(name: str) -> None:
    attack = suite.ALL[name]
    found = attack.run(attack.quick)
    assert found.faults == []
    assert found.skipped or found.tried


def _refuse(text: str) -> None:
    raise DataError(text)


def _use(size: int) -> None:
    bytearray(size)


def _loop() -> None:
    while True:
        pass


def test_what_goes_wrong_in_a_limited_process_is_seen() -> None:
    assert limited(lambda: _refuse("one sentence"))[:2] == ("", "one sentence")
    assert limited(lambda: 1 / 0).fault.startswith("ZeroDivisionError")
    assert limited(lambda: _refuse("two\nlines")).fault == "a message of 9 characters"
    assert limited(lambda: _use(300 << 20), ram=200 << 20).fault == "more than 200 MB"
    assert "CPU time" in limited(_loop, seconds=1.0).fault
    assert limited(lambda: os.kill(os.getpid(), signal.SIGSEGV)).fault == "SIGSEGV"
    found = all_limited([("a", lambda: None), ("b", lambda: 1 / 0), ("c", lambda: _refuse("no"))])
    assert (found.tried, len(found.faults)) == (3, 1)
    assert found.faults[0].startswith("b: ZeroDivisionError")
    assert found.seen.startswith("1 refused in one sentence, 1 read; ")


def test_a_process_is_killed_before_each_access_and_then_no_more(tmp_path: Path) -> None:
    def work() -> None:
        for name in "ab":
            with (tmp_path / name).open("wb") as file:
                file.write(b"x")
                file.flush()
                os.fsync(file.fileno())

    left = []
    for number in range(1, 6):
        for path in tmp_path.iterdir():
            path.unlink()
        killed = killed_at(number, tmp_path, work)
        left.append((killed, "".join(sorted(path.name for path in tmp_path.iterdir()))))
    assert left == [(True, ""), (True, "a"), (True, "a"), (True, "ab"), (False, "ab")]


def test_only_a_kill_that_ended_a_process_counts() -> None:
    running = Child(lambda told: (told(), time.sleep(600)))
    assert running.heard()
    assert running.kill()
    ended = Child(lambda _: None)
    assert not ended.heard()
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert not ended.kill()
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        Child(lambda _: print(1 / 0, file=sys.stderr)).must_end()
