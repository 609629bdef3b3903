"""The actor that runs in every worker process of a Ray cluster."""

from __future__ import annotations

import time
from typing import Any

from vse_ens.model.cpu import cpu_kind
from vse_ens.run.pool import Payload, ShardWorker, TaskFn, resolve
from vse_ens.run.threads import Workers

Pieces = list[Payload]
Tree = int | tuple["Tree", "Tree"]
"""The number of a leaf, or two branches."""


class RayActor:
    """A shard worker and a task function in their own process. Calls are executed in order, one at a time."""

    _shard_worker: ShardWorker
    _task_fn: TaskFn

    def __init__(self, threads: int) -> None:
        self._workers = Workers(threads)

    def location(self) -> dict[str, str]:
        """Return the node, its address and its kind of CPU."""
        import ray

        return {
            "node": ray.get_runtime_context().get_node_id(),
            "address": ray.util.get_node_ip_address(),  # type: ignore[no-untyped-call]
            "cpu": cpu_kind(),
        }

    # --- shards ---

    def open_shards(self, factory: str, settings: Payload) -> bool:
        """Create the shard worker; return whether it keeps state."""
        self._shard_worker = resolve(factory)(settings, self._workers)
        return self._shard_worker.keeps_state

    def add_shard(self, shard: int, arguments: Payload, state: Payload) -> None:
        """Add a shard in a saved state."""
        self._shard_worker.add_shard(shard, arguments)
        self._shard_worker.load_shard(shard, state)

    def run_shard(
        self, shard: int, shared: list[Any], first_piece: int, arguments: Payload
    ) -> tuple[Pieces, dict[str, Any]]:
        """Run a shard; return the result of every piece, and a report with the computing time."""
        pieces = _fetch(shared, first_piece)
        began = time.perf_counter()
        results, report = self._shard_worker.run_shard(shard, pieces, arguments)
        return list(results), {"report": report, "seconds": time.perf_counter() - began}

    def repeat_shard(self, shard: int, shared: list[Any], first_piece: int, arguments: Payload) -> None:
        """Repeat an earlier run of a shard that was lost."""
        self._shard_worker.run_shard(shard, _fetch(shared, first_piece), arguments)

    def save_shard(self, shard: int, arguments: Payload) -> Payload:
        """Return the state of a shard."""
        return self._shard_worker.save_shard(shard, arguments)

    # --- merging ---

    def merge(self, function: str, left: Pieces, right: Pieces) -> Pieces:
        """Merge two results, piece by piece."""
        return list(map(resolve(function), left, right))

    def split(self, function: str, *results: Pieces) -> Any:
        """Merge two results, or take the only one; return every piece as a separate object."""
        pieces = self.merge(function, *results) if len(results) > 1 else results[0]
        return pieces if len(pieces) > 1 else pieces[0]

    def merge_tree(self, function: str, tree: Tree, *results: Payload) -> Payload:
        """Merge one piece of many results, the leaves of the tree, in the order of the tree."""
        merge = resolve(function)

        def merged(branch: Tree) -> Payload:
            result: Payload = results[branch] if isinstance(branch, int) else merge(*map(merged, branch))
            return result

        return merged(tree)

    # --- tasks ---

    def open_tasks(self, factory: str, settings: Payload) -> None:
        """Create the task function; it replaces an earlier one."""
        try:
            self._task_fn = resolve(factory)(settings, self._workers)
        except Exception as error:
            # The driver may see the result of a task before that of this call: both must give the same error.
            self._task_fn = _raiser(error)
            raise

    def run_task(self, task: Payload) -> Payload:
        """Run a task."""
        return self._task_fn(task)

    def close_tasks(self) -> None:
        """Release the task function and its settings."""
        del self._task_fn


def _raiser(error: Exception) -> TaskFn:
    def fail(_task: Payload) -> Payload:
        raise error

    return fail


def _fetch(shared: list[Any], first_piece: int) -> list[Payload]:
    """Fetch the pieces of the shared data, from ``first_piece`` on.

    Every node starts with a different piece. The nodes can then fetch pieces from each other, and their origin need not
    send all pieces to all nodes.
    """
    import ray

    fetched: list[Payload] = [{}] * len(shared)
    for step in range(len(shared)):
        piece = (first_piece + step) % len(shared)
        fetched[piece] = ray.get(shared[piece])
    return fetched
