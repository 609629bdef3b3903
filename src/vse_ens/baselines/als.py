"""Alternating least squares on implicit feedback (Hu, Koren and Volinsky, ICDM 2008), by the `implicit` library.

The result has the same bytes for a seed on one kind of CPU and any number of cores: images are solved one by one, and
BLAS uses one thread, which fixes the order of sums and is faster here. Another version of the library or another CPU
may round differently.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from vse_ens.baselines.base import Baseline, FittedBaseline, check_number, check_whole
from vse_ens.data.annotations import Annotations
from vse_ens.errors import MissingPartError
from vse_ens.model.blas import one_thread
from vse_ens.streams import Streams


@dataclass(frozen=True)
class Als(Baseline):
    """Image and label vectors with inner products near 1 for known pairs and near 0 for all others."""

    name: ClassVar[str] = "als"

    factors: int = 128
    """Number of dimensions."""
    regularization: float = 100.0
    """L2 penalty of the vectors."""
    alpha: float = 40.0
    """The weight of a known pair; all other pairs have weight 1."""
    iterations: int = 15
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole(self.name, "factors", self.factors, 1)
        check_whole(self.name, "iterations", self.iterations, 1)
        check_number(self.name, "regularization", self.regularization, zero=True)
        check_number(self.name, "alpha", self.alpha, zero=False)
        Streams(self.seed)

    def fit(self, data: Annotations) -> FittedAls:
        """Run the iterations on all cores."""
        # Imported first: the number of threads can only be set for a BLAS that is loaded.
        solver = _solver()
        with one_thread():
            model = solver(
                factors=self.factors,
                regularization=self.regularization,
                alpha=self.alpha,
                iterations=self.iterations,
                random_state=int(Streams(self.seed).child("baselines", "als").words(1)[0]),
            )
            model.fit(_matrix(data.indptr, data.indices, len(data.labels)), show_progress=False)
        return FittedAls(data, model, model.user_factors)


@dataclass(frozen=True, eq=False)
class FittedAls(FittedBaseline):
    """The model of the library, and the vectors of the known images."""

    model: Any
    image_vectors: NDArray[np.float32]

    def scores(self, images: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the inner products of image and label vectors."""
        return self._products(self.image_vectors[images])

    def score_labels(self, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.float32]:
        """Solve for image vectors, with fixed label vectors, and return the inner products."""
        return self._products(self._solve(indptr, indices))

    def knowing(self, known: Annotations) -> Self:
        """Keep the label vectors and solve for the image vectors."""
        return replace(super().knowing(known), image_vectors=self._solve(known.indptr, known.indices))

    def _solve(self, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.float32]:
        with one_thread():
            vectors: NDArray[np.float32] = self.model.recalculate_user(
                np.arange(len(indptr) - 1), _matrix(indptr, indices, len(self.labels))
            )
        return vectors

    def _products(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        products: NDArray[np.float32] = vectors @ self.model.item_factors.T
        return products


def _matrix(indptr: NDArray[np.int64], indices: NDArray[np.int32], labels: int) -> Any:
    """Return a SciPy matrix of ones, images by labels."""
    from scipy.sparse import csr_matrix

    ones = np.ones(len(indices), np.float32)
    return csr_matrix((ones, indices, indptr), (len(indptr) - 1, labels))


def _solver() -> Any:
    """Import the class of the library."""
    try:
        return import_module("implicit.cpu.als").AlternatingLeastSquares
    except ImportError as error:
        raise MissingPartError(
            f'the baseline als needs the implicit library ({error}); install it with: pip install "vse-ens[als]"'
        ) from None
