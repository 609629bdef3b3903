"""The most similar labels and images: exact, by cosine similarity."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError
from vse_ens.kernels.arrays import Csr
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.image_products import ImageProducts
from vse_ens.model.products import row_products
from vse_ens.model.topk import TaskRunner, run_serial

# Vectors per block.
_BLOCK = 65_536
# Cosines by sums of products differ from those by vectors by less than this.
_ERROR = np.float32(1e-4)


class Similar(NamedTuple):
    """Labels or images by number, most similar first, ties in the order of numbers."""

    numbers: NDArray[np.int64]
    similarities: Floats
    """Cosines, from -1 to 1."""


def similar_labels(embeddings: Embeddings, label: int, top: int) -> Similar:
    """Return the labels most similar to a label.

    Two labels are similar if they have high scores for the same images (v) and contribute the same to the vector of an
    image (u). With a context tower the similarity is the mean of both cosines, because v alone also puts labels close
    together that merely occur together.
    """
    tables = [embeddings.label_vectors]
    if embeddings.has_context:
        tables.append(embeddings.input_vectors[: len(embeddings.label_vectors)])
    cosines = np.asarray(np.mean([_cosines(table, table[label]) for table in tables], axis=0), np.float32)
    return _nearest(np.arange(len(cosines)), cosines, label, top)


def similar_images(embeddings: Embeddings, known: Annotations, image: int, top: int) -> Similar:
    """Return the images with the vectors v_i most similar to that of an image."""
    return ImageSimilarity(embeddings, known).nearest(image, top)


class ImageSimilarity:
    """The images with the vectors v_i most similar to that of an image.

    Computing the vectors of all images takes seconds for a million. With the label pairs of all images it is done once,
    for their lengths: v_i . v_j is a sum of products of the inputs of i with v_j.
    """

    def __init__(self, embeddings: Embeddings, known: Annotations, run: TaskRunner = run_serial) -> None:
        self._embeddings, self._known, self._run = embeddings, known, run
        self._pairs: Csr | None = None
        self._lengths = np.empty(0, np.float32)

    def use_label_pairs(self, pairs: Csr) -> None:
        """Take the numbers of the label pairs of all images, one row each, and measure the vectors of all images."""
        lengths = np.empty(len(self._known.images), np.float32)

        def measure(first: int, last: int) -> None:
            lengths[first:last] = _lengths(self._embeddings.vectors(np.arange(first, last), known=self._known))

        self._in_blocks(measure)
        self._lengths, self._pairs = lengths, pairs

    def nearest(self, image: int, top: int) -> Similar:
        """Return the ``top`` nearest images; with label pairs the same bits as without."""
        if top < 1:
            raise ConfigError(f"top must be at least 1, got {top}")
        own = self._embeddings.vectors(np.array([image]), known=self._known)[0]
        best = Similar(np.empty(0, np.int64), np.empty(0, np.float32))
        candidates = self._candidates(own, image, top)
        for first in range(0, len(candidates), _BLOCK):
            numbers = candidates[first : first + _BLOCK]
            cosines = _cosines(self._embeddings.vectors(numbers, known=self._known), own)
            both = Similar(np.concatenate([best.numbers, numbers]), np.concatenate([best.similarities, cosines]))
            best = _nearest(*both, image, top)
        return best

    def _candidates(self, own: Floats, image: int, top: int) -> NDArray[np.int64]:
        """Return all images, or with label pairs those whose approximate cosine is high enough."""
        everything = np.arange(len(self._known.images))
        if self._pairs is None or top >= len(everything) - 1:
            return everything
        cosines = self._approximate_cosines(own, self._pairs)
        cosines[image] = -np.inf
        return np.flatnonzero(cosines >= np.partition(cosines, -top)[-top] - _ERROR)

    def _approximate_cosines(self, own: Floats, pairs: Csr) -> Floats:
        products = ImageProducts(self._embeddings, self._known, pairs, own)
        cosines = np.zeros(len(self._known.images), np.float32)
        self._in_blocks(lambda first, last: products.add(first, cosines[first:last]))
        lengths = self._lengths * np.sqrt(own @ own)
        np.divide(cosines, lengths, out=cosines, where=lengths > 0)
        return cosines

    def _in_blocks(self, work: Callable[[int, int], None]) -> None:
        images = len(self._known.images)

        def task(first: int, _worker: int) -> None:
            work(first, min(first + _BLOCK, images))

        self._run([partial(task, first) for first in range(0, images, _BLOCK)])


def _cosines(vectors: Floats, own: Floats) -> Floats:
    """Return the cosines; 0 for a vector of zeros."""
    lengths = _lengths(vectors) * np.sqrt(own @ own)
    cosines = np.zeros(len(vectors), np.float32)
    np.divide(row_products(own[None], vectors)[0], lengths, out=cosines, where=lengths > 0)
    return cosines


def _lengths(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("if,if->i", vectors, vectors)))


def _nearest(numbers: NDArray[np.int64], similarities: Floats, own: int, top: int) -> Similar:
    if top < 1:
        raise ConfigError(f"top must be at least 1, got {top}")
    others = np.flatnonzero(numbers != own)
    if len(others) > top:
        others = others[similarities[others] >= np.partition(similarities[others], -top)[-top]]
    order = others[np.lexsort((numbers[others], -similarities[others]))][:top]
    return Similar(numbers[order], similarities[order])
