"""Expensive files that the first process to need them builds, and all processes of a test run share."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def build_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], object]) -> Path:
    """Return the path that ``build`` fills. Tests must not change what is there.

    With pytest-xdist every worker has a session, so that a session fixture alone would build once per worker. Mutation
    testing, which runs the tests hundreds of times, names a folder to keep them in.
    """
    folder = factory.getbasetemp()
    if "VSE_ENS_TEST_MODELS" in os.environ:
        folder = Path(os.environ["VSE_ENS_TEST_MODELS"])
    elif "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            build(path)
    return path
