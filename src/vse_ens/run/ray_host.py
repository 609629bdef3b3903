"""What runs in every worker of a cluster."""

from __future__ import annotations

import time
from typing import Any

from vse_ens.run.pool import Bench, Plain, Workshop, resolve
from vse_ens.run.threads import Workers


class Host:
    """A workshop and a bench in a process of their own. Calls are worked off one after another, as they were made."""

    _workshop: Workshop
    _bench: Bench

    def __init__(self, threads: int) -> None:
        self._workers = Workers(threads)

    def about(self) -> dict[str, str]:
        """Where this is."""
        import ray

        return {
            "node": ray.get_runtime_context().get_node_id(),
            "address": ray.util.get_node_ip_address(),  # type: ignore[no-untyped-call]
        }

    def open(self, factory: str, settings: Plain) -> bool:
        """Make a workshop; whether parts that are lost have to be brought back to where they were."""
        self._workshop = resolve(factory)(settings, self._workers)
        return self._workshop.keeps_state

    def prepare(self, factory: str, settings: Plain) -> None:
        """Make a bench, in place of the one before."""
        self._bench = resolve(factory)(settings, self._workers)

    def do(self, task: Plain) -> Plain:
        """Work on a task at the bench."""
        return self._bench(task)

    def clear(self) -> None:
        """Let go of the bench, and of what it was told."""
        del self._bench

    def add(self, part: int, arguments: Plain, state: Plain) -> None:
        """Take in a part, in a state it was saved in."""
        self._workshop.add(part, arguments)
        self._workshop.load(part, state)

    def run(self, part: int, shared: Plain, arguments: Plain) -> tuple[Plain, dict[str, Any]]:
        """Run a part: what is to be merged, and a report with the time it took."""
        began = time.perf_counter()
        result, report = self._workshop.run(part, shared, arguments)
        return result, {"report": report, "seconds": time.perf_counter() - began}

    def repeat(self, part: int, shared: Plain, arguments: Plain) -> None:
        """Run a part as it was run before it was lost."""
        self._workshop.run(part, shared, arguments)

    def merge(self, function: str, left: Plain, right: Plain) -> Plain:
        """Merge two results."""
        merged: Plain = resolve(function)(left, right)
        return merged

    def save(self, part: int, arguments: Plain) -> Plain:
        """The state of a part."""
        return self._workshop.save(part, arguments)
