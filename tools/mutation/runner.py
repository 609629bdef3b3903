"""Runs tests in forked processes: libraries are imported once, and the package in every process anew."""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

# Imported by every process: the package and tests change, and pytest rewrites its plugins when it imports them.
_NOT_SHARED = ("vse_ens", "tests", "benchmarks", "tools", "_pytest", "pytest", "hypothesis", "schemathesis", "xdist")

_TURNS = 4  # of a mutant that takes too long

Outcome = Literal["killed", "timeout", "survived"]


def forked(work: Callable[[], Any], timeout: float) -> Any:
    """Return the result of ``work`` in a forked process, or None after ``timeout`` seconds; its output is dropped."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.setsid()  # a group, to end it with all its processes
            os.close(reading)
            quiet = os.open(os.devnull, os.O_RDWR)
            for standard in (0, 1, 2):
                os.dup2(quiet, standard)
            result = work()
            with open(writing, "wb") as pipe:  # noqa: PTH123  # a descriptor
                pickle.dump(result, pipe)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    received = b""
    deadline = time.monotonic() + timeout
    os.set_blocking(reading, False)
    while time.monotonic() < deadline:
        try:
            piece = os.read(reading, 1 << 20)
        except BlockingIOError:
            time.sleep(0.005)
            continue
        received += piece
        if not piece:
            break
    os.close(reading)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return pickle.loads(received) if received else None


def run_tests(arguments: Sequence[str], plugins: Sequence[object] = ()) -> int:
    """Run pytest in this process and return its exit code."""
    import pytest

    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore:Module already imported"]
    return int(pytest.main([*options, *arguments], plugins=list(plugins)))


def record_lines(tests: Sequence[str], files: Sequence[Path], timeout: float) -> Any:
    """Run tests and return their `LineRecorder` and the names of imported libraries; None if a test fails."""

    def work() -> Any:
        from tools.mutation.tracing import LineRecorder

        # Compiled files save the mutants a second each. They hold for files with the old times only, and a mutant and
        # the file that is restored after it have new ones.
        sys.dont_write_bytecode = False
        recorder = LineRecorder(str(file) for file in files)
        recorder.start()
        code = run_tests(tests, [recorder])
        recorder.stop()
        libraries = [name for name in sys.modules if not name.startswith(_NOT_SHARED)]
        return (recorder, libraries) if code == 0 else None

    return forked(work, timeout)


def import_libraries(names: Sequence[str]) -> None:
    """Import libraries once, so that forked processes have them."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def run_mutant(file: Path, source: str, tests: Sequence[str], timeout: float) -> Outcome:
    """Run tests with a changed file.

    It hangs if the tests without the change end within the same time right afterwards; otherwise the machine is busy,
    and both run again with more time. A mutant that stays undecided counts as not noticed.
    """
    before = file.read_text(encoding="utf-8")
    for _ in range(_TURNS):
        file.write_text(source, encoding="utf-8")
        try:
            code = forked(lambda: run_tests(tests), timeout)
        finally:
            file.write_text(before, encoding="utf-8")
        if code is not None:
            return "survived" if code == 0 else "killed"
        if forked(lambda: run_tests(tests), timeout) == 0:
            return "timeout"
        timeout *= 2
    return "survived"
