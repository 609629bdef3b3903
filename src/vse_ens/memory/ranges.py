"""Labels cut into ranges: each label is worked on alone, so the cut changes no result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from vse_ens.run.pool import Plain
from vse_ens.run.threads import Task, Workers

Result = TypeVar("Result")

# What a task of a pool has at most: work worth sending, and a result that is small beside the whole.
_TASK_LABELS = 512
_TASK_PAIRS = 1_000_000
# Labels that a thread takes at a time: small enough that the last ones are not waited for.
_PIECE = 16


def label_tasks(label_starts: NDArray[np.int64]) -> list[Plain]:
    """All labels as ``first`` and ``last`` of tasks, each of some labels or, where these have many images, fewer."""
    tasks: list[Plain] = []
    first, labels = 0, len(label_starts) - 1
    while first < labels:
        fitting = int(np.searchsorted(label_starts, label_starts[first] + _TASK_PAIRS, "right")) - 1
        last = min(max(fitting, first + 1), first + _TASK_LABELS, labels)
        tasks.append({"first": first, "last": last})
        first = last
    return tasks


def run_pieces(workers: Workers, first: int, last: int, work: Callable[[int, int], Result]) -> list[Result]:
    """The results of ``work`` on a few labels at a time, or on all where there is one thread; in their order."""
    step = _PIECE if workers.count > 1 else max(last - first, 1)

    def task(start: int) -> Task:
        return lambda _worker: work(start, min(start + step, last))

    return workers.run([task(start) for start in range(first, last, step)])
