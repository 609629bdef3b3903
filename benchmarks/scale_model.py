"""What a round of training by shards takes on clusters that are not at hand: a formula, and a simulation to hold it to.

    python -m benchmarks.scale_model

The formula adds up what comes one after another: the driver's node hands the tables to every other node, every worker
trains its shards, the slowest is waited for, changes go up the tree and home to the driver. The simulation plays the
same round event by event, with shards of unequal speed, the pool's own tree, tables that travel in chunks, and links
that carry one thing at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from benchmarks.benchmark import Table
from vse_ens.run.tree import merge_in_tree
from vse_ens.streams import Streams

# Measured on this machine (docs/scale.md): what copying, comparing and handing over tables takes, merging two results
# of one node, and a call to a worker, there and back.
_SECONDS_A_BYTE = 1.3e-9
_SECONDS_A_BYTE_MERGED = 0.8e-9
_CALL = 0.003
# From `python -m benchmarks.network`, fitted to rounds of 2 and 4 nodes on emulated links of 200 Mbit/s and 1 Gbit/s:
# what of a link arrives as tables (fitted 0.966 and 0.972 in two runs, 0.95 and 0.96 for a plain connection), what
# fetching a result from another node and merging it takes beside that (1.2 and 1.6 ns), and what every step from node
# to node does, however small (21 and 16 ms).
SHARE_OF_LINK = 0.96
SECONDS_A_BYTE_ACROSS = 1.4e-9
STEP = 0.018
# Changes are tables with the number and the square of every row: 16 bytes more than 420 a label, or 40 more than 1036.
CHANGES = 1.04
# Ray sends what it sends in pieces of this size, one for each of those who wait for it in turn.
_CHUNK = 5 * 2**20


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
    apart: bool = True
    """Whether the worker who has the last result is on another node than the driver: by chance, and mostly so."""

    @property
    def shards(self) -> int:
        """One a core."""
        return self.nodes * self.cores

    @property
    def table(self) -> float:
        """Bytes that all shards share, and that each of them changes."""
        return float(self.labels * self.bytes_a_label)

    @property
    def journey(self) -> float:
        """Seconds that the tables take from node to node."""
        return self.table / (SHARE_OF_LINK * self.bytes_a_second)

    @property
    def levels(self) -> int:
        """Of the tree, where results come from another node."""
        return math.ceil(math.log2(self.nodes))

    @property
    def homeward(self) -> int:
        """Journeys of the last result to the driver."""
        return int(self.apart and self.nodes > 1)


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
    # All nodes ask for the tables at once, and nobody but the driver's node has them.
    handing_out = (case.nodes - 1) * case.journey + STEP
    inside = math.log2(case.cores) * (case.table * _SECONDS_A_BYTE_MERGED + _CALL)
    across = case.levels * (CHANGES * case.journey + case.table * SECONDS_A_BYTE_ACROSS + STEP)
    coming_home = case.homeward * (CHANGES * case.journey + STEP)
    return RoundTime(computing, waiting, handing_out + inside + across + coming_home)


def simulate(case: Case) -> RoundTime:
    """One round, event by event."""
    mean = predict(case).computing
    driver = case.homeward  # the number of its node; the last result is on the first
    arrived = _handed_out(case, driver)
    speeds = Streams(0).child("simulation", case.nodes).normals(case.shards)
    ready = [
        arrived[shard // case.cores] + mean * (1 + case.uneven * float(speed)) for shard, speed in enumerate(speeds)
    ]
    # The pool merges when all have reported.
    slowest = max(ready)
    sending, receiving = [slowest] * case.nodes, [slowest] * case.nodes  # until when each node's link is

    def travel(begin: float, source: int, goal: int) -> float:
        begin = max(begin, sending[source], receiving[goal])
        sending[source] = receiving[goal] = begin + CHANGES * case.journey
        return sending[source] + STEP

    def merge(left: tuple[float, int], right: tuple[float, int]) -> tuple[float, int]:
        if left[1] == right[1]:
            return max(left[0], right[0]) + case.table * _SECONDS_A_BYTE_MERGED + _CALL, left[1]
        here = travel(right[0], right[1], left[1])
        return max(left[0], here) + case.table * SECONDS_A_BYTE_ACROSS, left[1]

    merged, place = merge_in_tree([(slowest, shard // case.cores) for shard in range(case.shards)], merge)
    home = merged if place == driver else travel(merged, place, driver)
    last = max(arrived)
    return RoundTime(mean, slowest - last - mean, home - slowest + last)


def _handed_out(case: Case, driver: int) -> list[float]:
    """When each node has the tables: the driver's sends all others a chunk in turn, until each has the last."""
    arrived, clock = [STEP] * case.nodes, STEP
    chunks = math.ceil(case.table / _CHUNK)
    for _ in range(chunks):
        for node in range(case.nodes):
            if node != driver:
                clock += case.journey / chunks
                arrived[node] = clock
    return arrived


LARGE = Case(100_000_000, 1_000_000, 1_000_000_000, bytes_a_label=2 * 128 * 4 + 12, draws=130_000, nodes=16)
"""The context tower, k = 128, on nodes of 16 cores and 10 Gbit/s."""
QUICK = replace(LARGE, bytes_a_label=104 * 4 + 4, draws=3_800_000)
"""The `vse-ens` preset, k = 100, on the same; vectors are padded to 104."""


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
