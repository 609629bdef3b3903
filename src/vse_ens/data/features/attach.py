"""The matrix of image features, dense or sparse, and joining it with pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.features.table import FeatureTable
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError

if TYPE_CHECKING:
    from vse_ens.data.annotations import Annotations


def plain_features(features: Any) -> Any:
    """Return features as a C-ordered float32 array or a float32 SciPy CSR matrix in canonical format.

    Features that have this form already are returned as they are. The input is never changed.
    """
    is_sparse = hasattr(features, "tocsr")
    try:
        with np.errstate(over="ignore"):  # values too large for float32 become infinite, which is checked below
            plain: Any = (
                features.tocsr().astype(np.float32, copy=False)
                if is_sparse
                else np.ascontiguousarray(features, dtype=np.float32)
            )
    except (TypeError, ValueError):
        raise DataError(
            f"image features must be a 2-d array or a SciPy sparse matrix of numbers, got {type(features).__name__}"
        ) from None
    if is_sparse and not plain.has_canonical_format:
        plain = plain.copy()
        plain.sum_duplicates()
    if not np.isfinite(plain.data if is_sparse else plain).all():
        raise DataError("the image features contain NaN or infinite values; replace them first")
    return plain


def squared_lengths(plain: Any) -> NDArray[np.float64]:
    """Return the squared norm of every row of `plain_features`."""
    if isinstance(plain, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", plain, plain, dtype=np.float64))
    rows = np.repeat(np.arange(plain.shape[0]), np.diff(plain.indptr))
    squares = np.square(plain.data, dtype=np.float64)
    return np.bincount(rows, squares, minlength=plain.shape[0]).astype(np.float64, copy=False)


def like_features(plain: Any, other: Any) -> Any:
    """Return rows of features as an array if the ``other`` ones are one, else as a sparse matrix."""
    from scipy.sparse import csr_array

    if isinstance(plain, np.ndarray) == isinstance(other, np.ndarray):
        return plain
    return plain_features(csr_array(plain) if isinstance(plain, np.ndarray) else plain.toarray())


def attach_features(data: Annotations, features: Any) -> Annotations:
    """Return the pairs with one row of features per image; a row of zeros stands for an image without features.

    ``features`` is a `FeatureTable`, the path of a file that `read_features` reads, a mapping from image ids to
    vectors, a data frame with one image per row, or a matrix with one row per image of ``data``. Images that only the
    features have join the images of the data.
    """
    table = feature_table(features)
    if table is None:
        return _with_note(data.with_features(features))
    images, matrix = table.images, plain_features(table.matrix)
    if not (data.images.translate(images) >= 0).any() and len(data.images) and len(images):
        raise DataError(
            f"no image of the features is in the pairs: the features have {images.id(0)!r}, the pairs "
            f"{data.images.id(0)!r}; use the same ids in both"
        )
    joined = data.images.joined(images)
    known = replace(
        data, images=joined, indptr=_spread(data.indptr, joined.translate(data.images), len(joined)), features=None
    )
    known = replace(known, feature_names=None if table.names is None else tuple(table.names))
    return _with_note(
        replace(known, features=_rows_at(matrix, joined.translate(images), len(joined))), len(data.images)
    )


def feature_table(features: Any) -> FeatureTable | None:
    """Return features with the ids of their images, sorted; None for a matrix, whose rows have no ids."""
    named = named_rows(features)
    if named is None or isinstance(named, FeatureTable):
        return named
    ids, rows, names = named
    images = Vocabulary.from_ids(ids, "image")
    if len(images) < len(ids):
        repeated = next(one for one, following in zip(sorted(ids), sorted(ids)[1:], strict=False) if one == following)
        raise DataError(f"the features have more than one row for image {repeated!r}; keep one of them")
    return FeatureTable(images, plain_features(rows)[np.argsort(images.numbers(ids), kind="stable")], names)


def named_rows(features: Any) -> tuple[Any, Any, Sequence[str] | None] | None:
    """Return ids of images, as given, rows of features and names of columns; None if they have no ids."""
    from vse_ens.data.features.read import read_features

    if isinstance(features, FeatureTable):
        return features
    if isinstance(features, str | Path):
        return read_features(features)
    if isinstance(features, Mapping):
        return list(features), _stacked(list(features.values())), None
    if isinstance(features, list | tuple | np.ndarray) or hasattr(features, "tocsr"):
        return None
    return _from_frame(features)


def joined_features(images: Vocabulary, parts: Sequence[Annotations]) -> Any:
    """Return the features of ``images`` that several data sets have; where two have them, those of the later one."""
    parts = [one for one in parts if one.features is not None]
    if not parts:
        return None
    found: Any = None
    for one in parts:
        table = FeatureTable(one.images, plain_features(one.features), one.feature_names)
        matrix = table.aligned(parts[0].feature_names, "the new data").matrix
        if matrix.shape[1] != parts[0].features.shape[1]:
            raise DataError(
                f"features must have the same columns as before, got {matrix.shape[1]:,} and not "
                f"{parts[0].features.shape[1]:,}"
            )
        at = images.translate(one.images)
        if found is None:
            found = _rows_at(matrix, at, len(images))
            found = found.copy() if found is matrix else found
            continue
        matrix = like_features(matrix, found)
        given = np.flatnonzero(squared_lengths(matrix))
        if isinstance(found, np.ndarray):
            found[at[given]] = matrix[given]
            continue
        kept = np.ones(len(images), np.float32)
        kept[at[given]] = 0
        from scipy.sparse import diags_array

        found = plain_features(
            diags_array(kept, format="csr") @ found + _rows_at(matrix[given], at[given], len(images))
        )
        found.eliminate_zeros()
    return found


def _with_note(data: Annotations, before: int | None = None) -> Annotations:
    """Return the same data with a note on images without features and on those that only the features have."""
    missing = int(np.count_nonzero(squared_lengths(data.features) == 0))
    added = len(data.images) - before if before is not None else 0
    notes = [f"{missing:,} of {len(data.images):,} images have no features"] if missing else []
    notes += [f"{added:,} images have features and no pairs"] if added else []
    return replace(data, notes=(*data.notes, *notes))


def _stacked(rows: Sequence[Any]) -> Any:
    lengths = {np.shape(row) for row in rows}
    if len(lengths) != 1 or len(next(iter(lengths))) != 1:
        shown = " and ".join(sorted(map(str, lengths))[:2]) or "none"
        raise DataError(f"the vectors of features must have one length, got shapes {shown}")
    return np.stack([np.asarray(row) for row in rows])


def _from_frame(frame: Any) -> tuple[list[str], Any, list[str] | None]:
    """Return image ids, numbers and column names of a data frame: columns of numbers, or one of lists."""
    import narwhals.stable.v2 as nw

    from vse_ens.data.io.columns import choose_columns

    try:
        table = nw.from_native(frame, eager_only=True).to_arrow()
    except TypeError:
        raise DataError(
            "features must be a FeatureTable, a path, a mapping from ids to vectors, a data frame or a matrix, got "
            f"{type(frame).__name__}"
        ) from None
    names = table.column_names
    if len(names) < 2:
        raise DataError(f"a frame of features needs an image column and columns of numbers, got {', '.join(names)}")
    image = choose_columns("the frame of features", names).image
    ids = [str(one) for one in table.column(image).to_pylist()]
    others = [n for n in range(len(names)) if n != image]
    columns = [table.column(n).to_numpy() for n in others]
    if len(others) == 1 and hasattr(table.column(others[0]).type, "value_type"):
        return ids, _stacked(list(columns[0])), None
    wrong = next((names[n] for n, one in zip(others, columns, strict=True) if one.dtype.kind not in "fiub"), None)
    if wrong is not None:
        raise DataError(f"column {wrong!r} of the features does not hold numbers; drop it or convert it")
    return ids, np.stack(columns, axis=1), [names[n] for n in others]


def _spread(indptr: NDArray[np.int64], at: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Return ``indptr`` for more rows: row n of the old ones is row ``at[n]``, which ascends; the others are empty."""
    counts = np.zeros(rows + 1, np.int64)
    counts[at + 1] = np.diff(indptr)
    return np.cumsum(counts)


def _rows_at(matrix: Any, at: NDArray[np.int64], rows: int) -> Any:
    """Return a matrix with ``rows`` rows, row n of ``matrix`` at ``at[n]``, which ascends, and zeros elsewhere."""
    if isinstance(matrix, np.ndarray):
        if rows == len(at):
            return matrix
        spread = np.zeros((rows, matrix.shape[1]), np.float32)
        spread[at] = matrix
        return spread
    from scipy.sparse import csr_array

    indptr = _spread(matrix.indptr.astype(np.int64), at, rows)
    return csr_array((matrix.data, matrix.indices, indptr), shape=(rows, matrix.shape[1]))
