"""NUS-WIDE: 269,648 Flickr images with their users' tags and with 81 concepts, as its owners publish them.

Every set of labels is read as rows of 0 and 1, one per image, in the order of the image list.
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

from benchmarks.published.common import (
    FileProgress,
    Files,
    LoadedPairs,
    Progress,
    count_of,
    distinct_lines,
    find_file,
    list_files,
    matrix_pairs,
    numbered_lines,
)
from benchmarks.published.matrix_text import Rows, zero_one_rows
from vse_ens.data.annotations import Annotations
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
    """The images of a list: the id of each, and its folder and name if the file has them."""

    path: Path
    ids: list[str]
    entries: list[str]
    notes: tuple[str, ...]


def image_list(files: Files, split: Split | None = None) -> ImageList | None:
    """Return the list of all images, or of a split; None if there is no such file."""
    path = find_file(files, _LISTS[split])
    if path is None:
        return None
    ids, entries = [], []
    for number, text in numbered_lines(path):
        match = _ENTRY.fullmatch(text)
        if match is None:
            raise DataError(
                rf"{path}, line {number:,} has {text[:60]!r} where a name such as actor\0001_2124494179.jpg should be"
            )
        ids.append(match["id"])
        entries.append(f"{match['folder']}/{match['name']}")
    return _with_distinct_ids(path, ids, entries)


def images_of_tags(path: Path) -> ImageList:
    """Return all images of ``All_Tags.txt``, which are in the same order."""
    return _with_distinct_ids(path, [tag_line(path, number, text)[0] for number, text in numbered_lines(path)], [])


def concatenated(lists: Sequence[ImageList]) -> ImageList:
    """Return one list after the other."""
    ids = [one.partition("#")[0] for part in lists for one in part.ids]
    return _with_distinct_ids(lists[0].path, ids, [entry for part in lists for entry in part.entries])


def tag_line(path: Path, number: int, text: str) -> tuple[str, list[str]]:
    """Return the image and the tags on a line of ``All_Tags.txt``."""
    image, *tags = text.split()
    if not (image.isascii() and image.isdecimal()):
        raise DataError(f"{path}, line {number:,} starts with {image[:20]!r} where the number of an image should be")
    return image, tags


def of_split(files: Files, everything: ImageList, split: Split) -> NDArray[np.bool_]:
    """Return a mask of the images of a split."""
    part = image_list(files, split)
    if part is None or not everything.entries:
        raise DataError(
            f"Imagelist.txt and {split.capitalize()}Imagelist.txt are needed to find the {split} split; download "
            f"ImageList.zip from {PAGE}"
        )
    members = set(part.entries)
    rows = np.fromiter((entry in members for entry in everything.entries), bool)
    if np.count_nonzero(rows) != len(part.entries):
        raise DataError(f"{part.path} does not list images of {everything.path} once each; download both again")
    return rows


def _with_distinct_ids(path: Path, ids: list[str], entries: list[str]) -> ImageList:
    """Return an image list in which the second image with the same id is called ``<id>#2``."""
    if not ids:
        raise DataError(f"{path} is empty; download it again")
    seen: Counter[str] = Counter()
    distinct = []
    for one in ids:
        seen[one] += 1
        distinct.append(one if seen[one] == 1 else f"{one}#{seen[one]}")
    repeated = len(distinct) - len(seen)
    note = f"{count_of(repeated, 'image has', 'images have')} the id of an earlier one, and got the suffix #2"
    return ImageList(path, distinct, entries, (note,) if repeated else ())


Labels = Literal["tags5018", "tags1k", "concepts81"]

_FINAL_TAGS = re.compile(r"Final_Tag_List\.txt")
_MATRIX_1K = re.compile(r"AllTags1k\.txt")
_TAGS_1K = re.compile(r"TagList1k\.txt")
_CONCEPT = re.compile(r"Labels_(?P<concept>.+?)(?:_(?P<split>Train|Test))?\.txt")
_BY_FILE: dict[re.Pattern[str], Labels] = {ALL_TAGS: "tags5018", _MATRIX_1K: "tags1k"}
_PUBLISHED: dict[Labels, int] = {"tags5018": 5018, "tags1k": 1000, "concepts81": 81}
# Lines of tags converted at a time: 2,000 by 5,018 are ten megabytes.
_LINES = 2000


