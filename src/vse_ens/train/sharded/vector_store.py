"""Where the image vectors of a training from partitioned pairs are kept between rounds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.partition.parts import shard_images
from vse_ens.errors import DataError, ModelError
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.run.pool import Payload
from vse_ens.storage.atomic import open_atomic
from vse_ens.storage.tensors import NOT_FINITE, is_finite
from vse_ens.system import open_regular

# Rows of the image table that are put in order at a time.
_BLOCK_ROWS = 1 << 16
_ROWS_FILE = re.compile(r"rows-\d+/shard-(\d+)\.npy")


class ShardVectorStore:
    """Keeps the image vectors in one file per shard, on storage that all workers share."""

    def __init__(self, folder: Path, images: int, shards: int) -> None:
        self._folder = folder
        self._images = images
        self._shards = shards
        self._numbers = count()
        self._pinned: set[Path] = set()
        self._best: list[Path] = []
        self._last: list[Path] = []
        """The file of each shard, of the best epoch and of the last save."""

    def begin(self, width: int) -> None:
        """Start a training, or continue one, with vectors of this length; shards start from the seed."""
        self._last = []
        self._width = width

    def save_arguments(self) -> Payload:
        """Shards write their rows to a new folder."""
        fresh = next(path for n in self._numbers if not (path := self._folder / f"rows-{n:06d}").exists())
        fresh.mkdir(parents=True)
        return {"folder": str(fresh)}

    def receive(self, states: Iterable[Payload]) -> None:
        """Remember the files, and remove those that are no longer needed."""
        self._last = [Path(state["path"]) for state in states]
        kept = self._pinned | self._folders()
        for old in self._folder.glob("rows-*"):
            if old not in kept:
                _remove_rows(old)

    def shard_states(self) -> list[Payload]:
        """Return the files that the shards wrote last."""
        return [{"path": str(path)} for path in self._last]

    def mark_best(self) -> None:
        """Keep the files: they are never overwritten."""
        self._best = self._last

    def rows(self, images: NDArray[np.int64], best: bool) -> Floats:
        """Return rows of the files."""
        files = self._files(best)
        found = np.empty((len(images), self._width), np.float32)
        for shard, rows in enumerate(files):
            own = np.flatnonzero(images % len(files) == shard)
            found[own] = rows[images[own] // len(files)]
        return found

    def assemble(self, embeddings: Embeddings, best: bool) -> Embeddings:
        """Return the embeddings with the rows of all shards in the order of images, mapped from one file."""
        dimensions, files = embeddings.dimensions, self._files(best)
        if not files:
            return embeddings
        path = self._folder / "image_vectors.npy"
        path.unlink(missing_ok=True)  # a map of the old file stays as it is
        table = np.lib.format.open_memmap(path, "w+", np.float32, (self._images, dimensions))
        step = _BLOCK_ROWS * len(files)
        for first in range(0, self._images, step):
            block = table[first : first + step]
            for shard, own in enumerate(files):
                target = block[shard :: len(files)]
                start = first // len(files)
                target[:] = own[start : start + len(target), :dimensions]
            table.flush()
        return replace(embeddings, image_vectors=np.asarray(np.load(path, mmap_mode="r")))

    def state(self) -> dict[str, Any]:
        """Return the names of the files, which are kept until the next checkpoint."""
        self._pinned = self._folders()
        return {
            "rows": [f"{path.parent.name}/{path.name}" for path in self._last],
            "best_rows": [f"{path.parent.name}/{path.name}" for path in self._best],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue with the files of a checkpoint, which are read once and checked."""
        self._last, self._best = self._named(state["rows"]), self._named(state["best_rows"])
        self._pinned = self._folders()
        for best in (False, True):
            for path, rows in zip(self._best if best else self._last, self._files(best), strict=True):
                if not is_finite(rows):
                    raise DataError(f"{path} {NOT_FINITE}; start without --resume")

    def _named(self, names: Any) -> list[Path]:
        """Return the files of the shards, in order; a checkpoint cannot name files of another folder."""
        if not isinstance(names, list) or len(names) not in (0, self._shards):
            raise ModelError(f"it does not name the image vectors of {self._shards} shards")
        paths: list[Path] = []
        for shard, name in enumerate(names):
            # The paths of earlier versions end so.
            short = "/".join(Path(str(name)).parts[-2:])
            found = _ROWS_FILE.fullmatch(short)
            if found is None or int(found[1]) != shard:
                raise ModelError(f"{str(name)[:100]!r} is not a file of image vectors of shard {shard}")
            path = self._folder / short
            if not path.exists():
                raise DataError(f"{path}, which the checkpoint needs, is missing; start without --resume")
            paths.append(path)
        return paths

    def _files(self, best: bool) -> list[Floats]:
        return [
            read_rows(path, (len(shard_images(self._images, shard, self._shards)), self._width))
            for shard, path in enumerate(self._best if best else self._last)
        ]

    def _folders(self) -> set[Path]:
        return {path.parent for path in (*self._last, *self._best)}


def _remove_rows(folder: Path) -> None:
    """Remove a folder of `write_rows`; files of others, and then the folder, stay."""
    for file in (*folder.glob("shard-*.npy"), *folder.glob(".shard-*.npy*.partial")):
        with suppress(OSError):
            file.unlink()
    with suppress(OSError):
        folder.rmdir()


def write_rows(folder: str, shard: int, rows: Floats) -> Payload:
    """Write the rows of a shard to a file; return its path."""
    path = Path(folder) / f"shard-{shard:05d}.npy"
    with open_atomic(path) as file:
        np.save(file, rows)
    return {"path": str(path)}


def read_rows(path: str | Path, shape: tuple[int, int]) -> Floats:
    """Map a file of `write_rows`; raise a `DataError` if it is not one with rows of this shape."""
    try:
        os.close(open_regular(path))  # a FIFO would keep a reader waiting
        rows: Floats = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} cannot be read ({error}); start without --resume") from error
    if rows.dtype != np.float32 or rows.shape != shape or not rows.flags.c_contiguous:
        raise DataError(f"{path} does not hold float32 image vectors of shape {shape}; start without --resume")
    return rows
