"""The interface of baselines: settings with `fit`, and fitted baselines that score. The simplest one is `Popularity`.

A fitted baseline satisfies the protocol `vse_ens.evaluate.rank.Scorer`; neither package imports the other.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError, DataError


@dataclass(frozen=True)
class Baseline(ABC):
    """The settings of a method."""

    name: ClassVar[str]

    @abstractmethod
    def fit(self, data: Annotations) -> FittedBaseline:
        """Fit to known pairs."""

    def to_dict(self) -> dict[str, Any]:
        """Return all settings, for JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class FittedBaseline(ABC):
    """Scores labels for images by their known labels."""

    known: Annotations
    """The known labels of the images: the pairs it was fitted to, or those given to `knowing`."""

    @property
    def images(self) -> Vocabulary:
        """The images that it scores."""
        return self.known.images

    @property
    def labels(self) -> Vocabulary:
        """The labels that it scores."""
        return self.known.labels

    def scores(self, images: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return new scores: one row per image of ``images`` (numbers), one column per label."""
        return self.score_labels(*self.known.rows(images))

    @abstractmethod
    def score_labels(self, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return scores of new images, given by the numbers of their known labels in CSR form."""

    def knowing(self, known: Annotations) -> Self:
        """Return the same fitted baseline for other images or other known labels."""
        if known.labels != self.labels:
            raise DataError(
                f"the {len(known.labels):,} labels of the pairs differ from the {len(self.labels):,} labels that the "
                "baseline was fitted to; split one set of pairs, so that all parts share a vocabulary"
            )
        return replace(self, known=known)


def check_whole(baseline: str, name: str, value: Any, least: int) -> None:
    """Raise unless the value is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{name} of {baseline} must be an integer of at least {least}, got {value!r}")


def check_number(baseline: str, name: str, value: Any, *, zero: bool) -> None:
    """Raise unless the value is a finite number above 0, or at least 0 if ``zero``."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or value < 0 or (value == 0 and not zero):
        raise ConfigError(
            f"{name} of {baseline} must be a number {'of at least' if zero else 'above'} 0, got {value!r}"
        )


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
