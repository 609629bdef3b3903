"""The label-label memory: what knowing one label says of every other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import ModelError
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.gram_ridge import add_dense_weights, add_sparse_weights
from vse_ens.model.embeddings import Floats


@dataclass(frozen=True, eq=False)
class LabelWeights:
    """Weights B, a row for each known label b and a column for each label a that it tells of: dense or in CSR form."""

    values: Floats
    """|A| x |A| where dense, else one number an entry."""
    indptr: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """|A| + 1 where sparse, else empty."""
    indices: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """The label of every entry, rising in a row, where sparse; else empty."""

    def __post_init__(self) -> None:
        # Only what can be seen without touching every number: a loaded memory may be a map of a file.
        if self.is_dense:
            fits = self.values.shape[0] == self.values.shape[1]
        else:
            fits = len(self.indptr) > 0 and len(self.values) == len(self.indices) == self.indptr[-1]
        if not fits:
            raise ModelError("the arrays memory_values, memory_indptr and memory_indices do not fit together")

    @property
    def is_dense(self) -> bool:
        """Whether every pair of labels has a weight."""
        return self.values.ndim == 2

    @property
    def labels(self) -> int:
        """|A|."""
        return len(self.values) if self.is_dense else len(self.indptr) - 1

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.values.nbytes + self.indptr.nbytes + self.indices.nbytes

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as they are saved."""
        if self.is_dense:
            return {"memory_values": self.values}
        return {"memory_indices": self.indices, "memory_indptr": self.indptr, "memory_values": self.values}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> LabelWeights | None:
        """From arrays by name, as `arrays` gives them; None where there are none of a memory."""
        if "memory_values" not in arrays:
            return None
        if arrays["memory_values"].ndim == 2:
            return cls(arrays["memory_values"])
        return cls(arrays["memory_values"], arrays["memory_indptr"], arrays["memory_indices"])

    def add_scores(self, known: Csr, scales: Floats, scores: Floats) -> None:
        """Add scales[i] sum_b B[b, :] over the known labels b of image i to row i of ``scores``."""
        if self.is_dense:
            add_dense_weights(known, scales, self.values, scores)
        else:
            add_sparse_weights(known, scales, self.indptr, self.indices, self.values, scores)

    def weights_between(self, labels: NDArray[np.integer], label: int) -> Floats:
        """B[b, label] of each b of ``labels``: how much each of these speaks for ``label``."""
        if self.is_dense:
            return np.asarray(self.values[labels, label])
        found = np.zeros(len(labels), np.float32)
        for place, known in enumerate(labels):
            first, last = self.indptr[known], self.indptr[known + 1]
            entry = first + np.searchsorted(self.indices[first:last], label)
            if entry < last and self.indices[entry] == label:
                found[place] = self.values[entry]
        return found

    def weights_of(self, label: int) -> Floats:
        """B[:, label]: how much every label speaks for ``label``."""
        if self.is_dense:
            return np.asarray(self.values[:, label])
        found = np.zeros(self.labels, np.float32)
        entries = np.flatnonzero(self.indices == label)
        found[np.searchsorted(self.indptr, entries, side="right") - 1] = self.values[entries]
        return found

    def regrown(self, translation: NDArray[np.int64], labels: int) -> LabelWeights:
        """The same memory in a vocabulary of ``labels`` labels, old label b being ``translation[b]``, rising with b.

        Labels that are new have no weights.
        """
        if self.is_dense:
            values = np.zeros((labels, labels), np.float32)
            values[np.ix_(translation, translation)] = self.values
            return LabelWeights(values)
        sizes = np.zeros(labels, np.int64)
        sizes[translation] = np.diff(self.indptr)
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        return LabelWeights(self.values, indptr, translation[self.indices].astype(np.int32))
