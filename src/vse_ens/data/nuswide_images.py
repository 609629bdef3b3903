"""The images of NUS-WIDE in the order of its files, by their Flickr ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.published import Files, counted, lines_of, named
from vse_ens.errors import DataError

Split = Literal["train", "test"]

PAGE = "https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html"
ALL_TAGS = re.compile(r"All_Tags\.txt")
_LISTS: dict[Split | None, re.Pattern[str]] = {
    None: re.compile("Image[lL]ist.txt"),
    "train": re.compile("TrainImage[lL]ist.txt"),
    "test": re.compile("TestImage[lL]ist.txt"),
}
# Folders have underscores too, as in administrative_assistant\0001_534152430.jpg: the id follows the last one.
_ENTRY = re.compile(r"(?:.*[\\/])?(?P<folder>[^\\/]+)[\\/](?P<name>\d+_(?P<id>\d+)\.jpg)", re.IGNORECASE)


@dataclass(frozen=True)
class ImageList:
    """An image a line: its id, and the folder and name it is listed under, if the file tells."""

    path: Path
    ids: list[str]
    entries: list[str]
    notes: tuple[str, ...]


def image_list(files: Files, split: Split | None = None) -> ImageList | None:
    """The list of all images, or of a split; None if it is not there."""
    path = named(files, _LISTS[split])
    if path is None:
        return None
    ids, entries = [], []
    for number, text in lines_of(path):
        match = _ENTRY.fullmatch(text)
        if match is None:
            raise DataError(
                rf"{path}, line {number:,} has {text[:60]!r} where a name such as actor\0001_2124494179.jpg should be"
            )
        ids.append(match["id"])
        entries.append(f"{match['folder']}/{match['name']}")
    return _told_apart(path, ids, entries)


def images_of_tags(path: Path) -> ImageList:
    """All images as ``All_Tags.txt`` lists them, which is in the same order."""
    return _told_apart(path, [tag_line(path, number, text)[0] for number, text in lines_of(path)], [])


def joined(lists: Sequence[ImageList]) -> ImageList:
    """One list after the other."""
    ids = [one.partition("#")[0] for part in lists for one in part.ids]
    return _told_apart(lists[0].path, ids, [entry for part in lists for entry in part.entries])


def tag_line(path: Path, number: int, text: str) -> tuple[str, list[str]]:
    """The image and the tags on a line of ``All_Tags.txt``."""
    image, *tags = text.split()
    if not (image.isascii() and image.isdecimal()):
        raise DataError(f"{path}, line {number:,} starts with {image[:20]!r} where the number of an image should be")
    return image, tags


def of_split(files: Files, everything: ImageList, split: Split) -> NDArray[np.bool_]:
    """Which of all images are of a split."""
    part = image_list(files, split)
    if part is None or not everything.entries:
        raise DataError(
            f"Imagelist.txt and {split.capitalize()}Imagelist.txt are needed to tell the {split} split; download "
            f"ImageList.zip from {PAGE}"
        )
    wanted = set(part.entries)
    rows = np.fromiter((entry in wanted for entry in everything.entries), bool)
    if np.count_nonzero(rows) != len(part.entries):
        raise DataError(f"{part.path} does not list images of {everything.path} once each; fetch both again")
    return rows


def _told_apart(path: Path, ids: list[str], entries: list[str]) -> ImageList:
    """The second of two images with one id gets ``#2`` after it."""
    if not ids:
        raise DataError(f"{path} is empty; fetch it again")
    seen: Counter[str] = Counter()
    apart = []
    for one in ids:
        seen[one] += 1
        apart.append(one if seen[one] == 1 else f"{one}#{seen[one]}")
    twice = len(apart) - len(seen)
    note = f"{counted(twice, 'image has', 'images have')} the id of one before, and #2 after it"
    return ImageList(path, apart, entries, (note,) if twice else ())
