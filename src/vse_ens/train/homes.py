"""Where the images' own vectors are, in training and between two stretches of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.partition.parts import shard_images
from vse_ens.errors import DataError
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.run.pool import Payload

# Rows of the image table that are put in order at a time.
_ROWS_AT_ONCE = 1 << 16


class Home(Protocol):
    """Keeps the images' own vectors; where the tower has none, it has nothing to do."""

    def begin(self, embeddings: Embeddings) -> None:
        """A training begins, or goes on, with these embeddings."""

    def arguments(self) -> Payload:
        """What a shard is told when it is to save its state."""

    def receive(self, states: Iterable[Payload]) -> None:
        """Keep the states, one for each shard in order."""

    def shard_states(self) -> list[Payload]:
        """The states received last; none where shards are as they began, or where the embeddings say it."""

    def keep(self) -> None:
        """The vectors as they are now belong to the best epoch so far."""

    def rows(self, embeddings: Embeddings, images: NDArray[np.int64], best: bool = False) -> Floats:
        """The vectors of some images, as they are now or were in the best epoch, which ``embeddings`` are of."""

    def whole(self, embeddings: Embeddings, dimensions: int, best: bool = False) -> Embeddings:
        """A copy with the vectors of all images, as long as the model's."""

    def state(self) -> dict[str, Any]:
        """What a checkpoint says of it beside the embeddings; what that names is kept until the next one."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from there."""


class TableHome:
    """Keeps them where they are: in the embeddings, in memory."""

    def __init__(self, shards: int) -> None:
        self._shards = shards

    def begin(self, embeddings: Embeddings) -> None:
        """States are put into this table from now on."""
        self._table = embeddings.image_vectors

    def arguments(self) -> Payload:
        """Shards are to send their rows."""
        return {}

    def receive(self, states: Iterable[Payload]) -> None:
        """Put every row in its place."""
        for shard, state in enumerate(states):
            self._table[shard_images(len(self._table), shard, self._shards)] = state["image_vectors"]

    def shard_states(self) -> list[Payload]:
        """The embeddings say it."""
        return []

    def keep(self) -> None:
        """A copy of the embeddings has them."""

    def rows(self, embeddings: Embeddings, images: NDArray[np.int64], best: bool = False) -> Floats:  # noqa: ARG002
        """Rows of the table."""
        return embeddings.image_vectors[images]

    def whole(self, embeddings: Embeddings, dimensions: int, best: bool = False) -> Embeddings:  # noqa: ARG002
        """They are whole."""
        return embeddings.widened(dimensions)

    def state(self) -> dict[str, Any]:
        """The embeddings say all."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """There is nothing else."""


class FolderHome:
    """Keeps them in files on storage that all workers share: nobody but a shard itself holds its rows."""

    def __init__(self, folder: Path, images: int) -> None:
        self._folder = folder
        self._images = images
        self._numbers = count()
        self._pinned: set[Path] = set()
        self._best: list[Payload] = []
        self._states: list[Payload] = []

    def begin(self, embeddings: Embeddings) -> None:  # noqa: ARG002  # which hold none
        """Shards start by the seed."""
        self._states = []

    def arguments(self) -> Payload:
        """Shards are to write their rows to a folder that was not there before."""
        fresh = next(place for n in self._numbers if not (place := self._folder / f"rows-{n:06d}").exists())
        fresh.mkdir(parents=True)
        return {"folder": str(fresh)}

    def receive(self, states: Iterable[Payload]) -> None:
        """Remember the files, and remove those that nobody will ask for."""
        self._states = list(states)
        kept = self._pinned | self._places()
        for old in self._folder.glob("rows-*"):
            if old not in kept:
                shutil.rmtree(old, ignore_errors=True)

    def shard_states(self) -> list[Payload]:
        """Where the rows of each shard were last put."""
        return self._states

    def keep(self) -> None:
        """Files are not written twice: to keep them is enough."""
        self._best = self._states

    def rows(self, embeddings: Embeddings, images: NDArray[np.int64], best: bool = False) -> Floats:
        """Rows of the files."""
        files = self._files(best)
        found = np.empty((len(images), embeddings.dimensions), np.float32)
        for shard, rows in enumerate(files):
            own = np.flatnonzero(images % len(files) == shard)
            found[own] = rows[images[own] // len(files)]
        return found

    def whole(self, embeddings: Embeddings, dimensions: int, best: bool = False) -> Embeddings:
        """With the rows of all shards in the order of images, mapped from one file."""
        tables, files = embeddings.widened(dimensions), self._files(best)
        if not files:
            return tables
        path = self._folder / "image_vectors.npy"
        table = np.lib.format.open_memmap(path, "w+", np.float32, (self._images, dimensions))
        step = _ROWS_AT_ONCE * len(files)
        for first in range(0, self._images, step):
            block = table[first : first + step]
            for shard, own in enumerate(files):
                target = block[shard :: len(files)]
                start = first // len(files)
                target[:] = own[start : start + len(target), :dimensions]
            table.flush()
        return replace(tables, image_vectors=np.asarray(np.load(path, mmap_mode="r")))

    def state(self) -> dict[str, Any]:
        """Where the files are."""
        self._pinned = self._places()
        return {"rows": [one["path"] for one in self._states], "best_rows": [one["path"] for one in self._best]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Look for the files."""
        missing = next((path for path in (*state["rows"], *state["best_rows"]) if not Path(path).exists()), None)
        if missing:
            raise DataError(f"{missing}, which the checkpoint names, is gone; start without --resume")
        self._states = [{"path": path} for path in state["rows"]]
        self._best = [{"path": path} for path in state["best_rows"]]
        self._pinned = self._places()

    def _files(self, best: bool) -> list[Floats]:
        return [read_rows(one["path"]) for one in (self._best if best else self._states)]

    def _places(self) -> set[Path]:
        return {Path(one["path"]).parent for one in (*self._states, *self._best)}


def write_rows(folder: str, shard: int, rows: Floats) -> Payload:
    """Write a shard's rows to a file, whole or not at all; where it is."""
    path = Path(folder) / f"shard-{shard:05d}.npy"
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.save(file, rows)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    return {"path": str(path)}


def read_rows(path: str) -> Floats:
    """What `write_rows` wrote, mapped into memory."""
    rows: Floats = np.load(path, mmap_mode="r")
    return rows
