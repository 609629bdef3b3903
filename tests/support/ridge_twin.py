"""The slow, obvious twin of every form of the memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations


def gram_by_products(data: Annotations, row_power: float = 0.0) -> NDArray[np.float64]:
    """X^T D X with X written out; D has |N|^-row_power, on the scale that it is 1 for a pair on average."""
    matrix = np.zeros((len(data.images), len(data.labels)))
    matrix[data.image_numbers(), data.indices] = 1.0
    weights = np.array([row.sum() ** -row_power if row.any() else 0.0 for row in matrix])
    per_pair = matrix * weights[:, None]
    if data.pairs:
        per_pair *= data.pairs / per_pair.sum()
    return np.asarray(matrix.T @ per_pair)


def ridge_by_columns(
    gram: NDArray[np.float64], regularization: float, supports: Sequence[NDArray[np.int64]] | None = None
) -> NDArray[np.float64]:
    """Each label from the others, or from those of its support, by a ridge regression of its own; no weight is 0."""
    labels = len(gram)
    weights = np.zeros((labels, labels))
    for label in range(labels):
        others = np.delete(np.arange(labels), label) if supports is None else supports[label]
        weights[others, label] = np.linalg.solve(
            gram[np.ix_(others, others)] + regularization * np.eye(len(others)), gram[others, label]
        )
    return weights


def supports_by_sorting(gram: NDArray[np.float64], regularization: float, most: int) -> list[NDArray[np.int64]]:
    """The labels that occur with each, those first that alone explain most of it."""
    chosen = []
    for label, together in enumerate(gram):
        gain = together**2 / (gram.diagonal() + regularization)
        gain[label] = 0.0
        chosen.append(np.sort(np.argsort(-gain, kind="stable")[: min(most, np.count_nonzero(gain))]))
    return chosen
