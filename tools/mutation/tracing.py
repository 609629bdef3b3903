"""A pytest plugin that records the lines of some files that each test executes, and how long it takes."""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from collections.abc import Generator, Iterable
from types import FrameType
from typing import Any

import pytest


class LineRecorder:
    """Lines by test. Lines of fixtures count for all tests of a file, lines of imports for all tests."""

    def __init__(self, files: Iterable[str]) -> None:
        self._files = frozenset(files)
        self.imported: set[tuple[str, int]] = set()
        self.by_file: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self.by_test: dict[str, set[tuple[str, int]]] = {}
        self.seconds: dict[str, float] = {}
        self._current = self.imported

    def start(self) -> None:
        """Trace this thread and all that start from now on."""
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def stop(self) -> None:
        """Trace no longer."""
        sys.settrace(None)
        threading.settrace(None)

    def _trace(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        if frame.f_code.co_filename not in self._files:
            return None
        self._current.add((frame.f_code.co_filename, frame.f_lineno))
        return self._trace

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, None, None]:
        """Record the lines of fixtures."""
        self._current = self.by_file[item.nodeid.partition("::")[0]]
        yield

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Record the lines of a test."""
        self._current = self.by_test[item.nodeid] = set()
        yield
        self._current = self.by_file[item.nodeid.partition("::")[0]]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the duration of a test."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration

    def tests_of(self, file: str, line: int, budget: float) -> tuple[list[str], float]:
        """Return the tests that execute a line, the fastest first, and their time in seconds.

        A line that runs at import is executed by all tests. Tests beyond the budget are left out, except the first.
        """
        found = [
            test
            for test, lines in self.by_test.items()
            if (file, line) in lines
            or (file, line) in self.by_file[test.partition("::")[0]]
            or (file, line) in self.imported
        ]
        chosen: list[str] = []
        total = 0.0
        for test in sorted(found, key=lambda test: self.seconds.get(test, 0.0)):
            seconds = self.seconds.get(test, 0.0)
            if chosen and total + seconds > budget:
                break
            chosen.append(test)
            total += seconds
        return chosen, total
