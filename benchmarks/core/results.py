"""Stored results: one JSON file of raw measurements per benchmark, with the machine they were measured on."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.core.benchmark import Raw
from benchmarks.core.sources import commit
from vse_ens.storage.atomic import replace_file
from vse_ens.system import available_cores

FOLDER = Path(__file__).parents[1] / "results"
_PACKAGES = ("vse-ens", "numpy", "numba", "llvmlite", "polars", "pyarrow")


@dataclass(frozen=True)
class Result:
    """One full run of one benchmark."""

    machine: dict[str, Any]
    """Also ``repetitions``, and ``others``, the cores that other processes used meanwhile; both if known."""
    seconds: float
    raw: Raw
    sources: dict[str, str] | None = None
    """The hashes of the measured parts of vse_ens, if known."""


def store(name: str, result: Result, folder: Path = FOLDER) -> Path:
    """Write a result over the previous one and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    document = {
        "benchmark": name,
        "machine": result.machine,
        "seconds": round(result.seconds, 1),
        "sources": result.sources,
        "raw": result.raw,
    }
    with replace_file(path) as partial:
        partial.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return path


def load(name: str, folder: Path = FOLDER) -> Result | None:
    """Return the stored result, or None if there is none."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    document = json.loads(path.read_text(encoding="utf-8"))
    if document.get("benchmark") != name:
        raise ValueError(f"{path} is not a result of {name!r}; measure again with: python -m benchmarks {name}")
    return Result(document["machine"], document["seconds"], document["raw"], document.get("sources"))


def machine() -> dict[str, Any]:
    """Return the date, commit, processor, load average and package versions."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
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
