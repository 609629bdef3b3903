"""Products of image and label vectors, in which a row has the same bits in any company.

Matrix libraries have several ways to multiply, chosen by the shapes and the number of threads, and these round in
different ways. So a row is always part of a product of the same few rows, by one thread; of more rows only where these
are seen to give the same bits.

Rows of scores at a time.

The best labels of many images, exactly: blocks of products, bounded memory, and the same for one as for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows
from vse_ens.errors import ConfigError
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.topk import Addends, TopK, topk_scores
from vse_ens.model.blas import one_thread
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model
from vse_ens.streams import Streams

FEW, MANY = 16, 256
"""Rows of a product: always so many, or so many where that does not matter."""


def row_products(vectors: Floats, label_vectors: Floats) -> Floats:
    """v_i . v_a, a row for each vector; to be called within `vse_ens.model.blas.one_thread`."""
    products = np.empty((len(vectors), len(label_vectors)), np.float32)
    many = MANY if len(vectors) >= MANY and _round_alike(*label_vectors.shape) else FEW
    whole = len(vectors) - len(vectors) % many
    for first in range(0, whole, many):
        np.matmul(vectors[first : first + many], label_vectors.T, out=products[first : first + many])
    for first in range(whole, len(vectors), FEW):
        some = vectors[first : first + FEW]
        products[first : first + FEW] = (np.resize(some, (FEW, some.shape[1])) @ label_vectors.T)[: len(some)]
    return products


@cache
def _round_alike(labels: int, dimensions: int) -> bool:
    """Whether many rows give the same bits as a few: tried on random numbers."""
    numbers = Streams(0).child("products", labels, dimensions).uniforms((labels + MANY) * dimensions)
    table = (numbers.astype(np.float32) - np.float32(0.5)).reshape(-1, dimensions)
    vectors, label_vectors = table[:MANY], table[MANY:]
    few = [vectors[first : first + FEW] @ label_vectors.T for first in range(0, MANY, FEW)]
    return np.array_equal(vectors @ label_vectors.T, np.concatenate(few))


# Bytes of one table of scores; a handful of them are held at once.
_TABLE = 32 << 20


def blocks(count: int, labels: int) -> Iterator[slice]:
    """Ranges of rows whose scores of all labels fit into one table: cut by the labels, never by the machine."""
    rows = max(1, _TABLE // (4 * max(labels, 1)))
    return (slice(first, min(first + rows, count)) for first in range(0, count, rows))


Task = Callable[[int], Any]
Run = Callable[[Sequence[Task]], list[Any]]
"""What works through tasks, such as `vse_ens.run.threads.Workers.run`; each is called with its worker's number."""

# A task has fewer images where their scores would take more bytes than this; a block has tasks for many workers.
_MOST_BYTES = 128_000_000
_TASKS = 32

Temperature = Callable[[NDArray[np.int64]], Floats]
"""By what scores are divided before a softmax, from how many labels each image is known to have: a calibration's."""


def no_temperature(counts: NDArray[np.int64]) -> Floats:
    """Scores as they are."""
    return np.ones(len(counts), np.float32)


class Suggestions(NamedTuple):
    """The best labels of some images, a row an image."""

    images: NDArray[np.int64]
    labels: NDArray[np.int32]
    """Best first, equal scores in the order of numbers; -1 where there are no more."""
    scores: Floats
    """-inf where there is no label."""
    log_totals: Floats
    """log sum_a e^(score / temperature) over all labels an image is not known to have, allowed or not."""


def in_turn(tasks: Sequence[Task]) -> list[Any]:
    """Run tasks one after another."""
    return [task(0) for task in tasks]


class TopKScorer:
    """The ``top`` best labels that an image is not known to have, among those ``allowed``, a mask over all labels.

    An image gets the same labels and the same scores, to the last bit, alone and in any company.
    """

    def __init__(
        self,
        model: Model,
        top: int,
        *,
        allowed: NDArray[np.bool_] | None = None,
        temperature: Temperature = no_temperature,
        run: Run = in_turn,
    ) -> None:
        if top < 1:
            raise ConfigError(f"top must be at least 1, got {top}")
        labels = len(model.embeddings.label_vectors)
        self._model = model
        self._top = min(top, labels)
        self._denied = np.flatnonzero(np.zeros(labels) if allowed is None else ~allowed)
        self._temperature = temperature
        self._run = run
        self._rows = MANY if 4 * labels * MANY <= _MOST_BYTES else FEW
        # A dense memory is added while a row of scores is at hand, a sparse one by itself.
        dense = model.label_weights is not None and model.label_weights.is_dense and model.label_weights_scale
        weights = (
            model.label_weights.values if model.label_weights is not None and dense else np.empty((0, 0), np.float32)
        )
        self._addends = Addends(model.embeddings.label_bias, weights, np.float32(model.label_weights_scale))

    def of_images(self, known: Annotations, images: NDArray[np.int64] | None = None) -> Iterator[Suggestions]:
        """For images by number, or all; block by block, in their order."""
        chosen = np.arange(len(known.images)) if images is None else images
        vectors = partial(self._model.embeddings.vectors, known=known)
        return self._blocks(chosen, vectors, Csr(known.indptr, known.indices))

    def of_rows(self, vectors: Floats, known: Csr) -> Iterator[Suggestions]:
        """For images that the model has never seen: by vector and known labels, a row each."""
        return self._blocks(np.arange(len(vectors)), lambda rows: vectors[rows], known)

    def _blocks(
        self, images: NDArray[np.int64], vectors: Callable[[NDArray[np.int64]], Floats], known: Csr
    ) -> Iterator[Suggestions]:
        size = _TASKS * self._rows
        for first in range(0, len(images), size):
            block = images[first : first + size]
            found = TopK.allocate(len(block), self._top)
            tasks = [
                _task(self._suggest, block[part], vectors, known, found.part(part))
                for part in _parts(len(block), self._rows)
            ]
            with one_thread():  # of the matrix library: it would keep the cores from our own threads
                self._run(tasks)
            yield Suggestions(block, *found)

    def _suggest(
        self, images: NDArray[np.int64], vectors: Callable[[NDArray[np.int64]], Floats], known: Csr, found: TopK
    ) -> None:
        scores = row_products(vectors(images), self._model.embeddings.label_vectors)
        rows = take_rows(*known, images)
        if not len(self._addends.weights):
            self._model.add_label_weights(*rows, scores)
        temperatures = self._temperature(np.diff(rows.indptr))
        topk_scores(scores, self._addends, Csr(*rows), self._denied, temperatures, found)


def _parts(count: int, size: int) -> list[slice]:
    return [slice(first, first + size) for first in range(0, count, size)]


def _task(work: Callable[..., Any], *arguments: Any) -> Task:
    return lambda _worker: work(*arguments)
