"""A pool runs parts of a work in workshops: in this process, or on a cluster. It does not know what the work is.

A workshop is made by a factory, a class or function given by its dotted name, so that another process can make one too:
`factory(settings, workers)`. It has the methods of `Workshop`. What goes in and out is arrays, numbers and text, in
dictionaries and lists: anything else would tie the two ends to one version of the code.

Work that needs nothing but a task of its own is done at a bench: `factory(settings, workers)` makes a function from a
task to its result, and any worker may take any task.

Merging many results two at a time: the same tree for so many results, whoever merges and whenever.

Which cluster the work is done on, if any.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, TypeVar

from vse_ens.errors import ConfigError
from vse_ens.run.threads import Workers

Payload = Mapping[str, Any]
"""Arrays, numbers and text by name."""

TaskFn = Callable[[Payload], Payload]
"""From a task to its result; what it is told of before, by its settings, is the same for all tasks."""


class ShardWorker(Protocol):
    """What a factory makes: some of the parts live in it."""

    @property
    def keeps_state(self) -> bool:
        """Whether what a part does depends on what it did before."""

    def add_shard(self, part: int, arguments: Payload) -> None:
        """Take in a part."""

    def run_shard(self, part: int, shared: Sequence[Payload], arguments: Payload) -> tuple[Sequence[Payload], Payload]:
        """Work on a part from what all parts share, in pieces: of every piece what is to be merged with that of the
        other parts, and a report.
        """

    def save_shard(self, part: int, arguments: Payload) -> Payload:
        """The state of a part, or where it was put: what `load` takes. Nothing where it has none."""

    def load_shard(self, part: int, state: Payload) -> None:
        """Set a part back to a saved state."""


@dataclass(frozen=True)
class WorkerTiming:
    """How one worker spent a round, in seconds."""

    name: str
    parts: tuple[int, ...]
    total_amount: float
    """How much its parts say they did: the sum of ``amount`` in their reports."""
    computing: float
    moving: float
    """Fetching what is shared, handing back and merging."""
    waiting: float
    """For the slowest of the others."""

    @property
    def seconds(self) -> float:
        """How long the round was."""
        return self.computing + self.moving + self.waiting


@dataclass(frozen=True)
class MergeSpec:
    """How what is shared is handed out and how results are merged, by dotted names of functions.

    Where there are nodes, each hands on and merges a piece: then what moves over a link does not grow with their
    number. Every piece must be merged as it is in the whole.
    """

    merge: str
    """merge(left, right): of two results, or of one piece of both."""
    cut: str | None = None
    """cut(shared, pieces): what is shared, in so many pieces; without it there is one."""
    join: str | None = None
    """join(results): the results of all pieces as one."""

    def pieces(self, shared: Payload, count: int) -> list[Payload]:
        """What is shared, in ``count`` pieces where it can be cut."""
        return [shared] if count == 1 or self.cut is None else list(resolve(self.cut)(shared, count))

    def joined(self, merged: Sequence[Payload]) -> Payload:
        """The results of all pieces as one."""
        if len(merged) == 1 or self.join is None:
            return merged[0]
        joined: Payload = resolve(self.join)(merged)
        return joined


@dataclass(frozen=True)
class RoundResult:
    """What a round of all parts gave."""

    merged: Payload
    reports: list[Payload]
    """Of every part, in order."""
    timings: tuple[WorkerTiming, ...] = ()
    """Of every worker."""


def total_amount(reports: Iterable[Payload]) -> float:
    """How much some parts did, by what they say."""
    return sum(float(report.get("amount", 0.0)) for report in reports)


class Pool(Protocol):
    """Where parts are worked on. Which worker has which part changes no result."""

    def open(self, factory: str, settings: Payload, parts: Sequence[Payload]) -> None:
        """Make workshops and share out the parts; what was open before is closed."""

    def run(self, shared: Payload, arguments: Payload, merging: MergeSpec) -> RoundResult:
        """Run every part once and merge the results two at a time."""

    def save(self, arguments: Payload) -> Iterator[Payload]:
        """The states of all parts, in order; a part that is lost later goes on from here."""

    def map(self, factory: str, settings: Payload, tasks: Sequence[Payload]) -> Iterator[Payload]:
        """The results of tasks in their order, as they come, from benches that the factory of that name makes.

        No more results are held than there are workers to be kept busy. What is open stays open.
        """

    def close(self) -> None:
        """Let go of the workers."""


def resolve(name: str) -> Any:
    """The class or function of a dotted name."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


