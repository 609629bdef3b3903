"""Time to move tables between the nodes of a cluster, measured on emulated links and predicted by the cost model.

    python -m benchmarks.scale.network

Needs root and iproute2, takes minutes, and is not part of `python -m benchmarks`. The result is printed and stored in
benchmarks/results/network.json, with the machine, the commit and the hashes of the code; `--no-store` only prints it.
"""

from __future__ import annotations

import argparse
import math
import signal
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.core.benchmark import Raw, Score, Table, log
from benchmarks.core.report import markdown
from benchmarks.core.results import FOLDER, Result, machine, store
from benchmarks.core.sources import digests
from benchmarks.scale.cost_model import SECONDS_PER_OBJECT, Case, predict
from benchmarks.scale.namespaces import call_on_node, cluster, missing_requirement, network, tcp_megabits
from benchmarks.scale.transfer import LABELS_PER_IMAGE, time_rounds

# Beyond these, the two cores that all nodes share limit the speed more than the links do.
_MOST_MEGABITS, _MOST_NODES = 1000, 4
_MEASURES = ("run", "train/sharded")


def measure(nodes: Sequence[int], megabits: Sequence[float], labels: Sequence[int], rounds: int) -> Raw:
    """Time rounds of every size on every network."""
    cases, links = [], {}
    for speed in megabits:
        with network(2, speed):
            links[f"{speed:g}"] = tcp_megabits(int(speed * 125_000))
        for count in nodes:
            log(f"{count} nodes, {speed:g} Mbit/s")
            with network(count, speed), cluster(count) as environment:
                found = call_on_node(0, environment, time_rounds, count, list(labels), rounds)
            cases += [case | {"megabits": speed} for case in found]
    return {"links": links, "cases": cases}


def case_of(found: Raw) -> Case:
    """Return a measured case for the cost model: nodes of one core, and almost nothing to compute."""
    return Case(
        images=found["nodes"] * found["labels"] // LABELS_PER_IMAGE,
        labels=found["labels"],
        pairs=found["nodes"] * found["labels"],
        bytes_per_label=found["bytes"] // found["labels"],
        draws=math.inf,
        nodes=found["nodes"],
        cores=1,
        bytes_per_second=found["megabits"] * 125_000,
        uneven=0.0,
    )


def moving(rounds: list[Raw]) -> float:
    """Return the median seconds of a round without its longest computation."""
    return statistics.median(float(one["seconds"] - one["computing"]) for one in rounds)


@dataclass(frozen=True)
class Constants:
    """The constants of the cost model that depend on the network."""

    share_of_link: float
    seconds_per_byte_across: float
    step: float


def fit(cases: Sequence[Raw]) -> Constants:
    """Fit the constants to the measurements by least squares of relative errors."""
    measured = np.array([moving(found["round"]) for found in cases])
    sized = [case_of(found) for found in cases]
    # The part that does not depend on the network is taken as known.
    others = np.array([case.objects * SECONDS_PER_OBJECT for case in sized])
    terms = np.array([_terms(case) for case in sized]) / measured[:, None]
    (link, byte, step), *_ = np.linalg.lstsq(terms, 1 - others / measured)
    return Constants(1 / float(link), float(byte), float(step))


def _terms(case: Case) -> tuple[float, float, float]:
    """Return the factor of each constant in `predict`."""
    transfers = case.distributions + 2 * case.collections
    return transfers * case.table / case.bytes_per_second, case.collections * case.table, case.steps


def score(raw: Raw) -> Score:
    """Return the measured and predicted times, and the best-fitting constants."""
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
    columns = ("links", "nodes", "tables", "distributing / merging alone, s", "measured", "formula", "ratio")
    plain = ", ".join(f"{found:,.0f} of {speed} Mbit/s" for speed, found in raw["links"].items())
    notes = [f"One TCP connection without Ray reached {plain}."]
    realistic = [
        found for found in raw["cases"] if found["megabits"] <= _MOST_MEGABITS and found["nodes"] <= _MOST_NODES
    ]
    if len(realistic) > 2:
        best = fit(realistic)
        notes.append(
            f"Best fit to {len(realistic)} of these cases (up to {_MOST_MEGABITS} Mbit/s and {_MOST_NODES} nodes): "
            f"{best.share_of_link:.3f} of the link, {best.seconds_per_byte_across * 1e9:.2f} ns per byte merged from "
            f"another node, {best.step * 1e3:.0f} ms per step."
        )
    return Score(tables=[Table(columns, rows)], notes=notes)


def main(arguments: Sequence[str] | None = None, folder: Path = FOLDER) -> None:
    """Measure, print and store; exit with a sentence if the machine lacks something."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.scale.network", description="Time rounds on links of known bandwidth."
    )
    parser.add_argument("--nodes", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--megabits", type=float, nargs="+", default=[200, 1000, 10_000])
    parser.add_argument("--labels", type=int, nargs="+", default=[20_000, 80_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-store", action="store_true", help="print the result without storing it")
    given = parser.parse_args(arguments)
    if reason := missing_requirement():
        sys.exit(reason)
    # An exit runs the clean-up of networks and clusters; the default action of SIGTERM would not.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    facts, sources, began = machine(), digests(_MEASURES), time.perf_counter()
    raw = measure(given.nodes, given.megabits, given.labels, given.rounds)
    seconds = time.perf_counter() - began
    print("\n\n".join(markdown(score(raw))))
    if not given.no_store:
        facts |= {"repetitions": given.rounds}
        print(f"\nstored in {store('network', Result(facts, seconds, raw, sources), folder)}")


if __name__ == "__main__":
    main()
