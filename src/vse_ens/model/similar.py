"""What is like what: labels that say the same, images that show the same; exactly, by cosine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError
from vse_ens.model.embeddings import Embeddings, Floats

# Vectors compared at a time.
_BLOCK = 65_536


class Similar(NamedTuple):
    """The nearest first, equal ones in the order of numbers."""

    numbers: NDArray[np.int64]
    similarities: Floats
    """Cosines, from -1 to 1."""


def similar_labels(embeddings: Embeddings, label: int, top: int) -> Similar:
    """The labels most like a label.

    Two labels are alike if the same images fit them (v) and if they say the same of an image (u). Where there is a
    context tower the mean of both cosines counts: v alone also brings labels together that merely occur together.
    """
    tables = [embeddings.label_vectors]
    if embeddings.has_context:
        tables.append(embeddings.input_vectors[: len(embeddings.label_vectors)])
    cosines = np.asarray(np.mean([_cosines(table, table[label]) for table in tables], axis=0), np.float32)
    return _nearest(np.arange(len(cosines)), cosines, label, top)


def similar_images(embeddings: Embeddings, known: Annotations, image: int, top: int) -> Similar:
    """The images whose vectors v_i are most like that of an image, among all."""
    own = embeddings.vectors(np.array([image]), known=known)[0]
    best = Similar(np.empty(0, np.int64), np.empty(0, np.float32))
    for first in range(0, len(known.images), _BLOCK):
        numbers = np.arange(first, min(first + _BLOCK, len(known.images)))
        cosines = _cosines(embeddings.vectors(numbers, known=known), own)
        both = Similar(np.concatenate([best.numbers, numbers]), np.concatenate([best.similarities, cosines]))
        best = _nearest(*both, image, top)
    return best


def _cosines(vectors: Floats, own: Floats) -> Floats:
    """0 for a vector without a direction."""
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
