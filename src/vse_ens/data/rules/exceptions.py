"""The images that a rule concerns, in the pairs as they are without rules."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations


class RuleImages(NamedTuple):
    """Images by number: with both labels of a rule, and with the first but not the second."""

    both: NDArray[np.int64]
    exceptions: NDArray[np.int64]


class ImagesOfLabels:
    """The sorted image numbers of every label, found once."""

    def __init__(self, data: Annotations) -> None:
        order = np.argsort(data.indices, kind="stable")
        self._images = data.image_numbers()[order]
        self._starts = np.concatenate([[0], np.cumsum(data.images_per_label)])
        self._labels = data.labels

    def of(self, label: str) -> NDArray[np.int64]:
        """Return the images of a label; none if the label is unknown."""
        number = self._labels.number(label, None)
        if number is None:
            return np.empty(0, np.int64)
        return self._images[self._starts[number] : self._starts[number + 1]].astype(np.int64)

    def compare(self, label: str, other: str) -> RuleImages:
        """Return the images with ``label``, divided into those with and without ``other``."""
        images, others = self.of(label), self.of(other)
        has = np.isin(images, others, assume_unique=True)
        return RuleImages(images[has], images[~has])
