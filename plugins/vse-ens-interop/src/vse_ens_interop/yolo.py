"""YOLO: a folder of images with one text file of boxes per image, and the class names in ``data.yaml``.

The names come from ``data.yaml`` (a list or a mapping), or from ``classes.txt`` or ``obj.names`` of older programs. The
id of an image is its path below the folder. Its boxes are in the file of the same name under ``labels`` where the path
has ``images``, else beside it. An image without such a file has no labels.

This format is read only: it has no place for a label of a whole image, and a made-up box would be trained on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from vse_ens.data.collections.base import ImageList, Item, OpenOptions
from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import as_label, count_of, decode_text, list_files, read_bytes, unread_note
from vse_ens.errors import DataError

_MAX_NAMES = 1 << 20  # YAML is slow: about a second per 200 KB
_MAX_BOXES = 64 << 20
_NAME_FILES = ("classes.txt", "obj.names", "_darknet.labels", "labels/classes.txt")
# Possessive, so that a long line that does not match is not tried in many ways.
_BOX = re.compile(rb"\s*+\d++(?:\s++-?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?){4,}+\s*+$")


def detect(glance: Glance) -> bool:
    """Return whether a folder has class names and files of boxes, or a file is the data.yaml of such a folder."""
    if not glance.is_folder:
        is_yaml = glance.path.suffix.lower() in (".yaml", ".yml")
        return is_yaml and bool(re.search(rb"^names\s*:", glance.head, re.MULTILINE))
    if _find_names(glance.path) is None:
        return False
    texts = sorted(name for name in glance.names if name.endswith(".txt") and name not in _NAME_FILES)
    in_labels = [name for name in texts if "labels" in name.split("/")[:-1]]
    return any(_has_boxes(glance.path / name) for name in (in_labels or texts)[:20])


def open(path: Path, options: OpenOptions) -> YoloCollection:  # noqa: A001, ARG001  # the interface of formats
    """Return the collection of a YOLO folder, given by the folder or by its data.yaml."""
    names = path if path.is_file() else _find_names(path)
    if names is None:
        raise DataError(f"{path} has neither a data.yaml with names nor a classes.txt; name the folder that has it")
    return YoloCollection(path, names)


class YoloCollection(ImageList):
    """The images of a YOLO folder with the classes of their boxes."""

    format = "yolo"

    def __init__(self, path: Path, names: Path) -> None:
        super().__init__(path)
        self._names = names
        given = _yaml(names).get("path") if names.suffix in (".yaml", ".yml") else None
        if isinstance(given, str) and path.is_file() and (names.parent / given).is_dir():
            self.root = names.parent / given

    def entries(self) -> Iterator[tuple[Item, None]]:
        """Yield every image in the order of the paths, then box files without an image."""
        names = _class_names(self._names)
        unread: list[str] = []
        problems: list[str] = []
        images = list(list_files(self.root, unread))
        boxes = {_box_file(image): image for image in images}
        known = {self._names.name, "notes.txt", "README.txt", "requirements.txt"}
        alone = [
            name
            for name in list_files(self.root, [], frozenset([".txt"]))
            if name not in boxes and "labels" in name.split("/")[:-1] and name.rpartition("/")[2] not in known
        ]
        self.total = len(images) + len(alone)
        for image in images:
            yield Item(image, self._labels(_box_file(image), names, problems)), None
        for name in alone:
            yield Item(name.removesuffix(".txt"), self._labels(name, names, problems)), None
        if alone:
            self.notes.append(f"{count_of(len(alone), 'file')} of boxes without an image, such as {alone[0]}")
        if problems:
            self.notes.append(f"skipped {count_of(len(problems), 'line')} or files of boxes: {problems[0]}")
        self.notes += unread_note(unread)

    def _labels(self, name: str, names: dict[int, str], problems: list[str]) -> tuple[str, ...]:
        path = self.root / name
        if not path.exists():
            return ()
        try:
            content = read_bytes(path, _MAX_BOXES)
        except DataError as error:
            problems.append(str(error))
            return ()
        labels: dict[str, None] = {}
        for line, row in enumerate(content.splitlines(), 1):
            first = row.split(maxsplit=1)[:1]
            if not first:
                continue
            number = int(first[0]) if first[0].isdigit() and len(first[0]) < 10 else -1
            if number in names:
                labels[names[number]] = None
            else:
                problems.append(f"{path}, line {line} does not start with the number of a class")
        return tuple(labels)


def _box_file(image: str) -> str:
    """Return the path of the boxes of an image: the last folder ``images`` becomes ``labels``."""
    parts = f"{image.rpartition('.')[0]}.txt".split("/")
    for index in reversed(range(len(parts) - 1)):
        if parts[index] == "images":
            parts[index] = "labels"
            break
    return "/".join(parts)


def _find_names(folder: Path) -> Path | None:
    """Return the file of class names of a folder."""
    candidates = [folder / name for name in ("data.yaml", "dataset.yaml", "data.yml")]
    try:
        candidates += sorted(path for path in folder.glob("*.y*ml") if path not in candidates)[:5]
    except OSError:
        return None
    for path in candidates:
        try:
            if "names" in _yaml(path):
                return path
        except DataError:
            continue
    return next((folder / name for name in _NAME_FILES if (folder / name).is_file()), None)


def _yaml(path: Path) -> dict[str, object]:
    try:
        content = yaml.safe_load(decode_text(path, read_bytes(path, _MAX_NAMES)))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise DataError(f"{path}, line {line} is not YAML: {error.problem or error.context}; fix it") from None
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:
        raise DataError(f"{path} is not YAML: {' '.join(str(error).split())[:200]}") from None
    return content if isinstance(content, dict) else {}


def _class_names(path: Path) -> dict[int, str]:
    """Return the name of each class number."""
    if path.suffix.lower() not in (".yaml", ".yml"):
        lines = decode_text(path, read_bytes(path, _MAX_NAMES)).splitlines()
        return {number: name.strip() for number, name in enumerate(lines) if name.strip()}
    given = _yaml(path).get("names")
    pairs: list[tuple[object, object]] = []
    if isinstance(given, list):
        pairs = list(enumerate(given))
    elif isinstance(given, dict):
        pairs = list(given.items())
    names = {}
    for number, value in pairs:
        name = as_label(value)
        if isinstance(number, int) and name is not None:
            names[number] = name
    if not names:
        raise DataError(f"{path} has no names of classes: names must be a list, or a mapping from numbers to names")
    return names


def _has_boxes(path: Path) -> bool:
    try:
        lines = read_bytes(path, _MAX_BOXES).splitlines()[:5]
    except DataError:
        return False
    return bool(lines) and all(_BOX.match(line) for line in lines)
