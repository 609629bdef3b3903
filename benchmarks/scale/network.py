"""What a round moves between nodes of a Ray cluster, on links of a known bandwidth, beside what the formula says.

    python -m benchmarks.scale.network

Every node is a network namespace of this machine, with an address and a link of its own to a bridge; `tc` holds the
link to a bandwidth both ways. What goes from node to node goes by TCP over these links, as between machines; memory
and cores are shared, though, so that only what the links take is to be believed. Needs root and iproute2, takes
minutes, and is not one of the benchmarks that run by themselves. docs/scale.md has what it gave.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import secrets
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core.benchmark import Raw, Score, Table, say
from benchmarks.core.report import markdown
from benchmarks.scale.cost_model import OBJECT, Case, predict
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.run.pool import Merging, Plain, Share
from vse_ens.run.threads import Workers
from vse_ens.train.trainer import Trainer

_BRIDGE, _LINK = "vse-bridge", "vse-link"
_PORT = 6379
_STORE = 400_000_000
_DIMENSIONS = 104
_LABELS_AN_IMAGE = 100
_SECONDS_TO_JOIN = 60.0
_SECONDS_TO_DRIVE = 600.0
# Beyond these, the two cores that all nodes share count for more than the links do.
_MOST_MEGABITS, _MOST_NODES = 1000, 4


# --- the network ---


def lacking() -> str | None:
    """What this machine lacks for it, in a sentence."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "tc"))):
        return "Network namespaces take root and iproute2 (`ip` and `tc`): run it as root on Linux."
    if find_spec("ray") is None:
        return "It takes Ray: pip install 'vse-ens[cluster]'."
    return None


def _name(node: int) -> str:
    return f"vse-node{node}"


def _address(node: int) -> str:
    return f"10.9.0.{node + 1}"


def _run(command: str, check: bool = True) -> str:
    done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"`{command}` failed: {done.stderr.strip()}")
    return done.stdout


@contextmanager
def network(nodes: int, megabits: float) -> Iterator[None]:
    """So many namespaces on one bridge, each with a link of so many Mbit/s both ways, until the block ends."""
    _clear()
    try:
        _run(f"ip link add {_BRIDGE} type bridge")
        _run(f"ip link set {_BRIDGE} up")
        for node in range(nodes):
            _join(node, megabits)
        yield
    finally:
        _clear()


def _join(node: int, megabits: float) -> None:
    name, outer = _name(node), f"{_LINK}{node}"
    _run(f"ip netns add {name}")
    _run(f"ip link add {outer} type veth peer name wire netns {name}")
    _run(f"ip link set {outer} master {_BRIDGE} up")
    _run(f"ip -n {name} addr add {_address(node)}/24 dev wire")
    for device in ("lo", "wire"):
        _run(f"ip -n {name} link set {device} up")
    # Nothing is behind it: by its default route a process finds out which address is its own.
    _run(f"ip -n {name} route add default dev wire")
    # What a link that was idle may send at once: the largest segment, and a thousandth of a second's.
    burst = max(128_000, megabits * 125)
    shape = f"root tbf rate {megabits:g}mbit burst {burst:.0f} latency 50ms"
    _run(f"tc qdisc add dev {outer} {shape}")
    _run(f"tc -n {name} qdisc add dev wire {shape}")


def _clear() -> None:
    """Take away our namespaces and links, with what runs there, also those that an earlier run could not."""
    _end_all()
    # A namespace may linger for a while, with its end of the link; a link that is deleted is gone at once.
    for device in (line.split()[1].partition("@")[0] for line in _run("ip -oneline link").splitlines()):
        if device.startswith((_LINK, f"{_BRIDGE}:")):
            _run(f"ip link delete {device.rstrip(':')}")
    for name in _namespaces():
        _run(f"ip netns delete {name}")


def _namespaces() -> list[str]:
    return [line.split()[0] for line in _run("ip netns list").splitlines() if line.startswith("vse-node")]


