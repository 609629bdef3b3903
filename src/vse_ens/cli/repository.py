"""The package `benchmarks`, which is in the repository and not in the wheel."""

from __future__ import annotations

import sys
from pathlib import Path

from vse_ens.errors import MissingPartError

_ROOT = Path(__file__).parents[3]
_URL = "https://github.com/vse-ens/vse-ens"


def add_benchmarks(command: str) -> None:
    """Let ``command`` import `benchmarks`, which a clone has beside ``src``; without a clone, say how to get it."""
    if (_ROOT / "benchmarks" / "paper").is_dir() and str(_ROOT) not in sys.path:
        sys.path.insert(0, str(_ROOT))
    try:
        import benchmarks.paper  # noqa: F401
    except ModuleNotFoundError:
        raise MissingPartError(
            f"{command} needs a clone of the repository: git clone {_URL} && cd vse-ens && pip install --editable . "
            f"&& {command}"
        ) from None
