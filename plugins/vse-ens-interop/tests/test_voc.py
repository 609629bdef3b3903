"""Pascal VOC: labels of objects, and where its pictures are."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.dataset_files import ENTITIES, Style, voc

from vse_ens.data.collections import LabelEdit, open_collection
from vse_ens.data.io.read import read
from vse_ens_interop.voc import VocCollection


def test_a_voc_object_is_over_the_whole_image_and_difficult(tmp_path: Path) -> None:
    voc(tmp_path, {"a.jpg": ["dog"]}, Style("\t"))
    (change,) = VocCollection(tmp_path).changes({"a.jpg": LabelEdit(("sea",))})
    added = change.after.decode().replace((change.before or b"").decode().removesuffix("\n</annotation>\n"), "")
    assert added == (
        "\n\t<object>\n\t\t<name>sea</name>\n\t\t<pose>Unspecified</pose>\n\t\t<truncated>0</truncated>\n"
        "\t\t<difficult>1</difficult>\n\t\t<bndbox>\n\t\t\t<xmin>1</xmin>\n\t\t\t<ymin>1</ymin>\n"
        "\t\t\t<xmax>40</xmax>\n\t\t\t<ymax>30</ymax>\n\t\t</bndbox>\n\t</object>\n</annotation>\n"
    )


@pytest.mark.parametrize("pictures", ["JPEGImages", "images", "."])
def test_voc_ids_are_below_the_folder_of_pictures(pictures: str, tmp_path: Path) -> None:
    voc(tmp_path, {"d/a.jpg": ["dog"]})
    (tmp_path / pictures).mkdir(exist_ok=True)
    expected = tmp_path / ("Annotations" if pictures == "." else pictures)
    for path in (tmp_path, tmp_path / "Annotations"):
        collection = open_collection(path)
        assert (collection.format, collection.root) == ("voc", expected)
        assert [item.image for item in collection.items()] == ["d/a.jpg"]


def test_parts_of_a_voc_object_are_no_labels(tmp_path: Path) -> None:
    text = "<annotation><object><name>person</name><part><name>hand</name></part></object></annotation>"
    (tmp_path / "a.xml").write_text(text)
    assert [tuple(item) for item in open_collection(tmp_path).items()] == [("a", ("person",), None)]


def test_damaged_files_of_a_voc_folder_are_counted(tmp_path: Path) -> None:
    voc(tmp_path, {"a.jpg": ["dog"], "b.jpg": ["cat"], "c.jpg": ["cat"]})
    (tmp_path / "Annotations" / "b.xml").write_text("<annotation><object>")
    (tmp_path / "Annotations" / "c.xml").write_text(ENTITIES.format("annotation"))
    collection = open_collection(tmp_path)
    assert [item.image for item in collection.items()] == ["a.jpg"]
    (note,) = collection.notes
    assert note.startswith("skipped 2 of 3 files: ")
    assert "b.xml, line 1, column 21" in note
    assert "skipped 2 of 3 files" in " ".join(read(tmp_path).notes)


def test_several_voc_data_sets_below_a_folder_keep_their_folders(tmp_path: Path) -> None:
    for year in ("VOC2007", "VOC2012"):
        (tmp_path / year).mkdir()
        voc(tmp_path / year, {"a.jpg": ["dog"]})
    (tmp_path / "VOC2012" / "JPEGImages").mkdir()
    collection = open_collection(tmp_path)
    assert (collection.format, collection.root) == ("voc", tmp_path)
    assert [item.image for item in collection.items()] == ["VOC2007/Annotations/a.jpg", "VOC2012/JPEGImages/a.jpg"]
