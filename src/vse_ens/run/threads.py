"""Our own threads: kernels run without the GIL, so that Python threads are real workers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from vse_ens.errors import ConfigError

Task = Callable[[int], Any]


def available_cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers:
    """A fixed number of threads that work through lists of tasks; results come back in the order of the tasks.

    A task is called with the number of the worker that runs it, which owns the scratch buffers of that number. Which
    worker runs which task is chance, so a task's result must not depend on it. One thread at a time may call `run`.
    """

    def __init__(self, count: int | None = None) -> None:
        if count is not None and count < 1:
            raise ConfigError(f"workers must be at least 1, got {count}")
        self.count = count or available_cores()
        self._helpers: list[_Helper] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the threads."""
        for helper in self._helpers:
            helper.end()
        self._helpers = []

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        """Run all tasks and wait for them; the first error is raised after all have ended."""
        if self.count == 1 or len(tasks) == 1:
            return [task(0) for task in tasks]
        results: list[Any] = [None] * len(tasks)
        waiting = iter(range(len(tasks)))  # next() on it is atomic under the GIL

        def work(worker: int) -> None:
            for number in waiting:
                results[number] = tasks[number](worker)

        helpers = self._called(min(self.count, len(tasks)) - 1)
        for helper in helpers:
            helper.begin(work)
        try:
            work(0)
        finally:
            errors = self._awaited(helpers)
        if errors:
            raise errors[0]
        return results

    def _called(self, count: int) -> list[_Helper]:
        while len(self._helpers) < count:
            self._helpers.append(_Helper(len(self._helpers) + 1))
        return self._helpers[:count]

    def _awaited(self, helpers: list[_Helper]) -> list[BaseException]:
        try:
            return [error for helper in helpers if (error := helper.awaited()) is not None]
        except BaseException:
            self._helpers = []  # Ctrl-C while waiting: nobody knows what these are at
            raise


class _Helper:
    """A thread that is woken by one lock and tells by another that it is done.

    Batches of training are a few milliseconds long, and the queues and conditions of an executor cost a tenth of that.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._work: Callable[[int], None] | None = None
        self._error: BaseException | None = None
        self._wake, self._done = threading.Lock(), threading.Lock()
        self._wake.acquire()
        self._done.acquire()
        self._thread = threading.Thread(target=self._live, name=f"vse-worker-{number}", daemon=True)
        self._thread.start()

    def begin(self, work: Callable[[int], None] | None) -> None:
        """Start some work; None ends the thread."""
        self._work = work
        self._wake.release()

    def awaited(self) -> BaseException | None:
        """Wait until the work is done; what went wrong in it."""
        self._done.acquire()
        error, self._error = self._error, None
        return error

    def end(self) -> None:
        """End the thread."""
        self.begin(None)
        self._thread.join()

    def _live(self) -> None:
        while True:
            self._wake.acquire()
            if self._work is None:
                return
            try:
                self._work(self._number)
            except BaseException as error:  # noqa: BLE001  # raised again by the thread that waits
                self._error = error
            self._work = None
            self._done.release()
