"""Our own threads: kernels run without the GIL, so that Python threads are real workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
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
    worker runs which task is chance, so a task's result must not depend on it.
    """

    def __init__(self, count: int | None = None) -> None:
        if count is not None and count < 1:
            raise ConfigError(f"workers must be at least 1, got {count}")
        self.count = count or available_cores()
        self._pool = ThreadPoolExecutor(self.count - 1, "vse-worker") if self.count > 1 else None

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the threads."""
        if self._pool:
            self._pool.shutdown()

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        """Run all tasks and wait for them; the first error is raised after all have ended."""
        if self._pool is None or len(tasks) == 1:
            return [task(0) for task in tasks]
        results: list[Any] = [None] * len(tasks)
        waiting = iter(range(len(tasks)))  # next() on it is atomic under the GIL

        def work(worker: int) -> None:
            for number in waiting:
                results[number] = tasks[number](worker)

        others = [self._pool.submit(work, worker) for worker in range(1, min(self.count, len(tasks)))]
        try:
            work(0)
        finally:
            wait(others)
        for other in others:
            other.result()
        return results
