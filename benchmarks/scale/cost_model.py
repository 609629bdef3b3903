"""Cost model of a round of training by shards on a large cluster: a formula, and a simulation that verifies it.

    python -m benchmarks.scale.cost_model

Tables are split into as many pieces as there are nodes. The formula adds up the phases of a round: every node fetches
the pieces from the driver's node or from other nodes that have them; every worker trains its shards, and the round
waits for the slowest; changes are merged within each node, then each piece by the node that owns it; merged pieces
return to the driver, which keeps track of every piece of every result. The simulation plays the same round event by
event, with shards of unequal speed, a random source for every piece, and links that carry one transfer at a time.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.core.benchmark import Table
from benchmarks.core.report import fill_sections, markdown_table
from vse_ens.run.pool import tree_reduce
from vse_ens.streams import Streams

DOCUMENT = Path(__file__).parents[2] / "docs" / "scale.md"

# Measured on one machine: copying, comparing and passing on tables; merging two results of one node;
# and a round trip of a call to a worker.
_SECONDS_PER_BYTE = 1.3e-9
_SECONDS_PER_BYTE_MERGED = 0.8e-9
_CALL = 0.003
# Cost to the driver of one more object in the store, such as a piece of a result: the time of its busiest thread while
# 8 workers return and merge 256 pieces each. All threads together took 0.25 ms.
SECONDS_PER_OBJECT = 0.00006
# Fitted by `python -m benchmarks.scale.network` to rounds of 2 and 4 nodes on emulated links of 200 Mbit/s and
# 1 Gbit/s: the share of a link that carries tables (0.95 for one TCP connection), the additional time per byte to
# fetch, merge and join changes from other nodes, and the latency of each step between nodes. A second run on a busier
# machine gave 0.976, 6.7 ns and 16 ms. All nodes shared two cores, so the time per byte is probably too high. Rounds of
# 8 nodes, which were not part of the fit, took 0.97 to 1.04 times the formula, and 1.25 times with small tables at
# 1 Gbit/s.
SHARE_OF_LINK = 0.96
SECONDS_PER_BYTE_ACROSS = 4.6e-9
STEP = 0.014
# Changes also have the number and the square of every row: 16 bytes on top of 420 per label, or 40 on top of 1036.
CHANGES = 1.04


@dataclass(frozen=True)
class Case:
    """A training and the cluster it runs on."""

    images: int
    labels: int
    pairs: int
    bytes_per_label: int
    """In all tables: vectors, biases, sums of squares."""
    draws: float
    """Per second and core."""
    nodes: int
    cores: int = 16
    bytes_per_second: float = 1.25e9
    """Between two nodes; the default is 10 Gbit/s."""
    exchanges: int = 1
    uneven: float = 0.05
    """The standard deviation of a shard's speed."""

    @property
    def shards(self) -> int:
        """Number of shards: one per core."""
        return self.nodes * self.cores

    @property
    def table(self) -> float:
        """Bytes of the tables that all shards share and change."""
        return float(self.labels * self.bytes_per_label)

    @property
    def transfer(self) -> float:
        """Seconds to send the tables from one node to another."""
        return self.table / (SHARE_OF_LINK * self.bytes_per_second)

    @property
    def distributions(self) -> float:
        """Transfers of the tables over the link of the driver's node, which all nodes wait for."""
        # A node fetches a piece from a random node that has it. The driver's node serves the first request, the second
        # with probability 1/2, the third with 1/3 ...
        served = sum(1 / count for count in range(1, self.nodes))
        # ... and more at the start, when all nodes request pieces that are still in transit: 1.5 transfers in the
        # simulation.
        return served + 1.5 * max(0, self.nodes - 2) / self.nodes

    @property
    def collections(self) -> float:
        """Transfers over a link until the owner of every piece has its changes; then as many to the driver."""
        return CHANGES * (self.nodes - 1) / self.nodes

    @property
    def steps(self) -> int:
        """Sequential steps between nodes: pieces of the tables, changes to their owners, and results to the driver."""
        return self.nodes + 2 if self.nodes > 1 else 0

    @property
    def objects(self) -> int:
        """Objects that the driver tracks: the changes of each shard, merged within each node, and their pieces."""
        return 2 * self.shards + self.nodes**2


@dataclass(frozen=True)
class RoundTime:
    """Seconds of each phase of a round."""

    computing: float
    waiting: float
    moving: float

    @property
    def total(self) -> float:
        """Seconds of the round."""
        return self.computing + self.waiting + self.moving


