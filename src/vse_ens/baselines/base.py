"""What every baseline is: settings that can be fitted, and a fitted thing that scores.

A fitted baseline is a `vse_ens.evaluate.scorer.Scorer` by its shape; neither room imports the other.

Settings are checked where they enter.
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
        """Learn from known pairs."""

    def to_dict(self) -> dict[str, Any]:
        """All settings as JSON can hold them."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class FittedBaseline(ABC):
    """Scores labels for images by the labels they are known to have."""

    known: Annotations
    """What is known of the images: the pairs it was fitted to, or those given to `knowing`."""

    @property
    def images(self) -> Vocabulary:
        """The images it can score."""
        return self.known.images

    @property
    def labels(self) -> Vocabulary:
        """The labels it ranks."""
        return self.known.labels

    def scores(self, images: NDArray[np.int64]) -> NDArray[np.float32]:
        """A fresh row for each of ``images`` (numbers) with a column for each label."""
        return self.score_labels(*self.known.rows(images))

    @abstractmethod
    def score_labels(self, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.float32]:
        """The same for images it has never seen, by the numbers of the labels they are known to have, in CSR form."""

    def knowing(self, known: Annotations) -> Self:
        """The same baseline, not fitted again, for other images or other known labels of them."""
        if known.labels != self.labels:
            raise DataError(
                f"the pairs have {len(known.labels):,} labels that are not the {len(self.labels):,} the baseline was "
                "fitted to; split one set of pairs, so that all parts share a vocabulary"
            )
        return replace(self, known=known)


def check_whole(baseline: str, name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{name} of {baseline} must be a whole number of at least {least}, got {value!r}")


def check_number(baseline: str, name: str, value: Any, *, zero: bool) -> None:
    """Refuse what is not a finite number above 0, or from 0 on where ``zero`` is allowed."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or value < 0 or (value == 0 and not zero):
        raise ConfigError(
            f"{name} of {baseline} must be a number {'of at least' if zero else 'above'} 0, got {value!r}"
        )
