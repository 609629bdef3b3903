"""Vectors of many pictures: decoded ahead, computed in batches, kept in a cache, so that a stopped run continues."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.collections.files import read_regular
from vse_ens.data.collections.folder import Faults
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError
from vse_ens.pixels.encoder import Encoder
from vse_ens.system import available_cores, user_cache

_BATCH = 32
_MAX_BYTES = 250_000_000
_COMMIT_SECONDS = 2.0
_BLOCK = 16_384  # vectors read from the cache at a time
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Vectors:
    """The vectors of the pictures that could be read."""

    images: Vocabulary
    dimensions: int
    computed: int
    """How many were not in the cache."""
    faults: Faults
    """The pictures that could not be read, with the reason."""
    _hashes: list[bytes]
    _cache: VectorCache

    def blocks(self) -> Iterator[Floats]:
        """Yield the vectors in the order of the images."""
        for first in range(0, len(self._hashes), _BLOCK):
            yield np.stack([self._cache.vector(one) for one in self._hashes[first : first + _BLOCK]])


class VectorCache:
    """The vectors of one network by the hash of a picture's content, and the hashes of files by size and times.

    One SQLite file per network, which can be deleted at any time.
    """

    def __init__(self, key: str, folder: Path | None = None) -> None:
        path = (folder or user_cache() / "vectors") / f"{key}.sqlite"
        self.path = path
        self._lock = threading.Lock()
        self._committed = time.monotonic()
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._connection = sqlite3.connect(path, timeout=60, check_same_thread=False)
            for table in ("vectors (hash BLOB PRIMARY KEY, vector BLOB)", "files (path TEXT PRIMARY KEY, stamp, hash)"):
                self._connection.execute(f"CREATE TABLE IF NOT EXISTS {table} WITHOUT ROWID")
        except (OSError, sqlite3.Error) as error:
            raise DataError(f"the cache {path} cannot be used ({error}); delete it, or set XDG_CACHE_HOME") from None

    def __enter__(self) -> VectorCache:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.commit()
        self._connection.close()

    def hash_of(self, path: str, stamp: str) -> bytes | None:
        """Return the hash of a file whose vector is known, if size and times are the same."""
        with self._lock:
            row = self._connection.execute("SELECT stamp, hash FROM files WHERE path = ?", (path,)).fetchone()
        return row[1] if row and row[0] == stamp else None

    def has(self, content: bytes) -> bool:
        """Return whether the vector of a hash is known."""
        with self._lock:
            return bool(self._connection.execute("SELECT 1 FROM vectors WHERE hash = ?", (content,)).fetchone())

    def vector(self, content: bytes) -> Floats:
        """Return the vector of a hash."""
        with self._lock:
            row = self._connection.execute("SELECT vector FROM vectors WHERE hash = ?", (content,)).fetchone()
        return np.frombuffer(row[0], np.float32)

    def add(self, pictures: Iterable[_Picture], vectors: Iterable[Floats | None]) -> None:
        """Keep vectors, and the hashes of their files; None stands for a vector that is known."""
        with self._lock:
            for picture, vector in zip(pictures, vectors, strict=True):
                if vector is not None:
                    row = (picture.hash, vector.tobytes())
                    self._connection.execute("REPLACE INTO vectors VALUES (?, ?)", row)
                self._connection.execute(
                    "REPLACE INTO files VALUES (?, ?, ?)", (picture.path, picture.stamp, picture.hash)
                )
            if time.monotonic() - self._committed > _COMMIT_SECONDS:
                self._connection.commit()
                self._committed = time.monotonic()


class _Picture(NamedTuple):
    image: str
    path: str
    stamp: str
    hash: bytes
    pixels: NDArray[np.uint8] | None
    """None if the vector is known."""


def embed(
    pictures: Mapping[str, str], encoder: Encoder, cache: VectorCache, progress: Callable[[int], None] | None = None
) -> Vectors:
    """Return the vectors of pictures, which are given as paths by image id.

    ``progress`` is called with the number done. After an interruption, the next call continues: vectors are kept in
    the cache every few seconds, and at the end.
    """
    hashes: dict[str, bytes] = {}
    faults, waiting = Faults(), list[_Picture]()
    size, computed = encoder.batch_size or _BATCH, 0

    def compute() -> None:
        nonlocal computed
        vectors = encoder([one.pixels for one in waiting if one.pixels is not None])
        finite = [bool(np.isfinite(vector).all()) for vector in vectors]
        cache.add((one for one, fine in zip(waiting, finite, strict=True) if fine), vectors[finite])
        for picture, fine in zip(waiting, finite, strict=True):
            if not fine:
                del hashes[picture.image]
                faults[picture.image] = "the network returns no finite numbers"
        computed += len(waiting)
        waiting.clear()

    for count, (image, found) in enumerate(_decoded(pictures, encoder, cache, 2 * size), 1):
        if isinstance(found, str):
            faults[image] = found
        elif isinstance(found, bytes):
            hashes[image] = found
        else:
            hashes[image] = found.hash
            if found.pixels is None:
                cache.add([found], [None])
            else:
                waiting.append(found)
        if len(waiting) == size:
            compute()
        if progress is not None:
            progress(count - len(waiting))
    if waiting:
        compute()
    if not hashes:
        raise DataError(f"none of {len(pictures):,} pictures can be read: {'; '.join(faults.notes())}")
    images = Vocabulary.from_ids(hashes, "image")
    ordered = [hashes[image] for image in images]
    return Vectors(images, len(cache.vector(ordered[0])), computed, faults, ordered, cache)


def _decoded(
    pictures: Mapping[str, str], encoder: Encoder, cache: VectorCache, ahead: int
) -> Iterator[tuple[str, _Picture | bytes | str]]:
    """Yield for each image its decoded picture, the hash of a file known by its times, or what is wrong with it."""

    def read(image: str, path: str, stamp: str) -> _Picture | str:
        try:
            content = read_regular(path, _MAX_BYTES)
            if len(content) > _MAX_BYTES:
                return f"is larger than {_MAX_BYTES // 1_000_000} MB"
            found = hashlib.blake2b(content, digest_size=16).digest()
            pixels = None if cache.has(found) else encoder.preprocessing.decode(content)
            return _Picture(image, path, stamp, found, pixels)
        except Exception as error:  # noqa: BLE001  # a damaged file may raise anything in Pillow
            return " ".join(str(error).split())[:200] or type(error).__name__

    queue: deque[tuple[str, Future[_Picture | str] | bytes | str]] = deque()

    def first() -> tuple[str, _Picture | bytes | str]:
        name, found = queue.popleft()
        return name, found.result() if isinstance(found, Future) else found

    with ThreadPoolExecutor(max(2, available_cores())) as pool:
        try:
            for image, path in pictures.items():
                try:
                    state = os.stat(path)  # noqa: PTH116  # a Path per picture would take longer
                except (OSError, ValueError) as error:
                    queue.append((image, getattr(error, "strerror", None) or str(error)))
                    continue
                stamp = f"{state.st_size} {state.st_mtime_ns} {state.st_ctime_ns}"
                queue.append((image, cache.hash_of(path, stamp) or pool.submit(read, image, path, stamp)))
                while len(queue) > ahead:
                    yield first()
            while queue:
                yield first()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
