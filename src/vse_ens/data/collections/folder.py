"""Read many small files below a folder: in parallel, through the cache, with faults collected instead of raised."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from vse_ens.data.collections.base import OpenOptions
from vse_ens.data.collections.cache import FileCache, default_cache
from vse_ens.data.collections.walk import Folder, walk
from vse_ens.errors import DataError
from vse_ens.system import open_regular

_CHUNK = 64  # files per task
_AHEAD = 4_096  # files that are read ahead of the one that is yielded
_SAVE_EVERY = 20_000  # files read between two writes of the cache for one folder
_FAULTS_NAMED = 5
_THREADS = 4

Progress = Callable[[int, int | None], None]
Read = Callable[[str], str]
"""Returns what a file holds as one text, which is quick to store; raises an `OSError` for a file it cannot read."""

FIELD, ITEM = "\x1e", "\x1f"
"""Separators for such a text, which no label has."""
_STAMP = "\x1d"  # between size and times of a file and its text, in the cache


@dataclass
class Faults:
    """Files that could not be read, or not to the end, with the reason."""

    reasons: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, reason: str) -> None:
        """Add a file."""
        self.reasons[name] = reason

    def notes(self) -> list[str]:
        """Return a note that counts the files and names the first ones."""
        if not self.reasons:
            return []
        named = [f"{name} ({reason})" for name, reason in list(self.reasons.items())[:_FAULTS_NAMED]]
        more = len(self.reasons) - len(named)
        if more:
            named.append(f"and {more:,} more")
        files = "file" if len(self.reasons) == 1 else "files"
        return [f"{len(self.reasons):,} {files} could not be read completely: {', '.join(named)}"]


class FolderReader:
    """Reads the wanted files of every folder below a root."""

    def __init__(
        self, root: Path, kind: str, options: OpenOptions, wanted: Callable[[Folder], Sequence[str]], read: Read
    ) -> None:
        self._root = root
        self._kind = kind
        self._options = options
        self._wanted = wanted
        self._read = read

    def folders(
        self, faults: Faults, on_progress: Progress | None
    ) -> Iterator[tuple[Folder, Sequence[str], dict[str, str]]]:
        """Yield every folder with its wanted files and their texts, without those that could not be read."""
        total = None if on_progress is None else self._count()
        cache = FileCache(default_cache(self._root, self._kind) if self._options.cache else None)
        workers = self._options.workers or _THREADS
        done = ahead = 0
        pending: deque[_Pending] = deque()
        with ThreadPoolExecutor(workers) as executor:
            try:
                for folder in walk(self._root, faults.add):
                    pending.append(self._start(folder, cache, executor))
                    ahead += pending[-1].unread
                    while ahead > _AHEAD or len(pending) > _AHEAD:
                        one = pending.popleft()
                        ahead -= one.unread
                        yield one.folder, one.names, one.finish(faults)
                        done = _report(done + len(one.names), total, on_progress)
                for one in pending:
                    yield one.folder, one.names, one.finish(faults)
                    done = _report(done + len(one.names), total, on_progress)
            finally:
                executor.shutdown(wait=True, cancel_futures=True)
                cache.close()

    def _count(self) -> int:
        return sum(len(self._wanted(folder)) for folder in walk(self._root, lambda _name, _reason: None))

    def _start(self, folder: Folder, cache: FileCache, executor: ThreadPoolExecutor) -> _Pending:
        names = self._wanted(folder)
        known = _unchanged(folder, names, cache.read(folder.prefix)) if names else {}
        unread = [name for name in names if name not in known] if len(known) < len(names) else []
        tasks = [
            (chunk, executor.submit(_read_files, self._read, folder.path, chunk))
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
                    faults.add(self.folder.prefix + name, (value.strerror or str(value)).lower())
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


def _unchanged(folder: Folder, names: Sequence[str], cached: Mapping[str, str]) -> dict[str, str]:
    if not cached:
        return {}
    known = {}
    files = folder.files
    for name in names:
        stamp, _, text = cached.get(name, "").partition(_STAMP)
        if stamp == files[name]:
            known[name] = text
    return known


def _read_files(read: Read, folder: str, names: list[str]) -> list[str | OSError]:
    found: list[str | OSError] = []
    for name in names:
        try:
            found.append(read(f"{folder}{os.sep}{name}"))
        except OSError as error:
            found.append(error)
    return found


def _report(done: int, total: int | None, on_progress: Progress | None) -> int:
    if on_progress is not None:
        on_progress(done, total)
    return done


def read_bytes(path: str, limit: int) -> bytes | None:
    """Return the content of a regular file, or None if it is larger than ``limit``; it never blocks on a pipe."""
    with os.fdopen(open_regular(path), "rb") as file:
        content = file.read(limit + 1)
    return content if len(content) <= limit else None


def check_folder(path: Path) -> None:
    """Raise a `DataError` if a path is not a folder."""
    if not path.is_dir():
        raise DataError(
            f"{path} is not a folder; name a folder of images" if path.exists() else f"{path} does not exist"
        )
