"""The most frequent labels, the same for every image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from vse_ens.baselines.base import Baseline, FittedBaseline
from vse_ens.data.annotations import Annotations


@dataclass(frozen=True)
class Popularity(Baseline):
    """The score of a label is the number of training images that have it."""

    name: ClassVar[str] = "popularity"

    def fit(self, data: Annotations) -> FittedPopularity:
        """Count the images of each label."""
        return FittedPopularity(data, data.images_per_label.astype(np.float32))


@dataclass(frozen=True, eq=False)
class FittedPopularity(FittedBaseline):
    """The number of images per label, the same scores for all images."""

    images_per_label: NDArray[np.float32]

    def score_labels(self, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.float32]:  # noqa: ARG002
        """Return the same scores for each image; known labels do not matter."""
        return np.tile(self.images_per_label, (len(indptr) - 1, 1))
