"""A map of the labels to wander in: labels that are used alike lie side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vse_ens.annotator import Annotator
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.service.background import Tell
from vse_ens.service.map_layout import Places, lay_out

# The most frequent ones: more could neither be read nor laid out within a minute.
_MOST_LABELS = 5_000


@dataclass(frozen=True, eq=False)
class LabelMap:
    """Labels by number, and where each of them lies."""

    labels: NDArray[np.int64]
    places: Places


def map_of(annotator: Annotator, tell: Tell) -> LabelMap:
    """The map of a model; always the same."""
    frequent = np.argsort(-annotator.known_.images_per_label, kind="stable")[:_MOST_LABELS]
    labels = np.sort(frequent)
    return LabelMap(labels, lay_out(_directions(annotator.embeddings_, labels), tell))


def _directions(embeddings: Embeddings, labels: NDArray[np.int64]) -> Floats:
    """Vectors whose product is the similarity of two labels, as `vse_ens.model.similar` has it: a mean of cosines."""
    tables = [embeddings.label_vectors, *([embeddings.input_vectors] if embeddings.has_context else [])]
    units = [_unit(np.asarray(table[labels])) for table in tables]
    return np.concatenate(units, axis=1) / np.float32(np.sqrt(len(units)))


def _unit(vectors: Floats) -> Floats:
    """0 for a vector without a direction."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units
