"""The pairs of a folder read the other way, by label: made once, in two more files of the folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import DataError
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.gram_ridge import transpose_pairs
from vse_ens.storage.atomic import replace_files

_STARTS, _IMAGES = "by_label.indptr", "by_label.indices"
# Images or pairs that are looked at in one go: what is made on the way stays small, and Ctrl-C is heard in between.
_BLOCK = 1 << 20


def transpose(by_image: Csr, labels: int) -> Csr:
    """The images of every label, rising, in CSR form; in memory."""
    starts, images = label_starts(by_image, labels), np.empty(len(by_image.indices), np.int32)
    _turn(by_image, starts, images)
    return Csr(starts, images)


def write_label_index(folder: Path, by_image: Csr, labels: int) -> None:
    """Write the images of every label to the folder of their pairs, unless they are there already.

    Each file appears under its name when it is complete; no more of them is in memory than the system finds useful.
    """
    if _is_whole(folder, labels, len(by_image.indices)):
        return
    starts = label_starts(by_image, labels)
    with replace_files(folder / _IMAGES, folder / _STARTS) as (images_file, starts_file):
        with images_file.open("w+b") as file:
            file.truncate(4 * len(by_image.indices))
            images = np.memmap(file, "<i4", "r+")
            # A plain array over the map: np.memmap slows down every access.
            _turn(by_image, starts, np.asarray(images))
            images.flush()
        starts.tofile(starts_file)


def open_label_index(folder: Path, labels: int, pairs: int) -> Csr:
    """What `make_turned` wrote, mapped into memory."""
    if not _is_whole(folder, labels, pairs):
        raise DataError(f"{folder / _IMAGES} is missing or cut off; train again with the same pairs to have it made")
    starts, images = (
        np.asarray(np.memmap(folder / name, kind, "r")) for name, kind in ((_STARTS, "<i8"), (_IMAGES, "<i4"))
    )
    return Csr(starts, images)


def label_starts(by_image: Csr, labels: int) -> NDArray[np.int64]:
    """Where the images of each label start when they are written one label after another, and where the last end."""
    starts = np.zeros(labels + 1, np.int64)
    for first in range(0, len(by_image.indices), _BLOCK):
        starts[1:] += np.bincount(by_image.indices[first : first + _BLOCK], minlength=labels)
    return np.cumsum(starts, out=starts)


def _turn(by_image: Csr, starts: NDArray[np.int64], images: NDArray[np.int32]) -> None:
    places = starts[:-1].copy()
    for first in range(0, len(by_image.indptr) - 1, _BLOCK):
        block = Csr(by_image.indptr[first : first + _BLOCK + 1], by_image.indices)
        transpose_pairs(block, places, images, first)


def _is_whole(folder: Path, labels: int, pairs: int) -> bool:
    sizes = {_STARTS: 8 * (labels + 1), _IMAGES: 4 * pairs}
    return all((path := folder / name).exists() and path.stat().st_size == size for name, size in sizes.items())
