"""Sorting pairs out by image, in memory that does not follow their number.

Two passes over the parts: the first samples image ids, so that the second can share the pairs out to buckets of
neighbouring ids; then each bucket, which fits into memory, is sorted. One after another they are all pairs in order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.csr import take_rows
from vse_ens.data.io.buffers import as_arrow, as_numpy
from vse_ens.data.io.id_index import IdIndex, is_blank
from vse_ens.data.partition.parts import PartFiles, shard_images
from vse_ens.data.partition.store import MANIFEST, Counts, Partition, shard_file
from vse_ens.errors import DataError
from vse_ens.kernels.arrays import Csr
from vse_ens.storage.atomic import replace_dir

BUCKET_PAIRS = 2_000_000
"""A bucket has about so many pairs: some 200 MB while it is sorted."""
_SAMPLED = 16_384
_BUCKET = pa.schema([("image", pa.large_string()), ("label", pa.int64())])


def partition(
    parts: PartFiles,
    folder: str | Path,
    shards: int,
    bucket_pairs: int = BUCKET_PAIRS,
    progress: Callable[[int], None] | None = None,
) -> Partition:
    """Sort out the pairs of all parts for so many shards, or take what was made of the same parts before.

    The folder appears under its name when it is complete. ``progress`` hears how many of the parts' rows are done; a
    row that was only looked at counts for a third of one.
    """
    folder = Path(folder)
    if (folder / MANIFEST).exists():
        made = Partition.open(folder)
        if made.made_from == parts.fingerprint and made.counts.shards == shards:
            return made
    with replace_dir(folder) as draft:
        made = _Sorting(parts, draft, shards, bucket_pairs, progress).run()
    return Partition(folder, made.counts, made.digest, made.made_from)


class _Sorting:
    """One run of it."""

    def __init__(
        self,
        parts: PartFiles,
        folder: Path,
        shards: int,
        bucket_pairs: int,
        progress: Callable[[int], None] | None,
    ) -> None:
        self._parts = parts
        self._folder = folder
        self._shards = shards
        self._buckets = -(-parts.rows // bucket_pairs)
        self._labels = IdIndex("label")
        self._progress = progress
        # Rows are looked at, shared out and sorted; those of a single bucket need not be looked at before.
        self._looked_at = 0 if self._buckets > 1 else parts.rows

    def run(self) -> Partition:
        bounds = self._bounds()
        self._share_out(bounds)
        labels, places = self._labels.finish()
        with _Files(self._folder, self._shards) as files:
            files.ids("labels", labels.arrow)
            for bucket in range(self._buckets):
                read, ids, rows = self._sorted(bucket, places)
                files.bucket(ids, rows)
                self._spill(bucket).unlink()
                self._look_at(read)
            counts = Counts(files.images, len(labels), files.pairs, self._shards)
            made = Partition(self._folder, counts, files.digest, self._parts.fingerprint)
        if not made.counts.pairs:
            raise DataError(f"{self._parts.name} holds no pair of an image and a label")
        made.write_manifest(self._folder)
        return made

    def _bounds(self) -> pl.Series:
        """Ids that cut the images into buckets of about the same size: quantiles of those with the smallest hashes,
        which are a random sample of the distinct ones.
        """
        kept = pl.DataFrame({"id": pl.Series([], dtype=pl.String), "hash": pl.Series([], dtype=pl.UInt64)})
        if self._buckets > 1:
            for batch in self._parts.batches():
                ids = pl.Series("id", batch.images, dtype=pl.String).unique()
                kept = pl.concat([kept, pl.DataFrame([ids, ids.hash().alias("hash")])]).unique("id")
                kept = kept.bottom_k(_SAMPLED, by="hash")
                self._look_at(len(batch.images))
        sample = kept["id"].sort()
        places = np.arange(1, self._buckets) * len(sample) // self._buckets
        return sample.gather(places).unique().sort()

    def _share_out(self, bounds: pl.Series) -> None:
        """Write every pair to the bucket of its image, the label by a number for now."""
        with ExitStack() as stack:
            spills = [
                stack.enter_context(pa.ipc.new_stream(stack.enter_context(self._spill(bucket).open("wb")), _BUCKET))
                for bucket in range(self._buckets)
            ]
            for batch in self._parts.batches():
                if is_blank(batch.images).any():
                    raise DataError(f"{self._parts.name} has an image id that is blank")
                labels = as_arrow(self._labels.numbers(batch.labels))
                if self._labels.has_blank:
                    raise DataError(f"{self._parts.name} has a label that is blank")
                for bucket, rows in _by_bucket(batch.images, bounds):
                    spills[bucket].write_batch(
                        pa.record_batch([batch.images.take(rows), labels.take(rows)], schema=_BUCKET)
                    )
                self._look_at(len(batch.images))

    def _look_at(self, rows: int) -> None:
        self._looked_at += rows
        if self._progress:
            self._progress(self._looked_at // 3)

    def _sorted(self, bucket: int, places: NDArray[np.uint32]) -> tuple[int, pa.LargeStringArray, Csr]:
        """How many rows a bucket has, its distinct image ids in order, and the labels of each, sorted and distinct."""
        with self._spill(bucket).open("rb") as file, pa.ipc.open_stream(file) as stream:
            pairs = stream.read_all()
        ids = pairs["image"].unique()
        ids = ids.take(pc.sort_indices(ids))
        images = as_numpy(pc.index_in(pairs["image"], value_set=ids).combine_chunks()).astype(np.uint64)
        labels = places[as_numpy(pairs["label"].combine_chunks())]
        keys = np.unique((images << np.uint64(32)) | labels)
        starts = np.searchsorted(keys, np.arange(len(ids) + 1, dtype=np.uint64) << np.uint64(32))
        return len(pairs), ids, Csr(starts.astype(np.int64), keys.astype(np.uint32).view(np.int32))

    def _spill(self, bucket: int) -> Path:
        return self._folder / f"bucket-{bucket:05d}"


def _by_bucket(images: pa.LargeStringArray, bounds: pl.Series) -> Iterator[tuple[int, pa.Array]]:
    """The rows of each bucket that has any."""
    found = bounds.search_sorted(pl.Series(images, dtype=pl.String), side="right").to_numpy()
    order = np.argsort(found, kind="stable")
    edges = np.concatenate([np.flatnonzero(np.diff(found[order], prepend=-1)), [len(order)]])
    for first, last in pairwise(edges.tolist()):
        yield int(found[order[first]]), as_arrow(order[first:last])


class _Files:
    """What is written, bucket after bucket."""

    def __init__(self, folder: Path, shards: int) -> None:
        self._folder = folder
        self._shards = shards
        self._stack = ExitStack()
        self._open: dict[str, BinaryIO] = {}
        self._text = 0
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
            for what in ("counts", "labels"):
                self._write(shard_file(shard, what), zero[:0])
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def ids(self, name: str, ids: pa.LargeStringArray) -> None:
        """All ids of one kind."""
        starts, text = _buffers(ids)
        self._write(f"{name}.starts", starts)
        self._write(f"{name}.text", text)

    def bucket(self, ids: pa.LargeStringArray, rows: Csr) -> None:
        """The next images, and to each shard its own of them."""
        starts, text = _buffers(ids)
        self._write("images.starts", starts[1:] + self._text)
        self._write("images.text", text)
        self._write("indptr", rows.indptr[1:] + self.pairs)
        self._write("indices", rows.indices)
        for shard in range(self._shards):
            own = shard_images(len(ids), (shard - self.images) % self._shards, self._shards)
            part = take_rows(rows.indptr, rows.indices, own)
            self._write(shard_file(shard, "counts"), np.diff(part.indptr).astype(np.int32))
            self._write(shard_file(shard, "labels"), part.indices)
        self._text += len(text)
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
        """Of all pairs, however they were cut into buckets and shards."""
        named = [f"{name} {one.hexdigest()}" for name, one in sorted(self._digests.items()) if "shard-" not in name]
        return hashlib.blake2b("\n".join(named).encode(), digest_size=16).hexdigest()


def _buffers(ids: pa.LargeStringArray) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Where each id starts, from 0, and the bytes of all."""
    whole = pa.concat_arrays([ids, pa.array([], pa.large_string())])
    _, starts, text = whole.buffers()
    places = np.frombuffer(starts, np.int64)[: len(whole) + 1]
    return places, np.frombuffer(text or b"", np.uint8)[: places[-1]]
