"""One folder per class, as ImageNet has them: ``cat/1.jpg``, or ``train/cat/1.jpg`` and ``val/cat/2.jpg``.

The label of an image is the name of its folder; a folder of a split above it, such as ``train``, is not a label. The
format is read only: a second label would need a second copy of the image.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from vse_ens.data.collections.base import Item, OpenOptions
from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import as_label, count_of, list_files
from vse_ens.errors import DataError

_SPLITS = frozenset("train val valid validation test dev eval training testing".split())
_WORDNET = re.compile(r"n\d{8}")
_EXAMINED = 12  # images in which keywords are looked for
_KEYWORDS = (b"http://ns.adobe.com/xap/1.0/", b"Photoshop 3.0\0", b"<x:xmpmeta", b"\x1c\x02\x19")


def detect(glance: Glance) -> bool:
    """Return whether all images are in folders of classes.

    Without splits and WordNet ids such folders may as well be those of a photographer, so then no image may have
    keywords, and none may have a sidecar.
    """
    found = [(image, _label(image)) for image in glance.images]
    if not found or any(label is None for _, label in found):
        return False
    labels = {label for _, label in found if label}
    parts = {len(image.split("/")) for image, _ in found}
    if len(labels) < 2 or len(parts) > 1:
        return False
    if all(image.split("/")[0].lower() in _SPLITS for image, _ in found) or all(map(_WORDNET.fullmatch, labels)):
        return True
    if any(name.lower().endswith((".xmp", ".txt", ".json", ".jsonl", ".xml")) for name in glance.names):
        return False
    step = max(1, len(found) // _EXAMINED)
    return not any(_has_keywords(glance.path / image) for image, _ in found[::step])


def open(path: Path, options: OpenOptions) -> ClassFolders:  # noqa: A001, ARG001  # the interface of formats
    """Return the collection of a folder of classes."""
    if not path.is_dir():
        raise DataError(f"{path} is no folder; name the folder that has a folder for each class")
    return ClassFolders(path)


class ClassFolders:
    """The images of a folder of classes, each with the name of its folder."""

    format = "folders"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root = path
        self.notes: Sequence[str] = ()

    def items(self, on_progress: Callable[[int, int | None], None] | None = None) -> Iterator[Item]:
        """Yield every image in the order of the paths."""
        unread: list[str] = []
        unlabelled: list[str] = []
        done = 0
        for done, image in enumerate(list_files(self.root, unread), 1):
            label = as_label(_label(image))
            if label is None:
                unlabelled.append(image)
            yield Item(image, () if label is None else (label,))
            if on_progress is not None:
                on_progress(done, None)
        if not done:
            raise DataError(f"{self.path} has no image in any folder")
        notes = []
        if unlabelled:
            notes.append(f"{count_of(len(unlabelled), 'image')} in no folder of a class, such as {unlabelled[0]}")
        if unread:
            notes.append(f"skipped {count_of(len(unread), 'folder')} that cannot be read, such as {unread[0]}")
        self.notes = notes


def _label(image: str) -> str | None:
    """Return the class of an image: its folder, or the folders below that of a split joined by ``|``."""
    folders = image.split("/")[:-1]
    if folders and folders[0].lower() in _SPLITS:
        folders = folders[1:]
    return "|".join(folders) or None


def _has_keywords(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(1 << 18)
    except OSError:
        return False
    return any(mark in head for mark in _KEYWORDS)
