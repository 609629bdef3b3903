"""Folders per class, which are read only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.dataset_files import class_folders
from vse_ens.data.collections import WritableCollection, open_collection
from vse_ens.errors import DataError

BOX = "0 0.5 0.5 0.1 0.1\n"


def touch(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def labels(path: Path, format_name: str | None = None) -> dict[str, tuple[str, ...]]:
    return {item.image: item.labels for item in open_collection(path, format_name).items()}


def test_the_label_is_the_folder_below_the_split(tmp_path: Path) -> None:
    class_folders(tmp_path, {"a": ["cat"], "b": ["dog"]})
    collection = open_collection(tmp_path)
    assert collection.format == "folders"
    assert not isinstance(collection, WritableCollection)
    assert labels(tmp_path) == {"val/cat/0.jpg": ("cat",), "train/dog/1.jpg": ("dog",)}


def test_folders_are_classes_if_no_image_has_keywords(tmp_path: Path) -> None:
    for name in ("n01440764/a.JPEG", "n01443537/b.JPEG"):
        touch(tmp_path / "imagenet" / name)
    for name in ("cat/a.jpg", "dog/b.jpg"):
        touch(tmp_path / "pets" / name)
    assert set(labels(tmp_path / "imagenet").values()) == {("n01440764",), ("n01443537",)}
    assert open_collection(tmp_path / "pets").format == "folders"
    sidecar = '<x:xmpmeta xmlns:x="adobe:ns:meta/"></x:xmpmeta>'
    touch(tmp_path / "pets" / "cat" / "a.jpg.xmp", sidecar)
    assert open_collection(tmp_path / "pets").format == "photos"


def test_images_outside_of_classes_are_counted(tmp_path: Path) -> None:
    touch(tmp_path / "x.jpg")
    touch(tmp_path / "cat" / "deep" / "a.jpg")
    collection = open_collection(tmp_path, "folders")
    assert {item.image: item.labels for item in collection.items()} == {"x.jpg": (), "cat/deep/a.jpg": ("cat|deep",)}
    assert collection.notes == ["1 image in no folder of a class, such as x.jpg"]


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    touch(tmp_path / "cat" / "a.jpg")
    (tmp_path / "cat" / "again").symlink_to(tmp_path)
    assert labels(tmp_path, "folders") == {"cat/a.jpg": ("cat",)}


@pytest.mark.parametrize(
    "names", [("images/a.jpg", "masks/a.png"), ("train/images/a.jpg", "val/images/b.jpg", "val/x/c.jpg")]
)
def test_folders_of_other_data_sets_are_no_classes(names: tuple[str, ...], tmp_path: Path) -> None:
    for name in names:
        touch(tmp_path / name)
    with pytest.raises(DataError, match="has images, but"):
        open_collection(tmp_path)
