"""Tasks that any worker may take, on a Ray cluster: results in order, and a lost worker's tasks go to the others."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vse_ens.errors import ClusterError
from vse_ens.run.pool import Payload
from vse_ens.run.ray.calls import LEAST_SECONDS, MOST_LOSSES, TIMES_LONGEST, Worker, WorkerLost, answer

# A worker has so many tasks: one it is at, and one to go on with.
_AT_HAND = 2
# No task is begun that is so many tasks a worker ahead of the one that is waited for: results would pile up.
_AHEAD = 4


@dataclass
class _Call:
    """A task under way, or that a worker is told what all tasks are about."""

    number: int | None
    worker: Worker
    since: float
    """When the worker came to it, by the clock here."""


class TaskScheduler:
    """Some tasks, and the workers at them.

    ``workers`` are those there are at the moment: ``replace`` puts others in the place of lost ones in that list.
    ``timeout`` is how many seconds a task may take before anybody knows how long they are.
    """

    def __init__(
        self,
        ray: Any,
        workers: list[Worker],
        replace: Callable[[list[Worker]], None],
        bench: tuple[str, Any],
        tasks: Sequence[Payload],
        timeout: float,
    ) -> None:
        self._ray = ray
        self._workers = workers
        self._replace = replace
        self._bench = bench
        self._tasks = tasks
        self._timeout = timeout
        self._longest = 0.0
        self._queue = list(range(len(tasks)))
        self._prepared: set[Worker] = set()
        self._calls: dict[Any, _Call] = {}
        self._losses = 0

    def results(self) -> Iterator[Payload]:
        """In the order of tasks, as they come."""
        done: dict[int, Payload] = {}
        for wanted in range(len(self._tasks)):
            while wanted not in done:
                self._hand_out(wanted)
                done |= self._collect()
            yield done.pop(wanted)

    def clear(self) -> None:
        """Let the workers forget what they were told for it."""
        for worker in self._prepared & set(self._workers):
            worker.actor.clear.remote()

    def _hand_out(self, wanted: int) -> None:
        last = wanted + _AHEAD * len(self._workers)
        for _ in range(_AT_HAND):
            for worker in self._workers:
                if self._queue and self._queue[0] < last and len(self._at(worker)) < _AT_HAND:
                    self._start(heapq.heappop(self._queue), worker)

    def _start(self, number: int, worker: Worker) -> None:
        now = time.monotonic()
        if worker not in self._prepared:
            self._prepared.add(worker)
            self._calls[worker.actor.prepare.remote(*self._bench)] = _Call(None, worker, now)
        self._calls[worker.actor.do.remote(self._tasks[number])] = _Call(number, worker, now)

    def _collect(self) -> dict[int, Payload]:
        """Results that are there, once there is one; workers that are lost meanwhile are replaced."""
        patience = min(self._timeout, max(LEAST_SECONDS, TIMES_LONGEST * self._longest) if self._longest else math.inf)
        # A worker is at the first of its calls.
        first = {call.worker: call for call in reversed(self._calls.values())}
        end = min(call.since for call in first.values()) + patience
        ready, _ = self._ray.wait(list(self._calls), timeout=max(0.0, end - time.monotonic()))
        now = time.monotonic()
        found: dict[int, Payload] = {}
        lost = set() if ready else {call.worker for call in first.values() if now - call.since >= patience}
        for reference in ready:
            call = self._calls[reference]
            try:
                result = answer(self._ray, reference, LEAST_SECONDS)
            except WorkerLost:
                lost.add(call.worker)
                continue
            del self._calls[reference]
            if call.number is not None:
                found[call.number] = result
                self._longest = max(self._longest, now - call.since)
            for later in self._at(call.worker):
                later.since = now
        if lost:
            self._give_to_others(lost)
        return found

    def _give_to_others(self, lost: set[Worker]) -> None:
        self._losses += 1
        if self._losses >= MOST_LOSSES:
            raise ClusterError(
                f"workers were lost {MOST_LOSSES} times over one piece of work, so that it cannot be done; the logs of "
                "Ray tell what ended them"
            )
        for reference, call in list(self._calls.items()):
            if call.worker in lost:
                del self._calls[reference]
                if call.number is not None:
                    heapq.heappush(self._queue, call.number)
        self._replace(list(lost))

    def _at(self, worker: Worker) -> list[_Call]:
        """The tasks of a worker."""
        return [call for call in self._calls.values() if call.worker is worker and call.number is not None]
