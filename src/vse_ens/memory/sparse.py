"""Every label from its closest partners by a small ridge regression of its own: no cost that grows with the cube.

EASE's column a is the ridge regression of label a on all others. Here it is that on a support: the labels that occur
with a, at most ``support`` of them. With all partners in the support it is the closed form restricted to labels that
occur together; where all labels do, it is EASE.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import ConfigError
from vse_ens.kernels.memory import (
    SharedSums,
    Sources,
    Supports,
    find_supports,
    solve_supports,
    sum_labels,
    turn_weights,
)
from vse_ens.memory.counting import pieces
from vse_ens.model.memory import LabelMemory
from vse_ens.run.threads import Workers

MOST_SUMS = 48_000_000
"""How many sums over two labels' common images are held, 12 bytes each. Where there may be more, lists are cut: a label
keeps the largest of its sums with labels more common than itself. What was left out is taken for 0 between two labels
of one support, and makes both count for less; what is in a support, and how often that occurs with the label in
question, is always exact."""


def partner_memory(
    pairs: Sources, regularization: float, support: int, workers: Workers, *, most_sums: int = MOST_SUMS
) -> LabelMemory:
    """B with at most ``support`` weights a column; time grows with |A| support^2, memory with |A| support."""
    labels = len(pairs.by_label.indptr) - 1
    diagonal, meetings = np.empty(labels), np.empty(labels, np.int64)
    sum_labels(pairs, diagonal, meetings)
    ranks = np.empty(labels, np.int32)
    ranks[np.argsort(-diagonal, kind="stable")] = np.arange(labels)

    width = min(support, max(labels - 1, 0))
    supports = Supports(
        np.empty(labels, np.int32), np.empty((labels, width), np.int32), np.empty((labels, width), np.float64)
    )
    starts = _room(np.minimum(meetings, ranks), most_sums)
    # Memory that no sum is written to is never taken from the system, so room for the most there can be costs nothing.
    shared = SharedSums(
        starts,
        np.empty(labels, np.int32),
        np.empty(starts[-1], np.int32),
        np.empty(starts[-1], np.float64),
        np.empty(labels, np.float64),
    )
    weights = np.empty((labels, width), np.float32)

    def find(first: int, last: int) -> None:
        find_supports(pairs, diagonal, ranks, regularization, supports, shared, first, last)

    def solve(first: int, last: int) -> int:
        return solve_supports(supports, diagonal, ranks, shared, regularization, weights, first, last)

    workers.run(pieces(labels, find))
    if any(workers.run(pieces(labels, solve))):
        raise ConfigError("regularization is too small for these pairs: labels cannot be told apart; raise it")
    return _by_known_label(supports, weights)


def _room(wanted: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Where each label's list begins, the end of the last one included: no longer than wanted, and cut at the largest
    length that all share so that they hold ``most`` together.
    """
    shortest, longest = 0, int(wanted.max(initial=0))
    while shortest < longest:
        middle = (shortest + longest + 1) // 2
        if np.minimum(wanted, middle).sum() <= most:
            shortest = middle
        else:
            longest = middle - 1
    return np.concatenate([[0], np.cumsum(np.minimum(wanted, shortest))])


def _by_known_label(supports: Supports, weights: NDArray[np.float32]) -> LabelMemory:
    """The weights, found label by label, as rows of the labels that tell."""
    labels, width = weights.shape
    filled = np.arange(width) < supports.sizes[:, None]
    sizes = np.bincount(supports.labels[filled], minlength=labels)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    memory = LabelMemory(np.empty(indptr[-1], np.float32), indptr, np.empty(indptr[-1], np.int32))
    turn_weights(supports, weights, indptr[:-1].copy(), memory.indices, memory.values)
    return memory
