"""Sparse label weights: a small ridge regression per label, at a cost that does not grow with the cube.

Column a of EASE's matrix is the ridge regression of label a on all others. Here it is the regression on a support: at
most ``support`` labels that occur together with a. If a support has all labels that occur with a, this is the closed
form restricted to co-occurring labels; if all labels co-occur, it is EASE.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import ConfigError
from vse_ens.kernels.gram_ridge import (
    PairSums,
    Supports,
    find_supports,
    gram_diagonal,
    solve_supports,
    supports_to_csr,
)
from vse_ens.label_weights.gram import size_weights, weighted_pairs
from vse_ens.label_weights.pairs import PairSource, known_pairs, label_tasks, map_ranges, pair_settings, read_only
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import Payload, Pool, TaskFn
from vse_ens.run.threads import Workers

MAX_SUMS = 48_000_000
"""Maximum number of off-diagonal entries of G that are held, 12 bytes each. If there may be more, lists are truncated:
a label keeps its largest entries with labels more common than itself. A dropped entry counts as 0 between two labels of
one support, and lowers the weight of both. The choice of a support and the entries of its label are always exact."""


def sparse_label_weights(
    data: PairSource,
    regularization: float,
    support: int,
    pool: Pool,
    *,
    row_power: float = 0.0,
    max_sums: int = MAX_SUMS,
) -> LabelWeights:
    """Return B with at most ``support`` weights per column; time grows with |A| support^2, RAM with |A| support."""
    settings = pair_settings(data)
    pairs = known_pairs(settings)
    labels = pairs.labels
    weights_by_size = size_weights(pairs.by_image.indptr, labels, row_power)
    diagonal, other_labels = np.zeros(labels), np.zeros(labels, np.int64)
    gram_diagonal(pairs.by_image, weights_by_size, diagonal, other_labels)
    ranks = np.empty(labels, np.int32)
    ranks[np.argsort(-diagonal, kind="stable")] = np.arange(labels)

    common = {"diagonal": diagonal, "ranks": ranks, "regularization": regularization}
    width = min(support, max(labels - 1, 0))
    find_settings = settings | common | {"size_weights": weights_by_size, "width": width}
    lengths = list_lengths(np.minimum(other_labels, ranks), max_sums)
    tasks = label_tasks(pairs.by_label.indptr)
    supports, sums = _find_all(pool, find_settings, tasks, lengths, width)
    weights = _solve_all(pool, common | {"sums": list(sums)}, tasks, supports)
    return _by_known_label(supports, weights)


def list_lengths(needed: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Return the length of each label's list: as needed, up to the largest common limit that keeps the ``total``."""
    shortest, longest = 0, int(needed.max(initial=0))
    while shortest < longest:
        middle = (shortest + longest + 1) // 2
        if np.minimum(needed, middle).sum() <= total:
            shortest = middle
        else:
            longest = middle - 1
    return np.minimum(needed, shortest)


def _find_all(
    pool: Pool, settings: Payload, tasks: list[Payload], lengths: NDArray[np.int64], width: int
) -> tuple[Supports, PairSums]:
    """Return the supports and the pair sums of all labels; the lists of the sums are stored without gaps."""
    # The system allocates pages when they are first written to: a buffer for the maximum costs nothing.
    supports, sums, filled = Supports.allocate(len(lengths), width), PairSums.allocate(lengths), 0
    with_lengths = [{**task, "lengths": lengths[task["first"] : task["last"]]} for task in tasks]
    for task, result in zip(tasks, pool.map(f"{__name__}.find_supports_task", settings, with_lengths), strict=True):
        own = slice(task["first"], task["last"])
        supports.sizes[own], supports.labels[own], supports.together[own] = result["supports"]
        sums.sizes[own], labels, values, sums.largest_dropped[own] = result["sums"]
        end = filled + len(values)
        sums.labels[filled:end], sums.values[filled:end] = labels, values
        filled = end
    starts = np.concatenate([[0], np.cumsum(sums.sizes, dtype=np.int64)])
    return supports, sums._replace(starts=starts, labels=sums.labels[:filled], values=sums.values[:filled])


def _solve_all(pool: Pool, settings: Payload, tasks: list[Payload], supports: Supports) -> NDArray[np.float32]:
    """Return the weights of all supports, |A| x m."""
    weights = np.empty(supports.labels.shape, np.float32)
    ranges = [slice(task["first"], task["last"]) for task in tasks]
    to_solve = [{"supports": list(supports.part(own))} for own in ranges]
    failed = 0
    for own, result in zip(ranges, pool.map(f"{__name__}.solve_supports_task", settings, to_solve), strict=True):
        weights[own] = result["weights"]
        failed += result["failed"]
    if failed:
        raise ConfigError("regularization is too small for these pairs: the label weights cannot be computed; raise it")
    return weights


def _by_known_label(supports: Supports, weights: NDArray[np.float32]) -> LabelWeights:
    """Convert the weights, which have one row per predicted label, to rows of the known labels."""
    labels, width = weights.shape
    filled = np.arange(width) < supports.sizes[:, None]
    sizes = np.bincount(supports.labels[filled], minlength=labels)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    result = LabelWeights(np.empty(indptr[-1], np.float32), indptr, np.empty(indptr[-1], np.int32))
    supports_to_csr(supports, weights, indptr[:-1].copy(), result.indices, result.values)
    return result


def find_supports_task(settings: Payload, workers: Workers) -> TaskFn:
    """Return a function that finds the supports and the pair sums of a range of labels."""
    pairs = weighted_pairs(settings)
    diagonal, ranks = read_only(settings["diagonal"]), read_only(settings["ranks"])
    width, regularization = settings["width"], settings["regularization"]

    def find(task: Payload) -> Payload:
        first, last = task["first"], task["last"]
        supports, sums = Supports.allocate(last - first, width), PairSums.allocate(task["lengths"])

        def find_range(start: int, end: int) -> None:
            own = slice(start - first, end - first)
            find_supports(pairs, diagonal, ranks, regularization, supports.part(own), sums.part(own), start, end)

        map_ranges(workers, first, last, find_range)
        filled = [slice(start, start + size) for start, size in zip(sums.starts, sums.sizes, strict=False)]
        labels, values = (np.concatenate([whole[own] for own in filled]) for whole in (sums.labels, sums.values))
        return {"supports": list(supports), "sums": [sums.sizes, labels, values, sums.largest_dropped]}

    return find


def solve_supports_task(settings: Payload, workers: Workers) -> TaskFn:
    """Return a function that computes the weights of supports from the pair sums of all labels."""
    diagonal, ranks = read_only(settings["diagonal"]), read_only(settings["ranks"])
    regularization = settings["regularization"]
    sums = PairSums(*map(read_only, settings["sums"]))

    def solve(task: Payload) -> Payload:
        supports = Supports(*map(read_only, task["supports"]))
        weights = np.empty(supports.labels.shape, np.float32)

        def solve_range(start: int, end: int) -> int:
            own = slice(start, end)
            return solve_supports(supports.part(own), diagonal, ranks, sums, regularization, weights[own])

        failed = map_ranges(workers, 0, len(weights), solve_range)
        return {"weights": weights, "failed": sum(failed)}

    return solve
