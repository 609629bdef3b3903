"""Random models of any size and kind, with pairs to go with them."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tests.support.kernel_problems import annotations
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import Csr
from vse_ens.model.embeddings import Embeddings
from vse_ens.model.model import Model
from vse_ens.model.neighbors import ImageNeighbors
from vse_ens.model.weights import LabelWeights

KINDS = (
    "id",
    "context",
    "id and context",
    "context with weights",
    "context with sparse weights",
    "context with weights and neighbors",
)


class Case(NamedTuple):
    model: Model
    known: Annotations


def random_case(kind: str, images: int = 60, labels: int = 40, dimensions: int = 6, seed: int = 0) -> Case:
    """The last image has no label, and the first has all."""
    numbers = np.random.default_rng(seed)

    def normal(*shape: int) -> Any:
        return (0.5 * numbers.normal(size=shape)).astype(np.float32)

    rows = [np.flatnonzero(numbers.random(labels) < 3 / labels).tolist() for _ in range(images)]
    rows[0], rows[-1] = list(range(labels)), []
    ids = images if "id" in kind else 0
    context = "context" in kind
    pairs = np.array([[0, 1], [1, 3], [0, 2]], np.int32) if context else np.empty((0, 2), np.int32)
    inputs = labels + len(pairs) if context else 0
    embeddings = Embeddings(
        normal(labels, dimensions),
        normal(labels),
        normal(ids, dimensions),
        normal(0, dimensions),
        normal(inputs, dimensions),
        pairs,
        np.abs(normal(labels if context else 0)),
        np.abs(normal(inputs)),
    )
    weights = normal(labels, labels)
    if "sparse" in kind:
        weights[numbers.random(weights.shape) < 0.8] = 0.0
        row, column = np.nonzero(weights)
        indptr = np.searchsorted(row, np.arange(labels + 1)).astype(np.int64)
        label_weights = LabelWeights(weights[row, column], indptr, column.astype(np.int32))
    else:
        label_weights = LabelWeights(weights)
    known = annotations(rows, labels)
    neighbors = ImageNeighbors(known, 0.7) if "neighbors" in kind else None
    model = Model(embeddings, label_weights, 1.5, neighbors) if "weights" in kind else Model(embeddings)
    return Case(model, known)


def label_pairs_of(embeddings: Embeddings, known: Annotations) -> Csr:
    """The numbers of the label pairs of all images."""
    numbers = {tuple(pair): number for number, pair in enumerate(embeddings.label_pairs.tolist())}
    rows = []
    for image in range(len(known.images)):
        labels = sorted(known.indices[known.indptr[image] : known.indptr[image + 1]].tolist())
        found = sorted(numbers[pair] for pair in combinations(labels, 2) if pair in numbers)
        rows.append(found[: embeddings.label_pair_table.pairs_per_label * len(labels)])
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return Csr(indptr.astype(np.int64), np.array([number for row in rows for number in row], np.int32))


def warm(counts: Any) -> Any:
    """A temperature that rises with the number of known labels."""
    return (1.7 * np.maximum(counts, 1) ** 0.25).astype(np.float32)


def scores_of_unknown(case: Case) -> Any:
    """The scores of all labels for all images, with -inf where the image is known to have them."""
    scores = case.model.scores(np.arange(len(case.known.images)), case.known)
    for image in range(len(scores)):
        scores[image, case.known.label_numbers(image)] = -np.inf
    return scores
