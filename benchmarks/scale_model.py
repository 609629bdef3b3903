"""What a round of training by shards takes on clusters that are not at hand: a formula, and a simulation to hold it to.

    python -m benchmarks.scale_model

The formula adds up what comes one after another: every worker trains its shards, the slowest is waited for, changes go
up the tree, the tables come down again. The simulation plays the same round event by event, with shards of unequal
speed and links that carry one thing at a time.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace

from benchmarks.benchmark import Table
from vse_ens.streams import Streams

# Measured on this machine (docs/scale.md): what copying, comparing and handing over tables takes, and merging two.
_SECONDS_A_BYTE = 1.3e-9
_SECONDS_A_BYTE_MERGED = 0.8e-9
# What a call to a worker takes, there and back.
_CALL = 0.003


@dataclass(frozen=True)
class Case:
    """A training, and what it runs on."""

    images: int
    labels: int
    pairs: int
    bytes_a_label: int
    """Of all tables: vectors, biases, sums of squares."""
    draws: float
    """A second, of one core."""
    nodes: int
    cores: int = 16
    bytes_a_second: float = 1.25e9
    """Between two nodes: 10 Gbit/s."""
    exchanges: int = 1
    uneven: float = 0.05
    """The standard deviation of a shard's speed."""

    @property
    def shards(self) -> int:
        """One a core."""
        return self.nodes * self.cores

    @property
    def table(self) -> float:
        """Bytes that all shards share, and that each of them changes."""
        return float(self.labels * self.bytes_a_label)


@dataclass(frozen=True)
class RoundTime:
    """Seconds of one round."""

    computing: float
    waiting: float
    moving: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.computing + self.waiting + self.moving


def predict(case: Case) -> RoundTime:
    """The formula."""
    draws = case.pairs / case.shards / case.exchanges
    computing = draws / case.draws + case.table * _SECONDS_A_BYTE
    # The largest of n normal numbers is about sqrt(2 ln n) standard deviations out.
    waiting = computing * case.uneven * math.sqrt(2 * math.log(max(case.shards, 2)))
    inside, across = math.log2(case.cores), math.ceil(math.log2(max(case.nodes, 1)))
    merging = case.table * _SECONDS_A_BYTE_MERGED + _CALL
    travelling = case.table / case.bytes_a_second
    return RoundTime(computing, waiting, (inside + across) * merging + 2 * across * travelling + _CALL)


def simulate(case: Case) -> RoundTime:
    """One round, event by event: up the tree as results come, down again from node to node."""
    mean = predict(case).computing
    speeds = Streams(0).child("simulation", case.nodes).normals(case.shards)
    ready = [mean * (1 + case.uneven * float(speed)) for speed in speeds]
    slowest = max(ready)
    free = [0.0] * case.nodes  # when each node's link is
    level = [(moment, shard // case.cores) for shard, moment in enumerate(ready)]
    while len(level) > 1:
        above = []
        for left, right in zip(level[::2], level[1::2], strict=True):
            moment = max(left[0], right[0])
            if left[1] != right[1]:
                start = max(right[0], free[left[1]], free[right[1]])
                arrived = start + case.table / case.bytes_a_second
                free[left[1]] = free[right[1]] = arrived
                moment = max(left[0], arrived)
            above.append((moment + case.table * _SECONDS_A_BYTE_MERGED + _CALL, left[1]))
        level = above
    merged = level[0][0] + _CALL
    # Whoever has the tables hands them on, each to one node at a time.
    holders, missing, last = [merged], case.nodes - 1, merged
    while missing:
        last = heapq.heappop(holders) + case.table / case.bytes_a_second
        heapq.heappush(holders, last)
        heapq.heappush(holders, last)
        missing -= 1
    return RoundTime(mean, slowest - mean, max(holders) - slowest if case.nodes > 1 else merged - slowest)


LARGE = Case(100_000_000, 1_000_000, 1_000_000_000, bytes_a_label=2 * 128 * 4 + 12, draws=130_000, nodes=16)
"""The context tower, k = 128, on nodes of 16 cores and 10 Gbit/s."""
QUICK = replace(LARGE, bytes_a_label=100 * 4 + 4, draws=3_800_000)
"""The `vse-ens` preset, k = 100, on the same."""


def table(nodes: tuple[int, ...] = (16, 64, 256)) -> Table:
    """An epoch of one exchange, by nodes."""
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
        "preset", "nodes", "tables", "computing / waiting / moving, s", "an epoch", "simulated", "computing",
        "draws a second",
    )  # fmt: skip
    return Table(columns, rows)


if __name__ == "__main__":
    from benchmarks.benchmark import Score
    from benchmarks.report import markdown

    print("\n".join(markdown(Score(tables=[table()]))))
