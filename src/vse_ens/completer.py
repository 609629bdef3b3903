"""`LabelCompleter`: a scikit-learn estimator over a binary matrix of images by labels, or over lists of labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from vse_ens.annotator import Annotator
from vse_ens.config import Settings
from vse_ens.curate.label_probabilities import LabelProbabilities
from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows
from vse_ens.data.partition.parts import number_ids
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError, MissingPartError
from vse_ens.evaluate.rank_model import mean_reciprocal_rank
from vse_ens.kernels.arrays import Csr
from vse_ens.model.completeness import LabelCountLaw
from vse_ens.model.embeddings import Floats
from vse_ens.model.topk import row_blocks
from vse_ens.run.threads import Workers

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise MissingPartError(f"LabelCompleter needs scikit-learn: pip install 'vse-ens[sklearn]' ({error})") from error


class LabelCompleter(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learns which labels go together, and predicts every label of an image from its other labels.

    >>> completer = LabelCompleter(epochs=8, dimensions=32).fit([data.labels_of(image) for image in data.images])
    >>> [probabilities] = completer.predict_proba([["snow", "ski"]])
    >>> completer.classes_[probabilities.argmax()]
    'winter'

    Rows are a matrix of images by labels, dense or sparse, in which any number above 0 means that the image has the
    label, or lists of labels. The probability of a label never depends on whether the row has that label, so that the
    two can be compared: cleanlab takes the probabilities as they are. docs/python.md has examples.

    Args:
        preset: The preset of `Annotator`.
        threshold: `predict` predicts labels of at least this probability.
        top: `predict_proba` keeps only this many labels per row, as a sparse matrix. All, as a dense one, by default.
        seed: The seed of the training.
        workers: The number of threads, all cores by default; it does not change the result.
        settings: Fields of `vse_ens.config.Config` that override the preset.

    After `fit`, ``annotator_`` is the `Annotator`, and ``classes_`` has the labels in the order of columns.
    """

    annotator_: Annotator
    classes_: NDArray[Any]

    def __init__(
        self,
        preset: str = "context",
        *,
        threshold: float = 0.5,
        top: int | None = None,
        seed: int = 0,
        workers: int | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        self.preset = preset
        self.threshold = threshold
        self.top = top
        self.seed = seed
        self.workers = workers
        self._settings: Settings = settings

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all arguments of the constructor."""
        return {**super().get_params(deep), **self._settings}

    def set_params(self, **values: Any) -> Self:
        """Replace arguments of the constructor; `fit` checks them."""
        self.__dict__.update(vars(type(self)(**{**self.get_params(), **values})))
        return self

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002, N803  # scikit-learn's signature
        """Learn from rows; ``y`` is ignored."""
        rows = self._rows(X, reset=True)
        counts = np.diff(rows.indptr)
        images, labels = number_ids(len(counts), "image"), number_ids(len(self.classes_), "label")
        # Rows have no ids: a row of the training data would be its own neighbor, and know its own label.
        settings: Settings = {"neighbors": False, **self._settings}
        annotator = Annotator(self.preset, seed=self.seed, workers=self.workers, **settings)
        self.annotator_ = annotator.fit(Annotations.trusted(images, labels, *rows))
        self._law = LabelCountLaw.of(counts)
        self._n_features_out = self.annotator_.embeddings_.dimensions
        return self

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """Return the probability of each label of each row, without knowing that label of the row.

        With ``top``, the other probabilities of a row are left out, and the result is a ``csr_array``.
        """
        check_is_fitted(self)
        if self.top is not None and self.top < 1:
            raise ConfigError(f"top must be at least 1, got {self.top}")
        rows = self._rows(X)
        blocks = list(row_blocks(len(rows.indptr) - 1, len(self.classes_)))
        with Workers(self.workers) as workers:
            found = workers.run([partial(self._block, rows, block) for block in blocks])
        if self.top is None:
            return np.concatenate([np.empty((0, len(self.classes_)), np.float32), *found])
        from scipy import sparse

        return sparse.vstack([sparse.csr_array((0, len(self.classes_)), dtype=np.float32), *found], format="csr")

    def _block(self, rows: Csr, block: slice, _worker: int) -> Any:
        probabilities = LabelProbabilities(self.annotator_.loaded_, self._law)
        found = probabilities.probabilities(take_rows(*rows, np.arange(block.start, block.stop)))
        return found if self.top is None else _top(found, self.top)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the labels with a probability of at least ``threshold``, whether or not a row has them.

        The result is a matrix of 0 and 1, sparse if ``X`` is or ``top`` is set; for lists of labels, lists of labels.
        """
        found = self.predict_proba(X)
        if _is_lists(X):
            dense = found.toarray() if self.top is not None else found
            return [self.classes_[row >= self.threshold].tolist() for row in dense]
        if self.top is not None or hasattr(X, "tocsr"):
            from scipy import sparse

            likely = sparse.csr_array(found >= self.threshold) if self.threshold > 0 else sparse.csr_array(found)
            return likely.astype(np.int64)
        return (found >= self.threshold).astype(np.int64)

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """Return the vector of each row, computed from its labels."""
        check_is_fitted(self)
        return self.annotator_.loaded_.vectors_by_labels(self._rows(X))

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002, N803
        """Return the mean reciprocal rank of the labels of all rows, each ranked by the others: 1 is best."""
        check_is_fitted(self)
        rows, unknown = self._list_rows(X) if _is_lists(X) else (self._matrix_rows(X), [])
        loaded = self.annotator_.loaded_
        data = Annotations.trusted(number_ids(len(rows.indptr) - 1, "image"), loaded.known.labels, *rows)
        found = mean_reciprocal_rank(loaded, data, by_id=False, workers=self.workers)
        return found * len(rows.indices) / max(1, len(rows.indices) + len(unknown))  # an unknown label is not found

    def _rows(self, X: Any, *, reset: bool = False) -> Csr:  # noqa: N803
        """Return the labels of each row by column number; ``reset`` learns the columns from them."""
        if not _is_lists(X):
            return self._matrix_rows(X, reset)
        rows, unknown = self._list_rows(X, reset)
        if unknown:
            warnings.warn(f"unknown labels are ignored: {', '.join(sorted(set(unknown))[:5])}", stacklevel=3)
        return rows

    def _list_rows(self, X: Any, reset: bool = False) -> tuple[Csr, list[str]]:  # noqa: N803
        """Return the known labels of each list by number, and the unknown labels."""
        lists = [sorted(set(map(str, row))) for row in X]
        if reset:
            self._vocabulary = Vocabulary.from_ids((label for row in lists for label in row), "label")
            self.classes_ = np.array(list(self._vocabulary), object)
        elif not hasattr(self, "_vocabulary"):
            raise ConfigError("this LabelCompleter was fitted on a matrix; give it a matrix, not lists of labels")
        labels = [label for row in lists for label in row]
        numbers = self._vocabulary.numbers(labels, missing="minus-one")
        unknown = [label for label, number in zip(labels, numbers, strict=True) if number < 0]
        kept = np.concatenate([[0], np.cumsum(numbers >= 0)])
        indptr = kept[np.concatenate([[0], np.cumsum([len(row) for row in lists])]).astype(np.int64)]
        return Csr(indptr.astype(np.int64), numbers[numbers >= 0].astype(np.int32)), unknown

    def _matrix_rows(self, X: Any, reset: bool = False) -> Csr:  # noqa: N803
        from scipy import sparse

        if not reset and hasattr(self, "_vocabulary"):
            raise ConfigError("this LabelCompleter was fitted on lists of labels; give it lists, not a matrix")
        checked = validate_data(
            self, X, reset=reset, accept_sparse="csr", ensure_non_negative=True, ensure_min_features=1 + reset
        )
        matrix = sparse.csr_array(checked)
        if reset:
            self.__dict__.pop("_vocabulary", None)
            self.classes_ = np.asarray(getattr(self, "feature_names_in_", np.arange(self.n_features_in_)))
        if not matrix.has_canonical_format or not matrix.data.all():
            matrix = matrix.copy()  # the caller's matrix must not change
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
        return Csr(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.target_tags.required = False
        tags.transformer_tags.preserves_dtype = ["float32"]  # which `transform` always returns
        return tags


def _is_lists(X: Any) -> bool:  # noqa: N803
    """Return whether rows are lists of labels rather than a matrix."""
    if isinstance(X, list | tuple):
        if any(isinstance(row, str) for row in X[:1]):
            raise ConfigError("a row must be a list of labels, got a text; for one image, write [labels]")
        rows: Iterator[Any] = iter(X)
    elif getattr(X, "ndim", 0) == 1 and getattr(X, "dtype", None) == np.dtype(object):
        rows = iter(X)
    else:
        return False
    first: Sequence[Any] = next((row for row in rows if len(row)), ())
    return len(first) == 0 or isinstance(first[0] if isinstance(first, Sequence) else next(iter(first)), str)


def _top(found: Floats, top: int) -> Any:
    """Return the ``top`` largest numbers of each row, ties by column, as a sparse matrix."""
    from scipy import sparse

    best = np.sort(np.argsort(-found, axis=1, kind="stable")[:, :top], axis=1)
    indptr = np.arange(len(found) + 1) * best.shape[1]
    return sparse.csr_array((np.take_along_axis(found, best, 1).ravel(), best.ravel(), indptr), found.shape)
