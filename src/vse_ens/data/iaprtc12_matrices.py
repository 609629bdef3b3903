"""The label matrices of IAPR TC-12: TagProp's ``.hvecs`` and MATLAB's ``.mat``."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.published import readable
from vse_ens.errors import DataError


def read_hvecs(path: Path, images: int, labels: int) -> NDArray[np.uint16]:
    """A matrix of 16-bit numbers, images by labels, in which every row begins with how many numbers it has."""
    with readable(path):
        size, numbers = path.stat().st_size, np.fromfile(path, "<u2")
    row = 2 * (labels + 1)
    if size != images * row:
        raise DataError(
            f"{path} has {size:,} bytes, but {images:,} images with {labels:,} labels take {images * row:,}; it is "
            f"truncated, or does not belong to this list and dictionary"
        )
    rows = numbers.reshape(images, labels + 1)
    odd = np.flatnonzero(rows[:, 0] != labels)
    if len(odd):
        raise DataError(
            f"{path}, row {odd[0] + 1:,} says it has {rows[odd[0], 0]:,} numbers, but the dictionary has {labels:,} "
            f"labels; fetch it again"
        )
    return _checked(path, rows[:, 1:])


def read_mat(path: Path, images: int, labels: int) -> NDArray[Any]:
    """The matrix, images by labels, in a ``.mat`` file; if it holds several they must be the same."""
    found = [(name, matrix) for name, matrix in _matrices(path) if matrix.shape == (images, labels)]
    if not found:
        shapes = sorted({" x ".join(map(str, matrix.shape)) for _, matrix in _matrices(path)})
        raise DataError(
            f"{path} has no matrix of {images:,} images and {labels:,} labels, only {', '.join(shapes) or 'none'}; it "
            f"does not belong to this list and dictionary"
        )
    name, matrix = found[0]
    for other_name, other in found[1:]:
        if not np.array_equal(matrix, other):
            raise DataError(f"{path} has two matrices that differ, {name} and {other_name}; save the right one alone")
    return _checked(path, matrix)


def _matrices(path: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        with readable(path):
            variables = loadmat(path)
    except NotImplementedError:
        raise DataError(
            f"{path} is a MATLAB 7.3 file (HDF5); save it in MATLAB with -v7, or use the .hvecs files"
        ) from None
    except (MatReadError, ValueError, TypeError, KeyError, IndexError, zlib.error) as error:
        raise DataError(f"{path} is a damaged MATLAB file ({error}); fetch it again") from None
    for name, value in variables.items():
        if name.startswith("__"):
            continue
        if isinstance(value, np.ndarray) and value.dtype == object:
            yield from ((f"{name}{{{n}}}", np.asarray(cell)) for n, cell in enumerate(value.ravel(), 1))
        else:
            yield name, value.toarray() if hasattr(value, "toarray") else np.asarray(value)


def _checked(path: Path, matrix: NDArray[Any]) -> NDArray[Any]:
    odd = np.argwhere((matrix != 0) & (matrix != 1))
    if len(odd):
        row, column = odd[0]
        raise DataError(
            f"{path}, row {row + 1:,}, column {column + 1:,} has {matrix[row, column]} where 0 or 1 should be; mend "
            f"it, or fetch it again"
        )
    return matrix
