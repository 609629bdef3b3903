"""The images of NUS-WIDE in the order of its files, by their Flickr ids.

NUS-WIDE: 269,648 Flickr images with their users' tags and with 81 concepts, as its owners publish them.

All sets of labels are read alike: as rows of 0 and 1, a row an image, in the order of the image list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.common import (
    Files,
    LoadedPairs,
    Meter,
    Progress,
    as_ids,
    counted,
    distinct_lines,
    files_of,
    lines_of,
    named,
    pairs_of,
)
from vse_ens.data.datasets.matrix_text import Rows, zero_one_rows
from vse_ens.data.io.ingest import ingest
from vse_ens.data.io.source import Batch
from vse_ens.errors import ConfigError, DataError

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


Labels = Literal["tags5018", "tags1k", "concepts81"]

_FINAL_TAGS = re.compile(r"Final_Tag_List\.txt")
_MATRIX_1K = re.compile(r"AllTags1k\.txt")
_TAGS_1K = re.compile(r"TagList1k\.txt")
_CONCEPT = re.compile(r"Labels_(?P<concept>.+?)(?:_(?P<split>Train|Test))?\.txt")
_BY_FILE: dict[re.Pattern[str], Labels] = {ALL_TAGS: "tags5018", _MATRIX_1K: "tags1k"}
_PUBLISHED: dict[Labels, int] = {"tags5018": 5018, "tags1k": 1000, "concepts81": 81}
# Lines of tags that are made into rows at a time: 2,000 by 5,018 are ten megabytes.
_LINES = 2000


def read_nuswide(
    path: str | Path,
    *,
    labels: Labels | None = None,
    split: Split | None = None,
    progress: Progress | None = None,
) -> Annotations:
    """The pairs in a folder of NUS-WIDE's files; images are named by their Flickr id.

    Args:
        path: The folder with the unpacked files, in it or in folders below; or ``All_Tags.txt`` or ``AllTags1k.txt``.
        labels: ``tags5018``, those of the users' tags that are in ``Final_Tag_List.txt``; ``tags1k``, the matrix
            ``AllTags1k.txt``; ``concepts81``, the files ``Labels_*.txt``. Not said: ``tags5018`` of a folder, what it
            holds of a file.
        split: The images of ``TrainImagelist.txt`` or of ``TestImagelist.txt``; not said: all.
        progress: Called with the bytes read so far and the bytes in all.

    The image of a row is that of the same line of ``Imagelist.txt``, or of ``All_Tags.txt`` where there is no list. Six
    Flickr ids occur twice; the second is written ``<id>#2``. Images without a label are left out, and counted in the
    ``notes`` of the result.
    """
    path = Path(path)
    for option, value, allowed in (("labels", labels, get_args(Labels)), ("split", split, get_args(Split))):
        if value is not None and value not in allowed:
            raise ConfigError(f"{option} must be one of {', '.join(allowed)}, got {value!r}")
    files = files_of(path)
    if path.is_file():
        labels = _labels_in(path, labels)
    labels = labels or "tags5018"
    table = {"tags5018": _tags, "tags1k": _matrix, "concepts81": _concepts}[labels](path, files, split, progress)
    if len(table.labels) != _PUBLISHED[labels]:
        count = counted(len(table.labels), "label")
        table.notes.append(f"{labels} has {count} here, {_PUBLISHED[labels]:,} as published")
    return ingest(LoadedPairs(str(path), table.batches, table.notes))


@dataclass
class _Table:
    """Images by labels, some rows at a time, of which those in ``wanted`` count."""

    images: ImageList
    labels: list[str]
    wanted: NDArray[np.bool_]
    rows: Iterator[Rows]
    notes: list[str]

    def batches(self) -> Iterator[Batch]:
        """The pairs; what was left out is added to the notes after the last."""
        images, labels = as_ids(self.images.ids), as_ids(self.labels)
        labelled, used = 0, np.zeros(len(labels), bool)
        for start, values in self.rows:
            chosen = values & self.wanted[start : start + len(values), None]
            labelled += int(np.count_nonzero(chosen.any(axis=1)))
            used |= chosen.any(axis=0)
            yield pairs_of(chosen, images.slice(start, len(values)), labels)
        unlabelled, unused = int(np.count_nonzero(self.wanted)) - labelled, int(np.count_nonzero(~used))
        if unlabelled:
            self.notes.append(f"left out {counted(unlabelled, 'image')} without a label")
        if unused:
            self.notes.append(f"left out {counted(unused, 'label')} without an image")


# --- the three sets of labels -------------------------------------------------------------------------------------


def _tags(path: Path, files: Files, split: Split | None, progress: Progress | None) -> _Table:
    tags = _needed(path, files, ALL_TAGS, "All_Tags.txt", "NUS_WID_Tags.zip")
    final = distinct_lines(_needed(path, files, _FINAL_TAGS, "Final_Tag_List.txt", "NUS_WID_Tags.zip"))
    images = image_list(files) or images_of_tags(tags)
    wanted = _wanted(files, images, split)
    notes = [*images.notes]
    rows = _rows_of_tags(tags, images, wanted, final, notes, Meter([tags], progress))
    return _Table(images, final, wanted, rows, notes)


def _matrix(path: Path, files: Files, split: Split | None, progress: Progress | None) -> _Table:
    matrix = _needed(path, files, _MATRIX_1K, "AllTags1k.txt", "NUS_WID_Tags.zip")
    tags = distinct_lines(_needed(path, files, _TAGS_1K, "TagList1k.txt", "NUS_WID_Tags.zip"))
    images = _images(path, files)
    rows = zero_one_rows(matrix, len(tags), len(images.ids), Meter([matrix], progress))
    return _Table(images, tags, _wanted(files, images, split), rows, [*images.notes])


def _concepts(path: Path, files: Files, split: Split | None, progress: Progress | None) -> _Table:
    whole = _concept_files(files, None)
    if whole:
        images = _images(path, files)
        parts = [(whole, images)]
        wanted = _wanted(files, images, split)
    else:
        parts = [_part(path, files, one) for one in ((split,) if split else get_args(Split))]
        images = joined([listed for _, listed in parts])
        wanted = np.ones(len(images.ids), bool)
    concepts = sorted(parts[0][0])
    for found, _ in parts[1:]:
        if odd := sorted(found.keys() ^ set(concepts)):
            raise DataError(f"{path} has the concept {odd[0]} of one split only; fetch Groundtruth.zip again")
    meter = Meter((file for found, _ in parts for file in found.values()), progress)
    return _Table(images, concepts, wanted, _rows_of_concepts(parts, concepts, meter), [*images.notes])


def _rows_of_tags(
    path: Path, images: ImageList, wanted: NDArray[np.bool_], final: Sequence[str], notes: list[str], meter: Meter
) -> Iterator[Rows]:
    places = {tag: place for place, tag in enumerate(final)}
    lines = lines_of(path, meter)
    start = others = 0
    while some := list(islice(lines, _LINES)):
        values = np.zeros((len(some), len(places)), bool)
        for row, (number, text) in enumerate(some):
            image, tags = tag_line(path, number, text)
            listed = images.ids[start + row].partition("#")[0] if start + row < len(images.ids) else "no image"
            if image != listed:
                raise DataError(
                    f"{path}, line {number:,} is of image {image} where {images.path} has {listed}; they do not belong "
                    f"together"
                )
            known = [places[tag] for tag in tags if tag in places]
            values[row, known] = True
            others += (len(tags) - len(known)) * int(wanted[start + row])
        yield Rows(start, values)
        start += len(some)
    if start < len(images.ids):
        raise DataError(f"{path} ends after line {start:,}, but {images.path} has {len(images.ids):,}; fetch it again")
    if others:
        notes.append(f"left out {counted(others, 'tag that is', 'tags that are')} not in Final_Tag_List.txt")


def _rows_of_concepts(
    parts: Sequence[tuple[dict[str, Path], ImageList]], concepts: Sequence[str], meter: Meter
) -> Iterator[Rows]:
    start = 0
    for files, images in parts:
        values = np.zeros((len(images.ids), len(concepts)), bool)
        for column, concept in enumerate(concepts):
            for first, ones in zero_one_rows(files[concept], 1, len(images.ids), meter):
                values[first : first + len(ones), column] = ones[:, 0]
        yield Rows(start, values)
        start += len(values)


# --- files --------------------------------------------------------------------------------------------------------


def _labels_in(path: Path, asked: Labels | None) -> Labels:
    found = next((kind for pattern, kind in _BY_FILE.items() if pattern.fullmatch(path.name)), None)
    if found is None or asked not in (None, found):
        raise DataError(
            f"{path} does not hold {asked or 'a whole set of labels'}; name All_Tags.txt for tags5018, AllTags1k.txt "
            f"for tags1k, or the folder that has all files"
        )
    return found


def _needed(path: Path, files: Files, pattern: re.Pattern[str], name: str, archive: str) -> Path:
    found = named(files, pattern)
    if found is None:
        raise DataError(f"{path} has no {name} of NUS-WIDE; download {archive} from {PAGE} and unpack it there")
    return found


def _images(path: Path, files: Files) -> ImageList:
    listed = image_list(files)
    if listed is not None:
        return listed
    tags = named(files, ALL_TAGS)
    if tags is None:
        raise DataError(
            f"{path} has neither Imagelist.txt nor All_Tags.txt to name the images of NUS-WIDE by; download "
            f"ImageList.zip from {PAGE} and unpack it there"
        )
    return images_of_tags(tags)


def _wanted(files: Files, images: ImageList, split: Split | None) -> NDArray[np.bool_]:
    return np.ones(len(images.ids), bool) if split is None else of_split(files, images, split)


def _part(path: Path, files: Files, split: Split) -> tuple[dict[str, Path], ImageList]:
    """The concept files of a split and its images, for want of files of the whole."""
    found, images = _concept_files(files, split), image_list(files, split)
    if not found or images is None:
        missing = "Groundtruth.zip" if not found else "ImageList.zip"
        what = "files Labels_*.txt" if not found else f"{split.capitalize()}Imagelist.txt"
        raise DataError(f"{path} has no {what} of NUS-WIDE; download {missing} from {PAGE} and unpack it there")
    return found, images


def _concept_files(files: Files, split: Split | None) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in files:
        match = _CONCEPT.fullmatch(path.name)
        if match and match["split"] == (split and split.capitalize()):
            other = found.setdefault(match["concept"], path)
            if other != path:
                raise DataError(f"{other} and {path} are both there; remove one of them, or name its folder")
    return found
