"""Where and when something was measured."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vse_ens.run.threads import available_cores

_PACKAGES = ("vse-ens", "numpy", "numba", "llvmlite", "polars", "pyarrow")


def machine() -> dict[str, Any]:
    """Facts without which a number means little; the load tells whether others were at work."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": _cpu_model(),
        "cores": available_cores(),
        "load": round(os.getloadavg()[0], 2),
        "platform": platform.platform(),
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }


def _cpu_model() -> str:
    facts = Path("/proc/cpuinfo")
    for line in facts.read_text().splitlines() if facts.exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
