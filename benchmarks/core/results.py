"""The stored raw results: one JSON file a benchmark, committed with the code that judges them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.core.benchmark import Raw

FOLDER = Path(__file__).parents[1] / "results"


@dataclass(frozen=True)
class Result:
    """One full run of one benchmark."""

    machine: dict[str, Any]
    seconds: float
    raw: Raw


def store(name: str, result: Result, folder: Path = FOLDER) -> Path:
    """Write a result in place of the one before."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    document = {
        "benchmark": name,
        "machine": result.machine,
        "seconds": round(result.seconds, 1),
        "raw": result.raw,
    }
    path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return path


def load(name: str, folder: Path = FOLDER) -> Result | None:
    """The stored result, or None where there is none yet."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    document = json.loads(path.read_text(encoding="utf-8"))
    if document.get("benchmark") != name:
        raise ValueError(f"{path} was not written by this suite; measure again with: python -m benchmarks {name}")
    return Result(document["machine"], document["seconds"], document["raw"])
