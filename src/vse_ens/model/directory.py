"""A directory that is replaced whole or not at all.

The new contents are written to a hidden sibling and moved into place when they are complete. Beside ``model`` there may
be, and after a kill there may stay until the next write:

    .model.lock       held by the one process that writes, by flock: the kernel lets go of it when that process ends
    .model.writing    what is being written; after the exchange, what was replaced
    .model.replaced   what was replaced, only on file systems that cannot exchange two directories

Whoever holds the lock owns the other two names, so what a dead writer left behind is known for what it is.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vse_ens.errors import ModelError

WAIT_SECONDS = 60.0
"""How long a writer waits for another one of the same directory."""

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_CANNOT_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


@contextmanager
def replacing(path: Path, check: Callable[[Path], None]) -> Iterator[Path]:
    """Give an empty directory to fill; when the block ends well it takes the place of ``path``, else it is removed.

    ``check`` is called on an existing ``path`` and raises if that must not be replaced.
    """
    path = path.resolve()  # so that a link to a directory stays a link
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = _sibling(path, "writing")
    replaced = replaced_name(path)
    with _locked(path):
        _tidy(path, draft, replaced)
        if path.exists():
            check(path)
        draft.mkdir()
        try:
            yield draft
            _sync(draft)
            _put_in_place(draft, path, replaced)
            _sync(path.parent)
        finally:
            _tidy(path, draft, replaced)


def replaced_name(path: Path) -> Path:
    """Where the former contents are, complete, if a writer died between two renames and there is no ``path``."""
    return _sibling(path, "replaced")


def _sibling(path: Path, suffix: str) -> Path:
    return path.parent / f".{path.name}.{suffix}"


def _put_in_place(draft: Path, path: Path, replaced: Path) -> None:
    if not path.exists():
        draft.rename(path)
    elif not _exchange(draft, path):
        path.rename(replaced)
        draft.rename(path)


def _tidy(path: Path, draft: Path, replaced: Path) -> None:
    """Undo a replacement that was cut short between its two renames, and remove what is left of any other."""
    if replaced.exists() and not path.exists():
        replaced.rename(path)
    for left in (draft, replaced):
        # One that cannot be removed is met again, and named, by the next writer.
        with suppress(OSError):
            shutil.rmtree(left)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two directories in one step, so that there is no moment without either; False where that cannot be done."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # not Linux, or a C library older than 2018
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(other))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock file beside ``path``, and leave none behind."""
    lock = _sibling(path, "lock")
    deadline = time.monotonic() + WAIT_SECONDS
    while (held := _try_lock(lock)) is None:
        if time.monotonic() > deadline:
            raise ModelError(
                f"another process has been writing {path} for {WAIT_SECONDS:g} seconds; "
                f"wait for it or choose another --out"
            )
        time.sleep(0.02)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(held)


def _try_lock(lock: Path) -> int | None:
    held = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The last holder removes the file before it lets go: a lock on a removed file is worth nothing.
        if os.path.samestat(os.fstat(held), lock.stat()):
            return held
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(held)
        raise
    os.close(held)
    return None


def _sync(folder: Path) -> None:
    """Let the names in a directory survive a power cut."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
