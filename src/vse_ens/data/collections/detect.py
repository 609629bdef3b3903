"""Recognize a collection by looking at it: the table of formats, the plug-ins, and `open_collection`.

A format is one module, a `FormatModule`. Other distributions add formats by entry points of the group `GROUP`, each the
name of a format and its module. They are imported to look at a source that no specific built-in format recognizes, or
when ``format`` names one.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from vse_ens.data.collections.base import Collection, OpenOptions
from vse_ens.data.collections.files import is_file, is_image, is_of_the_system
from vse_ens.errors import ConfigError, DataError, MissingPartError, VseError

GROUP = "vse_ens.collections"
"""The group of entry points that plug-ins use."""

_HEAD_BYTES = 1 << 16
_NAMES = 4_000
_LOOKED_AT = 100  # files of a folder in which a format of a missing plug-in is looked for
_KINDS = ("folder", "database", "json", "xml", "yaml", "text")


class PluginError(DataError):
    """A plug-in cannot be imported, lacks a function, or fails; the message names it."""


class FormatModule(Protocol):
    """A format's module; it may also have ``write(path, data, test)``, which returns the files written."""

    def detect(self, glance: Glance) -> bool:
        """Return whether a source has this format: by names and first bytes, opening a few files at most."""

    def open(self, path: Path, options: OpenOptions) -> Collection:
        """Return the collection at a path, without reading labels; raise a `DataError` if it cannot be this format."""


class Format(NamedTuple):
    """A format of collections."""

    name: str
    """The name for ``--format``."""
    module: str
    """The module, imported when it is needed."""
    kinds: tuple[str, ...] = ("folder",)
    """The values of `Glance.kind` for which the module is imported to look closer."""
    distribution: str = ""
    """The distribution of a plug-in; empty for a built-in format."""

    def load(self) -> FormatModule:
        """Return the module; raise a `PluginError` if it is not one of a format."""
        with self.guard():
            module = import_module(self.module)
            for function in ("detect", "open"):
                if not callable(getattr(module, function, None)):
                    raise TypeError(f"{self.module} has no function {function}")
        return cast("FormatModule", module)

    @contextmanager
    def guard(self, *allowed: type[Exception]) -> Iterator[None]:
        """Turn any error of a plug-in, except those allowed, into a `PluginError`."""
        try:
            yield
        except allowed:
            raise
        except Exception as error:
            if not self.distribution or isinstance(error, PluginError):
                raise
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200].rstrip(": ")
            raise PluginError(
                f"the plug-in {self.name} of {self.distribution} does not work ({reason}); update or uninstall it"
            ) from error


def _built_in(name: str, *kinds: str, module: str = "") -> Format:
    return Format(name, f"vse_ens.data.collections.{module or name.replace('-', '_')}", kinds or ("folder",))


# The first format that recognizes a source reads it, so a more specific format stands above a more general one.
# Plug-ins stand between the two groups.
SPECIFIC = (
    _built_in("coco", "folder", "json"),
    _built_in("label-studio", "json"),
    _built_in("lightroom", "database"),
    _built_in("digikam", "database"),
    _built_in("darktable", "folder", "database"),
)
GENERAL = (_built_in("txt-tags"), _built_in("folders", module="class_folders"), _built_in("photos"))

INTEROP = "vse-ens-interop"
# Its formats by the names and the first bytes of their files, for an error that says what to install.
_INTEROP_FILES = (
    ("recbole", r".+\.(inter|item|user)", rb"[^\t\n]*:(token|float)"),
    ("lenskit", r"schema\.json", rb'(?s)\s*\{.*"relationships"'),
    ("movielens", r".+\.csv", rb"\W*userId\W+movieId\W+rating"),
    ("movielens", r"u\.data|ratings\.dat", rb"\d+(\t|::)\d+\1"),
    ("xmc", r".*X_Y\.txt|.+\.(svm|libsvm)", rb"\d+([ ,]\d+)* "),
    ("cvat", r".+\.xml", rb"(?s).*<annotations>.*<(version|meta|image|track)\b"),
    ("imagefolder", r"([^/]+/){,2}metadata\.jsonl", rb"(?s).*\bfile_name\b"),
    ("voc", r"([^/]+/)*[^/]+\.xml", rb"(?s).*<annotation>.*<(object|filename|folder)\b"),
    ("yolo", r"[^/]+\.ya?ml", rb"(?s)(.*\n)?names\s*:"),
    ("hydrus", r"client(\.\w+)?\.db", rb"SQLite format 3"),
    ("hydrus", r".+\.json", rb'(?s)\s*\{.*"metadata".*"(storage_tags|display_tags|service_keys_to)'),
)


@cache
def plugins() -> tuple[Format, ...]:
    """Return the formats of installed plug-ins, sorted by name; none is imported."""
    from importlib.metadata import entry_points  # only here: importing it takes time

    found = [
        Format(point.name, point.value, _KINDS, point.dist.name if point.dist is not None else point.module)
        for point in entry_points(group=GROUP)
    ]
    return tuple(sorted(found))


