"""A map of the labels: labels that are used alike lie side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vse_ens.annotator import Annotator
from vse_ens.service.background import Tell

_MOST = 5_000


@dataclass(frozen=True, eq=False)
class LabelMap:
    """Places from 0 to 1 either way."""

    labels: NDArray[np.int64]
    places: NDArray[np.float64]


def map_of(annotator: Annotator, tell: Tell) -> LabelMap:
    """The map of the most frequent labels."""
    counts = annotator.known_.images_per_label
    numbers = np.sort(np.argsort(-counts, kind="stable")[:_MOST])
    vectors = np.asarray(annotator.embeddings_.label_vectors[numbers], np.float64)
    vectors = vectors - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(vectors, full_matrices=False)
    tell(0.5)
    places = vectors @ axes[:2].T
    low, high = places.min(axis=0), places.max(axis=0)
    return LabelMap(numbers, (places - low) / np.maximum(high - low, 1e-9))
