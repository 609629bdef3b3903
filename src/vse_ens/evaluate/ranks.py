"""Where held-out labels stand in the full ranking, and the figures computed from that."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations

Scorer = Callable[[NDArray[np.int64]], NDArray[np.float32]]

_BLOCK_BYTES = 64 * 2**20


def held_out_ranks(
    scores_of: Scorer, known: Annotations, held_out: Annotations, images: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """The rank (from 1) of every held-out pair among the labels its image is not known to have.

    Ties are given their expected rank. Also the image of every pair, and how many labels were ranked for it.
    """
    chosen = np.flatnonzero(held_out.labels_per_image) if images is None else images
    ranks: list[NDArray[np.float64]] = []
    for block in _blocks(chosen, len(known.labels)):
        scores = scores_of(block)
        rows, columns = _pairs_of(known, block)
        scores[rows, columns] = -np.inf
        rows, columns = _pairs_of(held_out, block)
        own = scores[rows, columns]
        for start in range(0, len(own), 256):
            part = slice(start, start + 256)
            line = scores[rows[part]]
            above = np.count_nonzero(line > own[part, None], axis=1)
            equal = np.count_nonzero(line == own[part, None], axis=1)
            ranks.append(above + (equal + 1) / 2.0)
    pair_images = np.repeat(chosen, held_out.labels_per_image[chosen])
    candidates = len(known.labels) - known.labels_per_image[pair_images]
    return np.concatenate(ranks) if ranks else np.empty(0), pair_images, candidates


def metrics(
    ranks: NDArray[np.float64], pair_images: NDArray[np.int64], candidates: NDArray[np.int64]
) -> dict[str, float]:
    """Means over images of recall@5, recall@10, average precision (`map`) and the full-ranking `auc`."""
    starts = np.flatnonzero(np.diff(pair_images, prepend=-1))
    held = np.diff(starts, append=len(ranks))
    order = np.lexsort((ranks, pair_images))
    place = np.arange(len(ranks)) - np.repeat(starts, held) + 1
    precision = place / ranks[order]
    # Of the labels that are neither known nor held out, how many stand below the held-out one.
    others = candidates - np.repeat(held, held)
    below = others - (ranks[order] - place)
    share = np.divide(below, others, out=np.ones_like(ranks), where=others > 0)

    def mean(values: NDArray[np.float64]) -> float:
        return float((np.add.reduceat(values, starts) / held).mean())

    return {
        "recall@5": mean((ranks <= 5).astype(float)),
        "recall@10": mean((ranks <= 10).astype(float)),
        "map": mean(precision),
        "auc": mean(share),
    }


def _blocks(images: NDArray[np.int64], labels: int) -> Iterator[NDArray[np.int64]]:
    size = max(1, _BLOCK_BYTES // (4 * max(labels, 1)))
    for start in range(0, len(images), size):
        yield images[start : start + size]


def _pairs_of(data: Annotations, images: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Rows (places in ``images``) and label numbers of all pairs of some images."""
    counts = data.labels_per_image[images]
    rows = np.repeat(np.arange(len(images)), counts)
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, data.indices[np.repeat(data.indptr[images], counts) + offsets]
