"""Where the images' own vectors are kept between two stretches of training elsewhere."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Protocol

import numpy as np

from vse_ens.data.shard_pairs import shard_images
from vse_ens.model.embeddings import Floats
from vse_ens.run.pool import Plain


class Home(Protocol):
    """Takes in the states of all shards."""

    def arguments(self) -> Plain:
        """What a shard is told when it is to save its state."""

    def receive(self, states: Iterable[Plain]) -> None:
        """Keep the states, one for each shard in order."""


class TableHome:
    """Keeps them in one table in memory."""

    def __init__(self, image_vectors: Floats, shards: int) -> None:
        self._image_vectors = image_vectors
        self._shards = shards

    def arguments(self) -> Plain:
        """Shards are to send their rows."""
        return {}

    def receive(self, states: Iterable[Plain]) -> None:
        """Put every row in its place."""
        for shard, state in enumerate(states):
            own = shard_images(len(self._image_vectors), shard, self._shards)
            self._image_vectors[own] = state["image_vectors"]


class FolderHome:
    """Keeps them in files on storage that all workers share: nobody but a shard itself holds its rows."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count()
        self._pinned: set[Path] = set()
        self.states: list[Plain] = []
        """Where the rows of each shard were last put; empty where they are as they began."""

    def arguments(self) -> Plain:
        """Shards are to write their rows to a folder that was not there before."""
        fresh = next(place for n in self._numbers if not (place := self._folder / f"rows-{n:06d}").exists())
        fresh.mkdir(parents=True)
        return {"folder": str(fresh)}

    def receive(self, states: Iterable[Plain]) -> None:
        """Remember the files, and remove those that neither a lost shard nor a checkpoint will ask for."""
        self.states = list(states)
        kept = self._pinned | self._places()
        for old in self._folder.glob("rows-*"):
            if old not in kept:
                shutil.rmtree(old, ignore_errors=True)

    def pin(self) -> None:
        """A checkpoint names the files as they are now: keep them, with those of the last one, until the next."""
        self._pinned = self._places()

    def _places(self) -> set[Path]:
        return {Path(state["path"]).parent for state in self.states}


def write_rows(folder: str, shard: int, rows: Floats) -> Plain:
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
