"""Independent tasks on a Ray cluster: results in order; the tasks of a lost worker go to the others."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vse_ens.errors import ClusterError
from vse_ens.run.pool import Payload
from vse_ens.run.ray.calls import MAX_LOSSES, MIN_TIMEOUT, TIMEOUT_FACTOR, Worker, WorkerLost, get_result

# Tasks per worker: one that runs, and one that is ready to follow.
_QUEUED_PER_WORKER = 2
# Tasks per worker that may start before the next result in order is there; the limit bounds the results held.
_TASKS_AHEAD = 4


@dataclass
class _Call:
    """A pending call: a task, or without a number the creation of the task function."""

    number: int | None
    worker: Worker
    started: float
    """When the worker began it, by the local clock."""


@dataclass(eq=False)
class TaskScheduler:
    """Distributes tasks to workers and yields the results in order.

    ``workers`` is the current list of workers; ``replace`` replaces lost ones in it. ``task_fn`` is the factory of the
    task function and a reference to its settings. ``timeout`` is the number of seconds that the first task may take.
    """

    ray: Any
    workers: list[Worker]
    replace: Callable[[list[Worker]], None]
    task_fn: tuple[str, Any]
    tasks: Sequence[Payload]
    timeout: float

    def __post_init__(self) -> None:
        self._longest = 0.0
        self._queue = list(range(len(self.tasks)))
        self._prepared: set[Worker] = set()
        self._calls: dict[Any, _Call] = {}
        self._losses = 0

    def results(self) -> Iterator[Payload]:
        """Yield the results in the order of the tasks."""
        done: dict[int, Payload] = {}
        for number in range(len(self.tasks)):
            while number not in done:
                self._submit(number)
                done |= self._collect()
            yield done.pop(number)

    def close(self) -> None:
        """Release the task functions of the workers."""
        for worker in self._prepared & set(self.workers):
            worker.actor.close_tasks.remote()

    def _submit(self, next_number: int) -> None:
        limit = next_number + _TASKS_AHEAD * len(self.workers)
        for _ in range(_QUEUED_PER_WORKER):
            for worker in self.workers:
                if self._queue and self._queue[0] < limit and len(self._tasks_of(worker)) < _QUEUED_PER_WORKER:
                    self._start(heapq.heappop(self._queue), worker)

    def _start(self, number: int, worker: Worker) -> None:
        now = time.monotonic()
        if worker not in self._prepared:
            self._prepared.add(worker)
            self._calls[worker.actor.open_tasks.remote(*self.task_fn)] = _Call(None, worker, now)
        self._calls[worker.actor.run_task.remote(self.tasks[number])] = _Call(number, worker, now)

    def _collect(self) -> dict[int, Payload]:
        """Wait for at least one call; return the results that are there, and replace lost workers."""
        timeout = min(self.timeout, max(MIN_TIMEOUT, TIMEOUT_FACTOR * self._longest) if self._longest else math.inf)
        # A worker executes its calls in order: it is at the first one.
        first = {call.worker: call for call in reversed(self._calls.values())}
        end = min(call.started for call in first.values()) + timeout
        ready, _ = self.ray.wait(list(self._calls), timeout=max(0.0, end - time.monotonic()))
        now = time.monotonic()
        results: dict[int, Payload] = {}
        lost = set() if ready else {call.worker for call in first.values() if now - call.started >= timeout}
        for reference in ready:
            call = self._calls[reference]
            try:
                result = get_result(self.ray, reference, MIN_TIMEOUT)
            except WorkerLost:
                lost.add(call.worker)
                continue
            del self._calls[reference]
            if call.number is not None:
                results[call.number] = result
                self._longest = max(self._longest, now - call.started)
            for later in self._tasks_of(call.worker):
                later.started = now
        if lost:
            self._reassign(lost)
        return results

    def _reassign(self, lost: set[Worker]) -> None:
        self._losses += 1
        if self._losses >= MAX_LOSSES:
            raise ClusterError(
                f"workers were lost {MAX_LOSSES} times while running the same tasks; see the logs of Ray for the cause"
            )
        for reference, call in list(self._calls.items()):
            if call.worker in lost:
                del self._calls[reference]
                if call.number is not None:
                    heapq.heappush(self._queue, call.number)
        self.replace(list(lost))

    def _tasks_of(self, worker: Worker) -> list[_Call]:
        return [call for call in self._calls.values() if call.worker is worker and call.number is not None]
