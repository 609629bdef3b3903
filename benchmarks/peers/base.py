"""The interface of a method that takes part: a grid of settings, and a training that can be stopped at any point."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations

Settings = dict[str, Any]
Scores = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""Returns the scores of some images, one row each and one column per label."""
Trained = tuple[int, Scores]
"""The number of completed epochs, and how the model scores then."""

DIMENSIONS = 128


@dataclass(frozen=True)
class Fitted:
    """The scores of a fitted model, and its size."""

    scores: Scores
    bytes: int
    """Of the arrays that it scores with, besides the known pairs."""

    def __call__(self, images: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the scores of some images."""
        return self.scores(images)


class Peer(ABC):
    """A method of a library."""

    name: ClassVar[str]
    module: ClassVar[str]
    """The module that is imported, before time is taken."""
    install: ClassVar[str]
    """What to install for it."""
    grid: ClassVar[Sequence[Settings]]
    """All settings that are tried. With one, nothing is tuned."""
    epochs: ClassVar[int]
    """The most epochs of a training."""

    def load(self, data: Annotations) -> Any:
        """Return the pairs in the form that the library takes; this is not timed."""
        return data

    @abstractmethod
    def train(self, data: Any, settings: Settings, epochs: Sequence[int], seed: int) -> Iterator[Trained]:
        """Train on one core, and yield after each of ``epochs``, which ascend, how the model scores then.

        ``data`` comes from `load`. A method that stops by itself may yield after other epochs.
        """

    def missing(self) -> str:
        """Return a sentence if the library is not installed, else an empty string."""
        if find_spec(self.module.partition(".")[0]):
            return ""
        return f"{self.name}: needs {self.install}; install it with: pip install {self.install}"

    def prepare(self, data: Annotations) -> None:  # noqa: ARG002  # methods that compile use it
        """Do what shall not be timed, such as imports and compilation."""
        import_module(self.module)


def settings_grid(**values: Sequence[Any]) -> list[Settings]:
    """Return all combinations of the values of each setting."""
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def ones_matrix(data: Annotations) -> Any:
    """Return a SciPy matrix of ones in CSR form, images by labels."""
    from scipy.sparse import csr_matrix

    ones = np.ones(data.pairs, np.float32)
    return csr_matrix((ones, data.indices, data.indptr), (len(data.images), len(data.labels)))
