"""Where ranges of labels are worked on: first supports and shared sums are found, then the weights are."""

from __future__ import annotations

import numpy as np

from vse_ens.kernels.memory import SharedSums, Supports, find_supports, solve_supports
from vse_ens.memory.both_ways import fixed
from vse_ens.memory.counting import sources
from vse_ens.memory.ranges import run_pieces
from vse_ens.run.pool import Bench, Plain
from vse_ens.run.threads import Workers

FINDING = f"{__name__}.finding_bench"
SOLVING = f"{__name__}.solving_bench"


def finding_bench(settings: Plain, workers: Workers) -> Bench:
    """Finds the supports of labels, and those of their sums that are shared."""
    pairs = sources(settings)
    diagonal, ranks = fixed(settings["diagonal"]), fixed(settings["ranks"])
    width, regularization = settings["width"], settings["regularization"]

    def find(task: Plain) -> Plain:
        first, last = task["first"], task["last"]
        labels = last - first
        starts = np.concatenate([[0], np.cumsum(task["room"])])
        supports = Supports(np.empty(labels, np.int32), np.empty((labels, width), np.int32), np.empty((labels, width)))
        shared = SharedSums(
            starts,
            np.empty(labels, np.int32),
            np.empty(starts[-1], np.int32),
            np.empty(starts[-1]),
            np.empty(labels),
        )

        def find_some(start: int, end: int) -> None:
            own = slice(start - first, end - first)
            sums = shared._replace(
                starts=starts[own.start : own.stop + 1], sizes=shared.sizes[own], left_out=shared.left_out[own]
            )
            find_supports(pairs, diagonal, ranks, regularization, supports.of(own), sums, start, end)

        run_pieces(workers, first, last, find_some)
        filled = [slice(start, start + size) for start, size in zip(starts[:-1], shared.sizes, strict=True)]
        return {
            **supports._asdict(),
            "shared_sizes": shared.sizes,
            "shared_labels": np.concatenate([shared.labels[own] for own in filled]),
            "shared_values": np.concatenate([shared.values[own] for own in filled]),
            "left_out": shared.left_out,
        }

    return find


def solving_bench(settings: Plain, workers: Workers) -> Bench:
    """Solves for the weights of supports, given the shared sums of all labels."""
    diagonal, ranks, regularization = fixed(settings["diagonal"]), fixed(settings["ranks"]), settings["regularization"]
    shared = SharedSums(*(fixed(settings[name]) for name in SharedSums._fields))

    def solve(task: Plain) -> Plain:
        supports = Supports(*(fixed(task[name]) for name in Supports._fields))
        weights = np.empty(supports.labels.shape, np.float32)

        def solve_some(start: int, end: int) -> int:
            some = slice(start, end)
            return solve_supports(supports.of(some), diagonal, ranks, shared, regularization, weights[some])

        failed = run_pieces(workers, 0, len(weights), solve_some)
        return {"weights": weights, "failed": sum(failed)}

    return solve
