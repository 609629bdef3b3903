"""Nearest images in label space: the labels of the images whose labels are most similar."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from vse_ens.baselines.base import Baseline, FittedBaseline, check_number
from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows
from vse_ens.data.vocabulary import Vocabulary

_BLOCK_BYTES = 64 * 2**20
# Bytes per image of a block and row or label: numbers and values of a sparse product, twice.
_ENTRY_BYTES = 32
# Far below any share that says something.
_TIE_BREAK = 1e-9


@dataclass(frozen=True)
class ImageKnn(Baseline):
    """The score of a label is its share of the weight of all other images; an image weighs its similarity^power.

    The similarity s is the cosine of label rows, in which label a weighs sqrt(log(1 + n / n_a)). An image that has the
    label counts as if it lacked it, as the image in question does: with norm^2 / (norm^2 - weight^2) times its s^2.
    Equal shares are ranked by the number of images with the label.
    """

    name: ClassVar[str] = "image-knn"

    power: float = 6.0
    """The larger, the fewer images count."""

    def __post_init__(self) -> None:
        check_number(self.name, "power", self.power, zero=False)

    def fit(self, data: Annotations) -> FittedImageKnn:
        """Merge images with equal labels; RAM grows with the pairs."""
        from scipy.sparse import csr_matrix

        squares = np.log1p(len(data.images) / np.maximum(data.images_per_label, 1))
        numbers: dict[bytes, int] = {}
        each = np.split(data.indices, data.indptr[1:-1])
        row_of_image = np.array([numbers.setdefault(one.tobytes(), len(numbers)) for one in each], np.int64)
        _, first, images = np.unique(row_of_image, return_index=True, return_counts=True)
        indptr, indices = take_rows(data.indptr, data.indices, first)
        row = np.repeat(np.arange(len(first)), np.diff(indptr))
        norms = np.asarray(np.bincount(row, squares[indices], len(first)), np.float64)  # squared
        rest = norms[row] - squares[indices]
        larger = (np.divide(norms[row], rest, where=rest > 0, out=np.zeros_like(rest))) ** (self.power / 2)
        shape = (len(first), len(data.labels))
        rows, without = (csr_matrix((values, indices, indptr), shape) for values in (np.ones(len(indices)), larger))
        common = data.images_per_label / max(len(data.images), 1)
        return FittedImageKnn(
            data,
            self.power,
            squares,
            rows,
            rows.T.tocsr(),
            without,
            norms,
            images,
            common,
            data.images,
            row_of_image,
            row_of_image,
        )


@dataclass(frozen=True, eq=False)
class FittedImageKnn(FittedBaseline):
    """The distinct label rows of all images."""

    power: float
    squares: NDArray[np.float64]
    """The squared weights of labels."""
    rows: Any
    """Distinct rows by labels: ones, as a SciPy matrix."""
    by_label: Any
    """The same, labels by rows."""
    without: Any
    """The same shape as ``rows``: what the weight of a row is multiplied by, if the label is left out of it."""
    norms: NDArray[np.float64]
    """The squared norms of rows."""
    images_per_row: NDArray[np.int64]
    common: NDArray[np.float64]
    """The share of images with each label."""
    fitted_images: Vocabulary
    row_of_fitted: NDArray[np.int64]
    own_rows: NDArray[np.int64]
    """The row of each image that it scores; -1 if it was not fitted to it."""

    def scores(self, images: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the shares among all other images: an image is not its own neighbor."""
        return self._scores(*self.known.rows(images), self.own_rows[images])

    def score_labels(self, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the shares among all images that it was fitted to."""
        return self._scores(indptr, indices, np.full(len(indptr) - 1, -1))

    def knowing(self, known: Annotations) -> Self:
        """Keep the images that it was fitted to; those with the same ID are still not their own neighbors."""
        number = self.fitted_images.translate(known.images)
        return replace(super().knowing(known), own_rows=np.where(number >= 0, self.row_of_fitted[number], -1))

    def _scores(
        self, indptr: NDArray[np.int64], indices: NDArray[np.int32], own: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        found = np.empty((len(own), len(self.labels)), np.float32)
        size = max(1, _BLOCK_BYTES // (_ENTRY_BYTES * max(len(self.norms), len(self.labels))))
        for start in range(0, len(own), size):
            part = slice(start, start + size)
            labels = take_rows(indptr, indices, np.arange(len(own))[part])
            found[part] = self._shares(*labels, own[part]) + _TIE_BREAK * self.common
        return found

    def _shares(
        self, indptr: NDArray[np.int64], indices: NDArray[np.int32], own: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        from scipy.sparse import csr_matrix

        weights = csr_matrix((self.squares[indices], indices, indptr), (len(own), len(self.labels))) @ self.by_label
        image = np.repeat(np.arange(len(own)), np.diff(weights.indptr))
        norms = np.bincount(np.repeat(np.arange(len(own)), np.diff(indptr)), self.squares[indices], len(own))
        others = self.images_per_row[weights.indices] - (weights.indices == own[image])
        cosines = weights.data / np.sqrt(norms[image] * self.norms[weights.indices])
        weights.data = others * cosines**self.power
        with_label, left_out = (weights @ self.rows).toarray(), (weights @ self.without).toarray()
        total = np.bincount(image, weights.data, len(own))[:, None]
        # A difference of equal sums may be rounded below 0.
        rest = np.maximum(total - with_label, 0.0)
        return np.asarray(np.divide(left_out, left_out + rest, where=left_out > 0, out=np.zeros_like(left_out)))
