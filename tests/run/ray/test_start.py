"""Reaching a cluster: what is missing is an error."""

from __future__ import annotations

import os
import socket
import sys
from types import SimpleNamespace

import pytest

from vse_ens.errors import ClusterError, MissingPartError
from vse_ens.run.ray import start


@pytest.fixture(autouse=True)
def same_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set for Ray is gone afterwards."""
    monkeypatch.setattr(os, "environ", os.environ.copy())


def test_without_ray_it_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPartError, match=r"pip install 'vse-ens\[cluster\]'"):
        start.start("127.0.0.1:6379", None)


def test_a_cluster_that_is_not_there_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(ClusterError, match=f"^cannot connect to a Ray cluster at {address}: .*refused; see docs/"):
        start._check_reachable(address)


@pytest.mark.parametrize("address", [None, "auto"])
@pytest.mark.parametrize(
    "error",
    [
        Exception("The current node timed out during startup.\nThis could happen because the raylet failed to start."),
        TimeoutError("The current node timed out during startup"),
        FileExistsError("The current node timed out during startup"),
    ],
)
def test_an_agent_that_dies_at_the_start_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, address: str | None, error: Exception
) -> None:
    """Ray raises a plain Exception when one of its processes is killed while it starts."""
    stopped = []

    def fail(*_: object, **__: object) -> None:
        raise error

    fake = SimpleNamespace(is_initialized=lambda: False, init=fail, shutdown=lambda: stopped.append(True))
    monkeypatch.setitem(sys.modules, "ray", fake)
    with pytest.raises(
        ClusterError, match=r"^cannot connect to a Ray cluster .*: The current node timed out during startup; see docs/"
    ):
        start.start(address, 1)
    assert stopped, "what was started before the failure is stopped"
