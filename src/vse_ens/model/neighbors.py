"""The third part of a score: what the images with the most similar labels have; see `vse_ens.kernels.neighbors`."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.neighbors import (
    FLOOR,
    LEAST_SHARE,
    NeighborIndex,
    NeighborScratch,
    add_neighbor_scores,
    neighbor_terms,
    neighbor_weights,
)
from vse_ens.model.embeddings import Floats
from vse_ens.streams import Streams

# Terms of a block of images that `terms` makes room for at first.
_TERMS_PER_IMAGE = 64
_TASK_ROWS = 1024

# As in `vse_ens.model.topk`, which imports this module.
TaskRunner = Callable[[Sequence[Callable[[int], Any]]], list[Any]]


class NeighborTerms(NamedTuple):
    """What neighbors add to the scores of images, one row per image: only what is not 0."""

    labels: Csr
    values: Floats

    def column(self, label: int, images: int) -> tuple[NDArray[np.int64], Floats]:
        """Return the images, among the first ``images``, to whose score of a label something is added, and what."""
        entries = np.flatnonzero(self.labels.indices[: self.labels.indptr[images]] == label)
        return np.searchsorted(self.labels.indptr, entries, side="right") - 1, self.values[entries]

    def rows(self, first: int, count: int) -> NeighborTerms:
        """Return the rows of ``count`` images from ``first`` on."""
        indptr = self.labels.indptr[first : first + count + 1]
        part = slice(indptr[0], indptr[-1])
        return NeighborTerms(Csr(indptr - indptr[0], self.labels.indices[part]), self.values[part])

    @classmethod
    def joined(cls, parts: list[NeighborTerms]) -> NeighborTerms:
        """Return the rows of several parts, one part after another."""
        counts = [np.diff(part.labels.indptr) for part in parts]
        indptr = np.concatenate([[0], np.cumsum(np.concatenate([*counts, np.empty(0, np.int64)]))])
        indices = [part.labels.indices for part in parts]
        return cls(
            Csr(indptr, np.concatenate([*indices, np.empty(0, np.int32)])),
            np.concatenate([*(part.values for part in parts), np.empty(0, np.float32)]),
        )


class ImageNeighbors:
    """The images of a model as neighbors of any image, found by an inverted index that is made on first use.

    ``scale`` is the factor of what they add to a score.
    """

    def __init__(self, known: Annotations, scale: float) -> None:
        self.known = known
        self.scale = scale
        self._lock = threading.Lock()
        self._local = threading.local()

    def __reduce__(self) -> tuple[Any, ...]:
        return ImageNeighbors, (self.known, self.scale)  # a copy makes its own index and buffers

    def add_scores(self, rows: Csr, images: NDArray[np.integer] | None, scores: Floats) -> None:
        """Add to ``scores``, one row per image, what the neighbors of images with the labels of ``rows`` have.

        ``images`` are their numbers if the model has them: an image is not its own neighbor.
        """
        index, own = self._made, self._own_rows(images, len(scores))
        add_neighbor_scores(index.arrays, rows, own, np.float32(self.scale), self._scratch, scores)

    def terms(self, rows: Csr, images: NDArray[np.integer] | None) -> NeighborTerms:
        """Return what `add_scores` adds."""
        count = len(rows.indptr) - 1
        own, scale = self._own_rows(images, count), np.float32(self.scale)
        room, first, parts = _TERMS_PER_IMAGE * count, 0, []
        while first < count:
            part = Csr(rows.indptr[first:] - rows.indptr[first], rows.indices[rows.indptr[first] :])
            counts = np.empty(count - first, np.int64)
            labels, values = np.empty(room, np.int32), np.empty(room, np.float32)
            done = neighbor_terms(
                self._made.arrays, Csr(*part), own[first:], scale, self._scratch, counts, labels, values
            )
            indptr = np.concatenate([[0], np.cumsum(counts[:done])])
            parts.append(NeighborTerms(Csr(indptr, labels[: indptr[-1]].copy()), values[: indptr[-1]].copy()))
            first, room = first + done, max(room, len(self.known.labels))
        return NeighborTerms.joined(parts)

    def all_terms(self, run: TaskRunner) -> NeighborTerms:
        """Return what neighbors add to the scores of the images of the model."""

        def task(first: int, _worker: int) -> NeighborTerms:
            images = np.arange(first, min(first + _TASK_ROWS, len(self.known.images)))
            return self.terms(Csr(*self.known.rows(images)), images)

        return NeighborTerms.joined(run([partial(task, n) for n in range(0, len(self.known.images), _TASK_ROWS)]))

    def find(self, labels: NDArray[np.int32], image: int) -> FoundNeighbors:
        """Return the neighbors of an image with some ``labels``; ``image`` is its number in the model, or -1."""
        index, scratch = self._made, self._scratch
        weights = np.empty(len(index.arrays.lengths), np.float32)
        own = int(index.row_of_image[image]) if image >= 0 else -1
        count = neighbor_weights(index.arrays, labels, own, scratch, weights)
        rows, exact = scratch.found[:count].copy(), weights[:count].astype(np.float64)
        nearest = np.argsort(-exact / (index.arrays.images[rows] - (rows == own)), kind="stable")
        return FoundNeighbors(index, rows[nearest], exact[nearest], image, self.scale)

    def _own_rows(self, images: NDArray[np.integer] | None, count: int) -> NDArray[np.int32]:
        if images is None:
            return np.full(count, -1, np.int32)
        return np.where(images >= 0, self._made.row_of_image[images], np.int32(-1))

    @property
    def _scratch(self) -> NeighborScratch:
        """The buffers of this thread."""
        scratch: NeighborScratch | None = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = NeighborScratch.allocate(self._made.arrays)
        return scratch

    @property
    def _made(self) -> _Index:
        with self._lock:  # one thread makes it, the others wait
            return self._index

    @cached_property
    def _index(self) -> _Index:
        return _Index.of(self.known)


@dataclass(frozen=True, eq=False)
class FoundNeighbors:
    """The neighbors of one image, most similar first."""

    index: _Index
    rows: NDArray[np.int32]
    weights: NDArray[np.float64]
    image: int
    scale: float

    @cached_property
    def _labels(self) -> Csr:
        return take_rows(*self.index.arrays.rows, self.rows)

    @cached_property
    def _row_of_label(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.rows)), np.diff(self._labels.indptr))

    def with_label(self, label: int, most: int) -> tuple[float, int, NDArray[np.int64]]:
        """Return what neighbors add to the score of a label, how many have it, and the numbers of the first of them."""
        has = self._row_of_label[self._labels.indices == label]
        share = self.weights[has].sum() / self.weights.sum() if len(has) else 0.0
        if share < LEAST_SHARE:
            return 0.0, 0, np.empty(0, np.int64)
        rows = self.rows[has]
        count = int(self.index.arrays.images[rows].sum())
        if self.image >= 0 and self.index.row_of_image[self.image] in rows:
            count -= 1
        first = take_rows(*self.index.images_by_row, rows[: most + 1]).indices.astype(np.int64)
        return self.scale * math.log1p(share / FLOOR), count, first[first != self.image][:most]


class _Index(NamedTuple):
    """The arrays that kernels read, and which images have each row."""

    arrays: NeighborIndex
    row_of_image: NDArray[np.int32]
    images_by_row: Csr

    @classmethod
    def of(cls, known: Annotations) -> _Index:
        """Make the index of all images; equal rows are found by two sums of random words."""
        indptr, indices = np.asarray(known.indptr), np.asarray(known.indices)
        labels = len(known.labels)
        words = Streams(0).child("neighbors").words(2 * labels).reshape(2, labels)
        sums = np.concatenate([np.zeros((2, 1), np.uint64), np.cumsum(words[:, indices], axis=1)], axis=1)
        keys = np.concatenate([sums[:, indptr[1:]] - sums[:, indptr[:-1]], np.diff(indptr)[None].astype(np.uint64)])
        _, first, group, images = np.unique(keys, axis=1, return_index=True, return_inverse=True, return_counts=True)
        counts = known.images_per_label
        rarity = np.empty(labels, np.int32)
        rarity[np.argsort(counts, kind="stable")] = np.arange(labels, dtype=np.int32)
        rows = take_rows(indptr, indices, first)
        row = np.repeat(np.arange(len(first)), np.diff(rows.indptr))
        rows = Csr(rows.indptr, rows.indices[np.argsort(row * labels + rarity[rows.indices])])
        # Rows with the same rare labels are close to each other in RAM. The order does not depend on the words.
        rarest = np.full((2, len(first)), labels)
        for n in range(2):
            longer = np.flatnonzero(np.diff(rows.indptr) > n)
            rarest[n, longer] = rarity[rows.indices[rows.indptr[longer] + n]]
        order = np.lexsort((first, rarest[1], rarest[0]))
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        rows = take_rows(*rows, order)
        row = np.repeat(np.arange(len(order)), np.diff(rows.indptr))
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows.indices, minlength=labels))])
        weights = np.log1p(len(known.images) / np.maximum(counts, 1)).astype(np.float32)
        lengths = np.bincount(row, weights[rows.indices], len(order)).astype(np.float32)
        by_label = np.lexsort((lengths[row], rows.indices))
        postings = Csr(starts, row[by_label].astype(np.int32))
        arrays = NeighborIndex(rows, images[order].astype(np.float32), lengths, postings, weights, rarity)
        row_of_image = np.asarray(place[group.reshape(-1)], np.int32)
        starts = np.concatenate([[0], np.cumsum(images[order])])
        return cls(arrays, row_of_image, Csr(starts, np.argsort(row_of_image, kind="stable").astype(np.int32)))
