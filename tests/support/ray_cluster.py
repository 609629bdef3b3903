"""One Ray cluster for all tests that need one. It runs from the first of them to the last (see tests/conftest.py)."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from vse_ens.errors import ClusterError

ROOT = Path(__file__).parents[2]

# A lost node is noticed within two seconds, not half a minute.
_QUICK = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 3}
# For hangs only.
_LONGEST_START = 600.0
_running: Any = None
_stack = ExitStack()


def start_cluster() -> Any:
    """Return the cluster, with this process connected: three nodes of one core each, on loopback, with a token."""
    global _running
    if _running is None:
        # Ray reads these when it is imported. They stay for all clusters of this process.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", "0123456789abcdef" * 4)
        # The workers import the toys of tests/support.
        environment = _stack.enter_context(pytest.MonkeyPatch.context())
        environment.setenv("PYTHONPATH", f"{ROOT}:{os.environ.get('PYTHONPATH', '')}")

        from ray.cluster_utils import Cluster

        from vse_ens.run.ray.start import start

        head = {"num_cpus": 1, "include_dashboard": False, "_system_config": _QUICK}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        _stack.callback(cluster.shutdown)
        for _ in range(2):
            cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes(timeout=_LONGEST_START)
        ray = _connect(start, cluster.address)
        _stack.callback(ray.shutdown)
        _running = cluster
    return _running


def _connect(start: Any, address: str) -> Any:
    """On a busy machine, the port of a new cluster may refuse connections for a while."""
    end = time.monotonic() + _LONGEST_START
    while True:
        try:
            return start(address, None)[0]
        except ClusterError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def stop_cluster() -> None:
    """Stop the cluster if it is running."""
    global _running
    _stack.close()
    _running = None
