"""Partition pairs by image, in RAM that does not grow with their number, and copy a partition without some pairs.

The files are read twice. The first pass samples image ids, so that the second can distribute the pairs to buckets of
consecutive ids. Each bucket fits into RAM and is sorted; one after another they are all pairs in order.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.arrow import as_arrow, as_numpy, string_buffers
from vse_ens.data.csr import take_rows
from vse_ens.data.io.id_index import IdIndex, hash_ids, is_blank
from vse_ens.data.partition.parts import PartFiles, shard_images
from vse_ens.data.partition.store import MANIFEST, Counts, Partition, check_own, shard_file
from vse_ens.data.splits import HeldOut
from vse_ens.errors import DataError
from vse_ens.kernels.arrays import Csr
from vse_ens.storage.atomic import replace_dir

BUCKET_PAIRS = 2_000_000
"""The approximate number of pairs per bucket; sorting one takes about 200 MB."""
_SAMPLE = 16_384
_BUCKET_SCHEMA = pa.schema([("image", pa.large_string()), ("label", pa.int64())])
# Pairs or images copied at a time.
_BLOCK = 1 << 20


def partition(
    parts: PartFiles,
    folder: str | Path,
    shards: int,
    bucket_pairs: int = BUCKET_PAIRS,
    progress: Callable[[int], None] | None = None,
) -> Partition:
    """Partition the pairs of all files into ``shards``; reuse a partition that was made from the same files.

    ``progress`` is called with the number of rows done. Each of the three steps counts for a third of a row.
    """
    folder = Path(folder)
    if (folder / MANIFEST).exists():
        existing = Partition.open(folder)
        if existing.made_from == parts.fingerprint and existing.counts.shards == shards:
            existing.check()
            return existing
    with replace_dir(folder, check=check_own) as partial:
        built = _Builder(parts, partial, shards, bucket_pairs, progress).run()
    return Partition(folder, built.counts, built.digest, built.made_from)


@dataclass
class _Builder:
    """The state of one call of `partition`."""

    parts: PartFiles
    folder: Path
    shards: int
    bucket_pairs: int
    progress: Callable[[int], None] | None

    def __post_init__(self) -> None:
        self._buckets = -(-self.parts.rows // self.bucket_pairs)
        self._labels = IdIndex("label")
        # Rows are sampled, distributed and sorted; a single bucket needs no sample.
        self._steps_done = 0 if self._buckets > 1 else self.parts.rows

    def run(self) -> Partition:
        bounds = self._bounds()
        self._distribute(bounds)
        labels, new_label = self._labels.finish()
        with _Files(self.folder, self.shards) as files:
            files.write_ids("labels", labels.arrow)
            for bucket in range(self._buckets):
                read, ids, rows = self._sort(bucket, new_label)
                files.write_bucket(ids, rows)
                self._bucket_file(bucket).unlink()
                self._count_rows(read)
            counts = Counts(files.images, len(labels), files.pairs, self.shards)
            built = Partition(self.folder, counts, files.digest, self.parts.fingerprint)
        if not built.counts.pairs:
            raise DataError(f"{self.parts.name} holds no pair of an image and a label")
        built.write_manifest(self.folder)
        return built

    def _bounds(self) -> pa.LargeStringArray:
        """Return image ids that divide the images into buckets of about the same size.

        They are quantiles of the ids with the smallest hashes, which are a random sample of the distinct ids.
        """
        sample, hashes = pa.array([], pa.large_string()), np.empty(0, np.uint64)
        if self._buckets > 1:
            for batch in self.parts.batches():
                seen = pa.concat_arrays([sample, batch.images.unique()]).unique()
                hashes = hash_ids(seen)
                smallest = np.argsort(hashes, kind="stable")[:_SAMPLE]
                sample = seen.take(as_arrow(smallest))
                self._count_rows(len(batch.images))
        sample = sample.take(pc.sort_indices(sample))
        return sample.take(as_arrow(np.arange(1, self._buckets) * len(sample) // self._buckets)).unique()

    def _distribute(self, bounds: pa.LargeStringArray) -> None:
        """Write every pair to the bucket of its image; the label is a preliminary number."""
        with ExitStack() as stack:
            files = [stack.enter_context(self._bucket_file(bucket).open("wb")) for bucket in range(self._buckets)]
            writers = [stack.enter_context(pa.ipc.new_stream(file, _BUCKET_SCHEMA)) for file in files]
            for batch in self.parts.batches():
                if is_blank(batch.images).any():
                    raise DataError(f"{self.parts.name} has a blank image id; remove or fill it in")
                labels = as_arrow(self._labels.numbers(batch.labels))
                if self._labels.has_blank:
                    raise DataError(f"{self.parts.name} has a blank label; remove or fill it in")
                for bucket, rows in _by_bucket(batch.images, bounds):
                    writers[bucket].write_batch(
                        pa.record_batch([batch.images.take(rows), labels.take(rows)], schema=_BUCKET_SCHEMA)
                    )
                self._count_rows(len(batch.images))

    def _count_rows(self, rows: int) -> None:
        self._steps_done += rows
        if self.progress:
            self.progress(self._steps_done // 3)

    def _sort(self, bucket: int, new_label: NDArray[np.uint32]) -> tuple[int, pa.LargeStringArray, Csr]:
        """Return the number of rows of a bucket, its distinct image ids in order, and the sorted labels of each."""
        with self._bucket_file(bucket).open("rb") as file, pa.ipc.open_stream(file) as stream:
            pairs = stream.read_all()
        ids = pairs["image"].unique()
        ids = ids.take(pc.sort_indices(ids))
        images = as_numpy(pc.index_in(pairs["image"], value_set=ids).combine_chunks()).astype(np.uint64)
        labels = new_label[as_numpy(pairs["label"].combine_chunks())]
        keys = np.unique((images << np.uint64(32)) | labels)
        starts = np.searchsorted(keys, np.arange(len(ids) + 1, dtype=np.uint64) << np.uint64(32))
        return len(pairs), ids, Csr(starts.astype(np.int64), keys.astype(np.uint32).view(np.int32))

    def _bucket_file(self, bucket: int) -> Path:
        return self.folder / f"bucket-{bucket:05d}"


def _by_bucket(images: pa.LargeStringArray, bounds: pa.LargeStringArray) -> Iterator[tuple[int, pa.Array]]:
    """Yield the rows of each bucket that has any."""
    buckets = _buckets_of(images, bounds)
    order = np.argsort(buckets, kind="stable")
    edges = np.concatenate([np.flatnonzero(np.diff(buckets[order], prepend=-1)), [len(order)]])
    for first, last in pairwise(edges.tolist()):
        yield int(buckets[order[first]]), as_arrow(order[first:last])


def _buckets_of(images: pa.LargeStringArray, bounds: pa.LargeStringArray) -> NDArray[np.int64]:
    """Return for each image the number of bounds that are not greater."""
    if not len(bounds):
        return np.zeros(len(images), np.int64)
    encoded = images.dictionary_encode()
    both = pa.concat_arrays([bounds, encoded.dictionary])
    order = as_numpy(pc.sort_indices(both))
    # The sort is stable: a bound comes before an image of the same id.
    buckets = np.empty(len(both), np.int64)
    buckets[order] = np.cumsum(order < len(bounds))
    image_buckets: NDArray[np.int64] = buckets[len(bounds) :][as_numpy(encoded.indices)]
    return image_buckets


class _Files:
    """The files of a partition, written bucket after bucket."""

    def __init__(self, folder: Path, shards: int) -> None:
        self._folder = folder
        self._shards = shards
        self._stack = ExitStack()
        self._open: dict[str, BinaryIO] = {}
        self._text_bytes = 0
        self.images = 0
        self.pairs = 0
        self._digests: dict[str, Any] = {}

    def __enter__(self) -> _Files:
        zero = np.zeros(1, np.int64)
        for name in ("indptr", "images.starts"):
            self._write(name, zero)
        for name in ("indices", "images.text"):
            self._write(name, zero[:0])
        for shard in range(self._shards):
            for kind in ("counts", "labels"):
                self._write(shard_file(shard, kind), zero[:0])
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def write_ids(self, name: str, ids: pa.LargeStringArray) -> None:
        """Write all ids of one kind."""
        starts, text = _compact_buffers(ids)
        self._write(f"{name}.starts", starts)
        self._write(f"{name}.text", text)

    def write_bucket(self, ids: pa.LargeStringArray, rows: Csr) -> None:
        """Append images and their labels to the common files, and to the files of their shards."""
        starts, text = _compact_buffers(ids)
        self._write("images.starts", starts[1:] + self._text_bytes)
        self._write("images.text", text)
        self._write("indptr", rows.indptr[1:] + self.pairs)
        self._write("indices", rows.indices)
        for shard in range(self._shards):
            own = shard_images(len(ids), (shard - self.images) % self._shards, self._shards)
            part = take_rows(rows.indptr, rows.indices, own)
            self._write(shard_file(shard, "counts"), np.diff(part.indptr).astype(np.int32))
            self._write(shard_file(shard, "labels"), part.indices)
        self._text_bytes += len(text)
        self.images += len(ids)
        self.pairs += len(rows.indices)

    def _write(self, name: str, numbers: NDArray[Any]) -> None:
        if name not in self._open:
            self._open[name] = self._stack.enter_context((self._folder / name).open("wb"))
            self._digests[name] = hashlib.blake2b(digest_size=16)
        content = np.ascontiguousarray(numbers).data
        self._open[name].write(content)
        self._digests[name].update(content)

    @property
    def digest(self) -> str:
        """A digest of all pairs, independent of the buckets and shards."""
        named = [f"{name} {one.hexdigest()}" for name, one in sorted(self._digests.items()) if "shard-" not in name]
        return hashlib.blake2b("\n".join(named).encode(), digest_size=16).hexdigest()


def _compact_buffers(ids: pa.LargeStringArray) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the offsets of the ids, starting at 0, and the bytes of exactly these ids."""
    offsets, text = string_buffers(ids)
    return offsets - offsets[0], text[offsets[0] : offsets[-1]]


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
