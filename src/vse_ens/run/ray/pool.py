"""A pool on a Ray cluster. Nodes of one kind may be lost at any time without changing a byte of a result.

A shard is defined by its arguments, its last saved state and the runs since then, so that it can be recreated on any
worker: the runs are repeated there, and the results of the other shards stay valid.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from vse_ens.errors import ClusterError
from vse_ens.model.cpu import cpu_kind
from vse_ens.portable import portable_environment, portable_requested
from vse_ens.run.pool import MergeSpec, Payload, RoundResult, WorkerTiming, total_amount, tree_reduce
from vse_ens.run.ray.actor import RayActor, Tree
from vse_ens.run.ray.calls import MAX_LOSSES, MIN_TIMEOUT, TIMEOUT_FACTOR, Worker, WorkerLost, get_result
from vse_ens.run.ray.scheduler import TaskScheduler
from vse_ens.run.ray.start import start

# Starting a worker imports packages but compiles nothing.
_START_TIMEOUT = 120.0
_LOSS_GRACE_SECONDS = 1.0


@dataclass
class _Shard:
    """Everything that is needed to recreate a shard."""

    arguments: Any
    worker: Worker
    state: Payload = field(default_factory=dict)
    runs: list[tuple[Any, Payload]] = field(default_factory=list)
    """The runs since the state was saved, including a pending one."""


@dataclass
class _PendingRun:
    """A run of a shard: references to its result, all pieces of it, and to its report."""

    result: Any
    report_reference: Any
    report: dict[str, Any] | None = None
    """The report, once it has arrived."""
    arrived: float = 0.0


@dataclass(frozen=True)
class _LocalResult:
    """A result on a worker, or two results of one node that the worker is to merge."""

    worker: Worker
    result: Any = None
    halves: tuple[_LocalResult, ...] = ()


@dataclass(frozen=True)
class _RemoteResults:
    """Results of several nodes that are to be merged."""

    tree: Tree


_MergeNode = _LocalResult | _RemoteResults


class RayPool:
    """Actors of a Ray cluster, each with some of the shards.

    ``address``: of a running cluster; without one, a private cluster is started on this machine. ``workers`` is
    the maximum number of actors, by default one per core. ``timeout`` is the number of seconds that a run may take
    before its worker counts as hung. Nodes with another kind of CPU than this machine are refused, because the result
    would depend on which node does which part; not with ``allow_mixed_cpus``.
    """

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        timeout: float = 3600.0,
        *,
        allow_mixed_cpus: bool = False,
    ) -> None:
        self.cpus: set[str] = set()
        """The kinds of CPU that have taken part."""
        self._allow_mixed_cpus = allow_mixed_cpus
        self._ray, self._owns_cluster = start(address, workers)
        self._max_workers = workers
        self._timeout = timeout
        self._longest = 0.0
        self._workers: list[Worker] = []
        self._shards: list[_Shard] = []
        self._opened: tuple[str, Any] | None = None
        """The factory of the shard workers and a reference to their settings."""
        self._threads = 1
        self._keeps_state = False
        self._names = itertools.count(1)

    # --- opening and closing ---

    def open(self, factory: str, settings: Payload, shards: Sequence[Payload]) -> None:
        """Create a shard worker on every worker and distribute the shards."""
        self._shards, self._opened = [], None
        self._ensure_workers(len(shards))
        self._opened = factory, self._ray.put(settings)
        opening = [worker.actor.open_shards.remote(*self._opened) for worker in self._workers]
        for worker in self._workers:
            worker.shards.clear()
        keep_state = [self._get_unless_lost(reference, default=True) for reference in opening]  # raises their errors
        self._keeps_state = any(keep_state)
        # Adjacent shards go to one worker and adjacent workers to one node: results that are merged first stay local.
        self._workers.sort(key=lambda worker: worker.node)
        adding = []
        for number, arguments in enumerate(shards):
            worker = self._workers[number * len(self._workers) // len(shards)]
            self._shards.append(_Shard(self._ray.put(arguments), worker))
            adding.append(self._assign(number, worker))
        for reference in adding:
            self._get_unless_lost(reference)

    def _get_unless_lost(self, reference: Any, default: Any = None) -> Any:
        """Return the result of a call and raise its error; a lost worker is noticed by the first run."""
        try:
            return self._get(reference, self._timeout)
        except WorkerLost:
            return default

    def close(self) -> None:
        """Stop the workers, and the cluster if this pool started it."""
        self._stop_workers()
        self._shards, self._opened = [], None
        if self._owns_cluster:
            self._ray.shutdown()

    def __enter__(self) -> RayPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- workers ---

    def _cores_per_node(self) -> list[int]:
        try:
            nodes = [node for node in self._ray.nodes() if node["Alive"]]
        except (OSError, RuntimeError, self._ray.exceptions.RayError) as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise ClusterError(
                f"the Ray cluster does not answer: {reason}; check `ray status` and restart it"
            ) from error
        return [int(node["Resources"]["CPU"]) for node in nodes if node["Resources"].get("CPU", 0) >= 1]

    def _ensure_workers(self, jobs: int) -> None:
        """Start workers, at most one per job, unless this number is already running."""
        cores = self._cores_per_node()
        count = max(1, min(jobs, sum(cores), self._max_workers or sum(cores)))
        if len(self._workers) == count:
            return
        self._stop_workers()
        self._threads = max(1, min(sum(cores) // count, min(cores, default=1)))
        self._start_workers(count)
        if not self._workers:
            raise ClusterError(
                f"no worker of the cluster was ready within {_START_TIMEOUT:.0f} s; check `ray status` for free cores"
            )

    def _start_workers(self, count: int) -> None:
        """Start workers; those that are not ready in time are dropped."""
        options: dict[str, Any] = {"num_cpus": self._threads, "scheduling_strategy": "SPREAD"}
        if portable_requested():
            options["runtime_env"] = {"env_vars": portable_environment()}
        actor_class = self._ray.remote(RayActor).options(**options)
        actors = [actor_class.remote(self._threads) for _ in range(count)]
        locations = [actor.location.remote() for actor in actors]
        self._ray.wait(locations, num_returns=count, timeout=_START_TIMEOUT)
        for actor, reference in zip(actors, locations, strict=True):
            try:
                location = self._get(reference, 0.0)
            except WorkerLost:
                self._ray.kill(actor)
            else:
                self._check_cpu(location["address"], location["cpu"])
                if self._opened:
                    actor.open_shards.remote(*self._opened)
                name = f"{location['address']}, worker {next(self._names)}"
                self._workers.append(Worker(name, location["node"], actor))

    def _check_cpu(self, address: str, kind: str) -> None:
        self.cpus.add(kind)
        if kind != cpu_kind() and not self._allow_mixed_cpus:
            raise ClusterError(
                f"the node {address} computes as {kind}, and this machine as {cpu_kind()}, so that the last bits would "
                "depend on which of them does what; use nodes of one kind, --portable, or --allow-mixed-cpus"
            )

    def _stop_workers(self) -> None:
        for worker in self._workers:
            self._ray.kill(worker.actor)
        self._workers.clear()

    # --- shards ---

    def run(self, shared: Payload, arguments: Payload, merge: MergeSpec) -> RoundResult:
        """Run every shard on its worker and merge the results on the workers."""
        began = time.perf_counter()
        stored = [self._ray.put(piece) for piece in merge.split_shared(shared, len(self._nodes))]
        for shard in self._shards:
            shard.runs.append((stored, arguments))
        pending = [self._start_run(number) for number in range(len(self._shards))]
        repeated = 0
        for _ in range(MAX_LOSSES):
            try:
                self._wait(pending, repeated)
                merged = self._merge([run.result for run in pending], len(stored), merge)
                break
            except WorkerLost as lost:
                for number in self._recover(lost.workers or self._unresponsive()):
                    self._repeat(number, self._shards[number].runs[:-1])
                    pending[number] = self._start_run(number)
                    repeated = len(self._shards[number].runs) - 1
        else:
            raise ClusterError(f"workers were lost {MAX_LOSSES} times in one round; see the logs of Ray for the cause")
        seconds = time.perf_counter() - began
        self._longest = max(self._longest, seconds)
        if not self._keeps_state:
            for shard in self._shards:
                shard.runs.clear()
        reports = [run.report["report"] for run in pending if run.report]
        return RoundResult(merged, reports, tuple(self._timings(pending, seconds)))

    def _wait(self, pending: list[_PendingRun], repeated: int) -> None:
        """Wait for all reports; some arrive only after this many ``repeated`` runs."""
        waiting = {run.report_reference: number for number, run in enumerate(pending) if not run.report}
        end = time.monotonic() + self._run_timeout() * (1 + repeated)
        lost: set[Worker] = set()
        while waiting:
            # Losses often come together: after the first one, wait a moment for the others.
            allowed = _LOSS_GRACE_SECONDS if lost else end - time.monotonic()
            ready, _ = self._ray.wait(list(waiting), timeout=max(0.0, allowed))
            if not ready:
                raise WorkerLost(lost or {self._shards[number].worker for number in waiting.values()})
            for reference in ready:
                number = waiting.pop(reference)
                try:
                    pending[number].report = self._get(reference, MIN_TIMEOUT)
                    pending[number].arrived = time.perf_counter()
                except WorkerLost:
                    lost.add(self._shards[number].worker)
        if lost:
            raise WorkerLost(lost)

    def _timings(self, finished: list[_PendingRun], seconds: float) -> Iterator[WorkerTiming]:
        last = max(run.arrived for run in finished)
        for worker in self._workers:
            own = [finished[number] for number in sorted(worker.shards)]
            reports = [run.report for run in own if run.report]
            computing = sum(report["seconds"] for report in reports)
            waiting = last - max((run.arrived for run in own), default=last)
            yield WorkerTiming(
                worker.name,
                tuple(sorted(worker.shards)),
                total_amount(report["report"] for report in reports),
                computing,
                max(0.0, seconds - computing - waiting),
                waiting,
            )

    def save(self, arguments: Payload) -> Iterator[Payload]:
        """Yield the states of all shards; the runs before them need not be repeated any more."""
        saving = [self._start_saving(number, arguments) for number in range(len(self._shards))]
        for number, shard in enumerate(self._shards):
            shard.state = self._saved_state(number, saving, arguments)
            shard.runs.clear()
            yield shard.state

    def _start_saving(self, number: int, arguments: Payload) -> Any:
        return self._shards[number].worker.actor.save_shard.remote(number, arguments)

    def _saved_state(self, number: int, saving: list[Any], arguments: Payload) -> Payload:
        for _ in range(MAX_LOSSES):
            try:
                state: Payload = self._get(saving[number], self._run_timeout())
            except WorkerLost:
                for other in self._recover([self._shards[number].worker]):
                    self._repeat(other, self._shards[other].runs)
                    saving[other] = self._start_saving(other, arguments)
            else:
                return state
        raise ClusterError(
            f"shard {number} was lost {MAX_LOSSES} times while it was saved; see the logs of Ray for the cause"
        )

    def _assign(self, number: int, worker: Worker) -> Any:
        shard = self._shards[number]
        shard.worker = worker
        worker.shards.add(number)
        return worker.actor.add_shard.remote(number, shard.arguments, shard.state)

    def _start_run(self, number: int) -> _PendingRun:
        shard = self._shards[number]
        stored, arguments = shard.runs[-1]
        run = shard.worker.actor.run_shard.options(num_returns=2)
        return _PendingRun(*run.remote(number, stored, self._first_piece(shard.worker), arguments))

    def _repeat(self, number: int, runs: Iterable[tuple[Any, Payload]]) -> None:
        worker = self._shards[number].worker
        for stored, arguments in runs:
            worker.actor.repeat_shard.remote(number, stored, self._first_piece(worker), arguments)

    def _merge(self, results: list[Any], pieces: int, merge: MergeSpec) -> Payload:
        """Merge the results: first those of each node, by its workers; then every piece, by a different node."""
        leaves: list[list[Any]] = []

        def whole(local: _LocalResult) -> Any:
            return local.result or local.worker.actor.merge.remote(merge.merge, *map(whole, local.halves))

        def leaf(node: _MergeNode) -> Tree:
            if isinstance(node, _RemoteResults):
                return node.tree
            results = [node.result] if node.result else map(whole, node.halves)
            split = node.worker.actor.split.options(num_returns=pieces).remote(merge.merge, *results)
            leaves.append(split if pieces > 1 else [split])
            return len(leaves) - 1

        def join(left: _MergeNode, right: _MergeNode) -> _MergeNode:
            if (
                isinstance(left, _LocalResult)
                and isinstance(right, _LocalResult)
                and left.worker.node == right.worker.node
            ):
                return _LocalResult(left.worker, halves=(left, right))
            return _RemoteResults((leaf(left), leaf(right)))

        local: list[_MergeNode] = [
            _LocalResult(shard.worker, result) for shard, result in zip(self._shards, results, strict=True)
        ]
        root = tree_reduce(local, join)
        if isinstance(root, _LocalResult):
            return merge.join_results(self._get(whole(root), self._run_timeout()))
        mergers = [next(worker for worker in self._workers if worker.node == node) for node in self._nodes]
        merged = [
            merger.actor.merge_tree.remote(merge.merge, root.tree, *own)
            for merger, *own in zip(mergers, *leaves, strict=False)  # data that is not split has one merger
        ]
        return merge.join_results(self._get(merged, self._run_timeout()))

    @property
    def _nodes(self) -> list[str]:
        """The nodes that have workers, in a fixed order."""
        return sorted({worker.node for worker in self._workers})

    def _first_piece(self, worker: Worker) -> int:
        return self._nodes.index(worker.node)

    # --- tasks ---

    def map(self, factory: str, settings: Payload, tasks: Sequence[Payload]) -> Iterator[Payload]:
        """Yield the results of tasks, in order."""
        if not self._workers:
            self._ensure_workers(len(tasks))
        task_fn = factory, self._ray.put(settings)
        scheduler = TaskScheduler(self._ray, self._workers, self._replace, task_fn, tasks, self._timeout)
        try:
            yield from scheduler.results()
        finally:
            scheduler.close()

    # --- lost workers ---

    def _run_timeout(self) -> float:
        """Return the seconds that a run may take."""
        allowed = max(MIN_TIMEOUT, TIMEOUT_FACTOR * self._longest) if self._longest else self._timeout
        return min(self._timeout, allowed)

    def _replace(self, lost: list[Worker]) -> None:
        """Replace workers that were lost between two rounds."""
        for number in self._recover(lost):
            self._repeat(number, self._shards[number].runs)

    def _recover(self, lost: list[Worker]) -> list[int]:
        """Recreate the shards of lost workers on others, in their saved states; return their numbers."""
        for worker in lost:
            self._ray.kill(worker.actor)  # stops a worker that hangs; a dead one stays dead
            self._workers.remove(worker)
        free = sum(cores // self._threads for cores in self._cores_per_node()) - len(self._workers)
        self._start_workers(max(0, min(len(lost), free)))
        if not self._workers:
            raise ClusterError(
                "all workers of the cluster are lost; restart the cluster (a training run continues with --resume)"
            )
        numbers = sorted(number for worker in lost for number in worker.shards)
        for number in numbers:
            self._assign(number, min(self._workers, key=lambda worker: len(worker.shards)))
        return numbers

    def _unresponsive(self) -> list[Worker]:
        """Return the idle workers that do not answer."""
        answers = [worker.actor.location.remote() for worker in self._workers]
        self._ray.wait(answers, num_returns=len(answers), timeout=MIN_TIMEOUT)
        unresponsive = []
        for worker, reference in zip(self._workers, answers, strict=True):
            try:
                self._get(reference, 0.0)
            except WorkerLost:
                unresponsive.append(worker)
        return unresponsive

    def _get(self, reference: Any, timeout: float) -> Any:
        return get_result(self._ray, reference, timeout)