def read_nuswide(
    path: str | Path,
    *,
    labels: Labels | None = None,
    split: Split | None = None,
    progress: Progress | None = None,
) -> Annotations:
    """Read the pairs of a folder of NUS-WIDE's files; images are named by their Flickr id.

    Args:
        path: The folder with the unpacked files, which may be in subfolders; or ``All_Tags.txt`` or ``AllTags1k.txt``.
        labels: ``tags5018``, those of the users' tags that are in ``Final_Tag_List.txt``; ``tags1k``, the matrix
            ``AllTags1k.txt``; ``concepts81``, the files ``Labels_*.txt``. Default: ``tags5018`` for a folder, the
            content for a file.
        split: The images of ``TrainImagelist.txt`` or of ``TestImagelist.txt``. Default: all.
        progress: Called with the bytes read so far and the total.

    The image of a row is on the same line of ``Imagelist.txt``, or of ``All_Tags.txt`` if there is no list. Six
    Flickr ids occur twice; the second is called ``<id>#2``. Images without a label are dropped. The ``notes`` of the
    result count them.
    """
    path = Path(path)
    for option, value, allowed in (("labels", labels, get_args(Labels)), ("split", split, get_args(Split))):
        if value is not None and value not in allowed:
            raise ConfigError(f"{option} must be one of {', '.join(allowed)}, got {value!r}")
    files = list_files(path)
    if path.is_file():
        labels = _labels_in(path, labels)
    labels = labels or "tags5018"
    table = {"tags5018": _tags, "tags1k": _matrix, "concepts81": _concepts}[labels](path, files, split, progress)
    if len(table.labels) != _PUBLISHED[labels]:
        count = count_of(len(table.labels), "label")
        table.notes.append(f"{labels} has {count} here, {_PUBLISHED[labels]:,} as published")
    return ingest(LoadedPairs(str(path), table.batches, table.notes))


@dataclass
class _Table:
    """A matrix of images by labels, in blocks of rows; the rows in ``used`` count."""

    images: ImageList
    labels: list[str]
    used: NDArray[np.bool_]
    rows: Iterator[Rows]
    notes: list[str]

    def batches(self) -> Iterator[Batch]:
        """Yield the pairs; ``notes`` is complete after the last batch."""
        labeled, has_image = 0, np.zeros(len(self.labels), bool)
        for start, values in self.rows:
            chosen = values & self.used[start : start + len(values), None]
            labeled += int(np.count_nonzero(chosen.any(axis=1)))
            has_image |= chosen.any(axis=0)
            yield matrix_pairs(chosen, self.images.ids[start : start + len(values)], self.labels)
        images, labels = int(np.count_nonzero(self.used)) - labeled, int(np.count_nonzero(~has_image))
        if images:
            self.notes.append(f"dropped {count_of(images, 'image')} without a label")
        if labels:
            self.notes.append(f"dropped {count_of(labels, 'label')} without an image")


# --- the three sets of labels -------------------------------------------------------------------------------------


def _tags(path: Path, files: Files, split: Split | None, progress: Progress | None) -> _Table:
    tags = _require(path, files, ALL_TAGS, "All_Tags.txt", "NUS_WID_Tags.zip")
    final = distinct_lines(_require(path, files, _FINAL_TAGS, "Final_Tag_List.txt", "NUS_WID_Tags.zip"))
    images = image_list(files) or images_of_tags(tags)
    used = _images_in(files, images, split)
    notes = [*images.notes]
    rows = _tag_rows(tags, images, used, final, notes, FileProgress([tags], progress))
    return _Table(images, final, used, rows, notes)


def _matrix(path: Path, files: Files, split: Split | None, progress: Progress | None) -> _Table:
    matrix = _require(path, files, _MATRIX_1K, "AllTags1k.txt", "NUS_WID_Tags.zip")
    tags = distinct_lines(_require(path, files, _TAGS_1K, "TagList1k.txt", "NUS_WID_Tags.zip"))
    images = _images(path, files)
    rows = zero_one_rows(matrix, len(tags), len(images.ids), FileProgress([matrix], progress))
    return _Table(images, tags, _images_in(files, images, split), rows, [*images.notes])


