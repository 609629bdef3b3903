"""CVAT: labels of tags and shapes, and XML that is not trusted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.dataset_files import ENTITIES, cvat

from vse_ens.data.collections import LabelEdit, open_collection
from vse_ens.errors import DataError
from vse_ens_interop.cvat import CvatCollection

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


@pytest.mark.parametrize("document", [ENTITIES, OUTSIDE])
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
