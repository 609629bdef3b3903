"""Atomic writes: a reader sees the old file or directory or the new one, never a part of it.

New contents are written to a hidden neighbor, flushed to disk and renamed. If the block that writes them raises, the
neighbor is removed and the old contents stay. For ``model`` these neighbors are possible; a killed process leaves
them behind, and the next write removes them:

    .model.16hex.partial    the contents being written; after an exchange of directories, the old contents
    .model.16hex.replaced   directories only: the old contents, on file systems that cannot exchange two directories
    .model.lock             directories only: locked by the process that writes; the lock ends with the process
    .model.run.lock         locked by `reserve` during a whole training, in the same way

The digits are random for a file, which its writer locks, and a digest of the name for a directory. No user gives such
a name, and a lock file that is not empty is not removed.

An `OSError` in the block becomes a `DataError` that names the path and the reason.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from vse_ens.errors import DataError
from vse_ens.system import exchange_directories, open_lock, open_regular, sync, try_lock

_PARTIAL = re.compile(r"\..+\.[0-9a-f]{16}\.partial", re.DOTALL)
_LONGEST = 50  # characters of a name in the name of its temporary file: 255 bytes are the limit
LOCK_SECONDS = 60.0
"""The longest wait for another process that writes the same directory."""


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file by ``content``."""
    with open_atomic(path) as file:
        file.write(content)


def write_text(path: Path, text: str, *, errors: str = "strict") -> None:
    """Replace a file by ``text`` in UTF-8; ``errors`` is as in `str.encode`."""
    write_bytes(path, text.encode("utf-8", errors))


def write_json(path: Path, value: Any, *, indent: int = 2) -> None:
    """Replace a file by a JSON document in UTF-8."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    # A lone surrogate, which UTF-8 cannot encode, becomes a JSON escape.
    write_text(path, text, errors="backslashreplace")


@contextmanager
def open_atomic(path: Path) -> Iterator[BinaryIO]:
    """Open a binary file for writing that replaces ``path`` at the end of the block."""
    with replace_file(path) as partial, partial.open("wb") as file:
        yield file


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file that replaces ``path`` at the end of the block."""
    with replace_files(path) as (partial,):
        yield partial


@contextmanager
def replace_files(*paths: Path) -> Iterator[list[Path]]:
    """Yield the paths of temporary files that replace ``paths`` together at the end of the block.

    Missing parent directories are created.
    """
    created: list[Path] = []
    partials = [_neighbor(path, f"{secrets.token_hex(8)}.partial", _LONGEST) for path in paths]
    with _error_sentence(DataError, paths, partials), ExitStack() as locks:
        try:
            for path, partial in zip(paths, partials, strict=True):
                _make_dir(path.parent)
                _clean_folder(path.parent)
                locks.callback(os.close, _create(partial))
                created.append(partial)
            yield partials
            for partial in partials:
                sync(partial)
            for partial, path in zip(partials, paths, strict=True):
                partial.replace(path)
            for parent in {path.parent for path in paths}:
                sync(parent)
        finally:
            for partial in created:
                with suppress(OSError):  # the parent may be a file
                    partial.unlink(missing_ok=True)


@contextmanager
def replace_dir(
    path: Path, *, check: Callable[[Path], None] | None = None, error: type[DataError] = DataError
) -> Iterator[Path]:
    """Yield an empty directory that replaces ``path`` at the end of the block.

    The old directory is removed only after the new one has its name. ``check`` is called with an existing ``path`` and
    raises if it must not be replaced. Only one process writes a directory at a time; a second one waits.
    """
    with _error_sentence(error, [path]):
        path = path.resolve()  # a link to a directory stays a link
        if check is not None and path.exists() and not os.access(path.parent, os.W_OK):
            check(path)  # a user who names a wrong directory learns that, not that its lock cannot be written
        _make_dir(path.parent)
        partial, replaced = partial_name(path), replaced_name(path)
        with _locked(path, error):
            _clean_up(path, partial, replaced)
            if path.exists():
                if check is not None:
                    check(path)
                _make_dir(path)  # raises if it is a file
            partial.mkdir()
            try:
                yield partial
                _sync_tree(partial)
                _put_in_place(partial, path, replaced)
                sync(path.parent)
            finally:
                _clean_up(path, partial, replaced)


