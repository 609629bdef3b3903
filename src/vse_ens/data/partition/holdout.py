"""Copy a partition without some of its pairs, file by file."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.partition.store import MANIFEST, Partition, check_own, shard_file
from vse_ens.data.splits import HeldOut
from vse_ens.errors import DataError
from vse_ens.storage.atomic import replace_dir

# Pairs or images copied at a time.
_BLOCK = 1 << 20


def without_pairs(whole: Partition, held_out: HeldOut, folder: Path) -> Partition:
    """Return a partition of the same images and labels without the held-out pairs; an existing one is reused."""
    digest = hashlib.blake2b(whole.digest.encode() + held_out.positions.tobytes(), digest_size=16).hexdigest()
    counts = replace(whole.counts, pairs=whole.counts.pairs - len(held_out.positions))
    if (folder / MANIFEST).exists():
        existing = Partition.open(folder)
        if existing.digest == digest:
            if existing.counts != counts:
                raise DataError(f"{folder} is not a part of {whole.folder}; delete {folder} to rebuild it")
            existing.check()
            return existing
    with replace_dir(folder, check=check_own) as partial:
        _link_ids(whole, partial)
        _copy_pairs(whole, held_out, partial)
        for shard in range(counts.shards):
            _copy_shard(whole, held_out, shard, partial)
        Partition(partial, counts, digest, whole.made_from).write_manifest(partial)
    return Partition.open(folder)


def _link_ids(whole: Partition, folder: Path) -> None:
    for name in ("images.starts", "images.text", "labels.starts", "labels.text"):
        try:
            os.link(whole.folder / name, folder / name)
        except OSError:  # the file system has no hard links
            shutil.copyfile(whole.folder / name, folder / name)


def _copy_pairs(whole: Partition, held_out: HeldOut, folder: Path) -> None:
    known, positions = whole.known, held_out.positions
    with (folder / "indptr").open("wb") as file:
        for first in range(0, len(known.indptr), _BLOCK):
            starts = known.indptr[first : first + _BLOCK]
            (starts - np.searchsorted(positions, starts)).astype("<i8").tofile(file)
    with (folder / "indices").open("wb") as file:
        for first in range(0, known.pairs, _BLOCK):
            inside = slice(*np.searchsorted(positions, (first, first + _BLOCK)))
            np.delete(known.indices[first : first + _BLOCK], positions[inside] - first).astype("<i4").tofile(file)


def _copy_shard(whole: Partition, held_out: HeldOut, shard: int, folder: Path) -> None:
    rows, shards = whole.rows(shard), whole.counts.shards
    own = held_out.images % shards == shard
    images: NDArray[np.int64] = held_out.images[own]
    row = images // shards
    positions = rows.indptr[row] + held_out.positions[own] - whole.known.indptr[images]
    counts = np.diff(rows.indptr)
    counts[row] -= 1
    counts.astype("<i4").tofile(folder / shard_file(shard, "counts"))
    np.delete(rows.indices, positions).astype("<i4").tofile(folder / shard_file(shard, "labels"))
