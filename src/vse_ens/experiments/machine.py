"""Description of the machine and software that an experiment ran on."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from vse_ens import __version__
from vse_ens.system import available_cores

_PACKAGES = ("numpy", "numba", "scipy", "pyarrow", "implicit")


def describe_machine() -> dict[str, str]:
    """Return date, processor, system, load and library versions as text."""
    facts = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": _processor(),
        "cores": str(available_cores()),
        "system": platform.platform(),
        "python": platform.python_version(),
        "vse-ens": __version__,
    }
    if hasattr(os, "getloadavg"):
        facts["load at the start"] = f"{os.getloadavg()[0]:.2f}"
    for package in _PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    return facts


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    for line in cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
