"""What runs in every worker of a cluster."""

from __future__ import annotations

import time
from typing import Any

from vse_ens.run.pool import Payload, ShardWorker, TaskFn, resolve
from vse_ens.run.threads import Workers

Pieces = list[Payload]
Tree = int | tuple["Tree", "Tree"]
"""The number of a leaf, or two branches."""


class RayActor:
    """A workshop and a bench in a process of their own. Calls are worked off one after another, as they were made."""

    _workshop: ShardWorker
    _bench: TaskFn

    def __init__(self, threads: int) -> None:
        self._workers = Workers(threads)

    def about(self) -> dict[str, str]:
        """Where this is."""
        import ray

        return {
            "node": ray.get_runtime_context().get_node_id(),
            "address": ray.util.get_node_ip_address(),  # type: ignore[no-untyped-call]
        }

    def open(self, factory: str, settings: Payload) -> bool:
        """Make a workshop; whether parts that are lost have to be brought back to where they were."""
        self._workshop = resolve(factory)(settings, self._workers)
        return self._workshop.keeps_state

    def prepare(self, factory: str, settings: Payload) -> None:
        """Make a bench, in place of the one before."""
        self._bench = resolve(factory)(settings, self._workers)

    def do(self, task: Payload) -> Payload:
        """Work on a task at the bench."""
        return self._bench(task)

    def clear(self) -> None:
        """Let go of the bench, and of what it was told."""
        del self._bench

    def add(self, part: int, arguments: Payload, state: Payload) -> None:
        """Take in a part, in a state it was saved in."""
        self._workshop.add_shard(part, arguments)
        self._workshop.load_shard(part, state)

    def run(self, part: int, shared: list[Any], turn: int, arguments: Payload) -> tuple[Pieces, dict[str, Any]]:
        """Run a part: what is to be merged of every piece, and a report with the time it took."""
        pieces = _fetched(shared, turn)
        began = time.perf_counter()
        results, report = self._workshop.run_shard(part, pieces, arguments)
        return list(results), {"report": report, "seconds": time.perf_counter() - began}

    def repeat(self, part: int, shared: list[Any], turn: int, arguments: Payload) -> None:
        """Run a part as it was run before it was lost."""
        self._workshop.run_shard(part, _fetched(shared, turn), arguments)

    def merge(self, function: str, left: Pieces, right: Pieces) -> Pieces:
        """Merge two results, piece by piece."""
        return list(map(resolve(function), left, right))

    def merge_apart(self, function: str, left: Pieces, right: Pieces) -> Any:
        """The same, every piece as an object of its own."""
        return self.apart(self.merge(function, left, right))

    def apart(self, results: Pieces) -> Any:
        """Every piece as an object of its own."""
        return results if len(results) > 1 else results[0]

    def merge_tree(self, function: str, tree: Tree, *results: Payload) -> Payload:
        """Merge one piece of many results in the order of a tree, of which they are the leaves."""
        merge = resolve(function)

        def merged(branch: Tree) -> Payload:
            found: Payload = results[branch] if isinstance(branch, int) else merge(*map(merged, branch))
            return found

        return merged(tree)

    def save(self, part: int, arguments: Payload) -> Payload:
        """The state of a part."""
        return self._workshop.save_shard(part, arguments)


def _fetched(shared: list[Any], turn: int) -> list[Payload]:
    """What the references stand for, fetched one after another from the one whose turn it is on this node.

    Other nodes begin with others: so they come to have pieces for each other, and the one they all come from need not
    send everything to everybody.
    """
    import ray

    found: list[Payload] = [{}] * len(shared)
    for step in range(len(shared)):
        place = (turn + step) % len(shared)
        found[place] = ray.get(shared[place])
    return found