@contextmanager
def reserve(
    path: Path, *, doing: str = "training", option: str = "--out", error: type[DataError] = DataError
) -> Iterator[None]:
    """Hold a path during a long run that will write to it, such as a training.

    Raises at once if another process holds it, or if nothing can be written beside it; the message says what the other
    one is ``doing``, and the ``option`` that names another path. Missing parent directories are created.
    """
    with _error_sentence(error, [path]):
        path = path.resolve()
        _make_dir(path.parent)
        lock = _neighbor(path, "run.lock")
        descriptor = _try_lock(lock)
        if descriptor is None:  # a holder that ended at this moment may have removed the file
            descriptor = _try_lock(lock)
    if descriptor is None:
        raise error(f"another process is {doing} {path}; wait until it has finished, or choose another {option}")
    try:
        yield
    finally:
        _release(lock, descriptor)


def remove_dir(path: Path, files: Iterable[str]) -> None:
    """Remove a directory of these files, and what a killed process left beside it.

    A file of another name is kept, and so is then the directory.
    """
    path = path.resolve()
    if not path.parent.is_dir():
        return
    with _locked(path, DataError):
        for folder in (path, partial_name(path), replaced_name(path)):
            for name in files:
                with suppress(OSError):
                    (folder / name).unlink()
            with suppress(OSError):
                folder.rmdir()


def partial_name(path: Path) -> Path:
    """Return where a directory is written."""
    digest = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
    return _neighbor(path, f"{digest}.partial", _LONGEST)


def replaced_name(path: Path) -> Path:
    """Return where the complete old directory is if a writer died between two renames and ``path`` does not exist."""
    return partial_name(path).with_suffix(".replaced")


def _neighbor(path: Path, suffix: str, longest: int | None = None) -> Path:
    return path.parent / f".{path.name[:longest]}.{suffix}"


@contextmanager
def _error_sentence(error: type[DataError], paths: Sequence[Path], partials: Sequence[Path] = ()) -> Iterator[None]:
    """Turn an `OSError` into one sentence; it names the file at fault unless this is one of the given paths."""
    try:
        yield
    except OSError as cause:
        names = " and ".join(map(str, paths))
        at_fault = str(cause.filename or "")
        where = f" ({at_fault})" if at_fault and at_fault not in map(str, (*paths, *partials)) else ""
        raise error(
            f"{names} could not be written: {cause.strerror or cause}{where}; correct this or choose another path"
        ) from cause


def _make_dir(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:  # without "Not a directory", the reason would be "File exists"
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None


def _create(partial: Path) -> int:
    """Create an empty file, which is locked as long as the descriptor is open."""
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with suppress(OSError):  # some network file systems have no locks
        try_lock(descriptor)
    return descriptor


@lru_cache(maxsize=1024)
def _clean_folder(folder: Path) -> None:
    """Remove what killed processes left in a folder, once in the life of this process; a lock shows who lives."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _PARTIAL.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    descriptor = open_regular(entry.path)
                    try:
                        if try_lock(descriptor):
                            Path(entry.path).unlink()
                    finally:
                        os.close(descriptor)


def _sync_tree(folder: Path) -> None:
    for entry in sorted(folder.iterdir()):
        if entry.is_dir():
            _sync_tree(entry)
        else:
            sync(entry)
    sync(folder)


def _put_in_place(partial: Path, path: Path, replaced: Path) -> None:
    if not path.exists():
        partial.rename(path)
    elif not exchange_directories(partial, path):
        path.rename(replaced)
        partial.rename(path)


def _clean_up(path: Path, partial: Path, replaced: Path) -> None:
    """Undo a replacement that ended between its two renames, and remove the remains of any other."""
    if replaced.exists() and not path.exists():
        replaced.rename(path)
    for remains in (partial, replaced):
        # If the remains cannot be removed, the mkdir of the next write names them.
        with suppress(OSError):
            shutil.rmtree(remains)


@contextmanager
def _locked(path: Path, error: type[DataError]) -> Iterator[None]:
    """Hold the lock file beside ``path``, and remove it at the end."""
    lock = _neighbor(path, "lock")
    deadline = time.monotonic() + LOCK_SECONDS
    while (descriptor := _try_lock(lock)) is None:
        if time.monotonic() > deadline:
            raise error(
                f"another process has been writing {path} for {LOCK_SECONDS:g} seconds; "
                f"wait for it or choose another --out"
            )
        time.sleep(0.02)
    try:
        yield
    finally:
        _release(lock, descriptor)


def _release(lock: Path, descriptor: int) -> None:
    """Remove a lock file, then unlock it."""
    if not os.fstat(descriptor).st_size:  # it is ours
        with suppress(PermissionError):
            lock.unlink(missing_ok=True)
    os.close(descriptor)


def _try_lock(lock: Path) -> int | None:
    descriptor = open_lock(lock)
    try:
        # The last holder removes the file before it releases the lock: a lock on a removed file excludes nobody.
        if try_lock(descriptor) and os.path.samestat(os.fstat(descriptor), lock.stat()):
            return descriptor
    except FileNotFoundError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None
