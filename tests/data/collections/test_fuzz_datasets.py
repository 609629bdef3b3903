"""Damaged files: every reader and writer gives labels or an error of this package, and never hangs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support import dataset_files as made
from tests.support.mutations import mutated
from vse_ens.data.collections import LabelEdit, WritableCollection, open_collection
from vse_ens.data.collections.detect import find_collection
from vse_ens.errors import VseError

COUNT = 200
HASHES = {"0a" * 32: ["character:alice", "solo"], "0b" * 32: ["solo"]}
TREE = {"a.jpg": ["place|beach", "sea"], "d/b.jpg": ["sea"]}


def write_hydrus_export(folder: Path) -> Path:
    path = folder / "metadata.json"
    tags = {"k": {"name": "my tags", "type": 5, "storage_tags": {"0": ["solo"]}, "display_tags": {"0": ["solo"]}}}
    path.write_bytes(made.PLAIN.json({"metadata": [{"file_id": 1, "hash": "0a" * 32, "ext": ".jpg", "tags": tags}]}))
    return path


# The format, the function that makes a source, and the file of it that is damaged.
CASES: dict[str, tuple[str, Callable[[Path], Path], str]] = {
    "coco": ("coco", lambda folder: made.coco(folder, made.IMAGES), "instances.json"),
    "voc": ("voc", lambda folder: made.voc(folder, made.IMAGES, made.Style("\t")), "Annotations/a.xml"),
    "cvat": ("cvat", lambda folder: made.cvat(folder, made.IMAGES, made.Style("  ")), "annotations.xml"),
    "label-studio": ("label-studio", lambda folder: made.label_studio(folder, made.IMAGES), "project-1.json"),
    "label-studio-min": (
        "label-studio",
        lambda folder: made.label_studio_min(folder, made.IMAGES),
        "project-1-min.json",
    ),
    "imagefolder": ("imagefolder", lambda folder: made.imagefolder(folder, made.IMAGES), "metadata.jsonl"),
    "imagefolder-csv": ("imagefolder", lambda folder: made.imagefolder_csv(folder, TREE), "metadata.csv"),
    "yolo-names": ("yolo", lambda folder: made.yolo(folder, TREE), "data.yaml"),
    "yolo-boxes": ("yolo", lambda folder: made.yolo(folder, TREE), "labels/train/a.txt"),
    "lightroom": ("lightroom", lambda folder: made.lightroom(folder, TREE), "Lightroom Catalog.lrcat"),
    "digikam": ("digikam", lambda folder: made.digikam(folder, TREE), "digikam4.db"),
    "darktable-library": ("darktable", lambda folder: made.darktable(folder, TREE), "library.db"),
    "darktable-data": ("darktable", lambda folder: made.darktable(folder, TREE), "data.db"),
    "hydrus": ("hydrus", lambda folder: made.hydrus(folder, HASHES), "client.db"),
    "hydrus-master": ("hydrus", lambda folder: made.hydrus(folder, HASHES), "client.master.db"),
    "hydrus-mappings": ("hydrus", lambda folder: made.hydrus(folder, HASHES), "client.mappings.db"),
    "hydrus-export": ("hydrus", write_hydrus_export, "metadata.json"),
}


def read_and_change(path: Path, format_name: str) -> None:
    """Read a collection, and add and remove a label if it can be written; errors of this package are one sentence."""
    try:
        collection = open_collection(path, format_name)
        items = list(collection.items())
        for item in items:
            assert all(label and label == label.strip() for label in item.labels)
            "".join((item.image, *item.labels)).encode()
        if isinstance(collection, WritableCollection) and items:
            edits = {items[0].image: LabelEdit(("new label",), items[0].labels[:1])}
            for change in collection.changes(edits):
                assert change.before != change.after
        find_collection(path)
    except VseError as error:
        message = str(error)
        assert "\n" not in message, message
        assert len(message) < 1000, message
        assert str(path.parent) in message, message


@pytest.mark.parametrize("case", CASES)
def test_a_damaged_file_gives_labels_or_one_sentence(case: str, tmp_path: Path) -> None:
    format_name, make, name = CASES[case]
    path = make(tmp_path)
    read_and_change(path, format_name)
    damaged = tmp_path / name
    for content in mutated(damaged.read_bytes(), COUNT, seed=len(case)):
        damaged.write_bytes(content)
        read_and_change(path, format_name)


@pytest.mark.parametrize("case", CASES)
def test_some_damaged_files_are_read_all_the_same(case: str, tmp_path: Path) -> None:
    """Otherwise the files are damaged too much to test more than the first check of a reader."""
    format_name, make, name = CASES[case]
    path = make(tmp_path)
    damaged = tmp_path / name
    read = 0
    for content in mutated(damaged.read_bytes(), 200, seed=len(case)):
        damaged.write_bytes(content)
        with suppress(VseError):
            read += bool(list(open_collection(path, format_name).items()))
    assert read
