"""Known labels, each judged as if it were not known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.rows import Rows
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model

FoldIn = Callable[[Rows], Floats]
"""The vectors of images known by their labels alone."""


def images_of(known: Annotations, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The image of each of some pairs."""
    return np.searchsorted(known.indptr, places, side="right") - 1


def left_out(known: Annotations, places: NDArray[np.int64]) -> Rows:
    """For each of some pairs the labels that its image has beside it."""
    images = images_of(known, places)
    indptr, indices = known.rows(images)
    return Rows(indptr - np.arange(len(indptr)), np.delete(indices, indptr[:-1] + places - known.indptr[images]))


def left_out_vectors(model: Model, images: NDArray[np.int64], others: Rows, fold_in: FoldIn | None = None) -> Floats:
    """v_i as built from the other labels.

    A free vector was trained with all labels of its image: without a context, ``fold_in`` finds one for the others.
    """
    embeddings = model.embeddings
    if not embeddings.has_context:
        return fold_in(others) if fold_in else np.asarray(embeddings.image_vectors[images])
    vectors = embeddings.context(*others)
    if len(embeddings.image_vectors):
        vectors += embeddings.image_vectors[images]
    return vectors
