"""Read many small files below a folder: in parallel, through a cache, with faults collected instead of raised.

The cache is one SQLite file per folder, by default in ``~/.cache/vse-ens/collections``, and can be deleted at any time.
A file counts as unchanged if its size and its times of change are the same as in the cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from vse_ens.data.collections.base import Editable, Edits, FileChange, Item, LabelEdit, OpenOptions
from vse_ens.data.collections.files import Folder, read_regular, walk
from vse_ens.errors import DataError
from vse_ens.system import user_cache

_VERSION = 4  # of the texts that readers make: raise it when a reader finds more or other labels
_LOCK_SECONDS = 1.0
_CHUNK = 64  # files per task
_AHEAD = 4_096  # files that are read ahead of the one that is yielded
_SAVE_EVERY = 20_000  # files read between two writes of the cache for one folder
_FAULTS_NAMED = 5
_THREADS = 4
Progress = Callable[[int, int | None], None]
FIELD, ITEM = "\x1e", "\x1f"
"""Separators for the text of a file, which no label has."""
_STAMP = "\x1d"  # between size and times of a file and its text, in the cache


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


class Faults(dict[str, str]):
    """Why files could not be read, or not to the end, by name."""

    def notes(self) -> list[str]:
        """Return a note that counts the files and names the first ones."""
        if not self:
            return []
        named = [f"{name} ({reason})" for name, reason in list(self.items())[:_FAULTS_NAMED]]
        more = len(self) - len(named)
        if more:
            named.append(f"and {more:,} more")
        files = "file" if len(self) == 1 else "files"
        return [f"{len(self):,} {files} could not be read completely: {', '.join(named)}"]


Place = TypeVar("Place")
Files = dict[Path, FileChange]


class TaggedFolder(Editable, ABC, Generic[Place]):
    """A folder of images whose labels are in the files, or in files beside them; a ``Place`` says in which."""

    format: ClassVar[str]

    def __init__(self, path: Path, options: OpenOptions | None = None) -> None:
        if not path.is_dir():
            reason = "is not a folder; name a folder of images" if path.exists() else "does not exist"
            raise DataError(f"{path} {reason}")
        self.path = self.root = path
        self._options = options or OpenOptions()
        self.faults = Faults()
        """The files that could not be read, with the reason; complete after the last item."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes on unreadable files."""
        return self.faults.notes()

    @abstractmethod
    def wanted(self, folder: Folder) -> Sequence[str]:
        """Return the files of a folder to read."""

    @abstractmethod
    def read_file(self, path: str) -> str:
        """Return what a file holds as one text, quick to store; raise an `OSError` for a file that cannot be read."""

    @abstractmethod
    def places(self, images: Container[str]) -> Iterator[tuple[Item, Place]]:
        """Yield the given images, folder by folder."""

    @abstractmethod
    def edit(self, item: Item, place: Place, edit: LabelEdit, files: Files) -> None:
        """Add the changes of an image to ``files``, which has those of its folder: two images can share a file."""

    def write(self, edits: Edits) -> Iterator[FileChange]:
        """Yield the change of every file that the edits affect."""
        files: Files = {}
        folder = ""
        for item, place in self.places(edits):
            edit = edits.of(item)
            if edit is None:
                continue
            if item.image.rpartition("/")[0] != folder:
                yield from _changed(files)
                files, folder = {}, item.image.rpartition("/")[0]
            self.edit(item, place, edit, files)
        yield from _changed(files)
        edits.check_known()

    def folders(self, on_progress: Progress | None) -> Iterator[tuple[Folder, Sequence[str], dict[str, str]]]:
        """Yield every folder with its wanted files and their texts, without those that could not be read."""
        self.faults = faults = Faults()
        total = None if on_progress is None else self._count()
        cache = FileCache(default_cache(self.root, self.format) if self._options.cache else None)
        done = ahead = 0
        pending: deque[_Pending] = deque()

        def finished() -> Iterator[tuple[Folder, Sequence[str], dict[str, str]]]:
            nonlocal done
            one = pending.popleft()
            yield one.folder, one.names, one.finish(faults)
            done += len(one.names)
            if on_progress is not None:
                on_progress(done, total)

        with ThreadPoolExecutor(_THREADS) as executor:
            try:
                for folder in walk(self.root, faults.__setitem__):
                    pending.append(self._start(folder, cache, executor))
                    ahead += pending[-1].unread
                    while ahead > _AHEAD or len(pending) > _AHEAD:
                        ahead -= pending[0].unread
                        yield from finished()
                while pending:
                    yield from finished()
            finally:
                executor.shutdown(wait=True, cancel_futures=True)
                cache.close()

    def _count(self) -> int:
        return sum(len(self.wanted(folder)) for folder in walk(self.root, lambda _name, _reason: None))

    def _start(self, folder: Folder, cache: FileCache, executor: ThreadPoolExecutor) -> _Pending:
        names = self.wanted(folder)
        known = {}
        cached = cache.read(folder.prefix) if names else {}
        for name in names if cached else ():
            stamp, _, text = cached.get(name, "").partition(_STAMP)
            if stamp == folder.files[name]:
                known[name] = text
        unread = [name for name in names if name not in known] if len(known) < len(names) else []
        tasks = [
            (chunk, executor.submit(_read_files, self.read_file, folder.path, chunk))
            for chunk in (unread[first : first + _CHUNK] for first in range(0, len(unread), _CHUNK))
        ]
        return _Pending(folder, names, known, len(unread), tasks, cache)


@dataclass
class _Pending:
    """A folder whose files are being read."""

    folder: Folder
    names: Sequence[str]
    known: dict[str, str]
    unread: int
    tasks: list[tuple[list[str], Future[list[str | OSError]]]]
    cache: FileCache

    def finish(self, faults: Faults) -> dict[str, str]:
        """Wait for the files, update the cache, and return the texts."""
        values, unsaved = self.known, 0
        for names, task in self.tasks:
            for name, value in zip(names, task.result(), strict=True):
                if isinstance(value, OSError):
                    faults[self.folder.prefix + name] = (value.strerror or str(value)).lower()
                else:
                    values[name] = value
            unsaved += len(names)
            if unsaved >= _SAVE_EVERY:
                self._save(values)
                unsaved = 0
        if unsaved:
            self._save(values)
        return values

    def _save(self, values: Mapping[str, str]) -> None:
        stamps = self.folder.files
        self.cache.write(self.folder.prefix, {name: stamps[name] + _STAMP + text for name, text in values.items()})


def _read_files(read: Callable[[str], str], folder: str, names: list[str]) -> list[str | OSError]:
    found: list[str | OSError] = []
    for name in names:
        try:
            found.append(read(f"{folder}{os.sep}{name}"))
        except OSError as error:
            found.append(error)
    return found


def read_bytes(path: str | Path, limit: int) -> bytes | None:
    """Return the content of a regular file, or None if it is larger than ``limit``."""
    content = read_regular(path, limit)
    return content if len(content) <= limit else None


def _changed(files: Files) -> Iterator[FileChange]:
    return (change for change in files.values() if change.after != (change.before or b""))
