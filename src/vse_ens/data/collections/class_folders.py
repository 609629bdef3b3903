"""One folder per class, as ImageNet has them: ``cat/1.jpg``, or ``train/cat/1.jpg`` and ``val/cat/2.jpg``.

The label of an image is the name of its folder; a folder of a split above it, such as ``train``, is not a label. The
format is read only: a second label would need a second copy of the image.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from vse_ens.data.collections import photos
from vse_ens.data.collections.base import ImageList, Item, OpenOptions
from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import as_label, count_of, list_files, unread_note
from vse_ens.errors import DataError

_SPLITS = frozenset(("train", "val", "valid", "validation", "test", "dev", "eval", "training", "testing"))
# Folders of data sets that are not classes.
_NO_CLASSES = frozenset(
    ("annotations", "data", "dataset", "image", "images", "img", "imgs", "jpegimages", "labels", "mask", "masks")
)
_WORDNET = re.compile(r"n\d{8}")


def detect(glance: Glance) -> bool:
    """Return whether all images are in folders of classes.

    Without splits and WordNet ids such folders may as well be those of a photographer, so then no image may have
    keywords.
    """
    found = [(image, _label(image)) for image in glance.images]
    if not found or any(label is None for _, label in found):
        return False
    labels = {label for _, label in found if label}
    if len(labels) < 2 or any("|" in label or label.lower() in _NO_CLASSES for label in labels):
        return False
    if all(image.split("/")[0].lower() in _SPLITS for image, _ in found) or all(map(_WORDNET.fullmatch, labels)):
        return True
    return not photos.detect(glance)


class ClassFolders(ImageList):
    """The images of a folder of classes, each with the name of its folder."""

    format = "folders"
    empty = "has no image in any folder"

    def __init__(self, path: Path, options: OpenOptions | None = None) -> None:
        if not path.is_dir():
            raise DataError(f"{path} is not a folder; name the folder that has a folder for each class")
        super().__init__(path, options)

    def entries(self) -> Iterator[tuple[Item, None]]:
        """Yield every image in the order of the paths."""
        unread: list[str] = []
        unlabeled: list[str] = []
        for image in list_files(self.root, unread):
            label = as_label(_label(image))
            if label is None:
                unlabeled.append(image)
            yield Item(image, () if label is None else (label,)), None
        if unlabeled:
            self.notes.append(f"{count_of(len(unlabeled), 'image')} in no folder of a class, such as {unlabeled[0]}")
        self.notes += unread_note(unread)


open = ClassFolders  # noqa: A001  # the interface of formats


def _label(image: str) -> str | None:
    """Return the class of an image: its folder, or the folders below that of a split joined by ``|``."""
    folders = image.split("/")[:-1]
    if folders and folders[0].lower() in _SPLITS:
        folders = folders[1:]
    return "|".join(folders) or None
