"""The features of some images, and the names of these features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError


class FeatureTable(NamedTuple):
    """The features of some images."""

    images: Vocabulary
    """The images, in the order of the rows."""
    matrix: Any
    """One float32 row per image: an array, or a SciPy CSR matrix if the file lists single values."""
    names: Sequence[str] | None
    """The name of each column of the matrix; None if the file does not name them."""

    def aligned(self, names: Sequence[str] | None, source: str) -> FeatureTable:
        """Return the table with the features of a model, which may have ``names``, in their order.

        Features that the model does not have are dropped. ``source`` is named if there are no others, and if a dense
        feature is missing.
        """
        if names is None or self.names is None or tuple(names) == tuple(self.names):
            return self
        column_of = {name: column for column, name in enumerate(self.names)}
        found = np.array([column_of.get(name, -1) for name in names], np.int64)
        is_dense = isinstance(self.matrix, np.ndarray)
        missing = np.flatnonzero(found < 0)
        if len(missing) == len(found) or (is_dense and len(missing)):
            raise DataError(f"{source} has no feature {names[missing[0]]!r}, which the model was trained on")
        if is_dense:
            return FeatureTable(self.images, np.ascontiguousarray(self.matrix[:, found]), names)
        from scipy.sparse import csr_array

        new_column = np.full(len(self.names), -1)
        new_column[found[found >= 0]] = np.flatnonzero(found >= 0)
        entries = self.matrix.tocoo()
        kept = new_column[entries.col] >= 0
        cells = entries.row[kept], new_column[entries.col[kept]]
        matrix = csr_array((entries.data[kept], cells), shape=(len(self.images), len(names)))
        return FeatureTable(self.images, matrix, names)
