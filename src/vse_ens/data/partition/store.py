"""A partition: pairs sorted by image and divided by shard, so that each worker reads only its own.

    folder/
      partition.json                        counts, a digest of all pairs, and a fingerprint of the input
      labels.starts, labels.text            label ids in order: the offset of each, and their bytes
      images.starts, images.text            image ids likewise
      indptr, indices                       all pairs in the order of images, to be memory-mapped
      by_label.indptr, by_label.indices     the same pairs in the order of labels, built on first use
      shard-00000.counts, .labels           of a shard's images in order: the number of labels of each, and the labels

All but the JSON file are plain little-endian numbers (int64 for starts and indptr, else int32).
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import ends_match, rises, rows_ascend
from vse_ens.data.partition.parts import shard_images
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.gram_ridge import transpose_pairs
from vse_ens.storage.artifact import read_small
from vse_ens.storage.atomic import replace_files

MANIFEST = "partition.json"
OWN_FILE = re.compile(
    r"partition\.json|(labels|images)\.(starts|text)|indptr|indices|\.?by_label\.(indptr|indices)((\.[0-9a-f]{16})?\.partial)?"
    r"|shard-\d+\.(counts|labels)|bucket-\d+"
)
"""The names of the files of a partition, finished or not."""
_FORMAT = 1
_MAX_MANIFEST_BYTES = 1 << 16
_MAX_INT32 = 2**31 - 1
_STARTS, _IMAGES = "by_label.indptr", "by_label.indices"
# Images or pairs processed at a time: intermediate arrays stay small, and Ctrl-C is handled in between.
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Counts:
    """The size of a partition."""

    images: int
    labels: int
    pairs: int
    shards: int

    def __post_init__(self) -> None:
        for name, most in (("images", _MAX_INT32), ("labels", _MAX_INT32), ("pairs", 2**60), ("shards", _MAX_INT32)):
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value <= most:
                raise ValueError(f"{name} {value!r:.40}")


@dataclass(frozen=True)
class Partition:
    """A folder of pairs that are partitioned by image; none of them is held in RAM."""

    folder: Path
    counts: Counts
    digest: str
    """A digest of the pairs, independent of the files they came in."""
    made_from: str

    @classmethod
    def open(cls, folder: str | Path) -> Partition:
        """Open an existing partition; `check` reads its files."""
        folder = Path(folder)
        try:
            content = json.loads(read_small(folder / MANIFEST, _MAX_MANIFEST_BYTES))
            if content["format"] != _FORMAT:
                raise ValueError(f"format {content['format']!r:.40}")
            partition = cls(folder, Counts(**content["counts"]), str(content["digest"]), str(content["made_from"]))
        except FileNotFoundError:
            raise DataError(f"{folder} holds no {MANIFEST}; name the folder of a partition") from None
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise DataError(f"{folder / MANIFEST} cannot be read ({error}); delete {folder} to rebuild it") from None
        partition._check_sizes()
        return partition

    def write_manifest(self, folder: Path) -> None:
        """Write the manifest of this partition to ``folder``."""
        content = {
            "format": _FORMAT,
            "counts": asdict(self.counts),
            "digest": self.digest,
            "made_from": self.made_from,
        }
        (folder / MANIFEST).write_text(json.dumps(content, indent=1), encoding="utf-8")

    def check(self) -> None:
        """Read all files once and raise a `DataError` if they do not belong to a partition.

        A folder that is found may come from anybody, and kernels do not check bounds. Files that are exchanged later,
        while a training runs, are not noticed.
        """
        images, labels = self._checked_ids("images", "image"), self._checked_ids("labels", "label")
        try:
            known = Annotations(images, labels, *self.by_image)
        except DataError as error:
            raise self._damaged("indices", str(error)) from None
        for shard in range(self.counts.shards):
            rows, own = self.rows(shard), known.rows(shard_images(len(images), shard, self.counts.shards))
            if not (np.array_equal(rows.indptr, own.indptr) and np.array_equal(rows.indices, own.indices)):
                raise self._damaged(shard_file(shard, "labels"), "it does not have the pairs of all images")
        if self._has_label_index:
            # That these are the same pairs, and not only as many of each label, is not checked.
            starts, by_label = self.by_label
            if (
                not ends_match(starts, by_label, self.counts.labels)
                or not np.array_equal(starts, label_starts(self.by_image, self.counts.labels))
                or (len(by_label) and not 0 <= by_label.min() <= by_label.max() < self.counts.images)
                or not rows_ascend(starts, by_label)
            ):
                raise self._damaged(_IMAGES, "it is not the index of the pairs")

    def rows(self, shard: int) -> Csr:
        """Read the labels of a shard's images, and check them."""
        counts = np.fromfile(self.folder / shard_file(shard, "counts"), "<i4")
        labels = np.fromfile(self.folder / shard_file(shard, "labels"), "<i4")
        indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        damaged = shard_file(shard, "labels")
        if not ends_match(indptr, labels, len(shard_images(self.counts.images, shard, self.counts.shards))):
            raise self._damaged(damaged)
        if not rises(indptr) or (len(labels) and not 0 <= labels.min() <= labels.max() < self.counts.labels):
            raise self._damaged(damaged, f"its labels must lie in 0..{self.counts.labels - 1}")
        if not rows_ascend(indptr, labels):
            raise self._damaged(damaged, "the labels of every image must be sorted and distinct")
        return Csr(indptr, labels)

    @property
    def known(self) -> Annotations:
        """All pairs as memory-mapped `Annotations`."""
        return Annotations.trusted(self._ids("images", "image"), self._ids("labels", "label"), *self.by_image)

    def build_label_index(self) -> None:
        """Write the files by label, unless they exist; one process does so before others use `by_label`."""
        if self._has_label_index:
            return
        starts = label_starts(self.by_image, self.counts.labels)
        with replace_files(self.folder / _IMAGES, self.folder / _STARTS) as (images_file, starts_file):
            with images_file.open("w+b") as file:
                file.truncate(4 * self.counts.pairs)
                images = np.memmap(file, "<i4", "r+")
                # A plain array over the map: np.memmap slows down every access.
                _fill(self.by_image, starts, np.asarray(images))
                images.flush()
            starts.tofile(starts_file)

    @property
    def by_label(self) -> Csr:
        """The images of every label, ascending, memory-mapped; call `build_label_index` first."""
        if not self._has_label_index:
            path = self.folder / _IMAGES
            raise DataError(f"{path} is missing or truncated; train again with the same pairs to rebuild it")
        return Csr(self._map(_STARTS, "<i8"), self._map(_IMAGES, "<i4"))

    @property
    def by_image(self) -> Csr:
        """The labels of every image, memory-mapped."""
        return Csr(self._map("indptr", "<i8"), self._map("indices", "<i4"))

    @property
    def _has_label_index(self) -> bool:
        return self._has(_STARTS, 8 * (self.counts.labels + 1)) and self._has(_IMAGES, 4 * self.counts.pairs)

    def _has(self, name: str, size: int | None = None) -> bool:
        """Whether there is a regular file of this name, and of this size if one is given."""
        path = self.folder / name
        return path.is_file() and size in (None, path.stat().st_size)

    def _checked_ids(self, name: str, kind: str) -> Vocabulary:
        try:
            ids = self._ids(name, kind).arrow
            ids.validate(full=True)
            return Vocabulary(ids, kind)
        except (pa.ArrowInvalid, DataError) as error:
            raise self._damaged(f"{name}.starts", str(error)) from None

    def _ids(self, name: str, kind: str) -> Vocabulary:
        starts, text = self._map(f"{name}.starts", "<i8"), self._map(f"{name}.text", "u1")
        ids = pa.LargeStringArray.from_buffers(len(starts) - 1, pa.py_buffer(starts), pa.py_buffer(text))
        return Vocabulary.trusted(ids, kind)

    def _map(self, name: str, kind: str) -> NDArray[Any]:
        path = self.folder / name
        if not path.stat().st_size:  # which cannot be mapped
            return np.empty(0, kind)
        # A plain array over the map: np.memmap slows down every access.
        return np.asarray(np.memmap(path, kind, "r"))

    def _check_sizes(self) -> None:
        counts = self.counts
        expected: dict[str, int | None] = {
            "indptr": 8 * (counts.images + 1),
            "indices": 4 * counts.pairs,
            "images.starts": 8 * (counts.images + 1),
            "labels.starts": 8 * (counts.labels + 1),
        }
        # Only files that cannot keep a reader waiting are opened, unlike a FIFO.
        shards = [shard_file(shard, kind) for shard in range(counts.shards) for kind in ("counts", "labels")]
        for name, size in (expected | dict.fromkeys(("images.text", "labels.text", *shards))).items():
            if not self._has(name, size):
                raise self._damaged(name)

    def _damaged(self, name: str, reason: str = "") -> DataError:
        what = f"damaged ({reason})" if reason else "missing or truncated"
        return DataError(f"{self.folder / name} is {what}; delete {self.folder} to rebuild it")


def check_own(folder: Path) -> None:
    """Raise if a folder has anything but a partition, because they would be lost."""
    foreign = sorted(entry.name for entry in folder.iterdir() if entry.is_dir() or not OWN_FILE.fullmatch(entry.name))
    if foreign:
        raise DataError(
            f"{folder} contains {foreign[0]!r}, which is not part of a partition and would be lost; move it away"
        )


def shard_file(shard: int, kind: str) -> str:
    """Return the name of a file of a shard; ``kind`` is "counts" or "labels"."""
    return f"shard-{shard:05d}.{kind}"


def transpose(by_image: Csr, labels: int) -> Csr:
    """Return the images of every label, ascending, in CSR form."""
    starts, images = label_starts(by_image, labels), np.empty(len(by_image.indices), np.int32)
    _fill(by_image, starts, images)
    return Csr(starts, images)


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
