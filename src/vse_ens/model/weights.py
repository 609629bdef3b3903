"""Label weights: the label-label matrix B of a linear model from known labels to scores (EASE or its sparse form)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.gram_ridge import add_dense_weights, add_sparse_weights
from vse_ens.model.embeddings import Floats


@dataclass(frozen=True, eq=False)
class LabelWeights:
    """The matrix B, dense or in CSR form: B[b, a] is the weight of known label b for label a."""

    values: Floats
    """|A| x |A| if dense, else one number per entry."""
    indptr: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """|A| + 1 if sparse, else empty."""
    indices: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """The column a of every entry, ascending within a row, if sparse; else empty."""

    @property
    def is_dense(self) -> bool:
        """Whether B is stored as a full matrix."""
        return self.values.ndim == 2

    @property
    def labels(self) -> int:
        """The number of labels |A|."""
        return len(self.values) if self.is_dense else len(self.indptr) - 1

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save, by name."""
        if self.is_dense:
            return {"label_weights_values": self.values}
        return {
            "label_weights_indices": self.indices,
            "label_weights_indptr": self.indptr,
            "label_weights_values": self.values,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> LabelWeights | None:
        """Return the label weights with the arrays that `arrays` returned, or None if there are none."""
        if "label_weights_values" not in arrays:
            return None
        if arrays["label_weights_values"].ndim == 2:
            return cls(arrays["label_weights_values"])
        return cls(arrays["label_weights_values"], arrays["label_weights_indptr"], arrays["label_weights_indices"])

    def add_scores(self, known: Csr, scales: Floats, scores: Floats) -> None:
        """Add scales[i] sum_b B[b, :] over the known labels b of image i to row i of ``scores``."""
        if self.is_dense:
            add_dense_weights(known, scales, self.values, scores)
        else:
            add_sparse_weights(known, scales, self.indptr, self.indices, self.values, scores)

    def weights_between(self, labels: NDArray[np.integer], label: int) -> Floats:
        """Return B[b, label] for each b of ``labels``."""
        if self.is_dense:
            return np.asarray(self.values[labels, label])
        weights = np.zeros(len(labels), np.float32)
        for n, known in enumerate(labels):
            first, last = self.indptr[known], self.indptr[known + 1]
            entry = first + np.searchsorted(self.indices[first:last], label)
            if entry < last and self.indices[entry] == label:
                weights[n] = self.values[entry]
        return weights

    def weights_for(self, label: int) -> Floats:
        """Return B[:, label], the weights of all labels for ``label``."""
        if self.is_dense:
            return np.asarray(self.values[:, label])
        weights = np.zeros(self.labels, np.float32)
        entries = np.flatnonzero(self.indices == label)
        weights[np.searchsorted(self.indptr, entries, side="right") - 1] = self.values[entries]
        return weights
