"""EASE (Steck, WWW 2019): ridge regression of every label on all others, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from vse_ens.baselines.base import Baseline, FittedBaseline, check_number
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import Csr
from vse_ens.label_weights.closed_form import check_cost, dense_label_weights
from vse_ens.label_weights.gram import gram_matrix
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers


@dataclass(frozen=True)
class Ease(Baseline):
    """Scores are X B; B has a zero diagonal and minimizes |X - X B|^2 + regularization |B|^2."""

    name: ClassVar[str] = "ease"

    regularization: float = 50.0
    """lambda, in images: labels that occur together on far fewer images have small weights."""
    memory_limit: float = 4.0
    """Maximum RAM in gigabytes; `fit` raises an error before it would use more."""
    time_limit: float = 600.0
    """Maximum estimated time in seconds; `fit` raises an error before it would take longer."""

    def __post_init__(self) -> None:
        for field in ("regularization", "memory_limit", "time_limit"):
            check_number(self.name, field, getattr(self, field), zero=False)

    def fit(self, data: Annotations) -> FittedEase:
        """Count which labels occur together and invert the matrix; RAM grows with |A|^2, time with |A|^3."""
        check_cost(len(data.labels), self.memory_limit, self.time_limit)
        with Workers() as workers:
            # No name for the matrix here, so that it can be freed before the weights are there.
            weights = dense_label_weights(gram_matrix(data, LocalPool(workers)), self.regularization)
        return FittedEase(data, weights)


@dataclass(frozen=True, eq=False)
class FittedEase(FittedBaseline):
    """The label weights B."""

    weights: NDArray[np.float32]

    def score_labels(self, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the sums of the weights from the known labels of each image."""
        images = len(indptr) - 1
        scores = np.zeros((images, len(self.labels)), np.float32)
        LabelWeights(self.weights).add_scores(Csr(indptr, indices), np.ones(images, np.float32), scores)
        return scores
