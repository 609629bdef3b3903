"""Write changed files with an undo journal, and undo it.

The journal is a file of JSON lines: a header, then one entry per file with its bytes before the change and the SHA-256
of its bytes after it. Entries are flushed to disk before their files are touched, and each file is replaced atomically.
So after a crash every file has its old or its new bytes, and the journal restores the old ones. A line follows for each
file that was written: a file without one that has neither its old nor its new bytes counts as never reached.

Neither a collection nor a journal is trusted. Only regular files below the root of the collection are written or
restored, never a hidden one, an image or a catalog, and the root is not ``/``; a link inside the root stays a link, and
the file that it leads to changes.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import os
import stat
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from vse_ens.data.collections.base import FileChange
from vse_ens.data.collections.files import MAX_BYTES, is_image, read_regular, suffix, unreadable
from vse_ens.errors import DataError
from vse_ens.storage.atomic import open_atomic, sync_dir
from vse_ens.system import copy_permissions, open_regular, try_lock

_FORMAT, _VERSION = "vse-ens journal", 2
_WITHOUT_WRITTEN = 1  # a version that does not say which files were written
_BATCH = 256  # changes that share one flush of the journal
# The longest wait for another process that writes to the same folder; a write takes milliseconds.
_LOCK_SECONDS = 60.0
# The first bytes of files that are never written, whatever their names: JPEG, PNG, TIFF and SQLite. No text starts so.
_PROTECTED = (b"\xff\xd8\xff", b"\x89PNG\r\n", b"II*\0", b"MM\0*", b"SQLite format 3\0")
_CATALOGS = frozenset((".db", ".lrcat", ".sqlite", ".sqlite3"))
# Old bytes that compress better than this are stored as they are: a journal cannot grow without bound when it is read.
_MAX_RATIO, _ANY_RATIO = 50, 16 << 20
_MAX_HEADER, _MAX_LINE = 1 << 16, 3 * MAX_BYTES


@dataclass(frozen=True)
class Written:
    """The result of a write."""

    files: list[Path]
    journal: Path | None
    """None if no file changed."""
    skipped: list[Path] = field(default_factory=list)
    """Files that another program changed while the change was computed."""
    refused: list[Path] = field(default_factory=list)
    """What is not a file of the collection: links that lead out of it, pipes, devices, folders, links to images."""


@dataclass(frozen=True)
class Suggested:
    """The suggestions that a write added, for `vse_ens.data.collections.review.collect`."""

    collection: Path
    format: str
    prefix: str
    model: str
    """The fingerprint of the model."""
    labels: dict[str, dict[str, float | None]]
    """The labels added to each image, without the prefix, and their confidence."""


@dataclass(frozen=True)
class Undone:
    """The result of an undo."""

    files: list[Path]
    """The files that were restored."""
    left: list[Path] = field(default_factory=list)
    """Files that the write did not reach before it was stopped, and that were changed since.

    A write that was stopped right after it replaced a file, before it said so, counts as not having reached it.
    """


def default_journal() -> Path:
    """Return the path of a new journal in ``XDG_STATE_HOME`` or ``~/.local/state``, named by the time."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    return Path(base) / "vse-ens" / "undo" / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.jsonl"


def allowed(changes: Iterable[FileChange], collection: Path | None, refused: list[Path]) -> Iterator[FileChange]:
    """Yield the changes of regular files of a collection; the paths of the others are added to ``refused``."""
    root = _root(collection)
    for change in changes:
        _check_name(change.path)
        try:
            _find_target(change.path, root)
        except DataError:
            refused.append(change.path)
        else:
            _check_content(change.path, change.before)
            yield change


