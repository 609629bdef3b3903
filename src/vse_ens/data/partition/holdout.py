"""Sorted-out pairs without some of them, made file by file."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.partition.store import MANIFEST, Partition, shard_file
from vse_ens.data.splits import HeldOut
from vse_ens.storage.atomic import replace_dir

# Pairs, or images, that are copied at a time.
_BLOCK = 1 << 20


def without_pairs(whole: Partition, left_out: HeldOut, folder: Path) -> Partition:
    """A partition of the same images and labels without one pair of each of some images; or one made so before.

    The folder appears under its name when it is complete.
    """
    digest = hashlib.blake2b(whole.digest.encode() + left_out.places.tobytes(), digest_size=16).hexdigest()
    counts = replace(whole.counts, pairs=whole.counts.pairs - len(left_out.places))
    if (folder / MANIFEST).exists() and Partition.open(folder).digest == digest:
        return Partition.open(folder)
    with replace_dir(folder) as draft:
        _link_ids(whole, draft)
        _copy_pairs(whole, left_out, draft)
        for shard in range(counts.shards):
            _copy_shard(whole, left_out, shard, draft)
        Partition(draft, counts, digest, whole.made_from).write_manifest(draft)
    return Partition.open(folder)


def _link_ids(whole: Partition, folder: Path) -> None:
    for name in ("images.starts", "images.text", "labels.starts", "labels.text"):
        try:
            os.link(whole.folder / name, folder / name)
        except OSError:  # a file system that has no second names
            shutil.copyfile(whole.folder / name, folder / name)


def _copy_pairs(whole: Partition, left_out: HeldOut, folder: Path) -> None:
    known, places = whole.known, left_out.places
    with (folder / "indptr").open("wb") as file:
        for first in range(0, len(known.indptr), _BLOCK):
            starts = known.indptr[first : first + _BLOCK]
            (starts - np.searchsorted(places, starts)).astype("<i8").tofile(file)
    with (folder / "indices").open("wb") as file:
        for first in range(0, known.pairs, _BLOCK):
            gone = places[np.searchsorted(places, first) : np.searchsorted(places, first + _BLOCK)] - first
            np.delete(known.indices[first : first + _BLOCK], gone).astype("<i4").tofile(file)


def _copy_shard(whole: Partition, left_out: HeldOut, shard: int, folder: Path) -> None:
    rows, shards = whole.rows(shard), whole.counts.shards
    own = left_out.images % shards == shard
    images: NDArray[np.int64] = left_out.images[own]
    row = images // shards
    places = rows.indptr[row] + left_out.places[own] - whole.known.indptr[images]
    counts = np.diff(rows.indptr)
    counts[row] -= 1
    counts.astype("<i4").tofile(folder / shard_file(shard, "counts"))
    np.delete(rows.indices, places).astype("<i4").tofile(folder / shard_file(shard, "labels"))
