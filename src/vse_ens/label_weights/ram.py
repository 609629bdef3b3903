"""How much RAM learning label weights takes, estimated before it starts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.gram_ridge import gram_diagonal
from vse_ens.label_weights.learn import DENSE_LABELS, SUPPORT
from vse_ens.label_weights.pairs import TASK_LABELS
from vse_ens.label_weights.sparse import MAX_SUMS, list_lengths

# A sample of the labels stands for all: it has about so many labels of the same images, and a table of so many cells.
_SAMPLED_MEETINGS = 4_000_000
_SAMPLED_CELLS = 16_000_000
# Pairs processed at a time.
_BLOCK = 1 << 20


class LearningRam(NamedTuple):
    """Bytes that `learn_label_weights` takes by default, beside the data."""

    peak: list[int]
    """The arrays alive at its fullest moment, including the result."""
    stored: int
    """The result."""


class Entries(NamedTuple):
    """What sparse label weights hold."""

    sums: int
    """Entries of G."""
    weights: int


def learning_ram(data: Annotations) -> LearningRam:
    """Estimate the RAM of learning the label weights of ``data``."""
    labels, by_label = len(data.labels), 4 * data.pairs
    if labels <= DENSE_LABELS:
        # The rows of a task are still held while those of the next are counted.
        rows = [8 * labels * min(labels, TASK_LABELS)] * (1 if labels <= TASK_LABELS else 2)
        counting = [8 * labels**2, *rows, by_label]
        inverting = [8 * labels**2, 4 * labels**2]
        return LearningRam(max(counting, inverting, key=sum), 4 * labels**2)
    found = expected_entries(data)
    entries = labels * SUPPORT
    sums = [4 * found.sums, 8 * found.sums]
    # Of each entry of a support: its label and its sum. They are found in tasks; two are held at a time.
    supports, tasks = [4 * entries, 8 * entries], 2 * [12 * SUPPORT * TASK_LABELS]
    # Then its weight, and a mask of those that are filled. These are counted by label, as numbers of twice the size.
    weights = [4 * entries, entries, 4 * found.weights, 8 * found.weights]
    finding, converting = ([by_label, *sums, *supports, *more] for more in (tasks, weights))
    return LearningRam(max(finding, converting, key=sum), 8 * (labels + found.weights))


def expected_entries(data: Annotations, support: int = SUPPORT, max_sums: int = MAX_SUMS) -> Entries:
    """Estimate how many entries sparse label weights hold: how many labels occur with those of a sample.

    The sample is every n-th label in the order of frequency, on which these numbers depend most. Their upper bound, the
    number of other labels on all images of a label, is up to 20 times as large: labels occur together again and again.
    """
    labels = len(data.labels)
    images, others = np.zeros(labels), np.zeros(labels, np.int64)
    longest = int(data.labels_per_image.max(initial=0))
    gram_diagonal(Csr(data.indptr, data.indices), np.ones(longest + 1), images, others)
    order = np.argsort(-images, kind="stable")
    ranks = np.empty(labels, np.int64)
    ranks[order] = np.arange(labels)
    step = max(1, -(-int(others.sum()) // _SAMPLED_MEETINGS), -(-(labels**2) // _SAMPLED_CELLS))
    sample = order[step // 2 :: step]
    if not len(sample):
        return Entries(0, 0)
    together = _labels_together(data, sample)
    commoner = (together & (ranks < ranks[sample][:, None])).sum(axis=1)
    lengths = list_lengths(np.minimum(others, ranks), max_sums)[sample]
    share = len(sample) / labels
    return Entries(
        round(np.minimum(commoner, lengths).sum() / share),
        round(np.minimum(together.sum(axis=1), support).sum() / share),
    )


def _labels_together(data: Annotations, sample: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which other labels occur with each label of a sample, one row each."""
    rows = np.full(len(data.labels), -1, np.int32)
    rows[sample] = np.arange(len(sample))
    together = np.zeros((len(sample), len(data.labels)), np.bool_)
    for first in range(0, data.pairs, _BLOCK):
        row = rows[data.indices[first : first + _BLOCK]]
        positions = np.flatnonzero(row >= 0)
        images = np.searchsorted(data.indptr, first + positions, "right") - 1
        starts, found = take_rows(data.indptr, data.indices, images)
        together[np.repeat(row[positions], np.diff(starts)), found] = True
    together[np.arange(len(sample)), sample] = False
    return together
