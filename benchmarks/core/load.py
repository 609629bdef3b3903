"""The CPU time that other processes used while a benchmark ran: on a busy machine its times mean little."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path

# In cores. A desktop at rest uses a few hundredths of one.
LIMIT = 0.15
# Between two looks at the processes; one look takes milliseconds.
_SECONDS = 2.0
_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


class OtherProcesses:
    """Measures, within a block, how many cores the processes used that are not this one nor started by it.

    Time that a virtual machine had to wait for its host counts as well. ``cores`` is None where there is no /proc.
    """

    cores: float | None = None

    def __enter__(self) -> OtherProcesses:
        self._done = threading.Event()
        self._began, self._busy, self._own = time.monotonic(), _busy_seconds(), _own_seconds()
        self._process = time.process_time()
        self._first = _descendants()
        self._last: dict[int, float] = {}
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        busy = _busy_seconds()
        if busy is None or self._busy is None:
            return
        self._last.update(_descendants())
        seen = time.process_time() - self._process
        seen += sum(used - self._first.get(process, 0.0) for process, used in self._last.items())
        # The system adds up the children that were waited for, to the end; a look also finds those whose parent does
        # not wait for them, as on a Ray cluster, but misses their last seconds. Both are at most what was used.
        own = max(_own_seconds() - self._own, seen)
        self.cores = max(0.0, busy - self._busy - own) / (time.monotonic() - self._began)

    def _watch(self) -> None:
        while not self._done.wait(_SECONDS):
            self._last.update(_descendants())


def _own_seconds() -> float:
    return sum(os.times()[:4])


def _busy_seconds() -> float | None:
    """Return the time that all cores worked or waited for the host of a virtual machine."""
    if not (_PROC / "stat").exists():
        return None
    # user, nice, system, idle, iowait, irq, softirq, steal; guests are part of user.
    user, nice, system, _, _, irq, softirq, steal = map(int, (_PROC / "stat").read_text().split(None, 9)[1:9])
    return (user + nice + system + irq + softirq + steal) / _TICKS


def _descendants() -> dict[int, float]:
    """Return the CPU seconds of every process that this one started, or one of those did."""
    parents, used = {}, {}
    for folder in _PROC.iterdir() if _PROC.exists() else ():
        if not folder.name.isdigit():
            continue
        try:
            # The name of the program, in brackets, may have spaces.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended since
            continue
        process = int(folder.name)
        parents[process] = int(fields[1])
        used[process] = (int(fields[11]) + int(fields[12])) / _TICKS
    return {process: seconds for process, seconds in used.items() if _descends(process, parents)}


def _descends(process: int, parents: Mapping[int, int]) -> bool:
    ancestor = parents.get(process)
    while ancestor is not None and ancestor != os.getpid():
        ancestor = parents.get(ancestor)
    return ancestor is not None
