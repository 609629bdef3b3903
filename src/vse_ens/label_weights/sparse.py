"""Every label from its closest partners by a small ridge regression of its own: no cost that grows with the cube.

EASE's column a is the ridge regression of label a on all others. Here it is that on a support: the labels that occur
with a, at most ``support`` of them. With all partners in the support it is the closed form restricted to labels that
occur together; where all labels do, it is EASE.

Where ranges of labels are worked on: first supports and shared sums are found, then the weights are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import ConfigError
from vse_ens.kernels.gram_ridge import PairSums, Supports, find_supports, gram_diagonal, solve_supports, supports_to_csr
from vse_ens.label_weights.gram import (
    PairSource,
    known_pairs,
    label_tasks,
    map_ranges,
    pair_settings,
    read_only,
    size_weights,
    weighted_pairs,
)
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import Payload, Pool, TaskFn
from vse_ens.run.threads import Workers

MOST_SUMS = 48_000_000
"""How many sums over two labels' common images are held, 12 bytes each. Where there may be more, lists are cut: a label
keeps the largest of its sums with labels more common than itself. What was left out is taken for 0 between two labels
of one support, and makes both count for less; what is in a support, and how often that occurs with the label in
question, is always exact."""


def sparse_label_weights(
    data: PairSource,
    regularization: float,
    support: int,
    pool: Pool,
    *,
    row_power: float = 0.0,
    most_sums: int = MOST_SUMS,
) -> LabelWeights:
    """B with at most ``support`` weights a column; time grows with |A| support^2, memory with |A| support."""
    settings = pair_settings(data)
    pairs = known_pairs(settings)
    labels = pairs.labels
    weights_by_size = size_weights(pairs.by_image.indptr, labels, row_power)
    diagonal, meetings = np.zeros(labels), np.zeros(labels, np.int64)
    gram_diagonal(pairs.by_image, weights_by_size, diagonal, meetings)
    ranks = np.empty(labels, np.int32)
    ranks[np.argsort(-diagonal, kind="stable")] = np.arange(labels)

    told = {"diagonal": diagonal, "ranks": ranks, "regularization": regularization}
    width = min(support, max(labels - 1, 0))
    finding = settings | told | {"size_weights": weights_by_size, "width": width}
    room = _room(np.minimum(meetings, ranks), most_sums)
    tasks = label_tasks(pairs.by_label.indptr)
    supports, shared = _found(pool, finding, tasks, room, width)
    weights = _solved(pool, told | shared._asdict(), tasks, supports)
    return _by_known_label(supports, weights)


def _found(
    pool: Pool, settings: Payload, tasks: list[Payload], room: NDArray[np.int64], width: int
) -> tuple[Supports, PairSums]:
    """The supports and the shared sums of all labels, the lists of these one right after another."""
    labels = len(room)
    supports = Supports(
        np.empty(labels, np.int32), np.empty((labels, width), np.int32), np.empty((labels, width), np.float64)
    )
    # Memory that no sum is written to is never taken from the system, so room for the most there can be costs nothing.
    most = int(room.sum())
    sizes, largest_dropped = np.empty(labels, np.int32), np.empty(labels, np.float64)
    partners, values = np.empty(most, np.int32), np.empty(most, np.float64)
    filled = 0
    with_room = [{**task, "room": room[task["first"] : task["last"]]} for task in tasks]
    for task, result in zip(tasks, pool.map(FINDING, settings, with_room), strict=True):
        own = slice(task["first"], task["last"])
        for table, name in ((supports.sizes, "sizes"), (supports.labels, "labels"), (supports.together, "together")):
            table[own] = result[name]
        sizes[own], largest_dropped[own] = result["shared_sizes"], result["largest_dropped"]
        end = filled + len(result["shared_values"])
        partners[filled:end], values[filled:end] = result["shared_labels"], result["shared_values"]
        filled = end
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    return supports, PairSums(starts, sizes, partners[:filled], values[:filled], largest_dropped)


def _solved(pool: Pool, settings: Payload, tasks: list[Payload], supports: Supports) -> NDArray[np.float32]:
    """The weights of all supports, |A| x m."""
    weights = np.empty(supports.labels.shape, np.float32)
    ranges = [slice(task["first"], task["last"]) for task in tasks]
    to_solve = [supports.part(own)._asdict() for own in ranges]
    failed = 0
    for own, result in zip(ranges, pool.map(SOLVING, settings, to_solve), strict=True):
        weights[own] = result["weights"]
        failed += result["failed"]
    if failed:
        raise ConfigError("regularization is too small for these pairs: labels cannot be told apart; raise it")
    return weights


def _room(wanted: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """How long each label's list may be: no longer than wanted, and cut at the largest length that all share so that
    they hold ``most`` together.
    """
    shortest, longest = 0, int(wanted.max(initial=0))
    while shortest < longest:
        middle = (shortest + longest + 1) // 2
        if np.minimum(wanted, middle).sum() <= most:
            shortest = middle
        else:
            longest = middle - 1
    return np.minimum(wanted, shortest)


def _by_known_label(supports: Supports, weights: NDArray[np.float32]) -> LabelWeights:
    """The weights, found label by label, as rows of the labels that tell."""
    labels, width = weights.shape
    filled = np.arange(width) < supports.sizes[:, None]
    sizes = np.bincount(supports.labels[filled], minlength=labels)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    memory = LabelWeights(np.empty(indptr[-1], np.float32), indptr, np.empty(indptr[-1], np.int32))
    supports_to_csr(supports, weights, indptr[:-1].copy(), memory.indices, memory.values)
    return memory


FINDING = f"{__name__}.find_supports_task"
SOLVING = f"{__name__}.solve_supports_task"


def find_supports_task(settings: Payload, workers: Workers) -> TaskFn:
    """Finds the supports of labels, and those of their sums that are shared."""
    pairs = weighted_pairs(settings)
    diagonal, ranks = read_only(settings["diagonal"]), read_only(settings["ranks"])
    width, regularization = settings["width"], settings["regularization"]

    def find(task: Payload) -> Payload:
        first, last = task["first"], task["last"]
        labels = last - first
        starts = np.concatenate([[0], np.cumsum(task["room"])])
        supports = Supports(np.empty(labels, np.int32), np.empty((labels, width), np.int32), np.empty((labels, width)))
        shared = PairSums(
            starts,
            np.empty(labels, np.int32),
            np.empty(starts[-1], np.int32),
            np.empty(starts[-1]),
            np.empty(labels),
        )

        def find_some(start: int, end: int) -> None:
            own = slice(start - first, end - first)
            sums = shared._replace(
                starts=starts[own.start : own.stop + 1],
                sizes=shared.sizes[own],
                largest_dropped=shared.largest_dropped[own],
            )
            find_supports(pairs, diagonal, ranks, regularization, supports.part(own), sums, start, end)

        map_ranges(workers, first, last, find_some)
        filled = [slice(start, start + size) for start, size in zip(starts[:-1], shared.sizes, strict=True)]
        return {
            **supports._asdict(),
            "shared_sizes": shared.sizes,
            "shared_labels": np.concatenate([shared.labels[own] for own in filled]),
            "shared_values": np.concatenate([shared.values[own] for own in filled]),
            "largest_dropped": shared.largest_dropped,
        }

    return find


def solve_supports_task(settings: Payload, workers: Workers) -> TaskFn:
    """Solves for the weights of supports, given the shared sums of all labels."""
    diagonal, ranks, regularization = (
        read_only(settings["diagonal"]),
        read_only(settings["ranks"]),
        settings["regularization"],
    )
    shared = PairSums(*(read_only(settings[name]) for name in PairSums._fields))

    def solve(task: Payload) -> Payload:
        supports = Supports(*(read_only(task[name]) for name in Supports._fields))
        weights = np.empty(supports.labels.shape, np.float32)

        def solve_some(start: int, end: int) -> int:
            some = slice(start, end)
            return solve_supports(supports.part(some), diagonal, ranks, shared, regularization, weights[some])

        failed = map_ranges(workers, 0, len(weights), solve_some)
        return {"weights": weights, "failed": sum(failed)}

    return solve
