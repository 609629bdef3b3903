"""The RAM that this process may still allocate."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# The files of the limit and of the usage of both versions of control groups, and what of the usage can be reclaimed.
_VERSION_2 = ("memory.max", "memory.current", "inactive_file")
_VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def available_memory(process: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the bytes left by the system, the container and the limit of the process, whichever is least.

    None if the platform reports none of them.
    """
    lines = [line.partition(":")[::2] for line in _lines(process / "meminfo")]
    system = [int(rest.split()[0]) * 1024 for name, rest in lines if name == "MemAvailable"]
    left = [*system, *_containers(process, cgroups), *_own_limit(process)]
    return max(0, min(left)) if left else None


def _containers(process: Path, cgroups: Path) -> Iterator[int]:
    """Yield the bytes left by every control group of this process, from the innermost to the outermost."""
    for line in _lines(process / "self" / "cgroup"):
        number, controllers, group = line.split(":", 2)
        if number == "0":
            root, (*files, reclaimable) = cgroups, _VERSION_2
        elif "memory" in controllers.split(","):
            root, (*files, reclaimable) = cgroups / "memory", _VERSION_1
        else:
            continue
        own = root / group.lstrip("/")
        # In a container, the group may be mounted as the root while its name is that on the host.
        for folder in (own, *own.parents):
            if folder.is_relative_to(root):
                with suppress(OSError, ValueError):  # no such group, or its limit is "max"
                    limit, usage = (int((folder / name).read_text()) for name in files)
                    counts = dict(line.split() for line in _lines(folder / "memory.stat"))
                    yield limit - usage + int(counts.get(reclaimable, 0))


def _own_limit(process: Path) -> list[int]:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return []
    pages = [int(line.split()[0]) for line in _lines(process / "self" / "statm")]
    return [limit - count * os.sysconf("SC_PAGE_SIZE") for count in pages]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
