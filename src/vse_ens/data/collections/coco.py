"""COCO: one JSON file with images, categories and annotations, of instances or of whole images.

The id of an image is its ``file_name``. The root is the folder in which the first images are found: that of the file,
``images`` in it or above it, or a folder above it that is named like the split.

A label is written as an annotation of the whole image. In a file of instances this is a crowd region
(``"iscrowd": 1``) over the image: detection code and `pycocotools` count it neither as an object nor as a miss. In a
file without boxes it has only ``id``, ``image_id`` and ``category_id``. Removing a label removes its annotations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from vse_ens.data.collections.base import Editable, Edits, FileChange, ImageList, Item, LabelEdit, OpenOptions
from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import as_label, count_of, is_file, json_objects, read_bytes, relative_id
from vse_ens.data.collections.text_edits import JsonText, Splice, Value
from vse_ens.errors import DataError

_PARTS = ("images", "annotations", "categories")
_SKIPPED = {
    "annotation": "of an unknown image or category",
    "image": "without a file_name or id",
    "category": "without a name or id",
}
_EXAMINED = 20  # images that are looked for to find the root, and files in which COCO is looked for


def detect(glance: Glance) -> bool:
    """Return whether a file, or a JSON file of a folder, starts like COCO."""
    if glance.is_folder:
        return bool(_files(glance))
    return _is_coco(glance.head)


def _files(glance: Glance) -> list[str]:
    """Return the COCO files in a folder and one level below it."""
    names = sorted(name for name in glance.names if name.endswith(".json") and name.count("/") <= 1)
    return [name for name in names[:_EXAMINED] if _is_coco(Glance(glance.path / name).head)]


def _is_coco(head: bytes) -> bool:
    """Return whether a file starts with an object that has images, and categories or annotations."""
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(b"{"):
        return False
    found = {part for part in _PARTS if re.search(rb'"%b"\s*:\s*\[' % part.encode(), head)}
    inside = {key for key in (b"file_name", b"image_id", b"category_id", b"supercategory") if b'"%b"' % key in head}
    return len(found) >= 2 or (bool(found) and bool(inside))


def open(path: Path, options: OpenOptions) -> CocoCollection:  # noqa: A001, ARG001  # the interface of formats
    """Return the collection of a COCO file, or of a folder that has only one."""
    if path.is_dir():
        names = _files(Glance(path))
        if len(names) != 1:
            shown = f"these COCO files: {', '.join(names[:10])}; name one of them" if names else "no COCO file"
            raise DataError(f"{path} has {shown}")
        path = path / names[0]
    return CocoCollection(path)


@dataclass
class _Content:
    """The parts of a file that labels need."""

    text: JsonText
    names: dict[Any, str] = field(default_factory=dict)
    """The name of each category id."""
    files: dict[Any, str] = field(default_factory=dict)
    """The file name of each image id."""
    urls: dict[str, str] = field(default_factory=dict)
    labels: dict[str, dict[str, None]] = field(default_factory=dict)
    """The labels of each file name, in the order of the file."""
    starts: dict[str, int] = field(default_factory=dict)
    """The positions of the arrays."""
    is_panoptic: bool = False
    notes: list[str] = field(default_factory=list)


class CocoCollection(ImageList, Editable):
    """The images of a COCO file with the names of their categories."""

    format = "coco"

    @cached_property
    def root(self) -> Path:
        """The folder of the images."""
        return _find_root(_read(self.path, read_bytes(self.path)))

    def entries(self) -> Iterator[tuple[Item, _Content]]:
        """Yield every image in the order of the file."""
        content = _read(self.path, read_bytes(self.path))
        self.root = _find_root(content)
        first = next(iter(content.labels), None)
        local = first is not None and is_file(self.root / first)
        self.notes, self.total = content.notes, len(content.labels)
        for name, labels in content.labels.items():
            yield Item(name, tuple(labels), None if local else content.urls.get(name)), content

    def write(self, edits: Edits) -> Iterator[FileChange]:
        """Yield the change of the file."""
        wanted: dict[str, LabelEdit] = {}
        content = None
        for item, read in self.distinct():
            content = read
            if (edit := edits.of(item)) is not None:
                wanted[item.image] = edit
        edits.check_known()
        if content is not None and wanted:
            if content.is_panoptic:
                raise DataError(f"{self.path} is panoptic COCO, whose labels belong to segments; write to another file")
            yield from content.text.change(_splices(content, wanted))


def _read(path: Path, raw: bytes) -> _Content:
    """Read images, categories and annotations in the order in which a file has them."""
    content = _Content(JsonText(path, raw))
    text = content.text
    if text.opens(text.start()) != "{":
        raise DataError(f"{path} is not COCO: it is not a JSON object with images, annotations and categories")
    pending: list[tuple[Any, Any]] = []  # (image id, category id): annotations may come before images
    skipped: Counter[str] = Counter()
    for key, start in text.members(text.start()):
        if key in _PARTS and text.opens(start) == "[":
            content.starts[key] = start
            for element in text.elements(start):
                _take(content, key, element, pending, skipped)
    text.check_end(text.end_of(text.start()))
    if "images" not in content.starts:
        raise DataError(f"{path} is not COCO: it has no array of images")
    for image, category in pending:
        name, label = content.files.get(image), content.names.get(category)
        if name is None or label is None:
            skipped["annotation"] += 1
        else:
            content.labels[name][label] = None
    content.notes += [f"skipped {count_of(count, noun)} {_SKIPPED[noun]}" for noun, count in skipped.items()]
    return content


def _take(content: _Content, key: str, element: Value, pending: list[tuple[Any, Any]], skipped: Counter[str]) -> None:
    """Take the labels' part of an image, a category or an annotation."""
    entry = element.content
    if not isinstance(entry, dict):
        raise content.text.error(element.start, f"every entry of {key} is an object")
    try:
        hash((entry.get("id"), entry.get("image_id"), entry.get("category_id")))
        if key == "annotations":
            if "category_id" in entry:
                pending.append((entry.get("image_id"), entry["category_id"]))
            for segment in json_objects(entry.get("segments_info")):  # of panoptic COCO
                content.is_panoptic = True
                hash(segment.get("category_id"))
                pending.append((entry.get("image_id"), segment.get("category_id")))
            return
        name = as_label(entry.get("file_name" if key == "images" else "name"))
        if name is None or "id" not in entry:
            skipped["image" if key == "images" else "category"] += 1
        elif key == "categories":
            content.names[entry["id"]] = name
        else:
            name = relative_id(name)
            content.files[entry["id"]] = name
            content.labels.setdefault(name, {})
            url = entry.get("coco_url") or entry.get("flickr_url")
            if isinstance(url, str) and url:
                content.urls[name] = url
    except TypeError:  # an id that is a list or an object
        raise content.text.error(element.start, "an id is neither a number nor text") from None


