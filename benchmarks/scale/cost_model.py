"""What a round of training by shards takes on clusters that are not at hand: a formula, and a simulation to hold it to.

    python -m benchmarks.scale.cost_model

Tables are cut into as many pieces as there are nodes. The formula adds up what comes one after another: every node
fetches the pieces in turn, from the driver's node or from others that have them; every worker trains its shards, and
the slowest is waited for; changes are merged inside the nodes, then every piece by the node that owns it; merged pieces
go home to the driver, who keeps track of every piece of every result. The simulation plays the same round event by
event, with shards of unequal speed, a random one of those who have a piece, and links that carry one thing at a time.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace

from benchmarks.core.benchmark import Table
from vse_ens.run.tree import merge_in_tree
from vse_ens.streams import Streams

# Measured on this machine (docs/scale.md): what copying, comparing and handing over tables takes, merging two results
# of one node, and a call to a worker, there and back.
_SECONDS_A_BYTE = 1.3e-9
_SECONDS_A_BYTE_MERGED = 0.8e-9
_CALL = 0.003
# What one more object in the store, such as a piece of a result, costs the process that drives the training: the time
# of its busiest thread, 8 workers giving 256 pieces each and merging them. All its threads took 0.25 ms together.
OBJECT = 0.00006
# From `python -m benchmarks.scale.network`, fitted to rounds of 2 and 4 nodes on emulated links of 200 Mbit/s and 1 Gbit/s:
# what of a link arrives as tables (0.95 for a plain connection), what fetching changes from other nodes, merging and
# joining them takes beside that, and what every step from node to node does, however small. (A second run, not as
# quiet: 0.976, 6.7 ns, 16 ms.) All nodes shared two cores: the time a byte is rather too long. Rounds of 8 nodes, left
# out of the fit, took 0.97 to 1.04 times what the formula says, and 1.25 times with small tables at 1 Gbit/s.
SHARE_OF_LINK = 0.96
SECONDS_A_BYTE_ACROSS = 4.6e-9
STEP = 0.014
# Changes are tables with the number and the square of every row: 16 bytes more than 420 a label, or 40 more than 1036.
CHANGES = 1.04


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

    @property
    def journey(self) -> float:
        """Seconds that the tables take from node to node."""
        return self.table / (SHARE_OF_LINK * self.bytes_a_second)

    @property
    def handed_out(self) -> float:
        """Journeys of the tables over the link of the driver's node, which everybody waits for."""
        # Whoever fetches a piece takes it from a random one of those who have it. The driver's node serves the first
        # who does so, one in two of the second, one in three of the third ...
        served = sum(1 / count for count in range(1, self.nodes))
        # ... and more at first, as all begin together and ask for what is still on its way to others: the simulation
        # has one and a half journeys of that.
        return served + 1.5 * max(0, self.nodes - 2) / self.nodes

    @property
    def gathered(self) -> float:
        """Journeys over a link until the changes of every piece are with its owner; then as many to the driver."""
        return CHANGES * (self.nodes - 1) / self.nodes

    @property
    def steps(self) -> int:
        """From node to node, one after another: every piece of the tables, changes to their owners, and home."""
        return self.nodes + 2 if self.nodes > 1 else 0

    @property
    def objects(self) -> int:
        """That the driver keeps track of: what each shard changed, merged inside its node, and the pieces of that."""
        return 2 * self.shards + self.nodes**2


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
    handing_out = case.handed_out * case.journey
    keeping_track = case.objects * OBJECT
    inside = math.log2(case.cores) * (case.table * _SECONDS_A_BYTE_MERGED + _CALL)
    across = case.gathered * (2 * case.journey + case.table * SECONDS_A_BYTE_ACROSS)
    return RoundTime(computing, waiting, handing_out + keeping_track + inside + across + case.steps * STEP)


def simulate(case: Case) -> RoundTime:
    """One round, event by event; the driver is on the first node."""
    mean = predict(case).computing
    arrived = _hand_out(case)
    speeds = Streams(0).child("simulation", case.nodes).normals(case.shards)
    ready = [
        arrived[shard // case.cores] + mean * (1 + case.uneven * float(speed)) for shard, speed in enumerate(speeds)
    ]
    # The pool merges when all have reported.
    slowest = max(ready)
    home = _bring_home(case, slowest)
    last = max(arrived)
    return RoundTime(mean, slowest - last - mean, home - slowest + last)


def _hand_out(case: Case) -> list[float]:
    """When each node has the tables."""
    chances = iter(Streams(0).child("holders", case.nodes).uniforms(case.nodes**2).tolist())
    holders = [[0] for _ in range(case.nodes)]  # of every piece
    sending = [0.0] * case.nodes  # until when each node's link is
    arrived = [0.0] * case.nodes
    asking = [(0.0, node, 0) for node in range(1, case.nodes)]  # when, who, and how many pieces it has
    while asking:
        now, node, got = heapq.heappop(asking)
        if got:
            holders[(node + got - 1) % case.nodes].append(node)
        if got == case.nodes:
            arrived[node] = now
            continue
        able = holders[(node + got) % case.nodes]
        source = able[int(next(chances) * len(able))]
        sending[source] = max(now + STEP, sending[source]) + case.journey / case.nodes
        heapq.heappush(asking, (sending[source], node, got + 1))
    return arrived


def _bring_home(case: Case, begin: float) -> float:
    """When the driver has all changes, if merging begins then."""
    inside = merge_in_tree(
        [begin + case.objects * OBJECT] * case.cores,
        lambda left, right: max(left, right) + case.table * _SECONDS_A_BYTE_MERGED + _CALL,
    )
    if case.nodes == 1:
        return inside
    each = CHANGES * case.journey / case.nodes
    # Every node sends every other a piece, in any order; those that one node receives come one after another.
    order = Streams(0).child("owners", case.nodes).uniforms(case.nodes**2).reshape(case.nodes, case.nodes)
    sent = sorted(
        (inside + STEP + place * each, owner)
        for source in range(case.nodes)
        for place, owner in enumerate([owner for owner in order[source].argsort().tolist() if owner != source], 1)
    )
    received = [inside] * case.nodes
    for when, owner in sent:
        received[owner] = max(when, received[owner] + each)
    merged = [when + case.gathered * case.table * SECONDS_A_BYTE_ACROSS for when in received]
    home = min(merged)
    for when in sorted(merged[1:]):
        home = max(when + STEP, home) + each
    return max(home, merged[0])


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
    from benchmarks.core.benchmark import Score
    from benchmarks.core.report import markdown

    print("\n".join(markdown(Score(tables=[table()]))))
