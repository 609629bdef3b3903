"""The images that a rule concerns, in the pairs as they are without rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.partition.store import transpose
from vse_ens.kernels.arrays import Csr


class RuleImages(NamedTuple):
    """Images by number: with both labels of a rule, and with the first but not the second."""

    both: NDArray[np.int32]
    exceptions: NDArray[np.int32]


class ImagesOfLabels:
    """The sorted image numbers of every label, found once."""

    def __init__(self, data: Annotations) -> None:
        self._by_label = transpose(Csr(data.indptr, data.indices), len(data.labels))
        self._labels = data.labels

    def of(self, label: str) -> NDArray[np.int32]:
        """Return the images of a label; none if the label is unknown."""
        number = self._labels.number(label, None)
        return np.empty(0, np.int32) if number is None else self.of_number(number)

    def of_number(self, label: int) -> NDArray[np.int32]:
        """Return the images of a label by its number."""
        return self._by_label.indices[self._by_label.indptr[label] : self._by_label.indptr[label + 1]]

    def count(self, labels: Iterable[str]) -> int:
        """Return the number of images with at least one of the labels."""
        found = [self.of(label) for label in labels]
        return len(np.unique(np.concatenate(found))) if found else 0

    def compare(self, label: str, other: str) -> RuleImages:
        """Return the images with ``label``, divided into those with and without ``other``."""
        images, others = self.of(label), self.of(other)
        has = np.isin(images, others, assume_unique=True)
        return RuleImages(images[has], images[~has])
