"""The best labels of many images, exactly: blocks of products, bounded memory, and the same for one as for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.rows import Rows, take_rows
from vse_ens.errors import ConfigError
from vse_ens.kernels.suggesting import Best, lead_scores
from vse_ens.kernels.tables import Pairs
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model

Task = Callable[[int], Any]
Run = Callable[[Sequence[Task]], list[Any]]
"""What works through tasks, such as `vse_ens.run.threads.Workers.run`; each is called with its worker's number."""

# Bytes of a block of products, and of what a worker takes of it at a time: near the caches, and below what the C
# library returns to the system and asks for again.
_BLOCK_BYTES = 16_000_000
_PIECE_BYTES = 400_000
# A vector takes so much less time than its scores that a worker takes more of them.
_MORE = 8
_FEWEST_ROWS = 16


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


class Suggester:
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
        widest = 4 * max(labels, model.embeddings.dimensions, 1)
        self._block, self._piece = max(1, _BLOCK_BYTES // widest), max(1, _PIECE_BYTES // widest)

    def of_images(self, known: Annotations, images: NDArray[np.int64] | None = None) -> Iterator[Suggestions]:
        """For images by number, or all; block by block, in their order."""
        chosen = np.arange(len(known.images)) if images is None else images
        vectors = partial(self._model.embeddings.vectors, known=known)
        return self._blocks(chosen, vectors, Rows(known.indptr, known.indices))

    def of_rows(self, vectors: Floats, known: Rows) -> Iterator[Suggestions]:
        """For images that the model has never seen: by vector and known labels, a row each."""
        return self._blocks(np.arange(len(vectors)), lambda rows: vectors[rows], known)

    def _blocks(
        self, images: NDArray[np.int64], vectors: Callable[[NDArray[np.int64]], Floats], known: Rows
    ) -> Iterator[Suggestions]:
        for first in range(0, len(images), self._block):
            block = images[first : first + self._block]
            taken = np.concatenate(
                self._run([_task(vectors, block[piece]) for piece in _pieces(block, _MORE * self._piece)])
            )
            products = _products(taken, self._model.embeddings.label_vectors)
            found = Best.sized(len(block), self._top)
            self._run(
                [
                    _task(self._lead, products[piece], take_rows(*known, block[piece]), found.part(piece))
                    for piece in _pieces(block, self._piece)
                ]
            )
            yield Suggestions(block, *found)

    def _lead(self, scores: Floats, known: Rows, found: Best) -> None:
        scores += self._model.embeddings.label_bias
        self._model.add_memory(*known, scores)
        lead_scores(scores, Pairs(*known), self._denied, self._temperature(np.diff(known.indptr)), found)


def _pieces(block: NDArray[np.int64], size: int) -> list[slice]:
    return [slice(first, first + size) for first in range(0, len(block), size)]


def _products(vectors: Floats, label_vectors: Floats) -> Floats:
    """v_i . v_a; products of a few rows would round in another way, so that there are always enough."""
    if len(vectors) < _FEWEST_ROWS:
        return _products(np.resize(vectors, (_FEWEST_ROWS, vectors.shape[1])), label_vectors)[: len(vectors)]
    products: Floats = vectors @ label_vectors.T
    return products


def _task(work: Callable[..., Any], *arguments: Any) -> Task:
    return lambda _worker: work(*arguments)