@dataclass(frozen=True)
class Glance:
    """A first look at a file or folder, shared by all detectors."""

    path: Path

    @cached_property
    def is_folder(self) -> bool:
        """Whether the source is a folder."""
        return self.path.is_dir()

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB of a file; empty for a folder and for a file that cannot be read."""
        try:
            if not self.path.is_file():
                return b""
            with self.path.open("rb") as file:
                return file.read(_HEAD_BYTES)
        except OSError:
            return b""

    @cached_property
    def kind(self) -> str:
        """A rough kind: folder, database, json, xml, yaml or text."""
        if self.is_folder:
            return "folder"
        if self.head.startswith(b"SQLite format 3\0"):
            return "database"
        start = self.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        by_start = {b"{": "json", b"[": "json", b"<": "xml"}
        return by_start.get(start) or ("yaml" if self.path.suffix.lower() in (".yaml", ".yml") else "text")

    @cached_property
    def names(self) -> frozenset[str]:
        """Paths of files below a folder, relative to it with ``/``: the first 4,000, upper folders first."""
        return frozenset(self._walk()) if self.is_folder else frozenset()

    @cached_property
    def images(self) -> tuple[str, ...]:
        """Those of `names` that are image files by their suffix, sorted."""
        return tuple(sorted(name for name in self.names if is_image(name)))

    def _walk(self) -> Iterator[str]:
        folders, seen = deque([""]), 0
        while folders and seen < _NAMES:
            folder = folders.popleft()
            try:
                if is_of_the_system((self.path / folder).stat()):
                    continue
                entries = sorted(os.scandir(self.path / folder), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{folder}{entry.name}/")
                elif is_file(self.path / folder / entry.name):
                    seen += 1
                    yield folder + entry.name
                    if seen == _NAMES:
                        return


def format_names() -> tuple[str, ...]:
    """Return the names for ``--format`` of all collections."""
    return tuple(dict.fromkeys(entry.name for entry in _formats()))


def _formats() -> Iterator[Format]:
    yield from SPECIFIC
    yield from plugins()
    yield from GENERAL


def find_collection(
    path: str | Path,
    format: str | None = None,  # noqa: A002  # the usual word
    options: OpenOptions | None = None,
    on_note: Callable[[str], None] | None = None,
) -> Collection | None:
    """Return the collection at a path, or None if no format recognizes it; ``format`` forces one.

    ``on_note`` is called with a message on every plug-in that does not work.
    """
    path, options = Path(path), options or OpenOptions()
    if format is not None:
        return _open(find_format(format), path, options)
    glance = Glance(path)
    for entry in _formats():
        if glance.kind not in entry.kinds:
            continue
        try:
            with entry.guard():
                found = entry.load().detect(glance)
        except PluginError as error:
            if on_note is not None:
                on_note(str(error))
            continue
        if found:
            return _open(entry, path, options)
    _check_uninstalled(glance)
    if glance.images and not any(name.endswith(".parquet") for name in glance.names):
        raise DataError(
            f"{path} has images, but a sample of them has no keywords and no files of tags; "
            f"add some, or set --format photos or txt-tags if others have"
        )
    return None


def open_collection(
    path: str | Path,
    format: str | None = None,  # noqa: A002  # the usual word
    options: OpenOptions | None = None,
) -> Collection:
    """Return the collection at a path, recognized by looking; ``format`` forces one of `format_names`."""
    if not Path(path).exists():
        raise DataError(f"{path} does not exist; name a file or folder")
    notes: list[str] = []
    found = find_collection(path, format, options, notes.append)
    if found is None:
        message = f"{path} is not a recognized collection; pass --format, one of {', '.join(format_names())}"
        raise DataError("; ".join([message, *notes]))
    return found


def find_format(name: str, others: Sequence[str] = ()) -> Format:
    """Return the format of a name.

    The error for an unknown name lists ``others`` too, and the one for a format of `INTEROP` says what to install.
    """
    built_in = {entry.name: entry for entry in (*SPECIFIC, *GENERAL)}
    found = built_in.get(name) or next((entry for entry in plugins() if entry.name == name), None)
    if found is not None:
        return found
    if any(name == known for known, *_ in _INTEROP_FILES):
        raise MissingPartError(f"the format {name} needs a plug-in: pip install {INTEROP}")
    raise ConfigError(f"format must be one of {', '.join((*others, *format_names()))}, got {name!r}")


def _open(entry: Format, path: Path, options: OpenOptions) -> Collection:
    module = entry.load()
    with entry.guard(VseError):
        return module.open(path, options)


def _check_uninstalled(glance: Glance) -> None:
    """Raise if a source has a format of `INTEROP`, which is not installed."""
    missing = [entry for entry in _INTEROP_FILES if entry[0] not in format_names()]
    folder = glance.path if glance.is_folder else glance.path.parent
    # A format may be in a folder below, as VOC is; formats that are not name a file without one.
    names = sorted(glance.names, key=lambda name: (name.count("/"), name))[:_LOOKED_AT]
    names = names if glance.is_folder else [glance.path.name]
    for name in names if missing else ():
        for format_name, pattern, start in missing:
            file = Glance(folder / name)
            if re.fullmatch(pattern, name) and re.match(start, file.head):
                tables = "jsonl" if name.endswith(".jsonl") else "csv or txt" if file.kind == "text" else ""
                table = f"; or pass --format {tables} to read a table of pairs" if tables else ""
                message = f"{glance.path} is {format_name}, which needs a plug-in: pip install {INTEROP}"
                raise MissingPartError(message + table)
