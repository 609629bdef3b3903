"""The most similar labels and images: exact, by cosine similarity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError
from vse_ens.model.embeddings import Embeddings, Floats

# Vectors per block.
_BLOCK = 65_536


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
    own = embeddings.vectors(np.array([image]), known=known)[0]
    best = Similar(np.empty(0, np.int64), np.empty(0, np.float32))
    for first in range(0, len(known.images), _BLOCK):
        numbers = np.arange(first, min(first + _BLOCK, len(known.images)))
        cosines = _cosines(embeddings.vectors(numbers, known=known), own)
        both = Similar(np.concatenate([best.numbers, numbers]), np.concatenate([best.similarities, cosines]))
        best = _nearest(*both, image, top)
    return best


def _cosines(vectors: Floats, own: Floats) -> Floats:
    """Return the cosines; 0 for a vector of zeros."""
    lengths = np.sqrt(np.einsum("if,if->i", vectors, vectors)) * np.sqrt(own @ own)
    cosines = np.zeros(len(vectors), np.float32)
    np.divide(vectors @ own, lengths, out=cosines, where=lengths > 0)
    return cosines


def _nearest(numbers: NDArray[np.int64], similarities: Floats, own: int, top: int) -> Similar:
    if top < 1:
        raise ConfigError(f"top must be at least 1, got {top}")
    others = np.flatnonzero(numbers != own)
    if len(others) > top:
        others = others[similarities[others] >= np.partition(similarities[others], -top)[-top]]
    order = others[np.lexsort((numbers[others], -similarities[others]))][:top]
    return Similar(numbers[order], similarities[order])
