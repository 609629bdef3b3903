"""What this machine offers: each check looks at one thing and says what it found."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from vse_ens import __version__
from vse_ens.run.ram import available_memory

State = Literal["ok", "absent", "warning", "broken"]


class Finding(NamedTuple):
    """What a check found; ``absent`` is fine, ``warning`` costs speed, ``broken`` means vse cannot work."""

    topic: str
    state: State
    found: str
    advice: str = ""


class OptionalPart(NamedTuple):
    """A package that vse can do without."""

    package: str
    use: str


# A new optional part needs one line here.
OPTIONAL_PARTS = (
    OptionalPart("pandas", "to read pandas frames"),
    OptionalPart("implicit", "for the baseline als"),
)

THREAD_VARIABLES = (
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)

_LEAST_FREE = 1 << 30


def examine() -> list[Finding]:
    """Look at everything, in the order a person reads it."""
    return [
        Finding("vse-ens", "ok", f"{__version__} in {Path(__file__).parents[1]}"),
        _python(),
        *(_required(package) for package in required_packages()),
        *(_optional(part) for part in OPTIONAL_PARTS),
        _cores(),
        _threads(),
        _kernel_cache(),
        _memory(),
        _disk(),
        _terminal(),
    ]


def required_packages() -> Iterator[str]:
    """The packages vse-ens was installed with, as its own metadata lists them."""
    for requirement in importlib.metadata.requires("vse-ens") or ():
        name, _, marker = requirement.partition(";")
        if "extra" not in marker:
            yield re.split(r"[^\w.-]", name.strip(), maxsplit=1)[0]


def _python() -> Finding:
    return Finding("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def _required(package: str) -> Finding:
    try:
        # Not only whether it is there: a wheel for another machine fails here.
        importlib.import_module(package)
    except Exception as error:  # noqa: BLE001  # whatever it raises, it does not work
        return Finding(
            package, "broken", f"{type(error).__name__}: {error}", f"pip install --force-reinstall {package}"
        )
    return Finding(package, "ok", importlib.metadata.version(package))


def _optional(part: OptionalPart) -> Finding:
    if importlib.util.find_spec(part.package) is None:
        return Finding(part.package, "absent", f"optional, {part.use}", f"pip install {part.package}")
    return Finding(part.package, "ok", f"{importlib.metadata.version(part.package)} (optional, {part.use})")


def _cores() -> Finding:
    present = os.cpu_count() or 1
    # Not on every system: there all cores are ours.
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else present
    found = f"{usable} usable of {present}"
    limit = cpu_limit()
    if limit is not None and limit < usable:
        return Finding(
            "cores", "warning", f"{found}, and a container limit of {limit:g}", f"use --workers {max(1, int(limit))}"
        )
    return Finding("cores", "ok", found)


def cpu_limit(cgroup: Path = Path("/sys/fs/cgroup")) -> float | None:
    """How many cores the container may keep busy, where one is set (cgroup 2, then 1)."""
    try:
        quota, period = (cgroup / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota = (cgroup / "cpu" / "cpu.cfs_quota_us").read_text().strip()
            period = (cgroup / "cpu" / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
    return None if quota in ("max", "-1") else int(quota) / int(period)


def _threads() -> Finding:
    set_here = [f"{name}={os.environ[name]}" for name in THREAD_VARIABLES if name in os.environ]
    return Finding("threads", "ok", ", ".join(set_here) or "no variable limits them")


def _kernel_cache() -> Finding:
    """Numba keeps compiled kernels beside their source, or where a variable says, or in the user's cache folder."""
    told = os.environ.get("NUMBA_CACHE_DIR")
    beside = Path(__file__).parents[1] / "kernels" / "__pycache__"
    places = [Path(told)] if told else [beside, Path.home() / ".cache" / "numba"]
    for place in places:
        if writable(place):
            return Finding("kernel cache", "ok", f"{place} can be written")
    return Finding(
        "kernel cache",
        "warning",
        f"{places[0]} cannot be written, so that kernels are compiled anew in every run",
        "set NUMBA_CACHE_DIR to a folder that can",
    )


def writable(folder: Path) -> bool:
    """Whether a file can be made in a folder, or in the nearest parent that there is."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _memory() -> Finding:
    free = available_memory()
    if free is None:
        return Finding("memory", "ok", "not known on this system")
    return _room("memory", free, "free", "close other programs")


def _disk() -> Finding:
    return _room("disk", shutil.disk_usage(Path.cwd()).free, f"free in {Path.cwd()}", "make room")


def _room(topic: str, free: int, where: str, advice: str) -> Finding:
    found = f"{free / (1 << 30):,.1f} GiB {where}"
    return Finding(topic, "ok", found) if free >= _LEAST_FREE else Finding(topic, "warning", found, advice)


def _terminal() -> Finding:
    size = shutil.get_terminal_size()
    kind = f"{size.columns} x {size.lines}" if sys.stdout.isatty() else "output goes to a file or a pipe"
    colour = "no colour (NO_COLOR is set)" if os.environ.get("NO_COLOR") else os.environ.get("TERM", "no TERM")
    return Finding("terminal", "ok", f"{kind}, {colour}")
