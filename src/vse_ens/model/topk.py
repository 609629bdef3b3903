"""The best labels of many images: exact, in blocks of bounded size, and equal to the last bit for one image or for all.

Matrix libraries choose a kernel by the shapes of the matrices and the number of threads, and kernels round differently.
The scores of an image would therefore depend on the images that are scored with it. To avoid this, every product has
the same number of rows, with padding where vectors are missing, and is computed by one thread: the library then always
takes the same kernel, in which a row does not depend on the others. Products of more rows are faster. They are used if
a trial on a table of the same shape gives the same bits.
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

PRODUCT_ROWS = 16
"""Rows of every product."""
LARGE_PRODUCT_ROWS = 256
"""Rows of every product, if these give the same bits."""

# Tasks have fewer images if the scores of a task would need more bytes.
_MAX_TASK_BYTES = 128_000_000
_TASKS_PER_BLOCK = 32
# Bytes of one block of scores for callers of `row_blocks`, which hold several at a time.
_BLOCK_BYTES = 32 << 20

Task = Callable[[int], Any]
"""A function of the worker's number."""
TaskRunner = Callable[[Sequence[Task]], list[Any]]
"""Runs tasks and returns their results in order, as `vse_ens.run.threads.Workers.run` does."""
TemperatureFn = Callable[[NDArray[np.int64]], Floats]
"""The softmax temperature of each image, from its number of known labels; see `vse_ens.model.calibration`."""


def run_serial(tasks: Sequence[Task]) -> list[Any]:
    """Run tasks one after another in the calling thread."""
    return [task(0) for task in tasks]


def unit_temperature(counts: NDArray[np.int64]) -> Floats:
    """Return a temperature of 1 for every image."""
    return np.ones(len(counts), np.float32)


class TopLabels(NamedTuple):
    """The best labels of several images, one row per image."""

    images: NDArray[np.int64]
    labels: NDArray[np.int32]
    """By number, best first, ties in the order of numbers; padded with -1."""
    scores: Floats
    """Padded with -inf."""
    log_totals: Floats
    """log sum_a e^(score / temperature) over all labels that the image is not known to have, allowed or not."""
    confidences: Floats | None = None
    """Calibrated probabilities, if the model has a calibration."""


class TopKScorer:
    """Finds the ``top`` best labels that an image is not known to have.

    ``allowed`` is a mask over all labels. Labels and scores of an image are the same to the last bit, whichever images
    are scored with it and however many workers ``run`` has.
    """

    def __init__(
        self,
        model: Model,
        top: int,
        *,
        allowed: NDArray[np.bool_] | None = None,
        temperature: TemperatureFn = unit_temperature,
        run: TaskRunner = run_serial,
    ) -> None:
        if top < 1:
            raise ConfigError(f"top must be at least 1, got {top}")
        labels = len(model.embeddings.label_vectors)
        self._model = model
        self._top = min(top, labels)
        self._denied = np.flatnonzero(np.zeros(labels) if allowed is None else ~allowed)
        self._temperature = temperature
        self._run = run
        self._rows = LARGE_PRODUCT_ROWS if 4 * labels * LARGE_PRODUCT_ROWS <= _MAX_TASK_BYTES else PRODUCT_ROWS
        # The kernel adds dense label weights while a row of scores is in the cache; sparse ones are added before it.
        weights = np.empty((0, 0), np.float32)
        if model.label_weights is not None and model.label_weights.is_dense and model.label_weights_scale:
            weights = model.label_weights.values
        self._addends = Addends(model.embeddings.label_bias, weights, np.float32(model.label_weights_scale))

    def of_images(self, known: Annotations, images: NDArray[np.int64] | None = None) -> Iterator[TopLabels]:
        """Yield the best labels of images by number, or of all images, block by block in order."""
        chosen = np.arange(len(known.images)) if images is None else images
        vectors = partial(self._model.embeddings.vectors, known=known)
        return self._blocks(chosen, vectors, Csr(known.indptr, known.indices))

    def of_rows(self, vectors: Floats, known: Csr) -> Iterator[TopLabels]:
        """Yield the best labels of new images, given one row each of ``vectors`` and ``known`` labels."""
        return self._blocks(np.arange(len(vectors)), lambda rows: vectors[rows], known)

    def _blocks(
        self, images: NDArray[np.int64], vectors: Callable[[NDArray[np.int64]], Floats], known: Csr
    ) -> Iterator[TopLabels]:
        size = _TASKS_PER_BLOCK * self._rows
        for first in range(0, len(images), size):
            block = images[first : first + size]
            result = TopK.allocate(len(block), self._top)
            parts = [slice(start, start + self._rows) for start in range(0, len(block), self._rows)]
            tasks = [_task(self._score, block[part], vectors, known, result.part(part)) for part in parts]
            with one_thread():
                self._run(tasks)
            yield TopLabels(block, *result)

    def _score(
        self, images: NDArray[np.int64], vectors: Callable[[NDArray[np.int64]], Floats], known: Csr, result: TopK
    ) -> None:
        scores = stable_products(vectors(images), self._model.embeddings.label_vectors)
        rows = take_rows(*known, images)
        if not len(self._addends.weights):
            self._model.add_label_weights(*rows, scores)
        temperatures = self._temperature(np.diff(rows.indptr))
        topk_scores(scores, self._addends, Csr(*rows), self._denied, temperatures, result)


def stable_products(vectors: Floats, label_vectors: Floats) -> Floats:
    """Return v_i . v_a, one row per vector, with the same bits for a vector in any batch.

    Call this within `vse_ens.model.blas.one_thread`.
    """
    products = np.empty((len(vectors), len(label_vectors)), np.float32)
    large = len(vectors) >= LARGE_PRODUCT_ROWS and _large_products_agree(*label_vectors.shape)
    rows = LARGE_PRODUCT_ROWS if large else PRODUCT_ROWS
    whole = len(vectors) - len(vectors) % rows
    for first in range(0, whole, rows):
        np.matmul(vectors[first : first + rows], label_vectors.T, out=products[first : first + rows])
    for first in range(whole, len(vectors), PRODUCT_ROWS):
        rest = vectors[first : first + PRODUCT_ROWS]
        padded = np.resize(rest, (PRODUCT_ROWS, rest.shape[1]))
        products[first : first + PRODUCT_ROWS] = (padded @ label_vectors.T)[: len(rest)]
    return products


@cache
def _large_products_agree(labels: int, dimensions: int) -> bool:
    """Whether products of many rows have the same bits as products of a few, tried on random numbers."""
    numbers = Streams(0).child("products", labels, dimensions).uniforms((labels + LARGE_PRODUCT_ROWS) * dimensions)
    table = (numbers.astype(np.float32) - np.float32(0.5)).reshape(-1, dimensions)
    vectors, label_vectors = table[:LARGE_PRODUCT_ROWS], table[LARGE_PRODUCT_ROWS:]
    parts = [
        vectors[first : first + PRODUCT_ROWS] @ label_vectors.T for first in range(0, LARGE_PRODUCT_ROWS, PRODUCT_ROWS)
    ]
    return np.array_equal(vectors @ label_vectors.T, np.concatenate(parts))


def row_blocks(count: int, labels: int) -> Iterator[slice]:
    """Yield ranges of rows of scores that fit into one block; they depend on the labels, never on the machine."""
    rows = max(1, _BLOCK_BYTES // (4 * max(labels, 1)))
    return (slice(first, min(first + rows, count)) for first in range(0, count, rows))


def _task(work: Callable[..., Any], *arguments: Any) -> Task:
    return lambda _worker: work(*arguments)
