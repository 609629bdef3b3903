"""The CPU time of other processes while a benchmark runs."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from benchmarks.core import load
from benchmarks.core.load import OtherProcesses

_WORK = "import time\nwhile time.process_time() < 0.4: pass"


def busy(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> None:
    """Let the system say that all cores worked this many seconds, at the start and at the end of a block."""
    readings = iter(seconds)
    monkeypatch.setattr(load, "_busy_seconds", lambda: next(readings))


def cores_used(work: Callable[[], object]) -> float:
    with OtherProcesses() as others:
        work()
    assert others.cores is not None
    return others.cores


def test_time_of_others_is_all_time_without_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    busy(monkeypatch, 100.0, 110.0)
    clock = iter([0.0, 5.0])
    monkeypatch.setattr(load.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(load, "_own_seconds", iter([3.0, 9.0]).__next__)
    monkeypatch.setattr(load, "_descendants", dict)
    assert cores_used(lambda: None) == pytest.approx((10.0 - 6.0) / 5.0)


@pytest.mark.skipif(not load._PROC.exists(), reason="needs /proc")
def test_own_work_and_that_of_children_is_not_that_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def work() -> None:
        while time.process_time() < stop:
            pass
        subprocess.run([sys.executable, "-S", "-c", _WORK], check=True)

    stop = time.process_time() + 0.3
    busy(monkeypatch, 0.0, 0.6)
    assert cores_used(work) == 0.0


@pytest.mark.skipif(not load._PROC.exists(), reason="needs /proc")
def test_children_that_nobody_waits_for_are_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # The inner process works and ends; its parent ignores that, so that the system forgets its time.
    code = (
        "import signal, subprocess, sys\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        f"process = subprocess.Popen([sys.executable, '-S', '-c', {_WORK + chr(10) + 'time.sleep(600)'!r}])\n"
        "print(flush=True)\ninput()\nprocess.kill()"
    )
    monkeypatch.setattr(load, "_SECONDS", 0.02)
    descendants = load._descendants
    others = descendants().keys()  # of other tests of this process
    looks = 0

    def look() -> dict[int, float]:
        nonlocal looks
        looks += 1
        return descendants()

    monkeypatch.setattr(load, "_descendants", look)

    def work() -> None:
        with subprocess.Popen(
            [sys.executable, "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as child:
            assert child.stdin
            assert child.stdout
            child.stdout.readline()
            # Less than the 0.4 seconds of its work: the system counts whole ticks, and may round them down.
            while sum(used for process, used in descendants().items() if process not in others) < 0.37:
                time.sleep(0.02)
            enough = looks + 2  # one may have begun before
            while looks < enough:
                time.sleep(0.02)
            child.stdin.write(b"\n")

    busy(monkeypatch, 0.0, 0.35)
    assert cores_used(work) == 0.0


@pytest.mark.skipif(not load._PROC.exists(), reason="needs /proc")
def test_system_counts_the_work_of_this_process() -> None:
    before, stop = load._busy_seconds(), time.process_time() + 0.3
    while time.process_time() < stop:
        pass
    after = load._busy_seconds()
    assert before is not None
    assert after is not None
    assert after - before > 0.2


def test_without_proc_nothing_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr(load, "_PROC", load.Path(str(tmp_path)) / "none")
    with OtherProcesses() as others:
        pass
    assert others.cores is None
