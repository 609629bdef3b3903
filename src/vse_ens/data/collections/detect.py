"""Recognise a collection by looking at it: the table of formats, and `open_collection`.

A format is one module. It has two functions:

    def detect(glance: Glance) -> bool: ...
    def open(path: Path, options: OpenOptions) -> Collection: ...

``detect`` is cheap: it uses the names and the first bytes that the `Glance` has, and opens a few files at most.
``open`` checks that the path can be this format and raises a `DataError` if not; labels are read by `items`.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from vse_ens.data.collections.base import Collection, OpenOptions
from vse_ens.data.collections.walk import is_image
from vse_ens.errors import ConfigError, DataError

_HEAD_BYTES = 1 << 16
_NAMES = 4_000


class Format(NamedTuple):
    """A format of collections."""

    name: str
    """The name for ``--format``."""
    module: str
    """The module below `vse_ens.data.collections`, imported when it is needed."""
    description: str
    """A few words for messages and the documentation."""
    kinds: tuple[str, ...] = ("folder",)
    """The values of `Glance.kind` for which the module is imported to look closer."""


# The first format that recognises a source reads it, so a more specific format stands above a more general one.
FORMATS = (
    Format("coco", "coco", "a COCO JSON file, or a folder with one", ("folder", "json")),
    Format("cvat", "cvat", "an XML file of CVAT for images 1.1, or a folder with it", ("folder", "xml")),
    Format("label-studio", "label_studio", "a JSON or JSON-MIN export of Label Studio", ("json",)),
    Format("voc", "voc", "a folder of Pascal VOC annotations"),
    Format("lightroom", "lightroom", "a catalogue of Lightroom Classic, read only", ("database",)),
    Format("digikam", "digikam", "digiKam's digikam4.db, read only", ("database",)),
    Format("darktable", "darktable", "darktable's library.db with its data.db, read only", ("folder", "database")),
    Format("hydrus", "hydrus", "a Hydrus client or an answer of its API, read only", ("folder", "database", "json")),
    Format(
        "imagefolder",
        "imagefolder",
        "a Hugging Face imagefolder with metadata.jsonl or metadata.csv",
        ("folder", "json"),
    ),
    Format("lenskit", "lenskit", "a LensKit data set: a folder with schema.json and Parquet files"),
    Format("recbole", "recbole", "a RecBole atomic file, or a folder with one .inter file", ("folder", "text")),
    Format("movielens", "movielens", "MovieLens: ratings.csv, u.data, ratings.dat or a folder", ("folder", "text")),
    Format("xmc", "xmc", "a file of the XMC repository, such as X_Y.txt, or multi-label LIBSVM", ("folder", "text")),
    Format("yolo", "yolo", "a folder of YOLO boxes with a data.yaml", ("folder", "yaml")),
    Format("txt-tags", "txt_tags", "a folder of images with .txt files of comma-separated tags"),
    Format("folders", "class_folders", "a folder with one folder of images per class"),
    Format("photos", "photos", "a folder of images with XMP or IPTC keywords, in the files or in .xmp sidecars"),
)


class FormatModule(Protocol):
    """The functions of a format's module."""

    def detect(self, glance: Glance) -> bool:
        """Return whether a source has this format."""

    def open(self, path: Path, options: OpenOptions) -> Collection:
        """Return the collection at a path."""


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
                entries = sorted(os.scandir(self.path / folder), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{folder}{entry.name}/")
                elif entry.is_file():
                    seen += 1
                    yield folder + entry.name
                    if seen == _NAMES:
                        return


def format_names() -> tuple[str, ...]:
    """Return the names for ``--format`` of all collections."""
    return tuple(entry.name for entry in FORMATS)


def find_collection(
    path: str | Path,
    format: str | None = None,  # noqa: A002  # the usual word
    options: OpenOptions | None = None,
) -> Collection | None:
    """Return the collection at a path, or None if no format recognises it; ``format`` forces one."""
    path, options = Path(path), options or OpenOptions()
    if format is not None:
        return _module(_entry(format)).open(path, options)
    glance = Glance(path)
    for entry in FORMATS:
        if glance.kind in entry.kinds and (module := _module(entry)).detect(glance):
            return module.open(path, options)
    if glance.images and not any(name.endswith(".parquet") for name in glance.names):
        raise DataError(
            f"{path} has images, but a sample of them has no keywords and no files of tags; "
            f"set --format photos or txt-tags if others have"
        )
    return None


def open_collection(
    path: str | Path,
    format: str | None = None,  # noqa: A002  # the usual word
    options: OpenOptions | None = None,
) -> Collection:
    """Return the collection at a path, recognised by looking; ``format`` forces one of `format_names`."""
    if not Path(path).exists():
        raise DataError(f"{path} does not exist; name a file or folder")
    found = find_collection(path, format, options)
    if found is None:
        raise DataError(f"{path} is no collection that vse knows; name its format: {', '.join(format_names())}")
    return found


def _entry(name: str) -> Format:
    for entry in FORMATS:
        if entry.name == name:
            return entry
    raise ConfigError(f"format must be one of {', '.join(format_names())}, got {name!r}")


def _module(entry: Format) -> FormatModule:
    return cast("FormatModule", import_module(f"vse_ens.data.collections.{entry.module}"))
