"""A cache of the labels in files, so that a second read of a folder opens only the files that changed.

It is one SQLite file per folder, by default in ``~/.cache/vse-ens/collections``, and can be deleted at any time. A file
counts as unchanged if its size and its times of change are those of the cache.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from vse_ens.system import user_cache

_VERSION = 2  # of the texts that readers make: raise it when a reader finds more or other labels
_LOCK_SECONDS = 1.0


def cache_folder() -> Path:
    """Return the folder of caches."""
    return user_cache() / "collections"


def default_cache(root: Path, kind: str) -> Path:
    """Return the cache file of a folder."""
    digest = hashlib.blake2b(f"{kind}\0{root.resolve()}".encode("utf-8", "replace"), digest_size=12).hexdigest()
    return cache_folder() / f"{digest}.sqlite"


class FileCache:
    """The cached texts of the files of each folder, as JSON: ``{name: text}``.

    A cache that cannot be read or written is not used; reading works without it.
    """

    def __init__(self, path: Path | None) -> None:
        self._connection = None if path is None else _open(path)

    def read(self, folder: str) -> dict[str, str]:
        """Return the texts of the files of a folder."""
        if self._connection is not None:
            with suppress(sqlite3.Error, ValueError):
                row = self._connection.execute("SELECT files FROM folders WHERE folder = ?", (folder,)).fetchone()
                return dict(json.loads(row[0])) if row else {}
        return {}

    def write(self, folder: str, files: Mapping[str, str]) -> None:
        """Replace the texts of a folder; they are kept even if reading stops afterwards."""
        if self._connection is not None:
            text = json.dumps(files, ensure_ascii=False, separators=(",", ":"))
            with suppress(sqlite3.Error, UnicodeEncodeError), self._connection:
                self._connection.execute("REPLACE INTO folders VALUES (?, ?)", (folder, text))

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


def _open(path: Path) -> sqlite3.Connection | None:
    with suppress(OSError, sqlite3.Error):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for _ in range(2):
            connection = sqlite3.connect(path, timeout=_LOCK_SECONDS, check_same_thread=False)
            try:
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                if version != _VERSION:
                    connection.execute("DROP TABLE IF EXISTS folders")
                    connection.execute("CREATE TABLE folders (folder TEXT PRIMARY KEY, files TEXT) WITHOUT ROWID")
                    connection.execute(f"PRAGMA user_version = {_VERSION}")
                    connection.commit()
                # A lost cache is made again.
                connection.execute("PRAGMA synchronous = OFF")
                connection.execute("PRAGMA journal_mode = MEMORY")
                return connection
            except sqlite3.OperationalError:  # locked, read-only or full
                connection.close()
                return None
            except sqlite3.DatabaseError:  # not a database
                connection.close()
                path.unlink()
    return None
