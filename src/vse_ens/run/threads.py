"""Worker threads. Kernels release the GIL, so that Python threads run them in parallel."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from vse_ens.errors import ConfigError
from vse_ens.system import available_cores

Task = Callable[[int], Any]


class Workers:
    """A fixed number of threads that run lists of tasks and return the results in order.

    A task is called with the number of its worker, which selects the scratch buffers it may use. The assignment of
    tasks to workers is not deterministic, and a result must not depend on it. `run` must not be called concurrently.
    """

    def __init__(self, count: int | None = None) -> None:
        if count is not None and count < 1:
            raise ConfigError(f"workers must be at least 1, got {count}")
        self.count = count or available_cores()
        self._helpers: list[_Helper] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the threads."""
        for helper in self._helpers:
            helper.stop()
        self._helpers = []

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        """Run all tasks and wait for them; the first error is raised after all threads have finished."""
        results: list[Any] = [None] * len(tasks)
        if self.count == 1 or len(tasks) == 1:  # no helper, and rounds may be short
            for number, task in enumerate(tasks):
                results[number] = task(0)
            return results
        waiting = iter(range(len(tasks)))  # next() on it is atomic under the GIL

        def work(worker: int) -> None:
            for number in waiting:
                results[number] = tasks[number](worker)

        helpers = self._start_helpers(min(self.count, len(tasks)) - 1)
        for helper in helpers:
            helper.begin(work)
        try:
            for number in waiting:
                results[number] = tasks[number](0)
        finally:
            errors = self._wait_for(helpers)
        if errors:
            raise errors[0]
        return results

    def _start_helpers(self, count: int) -> list[_Helper]:
        while len(self._helpers) < count:
            self._helpers.append(_Helper(len(self._helpers) + 1))
        return self._helpers[:count]

    def _wait_for(self, helpers: list[_Helper]) -> list[BaseException]:
        try:
            return [error for helper in helpers if (error := helper.wait()) is not None]
        except BaseException:
            self._helpers = []  # Ctrl-C while waiting: the threads may still be busy
            raise


class _Helper:
    """A thread that is started by one lock and signals completion by another.

    A training batch takes a few milliseconds, and the queues and conditions of an executor cost a tenth of that.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._work: Callable[[int], None] | None = None
        self._error: BaseException | None = None
        self._wake, self._done = threading.Lock(), threading.Lock()
        self._wake.acquire()
        self._done.acquire()
        self._thread = threading.Thread(target=self._loop, name=f"vse-worker-{number}", daemon=True)
        self._thread.start()

    def begin(self, work: Callable[[int], None] | None) -> None:
        """Start a function; None stops the thread."""
        self._work = work
        self._wake.release()

    def wait(self) -> BaseException | None:
        """Wait until the function has returned; return the exception it raised, if any."""
        self._done.acquire()
        error, self._error = self._error, None
        return error

    def stop(self) -> None:
        """Stop the thread."""
        self.begin(None)
        self._thread.join()

    def _loop(self) -> None:
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
