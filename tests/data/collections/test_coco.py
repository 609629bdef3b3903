"""COCO: what other programs make of the files, and where the pictures are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.dataset_files import IMAGES, Style, coco
from vse_ens.data.collections import LabelEdit, open_collection
from vse_ens.data.collections.coco import CocoCollection
from vse_ens.errors import DataError


def write(path: Path, **parts: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(parts), encoding="utf-8")
    return path


def edited(path: Path, edits: dict[str, LabelEdit]) -> dict[str, Any]:
    (change,) = CocoCollection(path).changes(edits)
    path.write_bytes(change.after)
    document: dict[str, Any] = json.loads(change.after)
    return document


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # pycocotools and NumPy 2
def test_pycocotools_loads_what_was_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pycocotools", reason="pycocotools is not installed: pip install 'vse-ens[test]'")
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    path = coco(tmp_path, IMAGES, Style("  "))
    edited(path, {"a.jpg": LabelEdit(("dog", "place|beach")), "b.jpg": LabelEdit(("sea",))})
    truth = COCO(str(path))
    named = {truth.cats[one["category_id"]]["name"] for one in truth.loadAnns(truth.getAnnIds(imgIds=[1]))}
    assert named == {"cat", "sea", "dog", "place|beach"}
    assert truth.getImgIds(catIds=truth.getCatIds(catNms=["sea"])) == [1, 2, 3]
    assert truth.getCatIds(supNms=["place"]) == truth.getCatIds(catNms=["place|beach"])
    crowds = truth.loadAnns(truth.getAnnIds(areaRng=[1000, 2000], iscrowd=True))
    assert [truth.annToMask(one).sum() for one in crowds] == [1200] * 3
    # A label of a whole image is not an object that a detector can miss, and a box inside it not a false alarm.
    boxes = [one for one in truth.dataset["annotations"] if not one["iscrowd"]]
    found = [{"image_id": 1, "category_id": truth.getCatIds(["dog"])[0], "bbox": [5, 5, 9, 9], "score": 0.9}]
    found += [{**{key: one[key] for key in ("image_id", "category_id", "bbox")}, "score": 0.9} for one in boxes]
    evaluation = COCOeval(truth, truth.loadRes(found), "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    assert evaluation.stats[0] == pytest.approx(1.0)
    capsys.readouterr()


def test_a_file_without_boxes_gets_annotations_without_boxes(tmp_path: Path) -> None:
    document = edited(coco(tmp_path, IMAGES, boxes=False), {"b.jpg": LabelEdit(("cat",))})
    assert document["annotations"][-1] == {"id": 14, "image_id": 2, "category_id": 1}


def test_missing_annotations_and_categories_are_added(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", images=[{"id": 7, "file_name": "a.jpg"}])
    document = edited(path, {"a.jpg": LabelEdit(("cat",))})
    assert document["categories"] == [{"id": 1, "name": "cat"}]
    assert document["annotations"] == [{"id": 1, "image_id": 7, "category_id": 1}]


def test_removing_a_label_removes_all_its_boxes_and_no_other(tmp_path: Path) -> None:
    notes = [{"id": n, "image_id": 1 + n // 3, "category_id": 1 + n % 2} for n in range(6)]
    images = [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}]
    names = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    path = write(tmp_path / "x.json", images=images, annotations=notes, categories=names)
    document = edited(path, {"a.jpg": LabelEdit(remove=("cat", "unknown"))})
    assert [note["id"] for note in document["annotations"]] == [1, 3, 4, 5]


@pytest.mark.parametrize(
    ("file", "picture"),
    [
        ("annotations/instances_val2017.json", "val2017/a.jpg"),
        ("annotations/instances_val2017.json", "images/val2017/a.jpg"),
        ("train/_annotations.coco.json", "train/a.jpg"),
        ("data.json", "images/a.jpg"),
    ],
)
def test_the_root_is_the_folder_with_the_pictures(file: str, picture: str, tmp_path: Path) -> None:
    path = write(tmp_path / file, images=[{"id": 1, "file_name": "a.jpg"}], annotations=[], categories=[])
    (tmp_path / picture).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / picture).touch()
    assert open_collection(path).root == (tmp_path / picture).parent
    assert [item.image for item in open_collection(path).items()] == ["a.jpg"]


def test_without_pictures_the_url_says_where_they_are(tmp_path: Path) -> None:
    image = {"id": 1, "file_name": "a.jpg", "coco_url": "http://example.com/a.jpg"}
    (item,) = open_collection(write(tmp_path / "x.json", images=[image], categories=[])).items()
    assert item.picture == "http://example.com/a.jpg"


def test_annotations_of_unknown_ids_are_counted(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.json",
        annotations=[{"id": 1, "image_id": 1, "category_id": 9}, {"id": 2, "image_id": 5, "category_id": 1}],
        categories=[{"id": 1, "name": "cat"}, {"id": 2}],
        images=[{"id": 1, "file_name": "sub\\a.jpg"}, {"id": 2}],
    )
    collection = open_collection(path)
    assert [tuple(item) for item in collection.items()] == [("sub/a.jpg", (), None)]
    assert collection.notes == [
        "skipped 1 category without a name or id",
        "skipped 1 image without a file_name or id",
        "skipped 2 annotations of an unknown image or category",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"images": [{"id": 1, "file_name": "a.jpg"}', "line 1, column 44: this JSON cannot be read"),
        (b'{"images": [\n1], "categories": []}', "line 2, column 1: .*every entry of images is an object"),
        (b'{"images": [{"id": [], "file_name": "a"}], "categories": []}', "an id is neither a number nor text"),
        (b'{"images": [], "x": ' + b"[" * 100_000 + b"}", "nested too deeply"),
        (b'{"images": [], "x": ' + b"9" * 10_000 + b"}", "this JSON cannot be read"),
        (b'{"images": [], "categories": "\xff"}', "line 1 is not UTF-8"),
        (b'{"images": []} x', "there is more after its end"),
        (b'{"categories": []}', "it has no array of images"),
        (b"[]", "it is not a JSON object"),
    ],
)
def test_a_damaged_file_is_one_sentence_with_the_place(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        list(open_collection(path, "coco").items())


def test_a_folder_with_one_coco_file_is_that_file(tmp_path: Path) -> None:
    coco(tmp_path, {"a.jpg": ["sea"]})
    (tmp_path / "package.json").write_text('{"name": "x"}')
    assert [tuple(item) for item in open_collection(tmp_path).items()] == [("a.jpg", ("sea",), None)]
    write(tmp_path / "annotations" / "val.json", images=[], categories=[])
    with pytest.raises(DataError, match=r"these COCO files: annotations/val\.json, instances\.json; name one of them"):
        open_collection(tmp_path)


def test_segments_of_panoptic_files_are_read_and_not_written(tmp_path: Path) -> None:
    notes = [{"image_id": 1, "segments_info": [{"id": 5, "category_id": 2}, {"id": 6, "category_id": 1}]}]
    names = [{"id": 1, "name": "cat"}, {"id": 2, "name": "sky"}]
    path = write(tmp_path / "x.json", images=[{"id": 1, "file_name": "a.jpg"}], annotations=notes, categories=names)
    assert [item.labels for item in open_collection(path).items()] == [("sky", "cat")]
    with pytest.raises(DataError, match="is panoptic COCO"):
        list(CocoCollection(path).changes({"a.jpg": LabelEdit(("sea",))}))


def test_a_name_that_no_file_can_have_is_an_id_all_the_same(tmp_path: Path) -> None:
    name = "x" * 5000
    path = write(tmp_path / "x.json", images=[{"id": 1, "file_name": name}], categories=[])
    assert [item.image for item in open_collection(path).items()] == [name]


def test_an_image_whose_id_another_has_is_named(tmp_path: Path) -> None:
    images = [{"id": 1, "file_name": name} for name in ("a.jpg", "b.jpg")]
    path = write(tmp_path / "a.json", images=images, annotations=[], categories=[{"id": 1, "name": "sea"}])
    with pytest.raises(DataError, match=r"a\.json has another image with the id of 'a\.jpg'; give each its own id"):
        edited(path, {"a.jpg": LabelEdit(("sea",))})
    assert edited(path, {"b.jpg": LabelEdit(("sea",))})["annotations"] == [{"id": 1, "image_id": 1, "category_id": 1}]