def write_changes(
    changes: Iterable[FileChange],
    journal: Path,
    *,
    collection: Path | None = None,
    progress: Callable[[int], None] | None = None,
) -> Written:
    """Write the changes and their journal, which must not exist; ``progress`` receives the number of files written.

    ``collection`` is the file or folder that the changes belong to; None follows no link.
    """
    files: list[Path] = []
    skipped: list[Path] = []
    refused: list[Path] = []
    root = _root(collection)
    pending = allowed(changes, collection, refused)
    batch = list(islice(pending, _BATCH))
    if not batch:
        return Written([], None, refused=refused)
    with _create(journal) as log:
        try:
            header = {"format": _FORMAT, "version": _VERSION}
            _append(log, [header if root is None else header | {"root": _encoded(root)}])
            while batch:
                # Compared, noted and written under one lock: of two processes, both would else note what one wrote.
                with _alone(change.path for change in batch):
                    ready = [change for change in batch if _is_unchanged(change)]
                    _append(log, map(_entry, ready))
                    left = [change for change in ready if not _write(change, root, log, files, progress)]
                if left:
                    # Their entries must not be undone.
                    _append(log, ({"skipped": _encoded(change.path)} for change in left))
                written = {change.path for change in ready} - {change.path for change in left}
                skipped += [change.path for change in batch if change.path not in written]
                batch = list(islice(pending, _BATCH))
        except DataError as error:
            if not files:
                raise
            raise DataError(f"{error}; vse undo {journal} restores the {len(files):,} files written before") from error
    return Written(files, journal, skipped, refused)


def note_suggested(journal: Path, suggested: Suggested) -> None:
    """Append the suggestions of a write to its journal."""
    about = {"collection": _encoded(suggested.collection), "model": suggested.model}
    lines = [about | {"format": suggested.format, "prefix": suggested.prefix}, *suggested.labels.items()]
    with journal.open("ab", buffering=0) as log:
        _append(log, ({"suggested": line} for line in lines))


def read_suggested(journal: Path) -> Suggested:
    """Return the suggestions of a write."""
    lines = [record["suggested"] for record in _records(journal) if "suggested" in record]
    if not lines:
        raise DataError(f"{journal} has no suggestions; name a journal of vse annotate --write")
    try:
        about, labels = lines[0], {str(image): dict(found) for image, found in lines[1:]}
        collection = _decoded(about["collection"])
        return Suggested(collection, str(about["format"]), str(about["prefix"]), str(about["model"]), labels)
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{journal} has damaged suggestions; restore a copy") from None


def _write(
    change: FileChange, root: Path | None, log: FileIO, files: list[Path], progress: Callable[[int], None] | None
) -> bool:
    """Write one change and add its path to ``files``; return False if another program changed the file meanwhile."""
    if not _is_unchanged(change):
        return False
    _replace(_find_target(change.path, root), change.after)
    files.append(change.path)
    # Not flushed: it survives the end of the process, and is flushed with the next entries.
    _append(log, [{"written": _encoded(change.path)}], flush=False)
    if progress is not None:
        progress(len(files))
    return True


def undo(journal: Path, *, force: bool = False) -> Undone:
    """Restore the bytes that files had before a write.

    Nothing is restored if a file was changed after the write, unless ``force``. Undoing twice changes nothing.
    """
    root = next((entry.root for entry in read_journal(journal)), None)
    if root is not None and not root.exists():
        raise DataError(f"{journal} is of {root}, which is gone; move it back and run vse undo again")
    changed = [entry.path for entry in read_journal(journal) if entry.state() == "changed" and not force]
    if changed:
        others = f" and {len(changed) - 1:,} more" if len(changed) > 1 else ""
        raise DataError(
            f"{changed[0]}{others} changed after {journal} was written; nothing was restored; "
            f"use --force to restore the old bytes and lose that change"
        )
    restored: list[Path] = []
    left: list[Path] = []
    for entry in read_journal(journal):
        with _alone([entry.path]):
            state = entry.state()
            if state == "old":
                continue
            if state == "not written" and not force:
                left.append(entry.path)
                continue
            if state == "changed" and not force:
                raise DataError(
                    f"{entry.path} was changed while {journal} was undone; {len(restored):,} files were restored; "
                    f"undo that change first, then run vse undo again"
                )
            target = entry.target()
            if entry.before is None:
                target.unlink(missing_ok=True)
                sync_dir(target.parent)
            else:
                _replace(target, entry.before)
        restored.append(entry.path)
    return Undone(restored, left)


@contextmanager
def _alone(paths: Iterable[Path]) -> Iterator[None]:
    """Keep other processes of vse from writing to the folders of files, from comparison to replacement.

    Where folders cannot be locked, as on Windows, nothing is.
    """
    with ExitStack() as stack:
        # In one order, so that two processes do not wait for each other.
        for folder in sorted({Path(os.path.realpath(path)).parent for path in paths}):
            with suppress(OSError):
                descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
                stack.callback(os.close, descriptor)
                _wait_for_lock(descriptor, folder)
        yield


