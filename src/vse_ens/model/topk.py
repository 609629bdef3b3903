"""The best labels of many images: exact, in blocks of bounded size, with the same bits for one image or for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows
from vse_ens.errors import ConfigError
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.topk import Addends, KeyScratch, TopK, topk_scores
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model, NumbersFn

_TASK_ROWS = 256
# Tasks have fewer images if the scores of a task would need more bytes.
_MAX_TASK_BYTES = 128_000_000
_FEWEST_TASK_ROWS = 16
_TASKS_PER_BLOCK = 32
# Bytes of one block of scores for callers of `row_blocks`, which hold several at a time.
_BLOCK_BYTES = 32 << 20

Task = Callable[[int], Any]
"""A function of the worker's number."""
TaskRunner = Callable[[Sequence[Task]], list[Any]]
"""Runs tasks and returns their results in order, as `vse_ens.run.threads.Workers.run` does."""
TemperatureFn = Callable[[NDArray[np.int64]], Floats]
"""The softmax temperature of each image, from what is known of it; see `vse_ens.model.calibration`."""
_VectorsFn = Callable[[NDArray[np.int64], Csr], Floats]  # from numbers and known labels


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
        self._products = model.embeddings.label_products
        self._top = min(top, labels)
        self._denied = np.empty(0, np.int64) if allowed is None else np.flatnonzero(~allowed)
        self._temperature = temperature
        self._run = run
        self._rows = _TASK_ROWS if 4 * labels * _TASK_ROWS <= _MAX_TASK_BYTES else _FEWEST_TASK_ROWS
        # The kernel adds dense label weights while a row of scores is in the cache; sparse ones are added before it.
        weights = np.empty((0, 0), np.float32)
        if model.label_weights is not None and model.label_weights.is_dense and model.label_weights_scale:
            weights = model.label_weights.values
        self._addends = Addends(model.embeddings.label_bias, weights, np.float32(model.label_weights_scale))

    def of_images(self, known: Annotations, images: NDArray[np.int64] | None = None) -> Iterator[TopLabels]:
        """Yield the best labels of images by number, or of all images, block by block in order."""
        chosen = np.arange(len(known.images)) if images is None else images
        pairs, numbers = Csr(known.indptr, known.indices), self._model.numbers_in(known)
        return self._blocks(chosen, self._model.embeddings.vectors_given, pairs, numbers)

    def of_rows(
        self, vectors: Floats, known: Csr, numbers: NDArray[np.integer] | None = None, features: Any = None
    ) -> Iterator[TopLabels]:
        """Yield the best labels of images, given one row each of ``vectors`` and ``known`` labels.

        ``numbers``, the images, and ``features``: as in `Model.scores_of`.
        """
        number_of: NumbersFn = lambda rows: None if numbers is None else numbers[rows]  # noqa: E731
        return self._blocks(np.arange(len(vectors)), lambda rows, _: vectors[rows], known, number_of, features)

    def _blocks(
        self, images: NDArray[np.int64], vectors: _VectorsFn, known: Csr, numbers: NumbersFn, features: Any = None
    ) -> Iterator[TopLabels]:
        size = _TASKS_PER_BLOCK * self._rows
        for first in range(0, len(images), size):
            block = images[first : first + size]
            result = TopK.allocate(len(block), self._top)
            if len(block) <= self._rows:  # one answer waits for no worker
                self._score(block, vectors, known, numbers, features, result)
            else:
                parts = [slice(start, start + self._rows) for start in range(0, len(block), self._rows)]
                rest = (vectors, known, numbers, features)
                self._run([_task(self._score, block[part], *rest, result.part(part)) for part in parts])
            yield TopLabels(block, *result)

    def _score(
        self,
        images: NDArray[np.int64],
        vectors: _VectorsFn,
        known: Csr,
        numbers: NumbersFn,
        features: Any,
        result: TopK,
    ) -> None:
        rows = take_rows(*known, images)
        scores = self._products.of(vectors(images, rows))
        if not len(self._addends.weights):
            self._model.add_label_weights(rows, scores)
        own, given = numbers(images), None if features is None else features[images]
        self._model.add_neighbors(rows, own, scores)
        self._model.add_features(rows, own, scores, given, less_bias=True)
        temperatures = self._temperature(self._model.evidence(rows, own, given))
        scratch = KeyScratch.allocate(scores.shape[1])
        topk_scores(scores, self._addends, Csr(*rows), self._denied, temperatures, result, scratch)


def row_blocks(count: int, labels: int) -> Iterator[slice]:
    """Yield ranges of rows of scores that fit into one block; they depend on the labels, never on the machine."""
    rows = max(1, _BLOCK_BYTES // (4 * max(labels, 1)))
    return (slice(first, min(first + rows, count)) for first in range(0, count, rows))


def _task(work: Callable[..., Any], *arguments: Any) -> Task:
    return lambda _worker: work(*arguments)