def predict(case: Case) -> RoundTime:
    """Return the time of a round by the formula."""
    draws = case.pairs / case.shards / case.exchanges
    computing = draws / case.draws + case.table * _SECONDS_PER_BYTE
    # The maximum of n standard normal numbers is about sqrt(2 ln n).
    waiting = computing * case.uneven * math.sqrt(2 * math.log(max(case.shards, 2)))
    distributing = case.distributions * case.transfer
    tracking = case.objects * SECONDS_PER_OBJECT
    within = math.log2(case.cores) * (case.table * _SECONDS_PER_BYTE_MERGED + _CALL)
    across = case.collections * (2 * case.transfer + case.table * SECONDS_PER_BYTE_ACROSS)
    return RoundTime(computing, waiting, distributing + tracking + within + across + case.steps * STEP)


def simulate(case: Case) -> RoundTime:
    """Return the time of a round, simulated event by event; the driver is on the first node."""
    mean = predict(case).computing
    arrived = _distribute(case)
    speeds = Streams(0).child("simulation", case.nodes).normals(case.shards)
    ready = [
        arrived[shard // case.cores] + mean * (1 + case.uneven * float(speed)) for shard, speed in enumerate(speeds)
    ]
    # Merging starts when all shards are done.
    slowest = max(ready)
    end = _collect(case, slowest)
    last = max(arrived)
    return RoundTime(mean, slowest - last - mean, end - slowest + last)


def _distribute(case: Case) -> list[float]:
    """Return when each node has the tables."""
    chances = iter(Streams(0).child("holders", case.nodes).uniforms(case.nodes**2).tolist())
    holders = [[0] for _ in range(case.nodes)]  # of each piece
    sending = [0.0] * case.nodes  # until when each link is busy
    arrived = [0.0] * case.nodes
    requests = [(0.0, node, 0) for node in range(1, case.nodes)]  # time, node, and number of pieces it has
    while requests:
        now, node, got = heapq.heappop(requests)
        if got:
            holders[(node + got - 1) % case.nodes].append(node)
        if got == case.nodes:
            arrived[node] = now
            continue
        sources = holders[(node + got) % case.nodes]
        source = sources[int(next(chances) * len(sources))]
        sending[source] = max(now + STEP, sending[source]) + case.transfer / case.nodes
        heapq.heappush(requests, (sending[source], node, got + 1))
    return arrived


def _collect(case: Case, begin: float) -> float:
    """Return when the driver has all changes if merging starts at ``begin``."""
    within = tree_reduce(
        [begin + case.objects * SECONDS_PER_OBJECT] * case.cores,
        lambda left, right: max(left, right) + case.table * _SECONDS_PER_BYTE_MERGED + _CALL,
    )
    if case.nodes == 1:
        return within
    each = CHANGES * case.transfer / case.nodes
    # Every node sends a piece to every other in random order; a node receives one piece at a time.
    order = Streams(0).child("owners", case.nodes).uniforms(case.nodes**2).reshape(case.nodes, case.nodes)
    sent = sorted(
        (within + STEP + place * each, owner)
        for source in range(case.nodes)
        for place, owner in enumerate([owner for owner in order[source].argsort().tolist() if owner != source], 1)
    )
    received = [within] * case.nodes
    for when, owner in sent:
        received[owner] = max(when, received[owner] + each)
    merged = [when + case.collections * case.table * SECONDS_PER_BYTE_ACROSS for when in received]
    done = min(merged)
    for when in sorted(merged[1:]):
        done = max(when + STEP, done) + each
    return max(done, merged[0])


LARGE = Case(100_000_000, 1_000_000, 1_000_000_000, bytes_per_label=2 * 128 * 4 + 12, draws=130_000, nodes=16)
"""The context tower, k = 128, on nodes with 16 cores and 10 Gbit/s."""
QUICK = replace(LARGE, bytes_per_label=104 * 4 + 4, draws=3_800_000)
"""The `vse-ens` preset, k = 100, on the same nodes; vectors are padded to 104."""


def table(nodes: tuple[int, ...] = (16, 64, 256)) -> Table:
    """Return the time of an epoch with one exchange, by number of nodes."""
    rows = []
    for name, case in (("context", LARGE), ("vse-ens", QUICK)):
        for count in nodes:
            sized = replace(case, nodes=count)
            found, played = predict(sized), simulate(sized)
            parts = (found.computing, found.waiting, found.moving)
            rows.append(
                (
                    name,
                    str(count),
                    f"{sized.table / 1e9:.2f} GB",
                    " / ".join(f"{part:.1f}" for part in parts),
                    f"{found.total:.1f} s",
                    f"{played.total:.1f} s",
                    f"{found.computing / found.total:.0%}",
                    f"{case.pairs / found.total / 1e6:,.1f} M",
                )
            )
    columns = (
        "preset", "nodes", "tables", "computing / waiting / moving, s", "epoch", "simulated", "share of computing",
        "draws per second",
    )  # fmt: skip
    return Table(columns, rows)


def filled(text: str) -> str:
    """Return the document with an up-to-date table."""
    return fill_sections(text, {"cost-model": markdown_table(table())})


if __name__ == "__main__":
    print(markdown_table(table()))
