"""YOLO folders, which are read only."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.dataset_files import yolo

from vse_ens.data.collections import WritableCollection, open_collection
from vse_ens.errors import DataError

BOX = "0 0.5 0.5 0.1 0.1\n"


def touch(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def labels(path: Path, format_name: str | None = None) -> dict[str, tuple[str, ...]]:
    return {item.image: item.labels for item in open_collection(path, format_name).items()}


def test_boxes_give_the_names_of_their_classes_once(tmp_path: Path) -> None:
    yolo(tmp_path, {"a.jpg": ["cat", "dog"], "b.png": [], "d/c.jpg": ["dog"]})
    boxes = tmp_path / "labels" / "train" / "a.txt"
    boxes.write_text(boxes.read_text() * 2)
    expected = {
        "images/train/a.jpg": ("cat", "dog"),
        "images/train/b.png": (),
        "images/train/d/c.jpg": ("dog",),
    }
    for path in (tmp_path, tmp_path / "data.yaml"):
        collection = open_collection(path)
        assert (collection.format, collection.root) == ("yolo", tmp_path)
        assert not isinstance(collection, WritableCollection)
        assert labels(path) == expected


@pytest.mark.parametrize("names", ["[cat, dog]", "\n- cat\n- dog", "{0: cat, 1: dog}", "\n  0: cat\n  1: dog"])
def test_names_are_a_list_or_a_mapping(names: str, tmp_path: Path) -> None:
    touch(tmp_path / "data.yaml", f"nc: 2\nnames: {names}\n")
    touch(tmp_path / "train" / "images" / "a.jpg")
    touch(tmp_path / "train" / "labels" / "a.txt", "1 0.5 0.5 0.1 0.1\n1 0.1 0.2 0.3 0.4 0.5 0.6\n")
    assert labels(tmp_path) == {"train/images/a.jpg": ("dog",)}


def test_classes_txt_with_boxes_beside_the_images_is_read(tmp_path: Path) -> None:
    touch(tmp_path / "classes.txt", "cat\ndog\n")
    touch(tmp_path / "a.jpg")
    touch(tmp_path / "a.txt", BOX)
    assert labels(tmp_path) == {"a.jpg": ("cat",)}


def test_bad_lines_and_boxes_without_image_are_counted(tmp_path: Path) -> None:
    yolo(tmp_path, {"a.jpg": ["cat"], "b.jpg": ["cat"]})
    touch(tmp_path / "labels" / "train" / "a.txt", f"{BOX}7 0 0 0 0\nnonsense\n\n-1 0 0 0 0\n")
    touch(tmp_path / "labels" / "train" / "z.txt", BOX)
    collection = open_collection(tmp_path)
    found = {item.image: item.labels for item in collection.items()}
    assert found["images/train/a.jpg"] == ("cat",)
    assert found["labels/train/z"] == ("cat",)
    assert collection.notes[0] == "1 file of boxes without an image, such as labels/train/z.txt"
    assert collection.notes[1].startswith("skipped 3 lines or files of boxes: ")
    assert "a.txt, line 2 does not start with the number of a class" in collection.notes[1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("names: [cat", "line 2 is not YAML|line 1 is not YAML"),
        ("names: 5", "has no names of classes"),
        ("nc: 1", "has no names of classes"),
        ("names: !!python/object/apply:os.system ['true']", "is not YAML"),
        ("a: &a [x, x]\nnames: \xff\x00", "is not YAML|not UTF-8"),
        ("[" * 3000, "is not YAML"),
    ],
)
def test_damaged_yaml_is_one_sentence(content: str, message: str, tmp_path: Path) -> None:
    touch(tmp_path / "data.yaml", content)
    with pytest.raises(DataError, match=message):
        list(open_collection(tmp_path / "data.yaml", "yolo").items())
