"""Pairs in many Parquet files, sorted out once by image: each shard then reads its own, and nobody reads all.

    folder/
      partition.json                        counts, a digest of all pairs, and what it was made from
      labels.starts, labels.text            label ids in order: where each starts, and their bytes
      images.starts, images.text            image ids likewise
      indptr, indices                       all pairs in the order of images, for whoever maps them into memory
      by_label.indptr, by_label.indices     the same pairs in the order of labels, made when they are first asked for
      shard-00000.counts, .labels           of a shard's images in order: how many labels each has, and which

All but the JSON are plain little-endian numbers (int64 for starts and indptr, else int32).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.partition.label_index import open_label_index, write_label_index
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError
from vse_ens.kernels.arrays import Csr

MANIFEST = "partition.json"
_FORMAT = 1


@dataclass(frozen=True)
class Counts:
    """What a partition holds."""

    images: int
    labels: int
    pairs: int
    shards: int


@dataclass(frozen=True)
class Partition:
    """A folder of pairs that are sorted out by image; none of them is held in memory."""

    folder: Path
    counts: Counts
    digest: str
    """Equal for equal pairs, whatever files they came in."""
    made_from: str

    @classmethod
    def open(cls, folder: str | Path) -> Partition:
        """One that was made before."""
        folder = Path(folder)
        try:
            found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            if found["format"] != _FORMAT:
                raise ValueError(f"format {found['format']}")
            made = cls(folder, Counts(**found["counts"]), found["digest"], found["made_from"])
        except FileNotFoundError:
            raise DataError(f"{folder} holds no {MANIFEST}: no pairs were sorted out there") from None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise DataError(f"{folder / MANIFEST} cannot be read ({error}); delete {folder} and have it made") from None
        made._check_sizes()
        return made

    def write_manifest(self, folder: Path) -> None:
        """Say what is in a folder."""
        content = {
            "format": _FORMAT,
            "counts": asdict(self.counts),
            "digest": self.digest,
            "made_from": self.made_from,
        }
        (folder / MANIFEST).write_text(json.dumps(content, indent=1), encoding="utf-8")

    def rows(self, shard: int) -> Csr:
        """The labels of a shard's images, read into memory."""
        counts = np.fromfile(self.folder / shard_file(shard, "counts"), "<i4")
        labels = np.fromfile(self.folder / shard_file(shard, "labels"), "<i4")
        indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        if indptr[-1] != len(labels):
            damaged = self.folder / shard_file(shard, "labels")
            raise DataError(f"{damaged} is missing or cut off; delete {self.folder} and have it made anew")
        return Csr(indptr, labels)

    @property
    def known(self) -> Annotations:
        """All pairs as `Annotations`, mapped into memory: what is not looked at is not read."""
        indptr, indices = self._map("indptr", "<i8"), self._map("indices", "<i4")
        return Annotations.trusted(self._ids("images", "image"), self._ids("labels", "label"), indptr, indices)

    def turn(self) -> None:
        """Write the files by label, unless they are there: for one process to do before others open them."""
        write_label_index(self.folder, Csr(self._map("indptr", "<i8"), self._map("indices", "<i4")), self.counts.labels)

    @property
    def by_label(self) -> Csr:
        """The images of every label, rising, mapped into memory; `turn` comes first."""
        return open_label_index(self.folder, self.counts.labels, self.counts.pairs)

    def _ids(self, name: str, kind: str) -> Vocabulary:
        starts, text = self._map(f"{name}.starts", "<i8"), self._map(f"{name}.text", "u1")
        ids = pa.LargeStringArray.from_buffers(len(starts) - 1, pa.py_buffer(starts), pa.py_buffer(text))
        return Vocabulary.trusted(ids, kind)

    def _map(self, name: str, kind: str) -> NDArray[Any]:
        # A plain array over the map: one that knows of its file slows down every use.
        return np.asarray(np.memmap(self.folder / name, kind, "r"))

    def _check_sizes(self) -> None:
        counts = self.counts
        expected = {
            "indptr": 8 * (counts.images + 1),
            "indices": 4 * counts.pairs,
            "images.starts": 8 * (counts.images + 1),
            "labels.starts": 8 * (counts.labels + 1),
        }
        for name, size in expected.items():
            path = self.folder / name
            if not path.exists() or path.stat().st_size != size:
                raise DataError(f"{path} is missing or cut off; delete {self.folder} and have it made anew")


def shard_file(shard: int, what: str) -> str:
    """The name of one of a shard's files."""
    return f"shard-{shard:05d}.{what}"
