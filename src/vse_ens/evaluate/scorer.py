"""The one contract of everything that can be evaluated: models and baselines alike."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.vocabulary import Vocabulary


class Scorer(Protocol):
    """Scores every label it knows for images it knows; a higher score is a better label.

    It need not care which labels an image is known to have: the evaluator leaves those out.
    """

    @property
    def images(self) -> Vocabulary:
        """The images it can score."""

    @property
    def labels(self) -> Vocabulary:
        """The labels it ranks."""

    def scores(self, images: NDArray[np.int64]) -> NDArray[np.float32]:
        """A fresh, C-ordered array with a row for each of ``images`` (numbers) and a column for each label."""
