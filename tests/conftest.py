"""What several test files share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]

# Shared machines stall: a slow moment is no failure, and the same examples are tried on every run.
settings.register_profile("vse", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("vse")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets, or a skip where there is none."""
    folder = Path(os.environ.get("VSE_ENS_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data sets in {folder}; set VSE_ENS_SHARED_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def plain_environment() -> dict[str, str]:
    """The environment of a child process whose output is compared: 80 columns, no colour."""
    kept = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "GITHUB_ACTIONS")}
    return {**kept, "COLUMNS": "80", "NO_COLOR": "1", "PATH": f"{Path(sys.executable).parent}:{kept['PATH']}"}


@pytest.fixture(scope="session")
def python(plain_environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run code in a fresh interpreter."""

    def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=plain_environment | environment,
            timeout=900,  # for hangs only
        )

    return run
