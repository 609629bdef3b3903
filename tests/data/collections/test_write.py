"""Labels written to a collection: what is needed, what is refused and what is reported."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.support import dataset_files
from tests.support.collections_made import photo_folder, tags_folder
from vse_ens.data.collections import FileChange, LabelEdit, open_collection
from vse_ens.data.collections.base import Editable, Edits
from vse_ens.data.collections.folder import TaggedFolder
from vse_ens.data.collections.write import writable, write_labels
from vse_ens.errors import DataError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tags_folder(tmp_path / "tags")


def labels(folder: Path) -> dict[str, tuple[str, ...]]:
    return {item.image: tuple(item.labels) for item in open_collection(folder).items()}


def test_prefix_is_for_labels_the_image_has_in_neither_form(folder: Path, tmp_path: Path) -> None:
    image, before = next((image, held) for image, held in labels(folder).items() if held)
    edit = {image: LabelEdit((before[0], "new label"))}
    report = write_labels(writable(open_collection(folder)), edit, tmp_path / "one", prefix="maybe:")
    assert (report.images, report.added, report.removed) == (1, 1, 0)
    assert labels(folder)[image] == (*before, "maybe:new label")
    again = write_labels(writable(open_collection(folder)), edit, tmp_path / "two", prefix="maybe:")
    assert (again.images, again.added, again.written.files, again.written.journal) == (0, 0, [], None)


def test_a_catalog_is_refused_with_another_way(tmp_path: Path) -> None:
    catalog = open_collection(dataset_files.lightroom(tmp_path, {"a.jpg": ["sea"]}))
    with pytest.raises(DataError, match="is lightroom, which vse only reads; write to a file with --out instead"):
        writable(catalog)


def test_a_file_that_another_program_changes_meanwhile_is_told(folder: Path, tmp_path: Path) -> None:
    image = next(iter(labels(folder)))
    collection = open_collection(folder)
    assert isinstance(collection, Editable)
    changes = collection.write

    def late(edits: Edits) -> list[FileChange]:
        found = list(changes(edits))
        found[0].path.write_text("mine")
        return found

    collection.write = late  # type: ignore[method-assign, assignment]
    report = write_labels(collection, {image: LabelEdit(("new label",))}, tmp_path / "journal")
    assert [note for note in report.notes if "was changed by another program in the meantime" in note]


def test_images_that_the_collection_lacks_are_counted_or_refused(folder: Path, tmp_path: Path) -> None:
    image = next(iter(labels(folder)))
    edits = {image: LabelEdit(("new label",)), "gone": LabelEdit(("new label",))}
    report = write_labels(writable(open_collection(folder)), edits, tmp_path / "journal")
    assert report.missing == ["gone"]
    assert [note for note in report.notes if "1 image not in" in note]
    with pytest.raises(DataError, match="has none of the 1 images, such as 'gone'"):
        write_labels(writable(open_collection(folder)), {"gone": edits["gone"]}, tmp_path / "other")


@pytest.mark.parametrize("make", [tags_folder, photo_folder])
def test_write_walks_a_folder_once(
    make: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path / "folder")
    edits = {image: LabelEdit(("new label",)) for image in labels(folder)}
    walks = []
    walk = TaggedFolder.folders

    def counted(reader: TaggedFolder[Any], *arguments: Any) -> Any:
        walks.append(reader)
        return walk(reader, *arguments)

    monkeypatch.setattr(TaggedFolder, "folders", counted)
    report = write_labels(writable(open_collection(folder)), edits, tmp_path / "journal")
    assert report.images == len(edits)
    assert len(walks) == 1


@pytest.mark.parametrize("name", ["coco", "cvat", "voc", "label_studio", "imagefolder", "imagefolder_csv"])
def test_write_reads_an_annotation_file_once(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = getattr(dataset_files, name)(tmp_path, {"a.jpg": ["sea"], "b.jpg": []})
    collection = writable(open_collection(path))
    module = import_module(type(collection).__module__)
    read_bytes, files = module.read_bytes, []

    def counted(file: Path, *limit: int) -> bytes:
        files.append(file)
        content: bytes = read_bytes(file, *limit)
        return content

    monkeypatch.setattr(module, "read_bytes", counted)
    report = write_labels(collection, {"a.jpg": LabelEdit(("sand",))}, tmp_path / "journal")
    assert (report.images, report.added) == (1, 1)
    assert files
    assert len(files) == len(set(files))
