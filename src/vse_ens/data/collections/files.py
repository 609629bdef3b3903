"""Walk folders and read files that may be anything: links, named pipes, huge, unreadable or no text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from vse_ens.errors import DataError
from vse_ens.system import open_regular

IMAGE_SUFFIXES = frozenset(
    f".{end}"
    for end in (
        *("jpg", "jpeg", "jpe", "png", "tif", "tiff", "webp", "avif", "heic", "heif", "gif", "bmp", "jxl"),
        *("dng", "cr2", "cr3", "nef", "arw", "orf", "rw2", "raf", "pef", "srw"),  # raw photographs
    )
)
"""Suffixes of image files, in lower case."""

_SKIPPED_FOLDERS = frozenset({"@eaDir", "__MACOSX", "lost+found"})
MAX_BYTES = 2 << 30
"""Larger files of annotations are refused."""
BOM = b"\xef\xbb\xbf"


def suffix(name: str) -> str:
    """Return the suffix of a file name with its dot, in lower case; empty if there is none."""
    before, _, end = name.rpartition(".")
    return f".{end.lower()}" if before and "/" not in end and not before.endswith("/") else ""


def stem(name: str) -> str:
    """Return a file name, or a relative path, without its suffix."""
    end = suffix(name)
    return name[: len(name) - len(end)] if end else name


def is_image(name: str) -> bool:
    """Return whether a file name has the suffix of an image."""
    return suffix(name) in IMAGE_SUFFIXES


class Folder(NamedTuple):
    """A folder with its files."""

    prefix: str
    """The path relative to the root with a ``/`` at the end; empty for the root."""
    path: str
    files: dict[str, str]
    """The regular files by name, sorted, each with its size and times: if these are the same, so is the file."""


def walk(root: Path, on_fault: Callable[[str, str], None]) -> Iterator[Folder]:
    """Yield every folder below ``root`` that has files; ``on_fault`` gets the path and the reason of what is left out.

    Hidden files and folders are left out. Links to files are followed. A link to a folder is followed if the folder is
    outside the root, and each folder is visited once, so that loops end.
    """
    top = os.path.realpath(root)
    visited: set[tuple[int, int]] = set()
    stack = [("", str(root))]
    while stack:
        prefix, path = stack.pop()
        try:
            state = Path(path).stat()
            if (state.st_dev, state.st_ino) in visited:
                continue
            if is_of_the_system(state):
                on_fault(prefix.rstrip("/") or ".", "its files are made by the system")
                continue
            visited.add((state.st_dev, state.st_ino))
            with os.scandir(path) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            on_fault(prefix.rstrip("/") or ".", _reason(error))
            continue
        files: dict[str, str] = {}
        folders = []
        for entry in entries:
            name = entry.name
            if name.startswith("."):
                continue
            if not _is_text(name):
                on_fault(prefix + name.encode("utf-8", "replace").decode(), "the name is not UTF-8")
                continue
            try:
                if entry.is_file():
                    state = entry.stat()
                    files[name] = f"{state.st_size} {state.st_mtime_ns} {state.st_ctime_ns}"
                elif entry.is_dir() and name not in _SKIPPED_FOLDERS and not _leads_back(entry, top):
                    folders.append((f"{prefix}{name}/", entry.path))
                elif entry.is_symlink() and not Path(entry.path).exists():
                    on_fault(prefix + name, "the link leads nowhere")
            except OSError as error:
                on_fault(prefix + name, _reason(error))
        stack += reversed(folders)
        if files:
            yield Folder(prefix, path, files)


def is_of_the_system(state: os.stat_result) -> bool:
    """Return whether a folder is in /proc or /sys: their files have no end, and no image is among them."""
    return state.st_dev in _system_devices()


@cache
def _system_devices() -> frozenset[int]:
    found: set[int] = set()
    for name in ("/proc", "/sys"):
        with suppress(OSError):
            found.add(Path(name).stat().st_dev)
    return frozenset(found - {Path("/").stat().st_dev})


def _leads_back(entry: os.DirEntry[str], top: str) -> bool:
    """Return whether an entry is a link into the root, or to a folder that contains it."""
    if not entry.is_symlink():
        return False
    target = os.path.realpath(entry.path)
    return (target + os.sep).startswith(top + os.sep) or (top + os.sep).startswith(target + os.sep)


def _is_text(name: str) -> bool:
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def read_regular(path: str | Path, limit: int) -> bytes:
    """Return the content of a regular file, of a larger one a byte more than ``limit``; it never blocks on a pipe."""
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read(min(os.fstat(file.fileno()).st_size, limit) + 1)


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Return the content of a regular file; raise a `DataError` for any other, and for one above the limit."""
    try:
        content = read_regular(path, limit)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if len(content) > limit:
        raise DataError(f"{path} has more than {limit:,} bytes; split it into several")
    return content


def unreadable(path: Path, error: Exception) -> DataError:
    """Return an error for a file or folder that the system cannot read."""
    if isinstance(error, DataError):
        return error
    return DataError(f"{path} cannot be read: {(getattr(error, 'strerror', None) or str(error)).lower()}")


def is_file(path: Path) -> bool:
    """Return whether a path is a file; a name that no file can have, such as a very long one, is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def decode_text(path: Path, content: bytes) -> str:
    """Return UTF-8 text without its byte order mark; other text raises a `DataError` that names the line."""
    body = content.removeprefix(BOM)
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}, line {line} is not UTF-8 (byte 0x{body[error.start]:02x}); re-encode the file"
        ) from None


def list_files(root: Path, unread: list[str], suffixes: frozenset[str] = IMAGE_SUFFIXES) -> Iterator[str]:
    """Yield the files below a folder with one of the suffixes, relative to it with ``/``, in a stable order.

    Folders and links that cannot be read are added to ``unread``.
    """
    for folder in walk(root, lambda path, reason: unread.append(f"{path} ({reason})")):
        for name in folder.files:
            if suffix(name) in suffixes:
                yield folder.prefix + name


def relative_id(name: str) -> str:
    """Return a path of an annotation file as an id: ``/`` between its parts, and no ``./`` in front."""
    name = name.replace("\\", "/")
    while name.startswith("./"):
        name = name[2:]
    return name


def as_label(value: object) -> str | None:
    """Return a label as text without spaces around it, or None if the value is not a label."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value).strip()
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate cannot be written to any file
        return None
    return text or None


def json_object(given: object) -> dict[str, Any]:
    """Return an object of JSON; an empty one for anything else."""
    return given if isinstance(given, dict) else {}


def json_objects(given: object) -> list[dict[str, Any]]:
    """Return the objects in an array of JSON; none for anything else."""
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``2 files``."""
    plural = noun.removesuffix("y") + "ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def unread_note(unread: list[str]) -> list[str]:
    """Return a note on paths that could not be read, if there are any."""
    return [f"skipped {count_of(len(unread), 'path')} that cannot be read, such as {unread[0]}"] if unread else []
