"""The one contract of everything that can be evaluated: models and baselines alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.vocabulary import Vocabulary


class Scorer(Protocol):
    """Scores every label it knows for images it knows; a higher score is a better label.

    It need not care which labels an image is known to have: the evaluator leaves those out. A label with the score -inf
    is ranked last and never suggested; a score that is not a number is an error.
    """

    @property
    def images(self) -> Vocabulary:
        """The images it can score."""

    @property
    def labels(self) -> Vocabulary:
        """The labels it ranks."""

    @property
    def scores(self) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
        """From image numbers to scores, a row for each of them and a column for each label; a method, usually."""


@dataclass(frozen=True)
class FunctionScorer:
    """A function of image numbers as a `Scorer`."""

    images: Vocabulary
    labels: Vocabulary
    scores: Callable[[NDArray[np.int64]], NDArray[np.float32]]
