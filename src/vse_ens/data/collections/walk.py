"""Walk a folder of files: regular files only, each once, in a stable order, whatever links and faults are below it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

IMAGE_SUFFIXES = frozenset(
    f".{end}"
    for end in (
        *("jpg", "jpeg", "jpe", "png", "tif", "tiff", "webp", "avif", "heic", "heif", "gif", "bmp", "jxl"),
        *("dng", "cr2", "cr3", "nef", "arw", "orf", "rw2", "raf", "pef", "srw"),  # raw photographs
    )
)
"""Suffixes of image files, in lower case."""

_SKIPPED_FOLDERS = frozenset({"@eaDir", "__MACOSX", "lost+found"})


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
