"""CVAT and Pascal VOC: labels of tags, shapes and objects, and XML that is not trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.dataset_files import Style, cvat, voc
from vse_ens.data.collections import LabelEdit, open_collection
from vse_ens.data.collections.cvat import CvatCollection
from vse_ens.data.collections.voc import VocCollection
from vse_ens.data.io import read
from vse_ens.errors import DataError

CVAT = """<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta>
    <task>
      <labels>
        <label>
          <name>cat</name>
          <type>any</type>
          <attributes>
          </attributes>
        </label>
      </labels>
    </task>
  </meta>
  <image id="0" name="a.jpg" width="40" height="30">
    <box label="cat" source="manual" occluded="0" xtl="1" ytl="2" xbr="3" ybr="4" z_order="0">
      <attribute name="age">3</attribute>
    </box>
    <tag label="indoor" source="manual">
    </tag>
    <polygon label="cat" points="1,2;3,4"/>
  </image>
  <image id="1" name="sub/b.jpg" width="40" height="30">
  </image>
  <image id="2" name="c.jpg" width="40" height="30"/>
</annotations>
"""

LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE {0} [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>
<{0}><filename>&c;</filename></{0}>
"""
OUTSIDE = (
    '<?xml version="1.0"?><!DOCTYPE {0} [<!ENTITY a SYSTEM "file:///etc/passwd">]><{0}><filename>&a;</filename></{0}>'
)


def test_a_tag_is_added_in_the_style_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "annotations.xml"
    path.write_text(CVAT, encoding="utf-8")
    collection = CvatCollection(path)
    assert [(item.image, item.labels) for item in collection.items()] == [
        ("a.jpg", ("cat", "indoor")),
        ("sub/b.jpg", ()),
        ("c.jpg", ()),
    ]
    edits = {"a.jpg": LabelEdit(("sea",), ("cat",)), "sub/b.jpg": LabelEdit(("cat",)), "c.jpg": LabelEdit(("sea",))}
    (change,) = collection.changes(edits)
    tag = '    <tag label="{}" source="auto"></tag>\n'
    box = CVAT[CVAT.index("    <box") : CVAT.index("    <tag")]
    polygon = '    <polygon label="cat" points="1,2;3,4"/>\n'
    expected = CVAT.replace(box, "").replace(polygon, tag.format("sea"))
    expected = expected.replace('name="sub/b.jpg" width="40" height="30">\n', r"\g" + tag.format("cat"))
    expected = expected.replace(r"\g", 'name="sub/b.jpg" width="40" height="30">\n')
    expected = expected.replace('name="c.jpg" width="40" height="30"/>\n', r"\g")
    expected = expected.replace(r"\g", f'name="c.jpg" width="40" height="30">\n{tag.format("sea")}  </image>\n')
    listed = "          <name>sea</name>\n          <type>tag</type>\n          <attributes></attributes>\n"
    expected = expected.replace(
        "        </label>\n", f"        </label>\n        <label>\n{listed}        </label>\n", 1
    )
    assert change.after.decode() == expected


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
    (tmp_path / "Annotations" / "c.xml").write_text(LAUGHS.format("annotation"))
    collection = open_collection(tmp_path)
    assert [item.image for item in collection.items()] == ["a.jpg"]
    (note,) = collection.notes
    assert note.startswith("skipped 2 of 3 files: ")
    assert "b.xml, line 1, column 21" in note
    assert "skipped 2 of 3 files" in " ".join(read(tmp_path).notes)


@pytest.mark.parametrize("document", [LAUGHS, OUTSIDE])
def test_entities_are_refused(document: str, tmp_path: Path) -> None:
    path = tmp_path / "annotations.xml"
    path.write_text(document.format("annotations"))
    with pytest.raises(DataError, match="declares XML entities, which are not read"):
        list(open_collection(path, "cvat").items())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<annotations>\n<image name='a'>", "line 2, column 17: this XML cannot be read"),
        (b"<other/>", "its root is <other> where <annotations> is expected"),
        (b"<annotations>" + b"<a>" * 5000, "more than 100 elements are nested"),
        (b"<annotations/>", "has no image"),
        (b'<annotations><track label="cat"/></annotations>', "is CVAT for video"),
        (b'<?xml version="1.0" encoding="nonsense"?><annotations/>', "cannot be read"),
        ("<annotations/>".encode("utf-16"), "has no image"),
        (b"", "cannot be read"),
    ],
)
def test_damaged_xml_is_one_sentence(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "annotations.xml"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        list(open_collection(path, "cvat").items())


def test_latin_1_files_stay_latin_1(tmp_path: Path) -> None:
    path = tmp_path / "annotations.xml"
    path.write_bytes(
        '<?xml version="1.0" encoding="ISO-8859-1"?><annotations><image name="é"/></annotations>'.encode("latin-1")
    )
    (change,) = CvatCollection(path).changes({"é": LabelEdit(("été", "海"))})
    assert 'label="été"'.encode("latin-1") in change.after
    path.write_bytes(change.after)
    assert [item.labels for item in CvatCollection(path).items()] == [("été", "海")]


def test_utf_16_and_characters_that_xml_lacks_are_refused(tmp_path: Path) -> None:
    path = cvat(tmp_path, {"a.jpg": []})
    with pytest.raises(DataError, match="XML has no such character"):
        list(CvatCollection(path).changes({"a.jpg": LabelEdit(("a\x00b",))}))
    path.write_bytes(path.read_text(encoding="utf-8").replace("utf-8", "utf-16").encode("utf-16"))
    assert [item.image for item in CvatCollection(path).items()] == ["a.jpg"]
    with pytest.raises(DataError, match="is not written in UTF-8"):
        list(CvatCollection(path).changes({"a.jpg": LabelEdit(("sea",))}))


def test_several_voc_data_sets_below_a_folder_keep_their_folders(tmp_path: Path) -> None:
    for year in ("VOC2007", "VOC2012"):
        (tmp_path / year).mkdir()
        voc(tmp_path / year, {"a.jpg": ["dog"]})
    (tmp_path / "VOC2012" / "JPEGImages").mkdir()
    collection = open_collection(tmp_path)
    assert (collection.format, collection.root) == ("voc", tmp_path)
    assert [item.image for item in collection.items()] == ["VOC2007/Annotations/a.jpg", "VOC2012/JPEGImages/a.jpg"]


def test_a_folder_with_annotations_of_cvat_is_that_file(tmp_path: Path) -> None:
    cvat(tmp_path, {"a.jpg": ["sea"]})
    (tmp_path / "images").mkdir()
    collection = open_collection(tmp_path)
    assert (collection.format, collection.root) == ("cvat", tmp_path / "images")


def test_element_that_ends_like_an_empty_one_is_removed_whole(tmp_path: Path) -> None:
    path = tmp_path / "annotations.xml"
    path.write_text('<annotations><image name="a"><tag label="x">y/></tag><tag label="z"/></image></annotations>')
    (change,) = CvatCollection(path).changes({"a": LabelEdit(remove=("x",))})
    assert change.after == b'<annotations><image name="a"><tag label="z"/></image></annotations>'
