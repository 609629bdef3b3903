"""A network of nodes emulated on one machine, and a Ray cluster on it.

Every node is a network namespace with its own address and its own link to a bridge; `tc` limits the bandwidth of the
link in both directions. Traffic between nodes uses TCP over these links, as between machines. RAM and cores are shared,
so only the time that the links take is realistic. Needs root and iproute2.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.core.process import command

_BRIDGE, _LINK = "vse-bridge", "vse-link"
_PORT = 6379
_STORE_BYTES = 400_000_000
_JOIN_SECONDS = 60.0
_CALL_SECONDS = 600.0


def missing_requirement() -> str | None:
    """Return a sentence on what this machine lacks, or None."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "tc"))):
        return "Network namespaces need root and iproute2 (`ip` and `tc`): run this as root on Linux."
    if find_spec("ray") is None:
        return "Ray is not installed: pip install 'vse-ens[cluster]'."
    return None


@contextmanager
def network(nodes: int, megabits: float) -> Iterator[None]:
    """Provide namespaces on one bridge, with links of ``megabits`` Mbit/s in both directions."""
    _remove_all()
    try:
        _run(f"ip link add {_BRIDGE} type bridge")
        _run(f"ip link set {_BRIDGE} up")
        for node in range(nodes):
            _add_node(node, megabits)
        yield
    finally:
        _remove_all()


@contextmanager
def cluster(nodes: int) -> Iterator[dict[str, str]]:
    """Run Ray on every node with one core each, and yield the environment for a driver."""
    with tempfile.TemporaryDirectory(prefix="vse", ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        stack.callback(_end_all)
        environment = os.environ | {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        for node in range(nodes):
            place = "--head --include-dashboard=false" if node == 0 else f"--address={head_address()}"
            start = (
                f"ip netns exec {_name(node)} {Path(sys.executable).parent}/ray start {place} "
                f"--node-ip-address={_address(node)} --num-cpus=1 --object-store-memory={_STORE_BYTES} "
                f"--temp-dir={folder}/{node} --disable-usage-stats --include-log-monitor=false"
            )
            done = subprocess.run(start.split(), env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"node {node} did not start: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        yield environment


def head_address() -> str:
    """Return the address of the cluster."""
    return f"{_address(0)}:{_PORT}"


def wait_for_nodes(nodes: int) -> None:
    """Wait until all nodes have joined the cluster that this process is connected to."""
    import ray

    end = time.monotonic() + _JOIN_SECONDS
    while sum(node["Alive"] for node in ray.nodes()) < nodes:  # type: ignore[no-untyped-call]
        if time.monotonic() > end:
            raise RuntimeError(f"not all of the {nodes} nodes joined within {_JOIN_SECONDS:.0f} s")
        time.sleep(0.2)


def call_on_node(node: int, environment: dict[str, str], function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of ``function`` in a process on a node. Arguments and result must be JSON values."""
    done = subprocess.run(
        ["ip", "netns", "exec", _name(node), *command(function, *arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=_CALL_SECONDS,
    )
    return json.loads(done.stdout.splitlines()[-1])


def tcp_megabits(size: int) -> float:
    """Return the Mbit/s of one TCP connection between the first two nodes, without Ray."""
    sender = subprocess.Popen(["ip", "netns", "exec", _name(1), *command(send, size)], stdout=subprocess.DEVNULL)
    try:
        found: float = call_on_node(0, dict(os.environ), receive, size)
    finally:
        sender.kill()
        sender.wait()
    return found / 125_000


def receive(size: int) -> float:
    """Receive from `send` on this node, the first, and return bytes per second."""
    with socket.create_server((_address(0), _PORT)) as server:
        connection, _ = server.accept()
    with connection:
        began, got = time.perf_counter(), 0
        while got < size and (chunk := connection.recv(1 << 20)):
            got += len(chunk)
        return got / (time.perf_counter() - began)


def send(size: int) -> None:
    """Send zeros to the first node as soon as it listens."""
    end = time.monotonic() + _JOIN_SECONDS
    while True:
        try:
            connection = socket.create_connection((_address(0), _PORT))
            break
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
    with connection:
        connection.sendall(bytes(size))


def _name(node: int) -> str:
    return f"vse-node{node}"


def _address(node: int) -> str:
    return f"10.9.0.{node + 1}"


def _run(text: str, check: bool = True) -> str:
    done = subprocess.run(text.split(), capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"`{text}` failed: {done.stderr.strip()}")
    return done.stdout


def _add_node(node: int, megabits: float) -> None:
    name, outer = _name(node), f"{_LINK}{node}"
    _run(f"ip netns add {name}")
    _run(f"ip link add {outer} type veth peer name wire netns {name}")
    _run(f"ip link set {outer} master {_BRIDGE} up")
    _run(f"ip -n {name} addr add {_address(node)}/24 dev wire")
    for device in ("lo", "wire"):
        _run(f"ip -n {name} link set {device} up")
    # The route leads nowhere, but a process needs a default route to find its own address.
    _run(f"ip -n {name} route add default dev wire")
    # An idle link may send one burst: at least the largest segment, and the bytes of one millisecond.
    burst = max(128_000, megabits * 125)
    shape = f"root tbf rate {megabits:g}mbit burst {burst:.0f} latency 50ms"
    _run(f"tc qdisc add dev {outer} {shape}")
    _run(f"tc -n {name} qdisc add dev wire {shape}")


def _remove_all() -> None:
    """Remove our namespaces and links and end their processes, also those left by an earlier run."""
    _end_all()
    # A deleted namespace may linger with its end of the link; a deleted link is gone at once.
    for device in (line.split()[1].partition("@")[0] for line in _run("ip -oneline link").splitlines()):
        if device.startswith((_LINK, f"{_BRIDGE}:")):
            _run(f"ip link delete {device.rstrip(':')}")
    for name in _namespaces():
        _run(f"ip netns delete {name}")


def _namespaces() -> list[str]:
    return [line.split()[0] for line in _run("ip netns list").splitlines() if line.startswith("vse-node")]


def _end_all() -> None:
    """End all processes in our namespaces."""
    for name in _namespaces():
        for sign in (signal.SIGTERM, signal.SIGKILL):
            _signal_all(name, sign)


def _signal_all(name: str, sign: signal.Signals) -> None:
    """Signal all processes of a namespace, and wait up to five seconds for them to end."""
    deadline = time.monotonic() + 5.0
    signalled: set[int] = set()
    while (found := {int(pid) for pid in _run(f"ip netns pids {name}", check=False).split()}) and (
        time.monotonic() < deadline
    ):
        for pid in found - signalled:
            with suppress(ProcessLookupError):
                os.kill(pid, sign)
        signalled |= found
        time.sleep(0.1)
