"""What the processes of a cluster are told, in tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]


@contextmanager
def ray_environment() -> Iterator[None]:
    """Loopback, a token, and our tests to be found.

    Ray reads whether there is a token once, when it is imported: that stays for all clusters of this process.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ.setdefault("RAY_AUTH_TOKEN", "0123456789abcdef" * 4)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", f"{TESTS}:{os.environ.get('PYTHONPATH', '')}")
        yield
