"""System calls: locks, open folders and regular files, and what differs between POSIX systems.

Windows is not supported.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

_EXCHANGE_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # Linux
_RENAME_SWAP = 2  # macOS

# A FIFO opened without O_NONBLOCK waits for a writer.
_READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK


def available_cores() -> int:
    """Return the number of cores that this process may use; where the system does not say, all cores."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def user_cache() -> Path:
    """Return the folder for files that can be made again: ``vse-ens`` in ``XDG_CACHE_HOME`` or ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vse-ens"


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process and return True, or False if another holds it; the lock ends with the file."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def open_lock(path: Path) -> int:
    """Open a file to lock, creating it if it is missing; return the descriptor."""
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)


def exchange_directories(one: Path, other: Path) -> bool:
    """Exchange two directories in one step; return False if the system or the file system cannot.

    Linux and macOS can, on most file systems.
    """
    library: Any = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if hasattr(library, "renameat2"):  # Linux, with a C library from 2018 on
        failed = library.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE)
    elif hasattr(library, "renamex_np"):  # macOS
        failed = library.renamex_np(*names, _RENAME_SWAP)
    else:
        return False
    if not failed:
        return True
    code = ctypes.get_errno()
    if code in _EXCHANGE_UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(other))


def sync(path: Path) -> None:
    """Flush a file, or the names in a directory, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_regular(name: str | Path, folder: int | None = None) -> int:
    """Open a regular file for reading, without waiting; raise an `OSError` for a FIFO, a device or a directory.

    ``folder`` is the descriptor of the directory that a relative ``name`` starts from.
    """
    descriptor = os.open(name, _READ_FLAGS, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", str(name))
    return descriptor


def copy_permissions(source: Path, descriptor: int) -> None:
    """Give an open file the permissions and the owner of another file, as far as this user can."""
    with suppress(OSError):
        state = source.stat()
        os.fchmod(descriptor, state.st_mode & 0o7777)
        os.fchown(descriptor, state.st_uid, state.st_gid)


class OpenFolder:
    """An open directory: its files stay together even if the path is replaced meanwhile."""

    def __init__(self, path: Path) -> None:
        self._descriptor: int | None = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        self._identity = os.fstat(self._descriptor)

    def __enter__(self) -> OpenFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, name: str) -> int:
        """Open a regular file of this directory for reading; return its descriptor."""
        return open_regular(name, self._descriptor)

    def has(self, name: str) -> bool:
        """Whether the directory has an entry of this name."""
        try:
            os.lstat(name, dir_fd=self._descriptor)
        except OSError:
            return False
        return True

    def is_same(self, other: OpenFolder) -> bool:
        """Whether both are the same directory."""
        return os.path.samestat(self._identity, other._identity)

    def close(self) -> None:
        """Close the directory."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
