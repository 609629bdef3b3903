"""The interface that evaluation requires of models and baselines, and its implementation for models."""

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
from vse_ens.model.loaded import LoadedModel
from vse_ens.model.model import Model
from vse_ens.model.topk import TaskRunner


class Scorer(Protocol):
    """Scores all its labels for its images; higher is better.

    The scores of labels that an image is known to have do not matter: evaluation leaves them out. A label with the
    score -inf is ranked last and never suggested. NaN is an error.
    """

    @property
    def images(self) -> Vocabulary:
        """The images that it scores."""

    @property
    def labels(self) -> Vocabulary:
        """The labels that it scores."""

    @property
    def scores(self) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
        """A function, usually a method, from image numbers to scores: one row per image, one column per label."""


@dataclass(frozen=True)
class FunctionScorer:
    """A `Scorer` made of a function of image numbers."""

    images: Vocabulary
    labels: Vocabulary
    scores: Callable[[NDArray[np.int64]], NDArray[np.float32]]


Vectors = Callable[[NDArray[np.int64]], Floats]
"""From image numbers to v_i, one row per image."""

# Maximum number of rows per matrix product. More are hardly faster and leave threads without work.
_PRODUCT_ROWS = 128


class ModelScores:
    """Scores of all labels by a model, as a function of image numbers; ``known`` are the labels of all images.

    A block is split by its length alone, and each part is one matrix product by one BLAS thread. The scores have the
    same bits for any number of threads and in any process.
    """

    def __init__(self, model: Model, vectors: Vectors, known: Csr, run: TaskRunner) -> None:
        self._model = model
        self._vectors = vectors
        self._known = known
        self._run = run

    @classmethod
    def of_known(cls, model: Model, known: Annotations, run: TaskRunner) -> ModelScores:
        """Score the images that the model was trained on."""
        return cls(
            model,
            lambda images: model.embeddings.vectors(images, known=known),
            Csr(known.indptr, known.indices),
            run,
        )

    @classmethod
    def of_labels(cls, loaded: LoadedModel, known: Csr, run: TaskRunner) -> ModelScores:
        """Score new images by their labels; without a context tower, all of them are folded in now."""
        if loaded.model.embeddings.has_context:
            return cls(loaded.model, lambda images: loaded.vectors_by_labels(take_rows(*known, images)), known, run)
        vectors = loaded.vectors_by_labels(known)
        return cls(loaded.model, lambda images: vectors[images], known, run)

    def __call__(self, images: NDArray[np.int64]) -> Floats:
        """Return the scores of a block of images, one row per image."""
        scores = np.empty((len(images), len(self._model.embeddings.label_vectors)), np.float32)
        count = max(1, -(-len(images) // _PRODUCT_ROWS))
        ends = [len(images) * part // count for part in range(count + 1)]

        def task(rows: slice) -> Callable[[int], None]:
            return lambda _worker: self._fill(images[rows], scores[rows])

        with one_thread():
            self._run([task(slice(*ends[part : part + 2])) for part in range(count)])
        return scores

    def _fill(self, images: NDArray[np.int64], scores: Floats) -> None:
        embeddings = self._model.embeddings
        np.matmul(self._vectors(images), embeddings.label_vectors.T, out=scores)
        scores += embeddings.label_bias
        self._model.add_label_weights(*take_rows(*self._known, images), scores)
