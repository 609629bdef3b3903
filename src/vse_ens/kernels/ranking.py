"""Where held-out labels stand in a full ranking, and which labels lead it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.jit import kernel, part
from vse_ens.kernels.tables import Floats

# Labels looked at together: one comparison of all with the score to beat tells that none of them leads.
_CHUNK = 64
# What `Found.above` holds where there is no such count.
IS_KNOWN, IS_NAN = -1, -2


class Pairs(NamedTuple):
    """Labels of images in CSR form; a held-out label that is not ranked at all is -1."""

    indptr: NDArray[np.int64]
    labels: NDArray[np.int32]


class Found(NamedTuple):
    """What `rank_rows` fills in."""

    above: NDArray[np.int32]  # for every held-out pair: candidates with a higher score
    tied: NDArray[np.int32]  # candidates with the same score, itself included; 0 where it is not ranked
    top: NDArray[np.int32]  # rows x N: the best candidates, best first, equal scores in the order of numbers; then -1


@part
def holds(labels: NDArray[np.int32], label: np.int32) -> bool:
    """Whether sorted ``labels`` hold ``label``."""
    low, high = 0, labels.shape[0]
    while low < high:
        middle = (low + high) // 2
        if labels[middle] < label:
            low = middle + 1
        else:
            high = middle
    return low < labels.shape[0] and labels[low] == label


@part
def stand(line: Floats, own: np.float32, known: NDArray[np.int32]) -> tuple[int, int]:
    """How many labels other than the known ones score higher than ``own``, and how many the same."""
    above, tied = np.int32(0), np.int32(0)
    for a in range(line.shape[0]):
        above = np.int32(above + (line[a] > own))
        tied = np.int32(tied + (line[a] == own))
    for place in range(known.shape[0]):
        above = np.int32(above - (line[known[place]] > own))
        tied = np.int32(tied - (line[known[place]] == own))
    return above, tied


@part
def lead(line: Floats, known: NDArray[np.int32], best: Floats, top: NDArray[np.int32]) -> None:
    """The best labels other than the known ones into ``top``, with their scores in ``best``."""
    labels, last = line.shape[0], top.shape[0] - 1
    best[:] = -np.inf
    top[:] = -1
    for start in range(0, labels, _CHUNK):
        stop = min(start + _CHUNK, labels)
        if stop - start == _CHUNK:
            chunk, to_beat = line[start : start + _CHUNK], best[last]
            better = np.int32(0)
            for place in range(_CHUNK):
                better |= np.int32(chunk[place] > to_beat)
            if not better:
                continue
        for a in range(start, stop):
            score = line[a]
            if score > best[last] and not holds(known, np.int32(a)):
                place = last
                while place > 0 and score > best[place - 1]:
                    best[place], top[place] = best[place - 1], top[place - 1]
                    place -= 1
                best[place], top[place] = score, a


@kernel
def rank_rows(
    scores: Floats,
    rows: NDArray[np.int64],
    images: NDArray[np.int64],
    first: int,
    last: int,
    known: Pairs,
    held_out: Pairs,
    found: Found,
) -> None:
    """Rank lines ``first`` to ``last - 1`` of ``scores``: line n is that of image ``images[n]``, and row ``rows[n]`` of
    ``held_out`` and ``found``.
    """
    labels = scores.shape[1]
    best = np.empty(found.top.shape[1], np.float32)
    for n in range(first, last):
        line, row, image = scores[n], rows[n], images[n]
        own_known = known.labels[known.indptr[image] : known.indptr[image + 1]]
        nans = np.int32(0)
        for a in range(labels):
            nans |= np.int32(line[a] != line[a])
        for pair in range(held_out.indptr[row], held_out.indptr[row + 1]):
            label = held_out.labels[pair]
            found.tied[pair] = 0
            if nans:
                found.above[pair] = IS_NAN
            elif label < 0:
                found.above[pair] = labels - own_known.shape[0]
            elif holds(own_known, label):
                found.above[pair] = IS_KNOWN
            else:
                found.above[pair], found.tied[pair] = stand(line, line[label], own_known)
        lead(line, own_known, best, found.top[row])
