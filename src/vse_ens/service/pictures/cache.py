"""Thumbnails on disk, up to a number of bytes; those unused for longest are removed first.

Several processes may share the folder: files are written under another name and renamed, and the size of the folder is
counted again before anything is removed.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from vse_ens.system import user_cache

# How far a process may exceed its limit between two counts, and how much is removed at a time.
_SLACK = 0.05
# The time of use is written at most this often.
_TOUCH_SECONDS = 600


def default_cache_folder() -> Path:
    """Return the folder of thumbnails."""
    return user_cache() / "pictures"


class ThumbnailCache:
    """Bytes by key, a hexadecimal digest. A cache that cannot be read or written is not used."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._until_count = 0.0
        """Bytes that may still be written before the folder is counted."""

    def read(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None."""
        if not self._max_bytes:
            return None
        path = self._path(key)
        try:
            content = path.read_bytes()
            if time.time() - path.stat().st_mtime > _TOUCH_SECONDS:
                os.utime(path)
        except OSError:
            return None
        return content or None

    def write(self, key: str, content: bytes) -> None:
        """Keep the bytes of a key."""
        if len(content) > self._max_bytes:
            return
        path = self._path(key)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".partial", delete=False) as file:
                try:
                    file.write(content)
                    file.close()
                    Path(file.name).replace(path)
                except OSError:
                    Path(file.name).unlink(missing_ok=True)
                    raise
            with self._lock:
                self._until_count -= len(content)
                if self._until_count < 0:
                    self._remove_oldest()

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key[2:]

    def _remove_oldest(self) -> None:
        """Count the folder and remove the files unused for longest; a file may have gone meanwhile."""
        found = []
        for folder in _entries(self._folder):
            for entry in _entries(folder.path):
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    found.append((status.st_mtime, status.st_size, entry.path))
        total = sum(size for _, size, _ in found)
        if total > self._max_bytes * (1 - _SLACK):
            for _, size, path in sorted(found):
                if total <= self._max_bytes * (1 - 2 * _SLACK):
                    break
                with suppress(OSError):
                    Path(path).unlink()
                total -= size
        self._until_count = self._max_bytes * _SLACK


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
