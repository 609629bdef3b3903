"""Writing a directory of a JSON document, arrays and other files, sealed by a manifest: whole or not at all.

A directory that is replaced whole or not at all.

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
import hashlib
import io
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from vse_ens import __version__
from vse_ens.errors import ModelError
from vse_ens.storage.artifact import ARRAYS, MANIFEST, ArtifactSpec, Entry, canonical_json, manifest_bytes
from vse_ens.storage.tensors import shapes, write_tensors


@contextmanager
def writing(path: Path, kind: ArtifactSpec) -> Iterator[ArtifactWriter]:
    """Give a draft to add files to; when the block ends well it is sealed and takes the place of ``path``."""
    try:
        with replace_dir(path, kind.check_replaceable) as folder:
            draft = ArtifactWriter(folder, kind)
            yield draft
            with draft.file(MANIFEST) as manifest:
                manifest.write(manifest_bytes(draft.entries))
    except OSError as error:
        cause = f"{error.strerror or error}{f' ({error.filename})' if error.filename else ''}"
        raise ModelError(
            f"the {kind.noun} {path} could not be written: {cause}; see to that or choose another place"
        ) from error


@dataclass(frozen=True)
class ArtifactWriter:
    """A directory in the making: each file is hashed as it is written, and on the disk when it is done."""

    folder: Path
    kind: ArtifactSpec
    entries: dict[str, Entry] = field(default_factory=dict)

    @contextmanager
    def file(self, name: str) -> Iterator[HashedFile]:
        """Open a new file for writing."""
        with (self.folder / name).open("xb") as opened:
            hashed = HashedFile(opened)
            yield hashed
            opened.flush()
            os.fsync(opened.fileno())
        self.entries[name] = hashed.entry()

    def document(self, content: Mapping[str, Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write the JSON document: which format this is, ``content``, and what the arrays look like."""
        for name, values in content.items():
            _check_json(f"the {name} of a {self.kind.noun}", values)
        header = {"format": self.kind.format, "version": self.kind.version, "written_by": f"vse-ens {__version__}"}
        with self.file(self.kind.document) as file:
            file.write(canonical_json({**header, **content, "arrays": shapes(arrays)}))

    def arrays(self, arrays: Mapping[str, NDArray[Any]], *, finite: bool) -> None:
        """Write the arrays; with ``finite``, refuse numbers that are not."""
        with self.file(ARRAYS) as file:
            write_tensors(file, arrays, finite=finite)


class HashedFile(io.RawIOBase):
    """A file that knows the size and the SHA-256 of what has been written to it, so that it need not be read again."""

    def __init__(self, opened: BinaryIO) -> None:
        self._opened = opened
        self._size = 0
        self._digest = hashlib.sha256()

    def writable(self) -> bool:
        """Yes."""
        return True

    def tell(self) -> int:
        """How much has been written."""
        return self._size

    def write(self, content: Any, /) -> int:
        """Write bytes, all of them."""
        written = self._opened.write(content)
        self._digest.update(content)
        self._size += written
        return written

    def entry(self) -> Entry:
        """What the manifest is to say of this file."""
        return Entry(self._size, self._digest.hexdigest())


def _check_json(what: str, values: Mapping[str, Any]) -> None:
    """Refuse what would come back as something else: tuples, numbers as keys, NaN, NumPy numbers."""
    for name, value in values.items():
        try:
            same = json.loads(canonical_json({name: value})) == {name: value}
        except (TypeError, ValueError):
            same = False
        if not same:
            raise ModelError(
                f"{what} must be plain JSON (text, finite numbers, lists, objects with text keys), and {name!r} is not"
            )


WAIT_SECONDS = 60.0
"""How long a writer waits for another one of the same directory."""

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_CANNOT_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


@contextmanager
def replace_dir(path: Path, check: Callable[[Path], None]) -> Iterator[Path]:
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
