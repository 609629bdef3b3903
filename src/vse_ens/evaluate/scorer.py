"""The one contract of everything that can be evaluated: models and baselines alike.

The scores of a model for blocks of images: the same bits on any number of threads and in any process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.kernels.arrays import Csr
from vse_ens.model.blas import one_thread
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model
from vse_ens.model.topk import Run


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


Vectors = Callable[[NDArray[np.int64]], Floats]
"""From image numbers to v_i, a row each."""

# Rows of one product, at most. More are hardly faster, and fewer would keep no more threads busy in a block.
_PIECE = 128


class ModelScores:
    """From image numbers to scores of all labels, a row each; ``known`` are the labels of all images.

    A block is cut into pieces by its length alone and each is one product by one thread of the matrix library: how many
    threads share the pieces cannot be seen in the scores.
    """

    def __init__(self, model: Model, vectors: Vectors, known: Csr, run: Run) -> None:
        self._model = model
        self._vectors = vectors
        self._known = known
        self._run = run

    @classmethod
    def of_known(cls, model: Model, known: Annotations, run: Run) -> ModelScores:
        """Of the images that the model was trained on."""
        return cls(
            model,
            lambda images: model.embeddings.vectors(images, known=known),
            Csr(known.indptr, known.indices),
            run,
        )

    @classmethod
    def of_labels(cls, model: Model, known: Csr, run: Run) -> ModelScores:
        """Of images known by their labels alone, by a model that builds an image's vector from its labels."""
        return cls(model, lambda images: model.embeddings.context(*take_rows(*known, images)), known, run)

    def __call__(self, images: NDArray[np.int64]) -> Floats:
        """The scores of a block."""
        scores = np.empty((len(images), len(self._model.embeddings.label_vectors)), np.float32)
        count = max(1, -(-len(images) // _PIECE))
        ends = [len(images) * piece // count for piece in range(count + 1)]

        def piece(rows: slice) -> Callable[[int], None]:
            return lambda _worker: self._fill(images[rows], scores[rows])

        with one_thread():
            self._run([piece(slice(*ends[number : number + 2])) for number in range(count)])
        return scores

    def _fill(self, images: NDArray[np.int64], scores: Floats) -> None:
        embeddings = self._model.embeddings
        np.matmul(self._vectors(images), embeddings.label_vectors.T, out=scores)
        scores += embeddings.label_bias
        self._model.add_label_weights(*take_rows(*self._known, images), scores)
