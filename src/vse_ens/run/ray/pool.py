"""A pool on a Ray cluster. A worker or a node may be lost at any moment, and not a byte of a result changes.

A part is what it began with, its last saved state, and the runs since: so it can be made again on any worker. Its runs
are repeated there; what the other parts did stands.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from vse_ens.errors import ClusterError
from vse_ens.run.pool import MergeSpec, Payload, RoundResult, WorkerTiming, total_amount, tree_reduce
from vse_ens.run.ray.actor import RayActor, Tree
from vse_ens.run.ray.calls import LEAST_SECONDS, MOST_LOSSES, TIMES_LONGEST, Worker, WorkerLost, answer
from vse_ens.run.ray.scheduler import TaskScheduler
from vse_ens.run.ray.start import start

# A worker starts, loads its packages and compiles nothing.
_SECONDS_TO_START = 120.0
_MOMENT = 1.0


@dataclass
class _Part:
    """All that it takes to make a part again."""

    arguments: Any
    worker: Worker
    state: Payload = field(default_factory=dict)
    runs: list[tuple[Any, Payload]] = field(default_factory=list)
    """Since the state was saved, the one under way included."""


@dataclass
class _PendingRun:
    """A run under way: what will be its result, all pieces of it, and its report."""

    result: Any
    report: Any
    landed: dict[str, Any] | None = None
    """The report, once it is there."""
    seen: float = 0.0
    """When that was."""


@dataclass(frozen=True)
class _Here:
    """A result that a worker has, or two of its node that it is to merge."""

    worker: Worker
    result: Any = None
    halves: tuple[_Here, ...] = ()


@dataclass(frozen=True)
class _Spread:
    """What is to be merged from several nodes."""

    tree: Tree


_Placed = _Here | _Spread


class RayPool:
    """Actors of a Ray cluster, each with some of the parts.

    ``address`` is that of a running cluster; without one, a cluster is started on this machine, for this process alone.
    ``workers`` is how many actors there are at most: one a core where it is not said. ``timeout`` is how many seconds a
    run may take before its worker counts as hung.
    """

    def __init__(self, address: str | None = None, workers: int | None = None, timeout: float = 3600.0) -> None:
        self._ray, self._ours = start(address, workers)
        self._most_workers = workers
        self._timeout = timeout
        self._longest = 0.0
        self._workers: list[Worker] = []
        self._parts: list[_Part] = []
        self._opened: tuple[str, Any] | None = None
        """The factory of the workshops and their settings."""
        self._threads = 1
        self._keeps_state = False
        self._names = itertools.count(1)

    # --- opening and closing ---

    def open(self, factory: str, settings: Payload, parts: Sequence[Payload]) -> None:
        """Have the workers make workshops, and share out the parts."""
        self._parts, self._opened = [], None
        self._staff(len(parts))
        self._opened = factory, self._ray.put(settings)
        opening = [worker.actor.open.remote(*self._opened) for worker in self._workers]
        for worker in self._workers:
            worker.parts.clear()
        answers = [self._told(reference, default=True) for reference in opening]
        self._keeps_state = any(answers)
        # Neighbouring parts to one worker and neighbouring workers on one node: what is merged first need not travel.
        self._workers.sort(key=lambda worker: worker.node)
        placed = []
        for number, arguments in enumerate(parts):
            worker = self._workers[number * len(self._workers) // len(parts)]
            self._parts.append(_Part(self._ray.put(arguments), worker))
            placed.append(self._place(number, worker))
        for reference in placed:
            self._told(reference)

    def _told(self, reference: Any, default: Any = None) -> Any:
        """What a call gave. What is wrong with it is told now; a worker that is lost is missed by the first run."""
        try:
            return self._get(reference, self._timeout)
        except WorkerLost:
            return default

    def close(self) -> None:
        """End the workers, and the cluster if it was started for them."""
        self._end_workers()
        self._parts, self._opened = [], None
        if self._ours:
            self._ray.shutdown()

    def __enter__(self) -> RayPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _cores(self) -> list[int]:
        """Of every node that is there."""
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        return [int(node["Resources"]["CPU"]) for node in nodes if node["Resources"].get("CPU", 0) >= 1]

    def _staff(self, tasks: int) -> None:
        """See to it that there are workers, as many as there is work for."""
        cores = self._cores()
        count = max(1, min(tasks, sum(cores), self._most_workers or sum(cores)))
        if len(self._workers) == count:
            return
        self._end_workers()
        self._threads = max(1, min(sum(cores) // count, min(cores, default=1)))
        self._add_workers(count)
        if not self._workers:
            raise ClusterError(
                f"no worker of the cluster was ready within {_SECONDS_TO_START:.0f} s; `ray status` tells whether it "
                "has free cores"
            )

    def _add_workers(self, count: int) -> None:
        """Start so many; those that are not ready in time are left out."""
        kind = self._ray.remote(RayActor).options(num_cpus=self._threads, scheduling_strategy="SPREAD")
        actors = [kind.remote(self._threads) for _ in range(count)]
        answers = [actor.about.remote() for actor in actors]
        self._ray.wait(answers, num_returns=count, timeout=_SECONDS_TO_START)
        for actor, reference in zip(actors, answers, strict=True):
            try:
                about = self._get(reference, 0.0)
            except WorkerLost:
                self._ray.kill(actor)
            else:
                if self._opened:
                    actor.open.remote(*self._opened)
                name = f"{about['address']}, worker {next(self._names)}"
                self._workers.append(Worker(name, about["node"], actor))

    def _end_workers(self) -> None:
        for worker in self._workers:
            self._ray.kill(worker.actor)
        self._workers.clear()

    # --- running ---

    def run(self, shared: Payload, arguments: Payload, merging: MergeSpec) -> RoundResult:
        """Run every part on its worker and merge the results on the workers."""
        began = time.perf_counter()
        stored = [self._ray.put(piece) for piece in merging.pieces(shared, len(self._nodes))]
        for part in self._parts:
            part.runs.append((stored, arguments))
        flights = [self._start(number) for number in range(len(self._parts))]
        repeated = 0
        for _ in range(MOST_LOSSES):
            try:
                self._wait(flights, repeated)
                merged = self._merge([flight.result for flight in flights], len(stored), merging)
                break
            except WorkerLost as lost:
                for number in self._bring_back(lost.workers or self._silent()):
                    self._repeat(number, self._parts[number].runs[:-1])
                    flights[number] = self._start(number)
                    repeated = len(self._parts[number].runs) - 1
        else:
            raise ClusterError(
                f"workers were lost {MOST_LOSSES} times in one round, so that it cannot be done; the logs of Ray tell "
                "what ended them"
            )
        seconds = time.perf_counter() - began
        self._longest = max(self._longest, seconds)
        if not self._keeps_state:
            for part in self._parts:
                part.runs.clear()
        reports = [flight.landed["report"] for flight in flights if flight.landed]
        return RoundResult(merged, reports, tuple(self._shares(flights, seconds)))

    def _wait(self, flights: list[_PendingRun], repeated: int) -> None:
        """Until all reports are there, some of them after so many runs that have to be repeated."""
        waiting = {flight.report: number for number, flight in enumerate(flights) if not flight.landed}
        end = time.monotonic() + self._patience() * (1 + repeated)
        lost: set[Worker] = set()
        while waiting:
            # One loss seldom comes alone: who else is gone shows within a moment.
            allowed = _MOMENT if lost else end - time.monotonic()
            ready, _ = self._ray.wait(list(waiting), timeout=max(0.0, allowed))
            if not ready:
                raise WorkerLost(lost or {self._parts[number].worker for number in waiting.values()})
            for report in ready:
                number = waiting.pop(report)
                try:
                    flights[number].landed = self._get(report, LEAST_SECONDS)
                    flights[number].seen = time.perf_counter()
                except WorkerLost:
                    lost.add(self._parts[number].worker)
        if lost:
            raise WorkerLost(lost)

    def _shares(self, flights: list[_PendingRun], seconds: float) -> Iterator[WorkerTiming]:
        last = max(flight.seen for flight in flights)
        for worker in self._workers:
            own = [flights[number] for number in sorted(worker.parts)]
            landed = [flight.landed for flight in own if flight.landed]
            computing = sum(one["seconds"] for one in landed)
            waiting = last - max((flight.seen for flight in own), default=last)
            yield WorkerTiming(
                worker.name,
                tuple(sorted(worker.parts)),
                total_amount(one["report"] for one in landed),
                computing,
                max(0.0, seconds - computing - waiting),
                waiting,
            )

    def save(self, arguments: Payload) -> Iterator[Payload]:
        """The states of all parts; the runs before are not needed any more."""
        saving = [self._begin_saving(number, arguments) for number in range(len(self._parts))]
        for number, part in enumerate(self._parts):
            part.state = self._saved(number, saving, arguments)
            part.runs.clear()
            yield part.state

    def _begin_saving(self, number: int, arguments: Payload) -> Any:
        return self._parts[number].worker.actor.save.remote(number, arguments)

    def _saved(self, number: int, saving: list[Any], arguments: Payload) -> Payload:
        for _ in range(MOST_LOSSES):
            try:
                state: Payload = self._get(saving[number], self._patience())
            except WorkerLost:
                for other in self._bring_back([self._parts[number].worker]):
                    self._repeat(other, self._parts[other].runs)
                    saving[other] = self._begin_saving(other, arguments)
            else:
                return state
        raise ClusterError(f"part {number} was lost {MOST_LOSSES} times while it was saved; the logs of Ray tell why")

    def _place(self, number: int, worker: Worker) -> Any:
        part = self._parts[number]
        part.worker = worker
        worker.parts.add(number)
        return worker.actor.add.remote(number, part.arguments, part.state)

    def _start(self, number: int) -> _PendingRun:
        part = self._parts[number]
        stored, arguments = part.runs[-1]
        run = part.worker.actor.run.options(num_returns=2)
        return _PendingRun(*run.remote(number, stored, self._turn(part.worker), arguments))

    def _repeat(self, number: int, runs: Iterable[tuple[Any, Payload]]) -> None:
        worker = self._parts[number].worker
        for stored, arguments in runs:
            worker.actor.repeat.remote(number, stored, self._turn(worker), arguments)

    def _merge(self, results: list[Any], pieces: int, merging: MergeSpec) -> Payload:
        """First those of one node, by their workers; then every piece by another node, which fetches it from all."""
        leaves: list[list[Any]] = []

        def whole(here: _Here) -> Any:
            return here.result or here.worker.actor.merge.remote(merging.merge, *map(whole, here.halves))

        def leaf(placed: _Placed) -> Tree:
            if isinstance(placed, _Spread):
                return placed.tree
            actor = placed.worker.actor
            if placed.result:
                apart = actor.apart.options(num_returns=pieces).remote(placed.result)
            else:
                halves = map(whole, placed.halves)
                apart = actor.merge_apart.options(num_returns=pieces).remote(merging.merge, *halves)
            leaves.append(apart if pieces > 1 else [apart])
            return len(leaves) - 1

        def merge(left: _Placed, right: _Placed) -> _Placed:
            if isinstance(left, _Here) and isinstance(right, _Here) and left.worker.node == right.worker.node:
                return _Here(left.worker, halves=(left, right))
            return _Spread((leaf(left), leaf(right)))

        placed: list[_Placed] = [_Here(part.worker, one) for part, one in zip(self._parts, results, strict=True)]
        root = tree_reduce(placed, merge)
        if isinstance(root, _Here):
            return merging.joined(self._get(whole(root), self._patience()))
        owners = [next(worker for worker in self._workers if worker.node == node) for node in self._nodes]
        merged = [
            owner.actor.merge_tree.remote(merging.merge, root.tree, *own)
            for owner, *own in zip(owners, *leaves, strict=False)  # what is not cut has one owner
        ]
        return merging.joined(self._get(merged, self._patience()))

    @property
    def _nodes(self) -> list[str]:
        """Where there are workers, in an order that does not change."""
        return sorted({worker.node for worker in self._workers})

    def _turn(self, worker: Worker) -> int:
        return self._nodes.index(worker.node)

    # --- tasks ---

    def map(self, factory: str, settings: Payload, tasks: Sequence[Payload]) -> Iterator[Payload]:
        """The results of tasks in their order; each worker has the next one at hand while it is at one."""
        if not self._workers:
            self._staff(len(tasks))
        bench = factory, self._ray.put(settings)
        errand = TaskScheduler(self._ray, self._workers, self._replace, bench, tasks, self._timeout)
        try:
            yield from errand.results()
        finally:
            errand.clear()

    # --- losing ---

    def _patience(self) -> float:
        """Seconds that a run may take."""
        allowed = max(LEAST_SECONDS, TIMES_LONGEST * self._longest) if self._longest else self._timeout
        return min(self._timeout, allowed)

    def _replace(self, lost: list[Worker]) -> None:
        """Between two rounds."""
        for number in self._bring_back(lost):
            self._repeat(number, self._parts[number].runs)

    def _bring_back(self, lost: list[Worker]) -> list[int]:
        """Make the parts of lost workers again on others, as they were when they were saved; which ones they are."""
        for worker in lost:
            self._ray.kill(worker.actor)  # a worker that hangs is ended; one that is gone stays gone
            self._workers.remove(worker)
        room = sum(cores // self._threads for cores in self._cores()) - len(self._workers)
        self._add_workers(max(0, min(len(lost), room)))
        if not self._workers:
            raise ClusterError(
                "all workers of the cluster are gone; start it again (a training then goes on with --resume)"
            )
        numbers = sorted(number for worker in lost for number in worker.parts)
        for number in numbers:
            self._place(number, min(self._workers, key=lambda worker: len(worker.parts)))
        return numbers

    def _silent(self) -> list[Worker]:
        """Workers that do not answer though they have nothing to do."""
        answers = [worker.actor.about.remote() for worker in self._workers]
        self._ray.wait(answers, num_returns=len(answers), timeout=LEAST_SECONDS)
        silent = []
        for worker, reference in zip(self._workers, answers, strict=True):
            try:
                self._get(reference, 0.0)
            except WorkerLost:
                silent.append(worker)
        return silent

    def _get(self, reference: Any, timeout: float) -> Any:
        return answer(self._ray, reference, timeout)
