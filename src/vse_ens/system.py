"""The calls that differ between operating systems. No other module imports one that is missing on some of them.

Linux has all of them. Elsewhere the promises of `vse_ens.storage` are smaller where a function here says so.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

_EXCHANGE_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # Linux
_RENAME_SWAP = 2  # macOS

# A FIFO opened without O_NONBLOCK waits for a writer. Windows has no FIFOs in folders, and needs O_BINARY.
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def available_cores() -> int:
    """Return the number of cores that this process may use; where the system does not say, all cores."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def user_cache() -> Path:
    """Return the folder for files that can be made again: ``vse-ens`` in ``XDG_CACHE_HOME`` or ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vse-ens"


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process and return True, or False if another holds it; the lock ends with the file.

    POSIX systems lock by flock. Windows locks the first byte. Without either, nothing is locked: two processes that
    write to one place are then not kept apart.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        return True
    except (BlockingIOError, PermissionError):  # of POSIX systems, of Windows
        return False
    return True


def open_lock(path: Path) -> int:
    """Open a file to lock, creating it if it is missing; return the descriptor."""
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)


def exchange_directories(one: Path, other: Path) -> bool:
    """Exchange two directories in one step; return False if the system or the file system cannot.

    Linux and macOS can, on most file systems.
    """
    # On Windows, None does not name the C library.
    library: Any = None if sys.platform == "win32" else ctypes.CDLL(None, use_errno=True)
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
    """Flush a file, or the names in a directory, to disk; Windows cannot open a directory, and flushes names itself."""
    if sys.platform != "win32":
        _flush(os.open(path, os.O_RDONLY))
    elif not path.is_dir():
        _flush(os.open(path, os.O_RDWR | os.O_BINARY))


def _flush(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_regular(name: str | Path, folder: int | None = None) -> int:
    """Open a regular file for reading, without waiting; raise an `OSError` for a FIFO, a device or a directory.

    ``folder`` is the descriptor of the directory that a relative ``name`` starts from.
    """
    # Python on Windows does not know dir_fd.
    descriptor = os.open(name, _READ_FLAGS) if folder is None else os.open(name, _READ_FLAGS, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", str(name))
    return descriptor


def read_at(descriptor: int, size: int, start: int) -> bytes:
    """Return up to ``size`` bytes of an open file from ``start`` on; the position in the file may change."""
    if sys.platform != "win32" and hasattr(os, "pread"):
        return os.pread(descriptor, size, start)
    os.lseek(descriptor, start, os.SEEK_SET)
    return os.read(descriptor, size)


def copy_permissions(source: Path, descriptor: int) -> None:
    """Give an open file the permissions and the owner of another file, as far as the system and this user can."""
    if sys.platform != "win32" and hasattr(os, "fchmod"):
        with suppress(OSError):
            state = source.stat()
            os.fchmod(descriptor, state.st_mode & 0o7777)
            os.fchown(descriptor, state.st_uid, state.st_gid)


class OpenFolder:
    """An open directory: its files stay together even if the path is replaced meanwhile.

    Windows cannot open a directory. There every file is opened by its path, so that a reader may meet files of two
    versions if a writer replaces the directory at the same moment; checksums tell.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        if hasattr(os, "O_DIRECTORY") and os.open in os.supports_dir_fd:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        elif not path.is_dir():
            missing = not path.exists()
            raise FileNotFoundError(path) if missing else NotADirectoryError(path)
        self._identity = path.stat() if self._descriptor is None else os.fstat(self._descriptor)

    def __enter__(self) -> OpenFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, name: str) -> int:
        """Open a regular file of this directory for reading; return its descriptor."""
        if self._descriptor is None:
            return open_regular(self._path / name)
        return open_regular(name, self._descriptor)

    def has(self, name: str) -> bool:
        """Whether the directory has an entry of this name."""
        try:
            if self._descriptor is None:
                os.lstat(self._path / name)
            else:
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
