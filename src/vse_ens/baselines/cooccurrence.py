"""Tag co-occurrence with promotion (Sigurbjornsson and van Zwol, WWW 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from vse_ens.baselines.base import Baseline, FittedBaseline, check_number, check_whole
from vse_ens.data.annotations import Annotations
from vse_ens.data.partition.label_index import transpose
from vse_ens.errors import ConfigError
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.cooccurrence import NO_LABEL, add_partners, find_partners

AGGREGATIONS = ("sum", "vote")


@dataclass(frozen=True)
class Cooccurrence(Baseline):
    """Every known label u puts forward the labels c that occur most often with it; a label's score is what it gets.

    u gives c either 1 (``vote``) or P(c|u) = |u and c| / |u| (``sum``), times the promotion: stability(u),
    descriptiveness(c) and rank(u, c). A label that no known label puts forward has score 0, as published.
    """

    name: ClassVar[str] = "cooccurrence"

    aggregation: str = "sum"
    candidates: int = 25
    """m, how many labels a known label puts forward."""
    stability: float = 3.0
    """k_s in k_s / (k_s + |k_s - ln |u||): trust u most where it has about e^k_s images; 0 leaves this out."""
    descriptiveness: float = 3.0
    """k_d in k_d / (k_d + |k_d - ln |c||): prefer c with about e^k_d images; 0 leaves this out."""
    rank: float = 4.0
    """k_r in k_r / (k_r + r - 1), r the place of c in the list of u; 0 leaves this out."""

    def __post_init__(self) -> None:
        if self.aggregation not in AGGREGATIONS:
            raise ConfigError(
                f"aggregation of {self.name} must be one of {', '.join(AGGREGATIONS)}; got {self.aggregation!r}"
            )
        check_whole(self.name, "candidates", self.candidates, 1)
        for field in ("stability", "descriptiveness", "rank"):
            check_number(self.name, field, getattr(self, field), zero=True)

    def fit(self, data: Annotations) -> FittedCooccurrence:
        """Count which labels occur together; memory grows with |A| x ``candidates``."""
        labels = len(data.labels)
        partners = np.empty((labels, min(self.candidates, max(labels - 1, 0))), np.int32)
        together = np.empty_like(partners)
        by_label = transpose(Csr(data.indptr, data.indices), labels)
        find_partners(Csr(data.indptr, data.indices), Csr(*by_label), partners, together)
        return FittedCooccurrence(data, partners, self._weights(data.images_per_label, partners, together))

    def _weights(
        self, images_per_label: NDArray[np.int64], partners: NDArray[np.int32], together: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """What each label gives each of its partners."""
        # A label without images has no partners: 1 in place of its count keeps the arithmetic quiet.
        counts = np.maximum(images_per_label, 1)
        filled = partners != NO_LABEL
        weights = together / counts[:, None] if self.aggregation == "sum" else filled.astype(np.float64)
        weights *= _closeness(self.stability, counts)[:, None]
        weights *= _closeness(self.descriptiveness, counts)[np.where(filled, partners, 0)]
        if self.rank:
            weights *= self.rank / (self.rank + np.arange(partners.shape[1]))
        return weights.astype(np.float32)


def _closeness(wanted: float, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """k / (k + |k - ln count|): 1 at e^k images, less on both sides; 1 everywhere for k = 0."""
    return wanted / (wanted + np.abs(wanted - np.log(counts))) if wanted else np.ones(len(counts))


@dataclass(frozen=True, eq=False)
class FittedCooccurrence(FittedBaseline):
    """A short list of partners for every label."""

    partners: NDArray[np.int32]
    weights: NDArray[np.float32]

    def score_labels(self, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.float32]:
        """The sum of what the known labels of an image give."""
        scores = np.zeros((len(indptr) - 1, len(self.labels)), np.float32)
        add_partners(Csr(indptr, indices), self.partners, self.weights, scores)
        return scores