def _wait_for_lock(descriptor: int, folder: Path) -> None:
    deadline = time.monotonic() + _LOCK_SECONDS
    while not try_lock(descriptor):
        if time.monotonic() > deadline:
            raise DataError(f"another process keeps writing to {folder}; try again when it has ended")
        time.sleep(0.002)


@dataclass(frozen=True)
class JournalEntry:
    """One change in a journal."""

    path: Path
    before: bytes | None
    after_sha256: str
    written: bool
    """False if the write ended, by an error or with its process, before the journal said that the file was written."""
    root: Path | None = None
    """The folder of the collection; None in journals of version 0.3 and older, by which no link is followed."""

    def target(self) -> Path:
        """Return the file to restore; raise a `DataError` if it may not be changed."""
        return _find_target(self.path, self.root)

    def state(self) -> Literal["old", "new", "not written", "changed"]:
        """Return whether the file is as it was before the write, as the write left it, or as somebody else did."""
        current = _current(target := self.target())
        _check_content(target, current)
        if current == self.before:
            return "old"
        if current is not None and _sha256(current) == self.after_sha256:
            return "new"
        return "changed" if self.written else "not written"


def read_journal(path: Path) -> Iterator[JournalEntry]:
    """Yield the entries of the files that were written, one at a time: a journal may be larger than RAM.

    An incomplete last line, left by a crash, belongs to a file that was not written.
    """
    noted: dict[str, set[str]] = {"skipped": set(), "written": set()}
    entries: deque[tuple[int, dict[str, Any]]] = deque()
    says_written = False
    root: Path | None = None

    def oldest() -> Iterator[JournalEntry]:
        number, record = entries.popleft()
        try:
            name = record["path"]
            if name not in noted["skipped"]:
                before = None if record["before"] is None else _unpacked(base64.b64decode(record["before"]))
                written = not says_written or name in noted["written"]
                yield JournalEntry(_decoded(name), before, str(record["after_sha256"]), written, root)
        except (ValueError, KeyError, TypeError, zlib.error):
            raise _damaged(path, number) from None
        for names in noted.values():
            names.discard(name)

    for number, record in enumerate(_records(path), 1):
        kind = next((kind for kind in noted if kind in record), None)
        if number == 1:
            says_written = record["version"] != _WITHOUT_WRITTEN
            try:
                given = _decoded(record["root"]) if "root" in record else None
            except (ValueError, TypeError):
                raise _damaged(path, number) from None
            root = given if given is not None and not given.exists() else _root(given)  # `undo` says that it is gone
        elif kind is not None:
            noted[kind].add(str(record[kind]))
        elif "suggested" not in record:
            entries.append((number, record))
            if len(entries) > _BATCH:  # what became of an entry is noted before those of the next batch
                yield from oldest()
    while entries:
        yield from oldest()


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a journal, its header first."""
    number = 0
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            while line := file.readline(_MAX_LINE if number else _MAX_HEADER):
                number += 1
                if number > 1 and not line.endswith(b"\n"):
                    break
                record = dict(json.loads(line))
                if "check" in record and record.pop("check") != _check(record):
                    raise ValueError
                if number == 1 and (
                    record["format"] != _FORMAT or record["version"] not in (_VERSION, _WITHOUT_WRITTEN)
                ):
                    raise ValueError
                yield record
    except OSError as error:
        raise unreadable(path, error) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _damaged(path, number) from None
    if number == 0:
        raise _damaged(path, 1)


def _damaged(path: Path, line: int) -> DataError:
    what = "not a journal of vse" if line == 1 else f"damaged in line {line}"
    return DataError(f"{path} is {what}; name the journal that the write reported")


def _encoded(path: Path) -> str:
    """Return the exact bytes of a path as text."""
    return base64.b64encode(os.fsencode(path.absolute())).decode()


def _decoded(text: str) -> Path:
    path = Path(os.fsdecode(base64.b64decode(text)))
    if not path.is_absolute() or "\0" in str(path):
        raise ValueError
    return path


def _packed(content: bytes) -> bytes:
    packed = zlib.compress(content)
    return packed if len(content) <= _most_bytes(packed) else zlib.compress(content, 0)


def _unpacked(packed: bytes) -> bytes:
    stream, most = zlib.decompressobj(), _most_bytes(packed)
    content = stream.decompress(packed, most + 1)
    if len(content) > most or not stream.eof:
        raise ValueError
    return content


def _most_bytes(packed: bytes) -> int:
    return min(MAX_BYTES, max(_ANY_RATIO, _MAX_RATIO * len(packed)))


def diff(change: FileChange) -> str:
    """Return a change as a unified diff."""
    name = str(change.path)
    old, new = (
        (content or b"").decode("utf-8", "replace").splitlines(keepends=True)
        for content in (change.before, change.after)
    )
    lines = difflib.unified_diff(old, new, "/dev/null" if change.before is None else name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _entry(change: FileChange) -> dict[str, Any]:
    before = None if change.before is None else base64.b64encode(_packed(change.before)).decode()
    return {
        "file": str(change.path.absolute()).encode("utf-8", "replace").decode(),  # for people
        "path": _encoded(change.path),
        "before": before,
        "after_sha256": _sha256(change.after),
    }


def _create(path: Path) -> FileIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("xb", buffering=0)  # closing a buffered file would fail again on a full disk
        sync_dir(path.parent)
    except FileExistsError:
        raise DataError(f"{path} exists; choose another --journal") from None
    except OSError as error:
        raise DataError(f"{path} could not be written: {(error.strerror or str(error)).lower()}") from None
    return file


def _append(log: FileIO, entries: Iterable[dict[str, Any]], *, flush: bool = True) -> None:
    rest = b"".join(json.dumps(entry | {"check": _check(entry)}).encode() + b"\n" for entry in entries)
    try:
        while rest:
            rest = rest[log.write(rest) :]
        if flush:
            os.fsync(log.fileno())
    except OSError as error:
        raise DataError(f"{log.name} could not be written: {(error.strerror or str(error)).lower()}") from None


def _check(record: dict[str, Any]) -> str:
    """Return a checksum of a line, which finds damage; whoever writes a journal on purpose can compute it."""
    return _sha256(json.dumps(record).encode())[:16]


def _check_name(path: Path) -> None:
    """Refuse to write an image or a catalog, whatever a format asks for."""
    if is_image(path.name) or suffix(path.name) in _CATALOGS:
        raise _protected(path)


def _check_content(path: Path, content: bytes | None) -> None:
    if (content or b"").startswith(_PROTECTED):
        raise _protected(path)


def _protected(path: Path) -> DataError:
    return DataError(f"{path} is an image or a catalog, which vse never changes; please report this")


def _root(collection: Path | None) -> Path | None:
    """Return the folder of a collection without links: files outside it are not part of the collection."""
    if collection is None:
        return None
    root = Path(os.path.realpath(collection))
    root = root if root.is_dir() else root.parent
    if root == root.parent:
        raise DataError(f"{collection} is the root of the file system; name the folder of the images")
    return root


def _find_target(path: Path, root: Path | None) -> Path:
    """Return the file that a path leads to; raise a `DataError` if it is not a file that may be changed."""
    target = Path(os.path.realpath(path))
    is_link = os.path.islink(path)  # noqa: PTH114  # `Path.is_symlink` raises for some names
    if not target.is_relative_to(root) if root is not None else is_link:
        raise DataError(f"{path} is a link that leads out of {root or path.parent}; replace it by a file")
    # No format reads hidden files; the settings of a shell are some.
    parts = target.relative_to(root).parts if root is not None else (target.name,)
    if any(part.startswith(".") for part in parts):
        raise DataError(f"{path} is hidden, and vse never changes hidden files; remove it")
    _check_name(path)
    _check_name(target)
    try:
        is_regular = stat.S_ISREG(target.lstat().st_mode)
    except FileNotFoundError:
        if is_link and not target.parent.is_dir():  # undo would leave a new folder
            raise DataError(f"{path} is a link that leads nowhere; remove it") from None
        return target
    except OSError as error:
        raise unreadable(path, error) from None
    if not is_regular:
        raise DataError(f"{path} is not a regular file; remove it or name another collection")
    return target


def _is_unchanged(change: FileChange) -> bool:
    """Return whether a file is as it was when its change was computed."""
    return _current(change.path, len(change.before or b"")) == change.before


def _current(path: Path, limit: int = MAX_BYTES) -> bytes | None:
    """Return the content of a file, of a larger one a byte more than ``limit``; None if there is none."""
    try:
        return read_regular(path, limit)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error) from None


def _replace(path: Path, content: bytes) -> None:
    """Replace a file atomically; its permissions stay."""
    with open_atomic(path) as file:
        copy_permissions(path, file.fileno())
        file.write(content)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
