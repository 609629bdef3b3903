"""The pairs of a partition by label, in two further files of its folder that are built once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.csr import ends_match, rows_ascend
from vse_ens.errors import DataError
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.gram_ridge import transpose_pairs
from vse_ens.storage.atomic import replace_files

_STARTS, _IMAGES = "by_label.indptr", "by_label.indices"
# Images or pairs processed at a time: intermediate arrays stay small, and Ctrl-C is handled in between.
_BLOCK = 1 << 20


def transpose(by_image: Csr, labels: int) -> Csr:
    """Return the images of every label, ascending, in CSR form."""
    starts, images = label_starts(by_image, labels), np.empty(len(by_image.indices), np.int32)
    _fill(by_image, starts, images)
    return Csr(starts, images)


def write_label_index(folder: Path, by_image: Csr, labels: int) -> None:
    """Write the images of every label to the folder of a partition, unless this was done before.

    The file of images is written through a memory map.
    """
    if _is_complete(folder, labels, len(by_image.indices)):
        return
    starts = label_starts(by_image, labels)
    with replace_files(folder / _IMAGES, folder / _STARTS) as (images_file, starts_file):
        with images_file.open("w+b") as file:
            file.truncate(4 * len(by_image.indices))
            images = np.memmap(file, "<i4", "r+")
            # A plain array over the map: np.memmap slows down every access.
            _fill(by_image, starts, np.asarray(images))
            images.flush()
        starts.tofile(starts_file)


def open_label_index(folder: Path, labels: int, pairs: int) -> Csr:
    """Return the memory-mapped files that `write_label_index` wrote."""
    if not _is_complete(folder, labels, pairs):
        raise DataError(f"{folder / _IMAGES} is missing or truncated; train again with the same pairs to rebuild it")
    starts, images = (
        np.asarray(np.memmap(folder / name, kind, "r")) for name, kind in ((_STARTS, "<i8"), (_IMAGES, "<i4"))
    )
    return Csr(starts, images)


def check_label_index(folder: Path, by_image: Csr, labels: int) -> None:
    """Read the files that were found, if any, and raise a `DataError` if they are not those of the pairs.

    The pairs by label are as many of each label, sorted by image; that they are the same pairs is not checked.
    """
    if not _is_complete(folder, labels, len(by_image.indices)):
        return
    starts, images = open_label_index(folder, labels, len(by_image.indices))
    if (
        not ends_match(starts, images, labels)
        or not np.array_equal(starts, label_starts(by_image, labels))
        or (len(images) and not 0 <= images.min() <= images.max() < len(by_image.indptr) - 1)
        or not rows_ascend(starts, images)
    ):
        raise DataError(
            f"{folder / _IMAGES} is damaged (it is not the index of the pairs); delete {folder} to rebuild it"
        )


def label_starts(by_image: Csr, labels: int) -> NDArray[np.int64]:
    """Return the CSR offsets of the images of every label."""
    starts = np.zeros(labels + 1, np.int64)
    for first in range(0, len(by_image.indices), _BLOCK):
        starts[1:] += np.bincount(by_image.indices[first : first + _BLOCK], minlength=labels)
    return np.cumsum(starts, out=starts)


def _fill(by_image: Csr, starts: NDArray[np.int64], images: NDArray[np.int32]) -> None:
    next_position = starts[:-1].copy()
    for first in range(0, len(by_image.indptr) - 1, _BLOCK):
        block = Csr(by_image.indptr[first : first + _BLOCK + 1], by_image.indices)
        transpose_pairs(block, next_position, images, first)


def _is_complete(folder: Path, labels: int, pairs: int) -> bool:
    sizes = {_STARTS: 8 * (labels + 1), _IMAGES: 4 * pairs}
    return all((path := folder / name).is_file() and path.stat().st_size == size for name, size in sizes.items())
