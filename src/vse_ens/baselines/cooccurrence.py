"""Tag co-occurrence with promotion (Sigurbjornsson and van Zwol, WWW 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from vse_ens.baselines.base import Baseline, FittedBaseline, check_number, check_whole
from vse_ens.data.annotations import Annotations
from vse_ens.data.partition.store import transpose
from vse_ens.errors import ConfigError
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.cooccurrence import NO_LABEL, add_partners, find_partners

AGGREGATIONS = ("sum", "vote")


@dataclass(frozen=True)
class Cooccurrence(Baseline):
    """Every known label u proposes the labels c that occur most often with it; the score of c is a sum over u.

    The term of u is 1 (``vote``) or P(c|u) = |u and c| / |u| (``sum``), times the promotion: stability(u),
    descriptiveness(c) and rank(u, c). A label that no known label proposes has score 0, as published.
    """

    name: ClassVar[str] = "cooccurrence"

    aggregation: str = "sum"
    candidates: int = 25
    """m, the number of labels that a known label proposes."""
    stability: float = 3.0
    """k_s in k_s / (k_s + |k_s - ln |u||): largest for labels u with about e^k_s images; 0 turns it off."""
    descriptiveness: float = 3.0
    """k_d in k_d / (k_d + |k_d - ln |c||): largest for labels c with about e^k_d images; 0 turns it off."""
    rank: float = 4.0
    """k_r in k_r / (k_r + r - 1), with r the rank of c among the proposals of u; 0 turns it off."""

    def __post_init__(self) -> None:
        if self.aggregation not in AGGREGATIONS:
            raise ConfigError(
                f"aggregation of {self.name} must be one of {', '.join(AGGREGATIONS)}; got {self.aggregation!r}"
            )
        check_whole(self.name, "candidates", self.candidates, 1)
        for field in ("stability", "descriptiveness", "rank"):
            check_number(self.name, field, getattr(self, field), zero=True)

    def fit(self, data: Annotations) -> FittedCooccurrence:
        """Count which labels occur together; RAM grows with |A| x ``candidates``."""
        labels = len(data.labels)
        partners = np.empty((labels, min(self.candidates, max(labels - 1, 0))), np.int32)
        together = np.empty_like(partners)
        by_label = transpose(Csr(data.indptr, data.indices), labels)
        find_partners(Csr(data.indptr, data.indices), Csr(*by_label), partners, together)
        return FittedCooccurrence(data, partners, self._weights(data.images_per_label, partners, together))

    def _weights(
        self, images_per_label: NDArray[np.int64], partners: NDArray[np.int32], together: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """Return the term of each label for each of its partners."""
        # A label without images has no partners; a count of 1 avoids a division by zero.
        counts = np.maximum(images_per_label, 1)
        filled = partners != NO_LABEL
        weights = together / counts[:, None] if self.aggregation == "sum" else filled.astype(np.float64)
        weights *= _closeness(self.stability, counts)[:, None]
        weights *= _closeness(self.descriptiveness, counts)[np.where(filled, partners, 0)]
        if self.rank:
            weights *= self.rank / (self.rank + np.arange(partners.shape[1]))
        return weights.astype(np.float32)


def _closeness(k: float, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return k / (k + |k - ln count|), which has its maximum 1 at e^k images; 1 for all counts if k = 0."""
    return k / (k + np.abs(k - np.log(counts))) if k else np.ones(len(counts))


@dataclass(frozen=True, eq=False)
class FittedCooccurrence(FittedBaseline):
    """The labels that each label proposes, with their weights."""

    partners: NDArray[np.int32]
    weights: NDArray[np.float32]

    def score_labels(self, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the sums of the weights over the known labels of each image."""
        scores = np.zeros((len(indptr) - 1, len(self.labels)), np.float32)
        add_partners(Csr(indptr, indices), self.partners, self.weights, scores)
        return scores