def _find_root(content: _Content) -> Path:
    """Return the folder in which the most of the first images are."""
    path, names = content.text.path, list(content.labels)[:_EXAMINED]
    folder, above = path.parent, path.parent.parent
    splits = [part for part in re.split(r"[_.]", path.stem) if part]
    places = [folder, folder / "images", above, above / "images"]
    places += [place / split for split in splits for place in (folder, above, folder / "images", above / "images")]
    return max(places, key=lambda place: sum(is_file(place / name) for name in names))


def _splices(content: _Content, edits: Mapping[str, LabelEdit]) -> list[Splice]:
    """Return the replacements that carry out the edits."""
    category_ids = {label: number for number, label in reversed(content.names.items())}
    categories = list(_elements(content, "categories"))
    next_category = 1 + max((number for number in content.names if type(number) is int), default=0)
    nested = any("supercategory" in category.content for category in categories)
    new_categories = []
    for label in dict.fromkeys(label for edit in edits.values() for label in edit.add):
        if label not in category_ids:
            category_ids[label] = next_category
            new_categories.append(_category(next_category, label, nested))
            next_category += 1
    removed, last_id, boxed = _scan_annotations(content, edits)
    images = _first_images(content, edits)
    if without := [name for name, edit in edits.items() if edit.add and name not in images]:
        raise DataError(f"{content.text.path} has another image with the id of {without[0]!r}; give each its own id")
    pairs = [(images[name], category_ids[label]) for name, edit in edits.items() for label in edit.add]
    new_annotations = [
        _annotation(number, image, category, boxed) for number, (image, category) in enumerate(pairs, last_id + 1)
    ]
    return [
        *_change_part(content, "categories", categories, (), new_categories),
        *_change_part(content, "annotations", *removed, new_annotations),
    ]


def _scan_annotations(
    content: _Content, edits: Mapping[str, LabelEdit]
) -> tuple[tuple[list[Value], set[int]], int, bool]:
    """Return the positions of annotations and the numbers of those to remove; the highest id; whether any has a box."""
    remove = {(name, label) for name, edit in edits.items() for label in edit.remove}
    spans: list[Value] = []
    numbers: set[int] = set()
    last_id, boxed = 0, False
    for number, element in enumerate(_elements(content, "annotations")):
        entry = element.content
        spans.append(element._replace(content=None))  # all of a large file would not fit into RAM
        if (content.files.get(entry.get("image_id")), content.names.get(entry.get("category_id"))) in remove:
            numbers.add(number)
        last_id = max(last_id, entry["id"] if type(entry.get("id")) is int else 0)
        boxed = boxed or "bbox" in entry
    return (spans, numbers), last_id, boxed


def _first_images(content: _Content, edits: Mapping[str, LabelEdit]) -> dict[str, dict[str, Any]]:
    """Return the entry of each edited image; of several with the same file name the first."""
    images: dict[str, dict[str, Any]] = {}
    for element in content.text.elements(content.starts["images"]):
        name = content.files.get(element.content.get("id"))
        if name is not None and name in edits:
            images.setdefault(name, element.content)
    return images


def _elements(content: _Content, key: str) -> Iterator[Value]:
    return content.text.elements(content.starts[key]) if key in content.starts else iter(())


def _change_part(
    content: _Content, key: str, entries: Sequence[Value], remove: Collection[int], add: Sequence[dict[str, Any]]
) -> list[Splice]:
    if not remove and not add:
        return []
    if key in content.starts:
        return content.text.change_array(content.starts[key], entries, remove, add)
    return content.text.add_member(content.text.start(), key, add)


def _category(number: int, label: str, nested: bool) -> dict[str, Any]:
    """Return a new category; its supercategory, if others have one, is the parent in a hierarchy of labels."""
    if nested:
        return {"id": number, "name": label, "supercategory": label.rpartition("|")[0] or "none"}
    return {"id": number, "name": label}


def _annotation(number: int, image: Mapping[str, Any], category: int, boxed: bool) -> dict[str, Any]:
    """Return an annotation of a whole image."""
    annotation: dict[str, Any] = {"id": number, "image_id": image["id"], "category_id": category}
    width, height = image.get("width"), image.get("height")
    if boxed and type(width) is int and type(height) is int:
        annotation |= {
            "bbox": [0, 0, width, height],
            "area": width * height,
            "segmentation": {"size": [height, width], "counts": [0, width * height]},
            "iscrowd": 1,
        }
    return annotation