class LocalPool:
    """A pool in this process: one workshop, one part after another, each on all threads."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._workshop: ShardWorker | None = None
        self._parts = 0

    def open(self, factory: str, settings: Payload, parts: Sequence[Payload]) -> None:
        """Make a workshop of all parts."""
        workshop: ShardWorker = resolve(factory)(settings, self._workers)
        for part, arguments in enumerate(parts):
            workshop.add_shard(part, arguments)
        self._workshop, self._parts = workshop, len(parts)

    def run(self, shared: Payload, arguments: Payload, merging: MergeSpec) -> RoundResult:
        """Run the parts in turn, each merged as soon as it is done."""
        began = time.perf_counter()
        workshop = self._open
        reports: list[Payload] = []

        def results() -> Iterator[Payload]:
            for part in range(self._parts):
                (result,), report = workshop.run_shard(part, merging.pieces(shared, 1), arguments)
                reports.append(report)
                yield result

        merged = tree_reduce(results(), resolve(merging.merge))
        seconds = time.perf_counter() - began
        everything = WorkerTiming("this process", tuple(range(self._parts)), total_amount(reports), seconds, 0.0, 0.0)
        return RoundResult(merged, reports, (everything,))

    def save(self, arguments: Payload) -> Iterator[Payload]:
        """The states of all parts, in order."""
        return (self._open.save_shard(part, arguments) for part in range(self._parts))

    def map(self, factory: str, settings: Payload, tasks: Sequence[Payload]) -> Iterator[Payload]:
        """The results of tasks, one after another, each on all threads."""
        bench: TaskFn = resolve(factory)(settings, self._workers)
        return map(bench, tasks)

    def close(self) -> None:
        """Forget the parts."""
        self._workshop = None

    @property
    def _open(self) -> ShardWorker:
        if self._workshop is None:
            raise RuntimeError("the pool is not open")
        return self._workshop


T = TypeVar("T")


def tree_reduce(results: Iterable[T], merge: Callable[[T, T], T]) -> T:
    """Neighbours first, then neighbouring pairs, and so on; what is left over joins at the end, from the right.

    Sums of floating-point numbers depend on their order, which here depends on the number of results alone. They may
    come one by one: at most log2 of their number is held at a time.
    """
    waiting: list[tuple[int, T]] = []
    for result in results:
        size = 1
        while waiting and waiting[-1][0] == size:
            result = merge(waiting.pop()[1], result)
            size *= 2
        waiting.append((size, result))
    return reduce(lambda right, left: merge(left, right), [result for _, result in reversed(waiting)])


@contextmanager
def open_pool(cluster: str | None, address: str | None, workers: int | None) -> Iterator[Pool | None]:
    """The workers of a cluster, until the block ends; None where the work is to be done in this process.

    ``cluster`` is its kind, ``"ray"``; ``address`` that of a running one, else one is started on this machine.
    """
    if cluster is None:
        if address is not None:
            raise ConfigError("address is that of a cluster: say --cluster ray too (cluster='ray' in Python)")
        yield None
        return
    if cluster != "ray":
        raise ConfigError(f"cluster must be 'ray', got {cluster!r}")
    from vse_ens.run.ray.pool import RayPool

    with RayPool(address, workers) as pool:
        yield pool