def _concepts(path: Path, files: Files, split: Split | None, progress: Progress | None) -> _Table:
    whole = _concept_files(files, None)
    if whole:
        images = _images(path, files)
        parts = [(whole, images)]
        used = _images_in(files, images, split)
    else:
        parts = [_concepts_of_split(path, files, one) for one in ((split,) if split else get_args(Split))]
        images = concatenated([images for _, images in parts])
        used = np.ones(len(images.ids), bool)
    concepts = sorted(parts[0][0])
    for found, _ in parts[1:]:
        if missing := sorted(found.keys() ^ set(concepts)):
            raise DataError(f"{path} has the concept {missing[0]} of one split only; download Groundtruth.zip again")
    reporter = FileProgress((file for found, _ in parts for file in found.values()), progress)
    return _Table(images, concepts, used, _concept_rows(parts, concepts, reporter), [*images.notes])


def _tag_rows(
    path: Path,
    images: ImageList,
    used: NDArray[np.bool_],
    final: Sequence[str],
    notes: list[str],
    progress: FileProgress,
) -> Iterator[Rows]:
    columns = {tag: column for column, tag in enumerate(final)}
    lines = numbered_lines(path, progress)
    start = others = 0
    while some := list(islice(lines, _LINES)):
        values = np.zeros((len(some), len(columns)), bool)
        for row, (number, text) in enumerate(some):
            image, tags = tag_line(path, number, text)
            expected = images.ids[start + row].partition("#")[0] if start + row < len(images.ids) else "no image"
            if image != expected:
                raise DataError(
                    f"{path}, line {number:,} is of image {image} where {images.path} has {expected}; download "
                    f"both again"
                )
            known = [columns[tag] for tag in tags if tag in columns]
            values[row, known] = True
            others += (len(tags) - len(known)) * int(used[start + row])
        yield Rows(start, values)
        start += len(some)
    if start < len(images.ids):
        raise DataError(
            f"{path} ends after line {start:,}, but {images.path} has {len(images.ids):,}; download it again"
        )
    if others:
        notes.append(f"dropped {count_of(others, 'tag that is', 'tags that are')} not in Final_Tag_List.txt")


def _concept_rows(
    parts: Sequence[tuple[dict[str, Path], ImageList]], concepts: Sequence[str], progress: FileProgress
) -> Iterator[Rows]:
    start = 0
    for files, images in parts:
        values = np.zeros((len(images.ids), len(concepts)), bool)
        for column, concept in enumerate(concepts):
            for first, ones in zero_one_rows(files[concept], 1, len(images.ids), progress):
                values[first : first + len(ones), column] = ones[:, 0]
        yield Rows(start, values)
        start += len(values)


# --- files --------------------------------------------------------------------------------------------------------


def _labels_in(path: Path, requested: Labels | None) -> Labels:
    found = next((kind for pattern, kind in _BY_FILE.items() if pattern.fullmatch(path.name)), None)
    if found is None or requested not in (None, found):
        raise DataError(
            f"{path} does not hold {requested or 'a complete set of labels'}; name All_Tags.txt for tags5018, "
            f"AllTags1k.txt for tags1k, or the folder that has all files"
        )
    return found


def _require(path: Path, files: Files, pattern: re.Pattern[str], name: str, archive: str) -> Path:
    found = find_file(files, pattern)
    if found is None:
        raise DataError(f"{path} has no {name} of NUS-WIDE; download {archive} from {PAGE} and unpack it there")
    return found


def _images(path: Path, files: Files) -> ImageList:
    images = image_list(files)
    if images is not None:
        return images
    tags = find_file(files, ALL_TAGS)
    if tags is None:
        raise DataError(
            f"{path} has neither Imagelist.txt nor All_Tags.txt to name the images of NUS-WIDE by; download "
            f"ImageList.zip from {PAGE} and unpack it there"
        )
    return images_of_tags(tags)


def _images_in(files: Files, images: ImageList, split: Split | None) -> NDArray[np.bool_]:
    return np.ones(len(images.ids), bool) if split is None else of_split(files, images, split)


def _concepts_of_split(path: Path, files: Files, split: Split) -> tuple[dict[str, Path], ImageList]:
    """Return the concept files of a split and its images."""
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
                raise DataError(f"{other} and {path} both exist; remove one of them, or name its folder")
    return found
