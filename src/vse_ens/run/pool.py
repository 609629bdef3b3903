"""Pools run shards and tasks: in this process, or on a cluster. They do not know what the work is.

Shards keep data between rounds. They live in a `ShardWorker`. Tasks are independent: a `TaskFn` maps a task to its
result, and any worker may take any task. Both are made by a factory, ``factory(settings, workers)``, which is given by
its dotted name so that another process can import it. Arguments and results are arrays, numbers and text in
dictionaries and lists: other objects would tie both ends to one version of the code.
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

T = TypeVar("T")

Payload = Mapping[str, Any]
"""Arrays, numbers and text by name."""

TaskFn = Callable[[Payload], Payload]
"""Maps a task to its result; the settings of its factory are the same for all tasks."""


class ShardWorker(Protocol):
    """Holds and runs some of the shards."""

    @property
    def keeps_state(self) -> bool:
        """Whether the result of a shard depends on its earlier runs."""

    def add_shard(self, shard: int, arguments: Payload) -> None:
        """Add a shard."""

    def run_shard(self, shard: int, shared: Sequence[Payload], arguments: Payload) -> tuple[Sequence[Payload], Payload]:
        """Run a shard on the shared data, which may be split into pieces.

        Returns one result per piece, to be merged with those of the other shards, and a report.
        """

    def save_shard(self, shard: int, arguments: Payload) -> Payload:
        """Return the state of a shard, or its location, as `load_shard` takes it; empty if it has none."""

    def load_shard(self, shard: int, state: Payload) -> None:
        """Restore a shard from a saved state."""


@dataclass(frozen=True)
class WorkerTiming:
    """How one worker spent a round, in seconds."""

    name: str
    shards: tuple[int, ...]
    amount: float
    """The work done: the sum of ``amount`` in the reports of its shards."""
    computing: float
    moving: float
    """Fetching the shared data, returning results and merging them."""
    waiting: float
    """For the slowest of the other workers."""

    @property
    def seconds(self) -> float:
        """The duration of the round."""
        return self.computing + self.moving + self.waiting


@dataclass(frozen=True)
class MergeSpec:
    """How shared data is distributed and results are merged, by dotted names of functions.

    On several nodes, each node distributes and merges one piece, so that the traffic of a link does not grow with the
    number of nodes. Merging a piece must give the same numbers as merging the whole.
    """

    merge: str
    """merge(left, right): two results, or the same piece of both."""
    split: str | None = None
    """split(shared, pieces): the shared data in this many pieces; without it there is one piece."""
    join: str | None = None
    """join(results): the merged pieces as one result."""

    def split_shared(self, shared: Payload, pieces: int) -> list[Payload]:
        """Split the shared data into pieces, if it can be split."""
        return [shared] if pieces == 1 or self.split is None else list(resolve(self.split)(shared, pieces))

    def join_results(self, merged: Sequence[Payload]) -> Payload:
        """Join the merged pieces."""
        if len(merged) == 1 or self.join is None:
            return merged[0]
        joined: Payload = resolve(self.join)(merged)
        return joined


@dataclass(frozen=True)
class RoundResult:
    """The result of one round of all shards."""

    merged: Payload
    reports: list[Payload]
    """One per shard, in order."""
    timings: tuple[WorkerTiming, ...] = ()
    """One per worker."""


class Pool(Protocol):
    """Runs shards and tasks. The assignment of shards to workers does not change a result."""

    @property
    def cpus(self) -> set[str]:
        """The kinds of CPU that have taken part, as `vse_ens.model.cpu.cpu_kind` names them."""

    def open(self, factory: str, settings: Payload, shards: Sequence[Payload]) -> None:
        """Create shard workers and distribute the shards, given by their arguments; earlier shards are dropped."""

    def run(self, shared: Payload, arguments: Payload, merge: MergeSpec) -> RoundResult:
        """Run every shard once and merge the results pairwise."""

    def save(self, arguments: Payload) -> Iterator[Payload]:
        """Yield the states of all shards, in order; a shard that is lost later continues from here."""

    def map(self, factory: str, settings: Payload, tasks: Sequence[Payload]) -> Iterator[Payload]:
        """Yield the results of tasks, in order.

        No more results are held than are needed to keep the workers busy. Open shards stay open.
        """

    def close(self) -> None:
        """Release the workers."""


class LocalPool:
    """A pool in this process: shards and tasks run one after another, each on all threads."""

    def __init__(self, workers: Workers) -> None:
        self.cpus: set[str] = set()  # this process only
        self._workers = workers
        self._shard_worker: ShardWorker | None = None
        self._shards = 0

    def open(self, factory: str, settings: Payload, shards: Sequence[Payload]) -> None:
        """Create one shard worker with all shards."""
        shard_worker: ShardWorker = resolve(factory)(settings, self._workers)
        for shard, arguments in enumerate(shards):
            shard_worker.add_shard(shard, arguments)
        self._shard_worker, self._shards = shard_worker, len(shards)

    def run(self, shared: Payload, arguments: Payload, merge: MergeSpec) -> RoundResult:
        """Run the shards one after another; each result is merged as soon as it is there."""
        began = time.perf_counter()
        shard_worker = self._opened
        reports: list[Payload] = []

        def results() -> Iterator[Payload]:
            for shard in range(self._shards):
                (result,), report = shard_worker.run_shard(shard, merge.split_shared(shared, 1), arguments)
                reports.append(report)
                yield result

        merged = tree_reduce(results(), resolve(merge.merge))
        seconds = time.perf_counter() - began
        timing = WorkerTiming("this process", tuple(range(self._shards)), total_amount(reports), seconds, 0.0, 0.0)
        return RoundResult(merged, reports, (timing,))

    def save(self, arguments: Payload) -> Iterator[Payload]:
        """Yield the states of all shards, in order."""
        return (self._opened.save_shard(shard, arguments) for shard in range(self._shards))

    def map(self, factory: str, settings: Payload, tasks: Sequence[Payload]) -> Iterator[Payload]:
        """Yield the results of tasks, in order."""
        task_fn: TaskFn = resolve(factory)(settings, self._workers)
        return map(task_fn, tasks)

    def close(self) -> None:
        """Drop the shards."""
        self._shard_worker = None

    @property
    def _opened(self) -> ShardWorker:
        if self._shard_worker is None:
            raise RuntimeError("the pool is not open")
        return self._shard_worker


@contextmanager
def open_pool(
    cluster: str | None, address: str | None, workers: int | None, allow_mixed_cpus: bool = False
) -> Iterator[Pool | None]:
    """Yield a pool on a cluster, or None if the work is to run in this process.

    ``cluster`` is the kind of cluster, ``"ray"``. ``address``: of a running cluster; without one, a cluster is
    started on this machine. Nodes with another kind of CPU than this machine are refused without ``allow_mixed_cpus``.
    """
    if cluster is None:
        if address is not None:
            raise ConfigError("address needs a cluster: add --cluster ray (cluster='ray' in Python)")
        yield None
        return
    if cluster != "ray":
        raise ConfigError(f"cluster must be 'ray', got {cluster!r}")
    from vse_ens.run.ray.pool import RayPool

    with RayPool(address, workers, allow_mixed_cpus=allow_mixed_cpus) as pool:
        yield pool


def resolve(name: str) -> Any:
    """Import the class or function of a dotted name."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def total_amount(reports: Iterable[Payload]) -> float:
    """Sum the work that reports of shards state."""
    return sum(float(report.get("amount", 0.0)) for report in reports)


def tree_reduce(results: Iterable[T], merge: Callable[[T, T], T]) -> T:
    """Merge neighbors, then neighboring pairs, and so on; the rest is merged at the end, from the right.

    A sum of floating-point numbers depends on its order, which here depends on the number of results alone. Results may
    arrive one by one: at most log2 of their number is held at a time.
    """
    pending: list[tuple[int, T]] = []
    for result in results:
        size = 1
        while pending and pending[-1][0] == size:
            result = merge(pending.pop()[1], result)
            size *= 2
        pending.append((size, result))
    return reduce(lambda right, left: merge(left, right), [result for _, result in reversed(pending)])