def _end_all() -> None:
    """End what runs in our namespaces."""
    for name in _namespaces():
        for sign in (signal.SIGTERM, signal.SIGKILL):
            _end(name, sign)


def _end(name: str, sign: signal.Signals) -> None:
    """Ask all processes of a namespace to end, and give them a moment to."""
    patience = time.monotonic() + 5.0
    asked: set[int] = set()
    while (found := {int(pid) for pid in _run(f"ip netns pids {name}", check=False).split()}) and (
        time.monotonic() < patience
    ):
        for pid in found - asked:
            with suppress(ProcessLookupError):
                os.kill(pid, sign)
        asked |= found
        time.sleep(0.1)


# --- a cluster on it ---


@contextmanager
def cluster(nodes: int) -> Iterator[dict[str, str]]:
    """Ray on every node, one core each, until the block ends: the environment that a driver needs."""
    with tempfile.TemporaryDirectory(prefix="vse", ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        stack.callback(_end_all)
        environment = os.environ | {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        for node in range(nodes):
            place = "--head --include-dashboard=false" if node == 0 else f"--address={_address(0)}:{_PORT}"
            command = (
                f"ip netns exec {_name(node)} {Path(sys.executable).parent}/ray start {place} "
                f"--node-ip-address={_address(node)} --num-cpus=1 --object-store-memory={_STORE} "
                f"--temp-dir={folder}/{node} --disable-usage-stats --include-log-monitor=false"
            )
            done = subprocess.run(command.split(), env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"node {node} did not start: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        yield environment


def _inside(node: int, environment: dict[str, str], function: str, *arguments: Any) -> Any:
    """What a function of this module gives in a process of its own on a node."""
    code = f"import json\nfrom benchmarks.scale import network\nprint(json.dumps(network.{function}(*{arguments!r})))"
    command = ["ip", "netns", "exec", _name(node), sys.executable, "-c", code]
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=_SECONDS_TO_DRIVE
    )
    return json.loads(done.stdout.splitlines()[-1])


# --- what is moved ---


def every_label(labels: int, shards: int) -> Annotations:
    """Pairs of which every shard has every label once: hardly any work, and all rows of the tables change."""
    each = -(-labels // _LABELS_AN_IMAGE)
    indptr = np.minimum(np.arange(each + 1) * _LABELS_AN_IMAGE, labels)
    # Image i is of shard i % shards: every image comes once a shard.
    lengths = np.repeat(np.diff(indptr), shards)
    starts = np.repeat(indptr[:-1], shards)
    indices = np.concatenate([np.arange(start, start + length) for start, length in zip(starts, lengths, strict=True)])
    return Annotations(
        Vocabulary.from_ids([f"{number:07}" for number in range(len(lengths))], "image"),
        Vocabulary.from_ids([f"{number:07}" for number in range(labels)], "label"),
        np.concatenate([[0], np.cumsum(lengths)]),
        indices.astype(np.int32),
    )


class Parcels:
    """A workshop that computes nothing: it takes what it is given, and gives back so many bytes."""

    keeps_state = False

    def __init__(self, settings: Plain, workers: Workers) -> None:  # noqa: ARG002
        self._floats = settings["floats"]

    def add(self, part: int, arguments: Plain) -> None:
        """Parts are alike."""

    def load(self, part: int, state: Plain) -> None:
        """There is no state."""

    def save(self, part: int, arguments: Plain) -> Plain:  # noqa: ARG002
        """There is none."""
        return {}

    def run(
        self,
        part: int,  # noqa: ARG002
        shared: Sequence[Plain],
        arguments: Plain,  # noqa: ARG002
    ) -> tuple[Sequence[Plain], Plain]:
        """Once what is shared is there, it is done."""
        return [{"changes": np.ones(self._floats // len(shared), np.float32)} for _ in shared], {}


def add_up(left: Plain, right: Plain) -> Plain:
    """Merge two results."""
    return {"changes": left["changes"] + right["changes"]}


def cut(shared: Plain, pieces: int) -> list[Plain]:
    """What is shared, in pieces."""
    return [{"tables": part} for part in np.array_split(shared["tables"], pieces)]


def put_together(results: Sequence[Plain]) -> Plain:
    """The results of all pieces."""
    return {"changes": np.concatenate([one["changes"] for one in results])}


def drive(nodes: int, labels: Sequence[int], rounds: int) -> list[Raw]:
    """Seconds of rounds, by size of the tables: of a training, of handing out alone, and of merging alone."""
    from vse_ens.run.ray_pool import RayPool

    found = []
    with RayPool(f"{_address(0)}:{_PORT}") as pool:
        _wait_for(nodes)
        for count in labels:
            config = Config(
                sampler="uniform", loss="logistic", dimensions=_DIMENSIONS, shards=nodes, exchanges=1, slices=1,
                epochs=rounds + 1,
            )  # fmt: skip
            trainer = Trainer(config, every_label(count, nodes), workers=1, pool=pool)
            floats = count * (_DIMENSIONS + 1)
            found.append(
                {
                    "nodes": nodes,
                    "labels": count,
                    "bytes": floats * 4,
                    "round": _spent([progress.shares for progress in trainer.rounds()]),
                    "down": _parcels(pool, nodes, rounds, down=floats, up=1),
                    "up": _parcels(pool, nodes, rounds, down=1, up=floats),
                }
            )
    return found


def _parcels(pool: Any, nodes: int, rounds: int, down: int, up: int) -> list[Raw]:
    pool.open(f"{__name__}.Parcels", {"floats": up}, [{}] * nodes)
    shared = {"tables": np.ones(down, np.float32)}
    merging = Merging(*(f"{__name__}.{name}" for name in ("add_up", "cut", "put_together")))
    return _spent([pool.run(shared, {}, merging).shares for _ in range(rounds + 1)])


def _spent(rounds: list[tuple[Share, ...]]) -> list[Raw]:
    """How long every round took but for the first, which may compile."""
    return [
        {"seconds": shares[0].seconds, "computing": max(share.computing for share in shares)} for shares in rounds[1:]
    ]


def _wait_for(nodes: int) -> None:
    import ray

    end = time.monotonic() + _SECONDS_TO_JOIN
    while sum(node["Alive"] for node in ray.nodes()) < nodes:  # type: ignore[no-untyped-call]
        if time.monotonic() > end:
            raise RuntimeError(f"not all of the {nodes} nodes joined within {_SECONDS_TO_JOIN:.0f} s")
        time.sleep(0.2)


def receive(size: int) -> float:
    """Bytes a second that one plain connection brings to this node, the first, from `send` on another."""
    with socket.create_server((_address(0), _PORT)) as server:
        connection, _ = server.accept()
    with connection:
        began, got = time.perf_counter(), 0
        while got < size and (chunk := connection.recv(1 << 20)):
            got += len(chunk)
        return got / (time.perf_counter() - began)


def send(size: int) -> None:
    """Send zeros to the first node, as soon as it listens."""
    end = time.monotonic() + _SECONDS_TO_JOIN
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


# --- measuring and judging ---


def measure(nodes: Sequence[int], megabits: Sequence[float], labels: Sequence[int], rounds: int) -> Raw:
    """All sizes on every network."""
    cases, links = [], {}
    for speed in megabits:
        with network(2, speed):
            links[f"{speed:g}"] = _plain_speed(int(speed * 125_000))
        for count in nodes:
            say(f"{count} nodes, {speed:g} Mbit/s")
            with network(count, speed), cluster(count) as environment:
                found = _inside(0, environment, "drive", count, list(labels), rounds)
            cases += [case | {"megabits": speed} for case in found]
    return {"links": links, "cases": cases}


def _plain_speed(size: int) -> float:
    """Megabits a second of one TCP connection, without Ray."""
    code = f"from benchmarks.scale import network\nnetwork.send({size})"
    sender = subprocess.Popen(["ip", "netns", "exec", _name(1), sys.executable, "-c", code])
    try:
        found: float = _inside(0, dict(os.environ), "receive", size)
    finally:
        sender.kill()
        sender.wait()
    return found / 125_000


def case_of(found: Raw) -> Case:
    """What was measured, as the formula takes it: nodes of one core, and next to nothing to compute."""
    return Case(
        images=found["nodes"] * found["labels"] // _LABELS_AN_IMAGE,
        labels=found["labels"],
        pairs=found["nodes"] * found["labels"],
        bytes_a_label=found["bytes"] // found["labels"],
        draws=math.inf,
        nodes=found["nodes"],
        cores=1,
        bytes_a_second=found["megabits"] * 125_000,
        uneven=0.0,
    )


def moving(rounds: list[Raw]) -> float:
    """Seconds of a round but for the longest computing, the median."""
    return statistics.median(float(one["seconds"] - one["computing"]) for one in rounds)


@dataclass(frozen=True)
class Constants:
    """Of the formula: those that the network decides."""

    share_of_link: float
    seconds_a_byte_across: float
    step: float


def fit(cases: Sequence[Raw]) -> Constants:
    """The constants with which the formula is nearest to what was measured, in parts of it."""
    measured = np.array([moving(found["round"]) for found in cases])
    sized = [case_of(found) for found in cases]
    # What does not depend on the network is taken as known.
    others = np.array([case.objects * OBJECT for case in sized])
    terms = np.array([_terms(case) for case in sized]) / measured[:, None]
    (link, byte, step), *_ = np.linalg.lstsq(terms, 1 - others / measured)
    return Constants(1 / float(link), float(byte), float(step))


def _terms(case: Case) -> tuple[float, float, float]:
    """What each constant is multiplied with in `predict`."""
    journeys = case.handed_out + 2 * case.gathered
    return journeys * case.table / case.bytes_a_second, case.gathered * case.table, case.steps


def score(raw: Raw) -> Score:
    """Measured beside the formula, and the constants that would fit best."""
    rows = []
    for found in raw["cases"]:
        case = case_of(found)
        measured, formula = moving(found["round"]), predict(case).moving
        parts = [statistics.median(one["seconds"] for one in found[way]) for way in ("down", "up")]
        rows.append(
            (
                f"{found['megabits']:g} Mbit/s",
                str(case.nodes),
                f"{case.table / 1e6:.1f} MB",
                " / ".join(f"{part:.2f}" for part in parts),
                f"{measured:.2f} s",
                f"{formula:.2f} s",
                f"{measured / formula:.2f}",
            )
        )
    columns = ("links", "nodes", "tables", "handing out / merging alone, s", "measured", "formula", "ratio")
    plain = ", ".join(f"{found:,.0f} of {speed} Mbit/s" for speed, found in raw["links"].items())
    notes = [f"One plain connection carried {plain}."]
    honest = [found for found in raw["cases"] if found["megabits"] <= _MOST_MEGABITS and found["nodes"] <= _MOST_NODES]
    if len(honest) > 2:
        best = fit(honest)
        notes.append(
            f"Nearest to {len(honest)} of these cases (up to {_MOST_MEGABITS} Mbit/s and {_MOST_NODES} nodes): "
            f"{best.share_of_link:.3f} of the link, {best.seconds_a_byte_across * 1e9:.2f} ns a byte merged from "
            f"another node, {best.step * 1e3:.0f} ms a step."
        )
    return Score(tables=[Table(columns, rows)], notes=notes)


def _main() -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.scale.network", description="Rounds on links of known bandwidth."
    )
    parser.add_argument("--nodes", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--megabits", type=float, nargs="+", default=[200, 1000, 10_000])
    parser.add_argument("--labels", type=int, nargs="+", default=[20_000, 80_000])
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    if reason := lacking():
        sys.exit(reason)
    # So that what was started is ended, also where this process is asked to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    raw = measure(given.nodes, given.megabits, given.labels, given.rounds)
    print("\n\n".join(markdown(score(raw))))
    print(json.dumps(raw))


if __name__ == "__main__":
    _main()
