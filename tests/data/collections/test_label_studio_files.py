"""Label Studio's exports: labels of every kind of control, and labels that go where the program looks for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vse_ens.data.collections import LabelEdit, open_collection
from vse_ens.data.collections.label_studio import LabelStudioCollection
from vse_ens.errors import DataError


def result(kind: str, labels: list[Any], name: str = "tag") -> dict[str, Any]:
    return {"from_name": name, "to_name": "img", "type": kind, "value": {"x": 1, kind: labels}}


def task(image: str, *results: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": 1,
        "data": {"image": image},
        "annotations": [{"id": 1, "result": list(results)}] if results else [],
        **more,
    }


def write(folder: Path, *tasks: Any) -> Path:
    path = folder / "export.json"
    path.write_text(json.dumps(tasks), encoding="utf-8")
    return path


def labels(path: Path) -> dict[str, tuple[str, ...]]:
    return {item.image: item.labels for item in open_collection(path).items()}


def edited(path: Path, image: str, *add: str, remove: tuple[str, ...] = ()) -> Any:
    (change,) = LabelStudioCollection(path).changes({image: LabelEdit(add, remove)})
    path.write_bytes(change.after)
    return json.loads(change.after)


def test_labels_of_choices_taxonomies_and_regions_are_read(tmp_path: Path) -> None:
    cancelled = {"was_cancelled": True, "result": [result("choices", ["no"])]}
    first = task(
        "a.jpg",
        result("choices", ["sea", "sea"]),
        result("taxonomy", [["place", "beach"], ["place"]]),
        result("rectanglelabels", ["ball"]),
        result("brushlabels", ["sky"]),
        {"type": "textarea", "value": {"text": ["a caption"]}},
        predictions=[{"model_version": "other", "result": [result("choices", ["maybe"])]}],
    )
    first["annotations"].append(cancelled)
    assert labels(write(tmp_path, first)) == {"a.jpg": ("sea", "place|beach", "place", "ball", "sky")}


@pytest.mark.parametrize(
    ("address", "image", "picture"),
    [
        ("https://example.com/a%20b.jpg", "https://example.com/a%20b.jpg", "https://example.com/a%20b.jpg"),
        ("s3://bucket/a.jpg", "s3://bucket/a.jpg", "s3://bucket/a.jpg"),
        ("/data/local-files/?d=photos/a%20b.jpg", "photos/a b.jpg", None),
        ("/data/upload/3/1b2c-a.jpg", "upload/3/1b2c-a.jpg", None),
        ("./sub\\a.jpg", "sub/a.jpg", None),
        ("data:image/png;base64,AAAA", "task-1", None),
    ],
)
def test_the_id_of_an_image_is_its_address(address: str, image: str, picture: str | None, tmp_path: Path) -> None:
    (item,) = open_collection(write(tmp_path, task(address))).items()
    assert (item.image, item.picture) == (image, picture)


def test_the_image_is_found_under_any_key(tmp_path: Path) -> None:
    path = write(tmp_path, {"data": {"title": "x", "scan": "pages/a.png"}, "annotations": []}, {"data": {"text": "x"}})
    collection = open_collection(path)
    assert [item.image for item in collection.items()] == ["pages/a.png"]
    assert collection.notes == ["skipped 1 task without an image"]


def test_an_annotated_task_gets_the_label_in_its_annotation(tmp_path: Path) -> None:
    path = write(tmp_path, task("a.jpg", result("rectanglelabels", ["ball"], "box"), result("choices", ["sea"])))
    (changed,) = edited(path, "a.jpg", "sand")
    assert changed["annotations"][0]["result"][1]["value"]["choices"] == ["sea", "sand"]
    assert "predictions" not in changed


def test_a_new_result_uses_the_control_of_other_tasks(tmp_path: Path) -> None:
    others = [task("b.jpg", result("choices", ["sea"], "kind")), task("c.jpg", result("choices", ["sea"], "kind"))]
    path = write(tmp_path, task("a.jpg", result("rectanglelabels", ["ball"], "box")), *others)
    changed = edited(path, "a.jpg", "sand")[0]["annotations"][0]["result"]
    assert len(changed) == 2
    assert {key: changed[1][key] for key in ("from_name", "to_name", "type", "value")} == {
        "from_name": "kind",
        "to_name": "img",
        "type": "choices",
        "value": {"choices": ["sand"]},
    }


def test_a_project_with_a_taxonomy_gets_a_path(tmp_path: Path) -> None:
    path = write(tmp_path, task("a.jpg", result("taxonomy", [["place"]])))
    (changed,) = edited(path, "a.jpg", "place|beach")
    assert changed["annotations"][0]["result"][0]["value"]["taxonomy"] == [["place"], ["place", "beach"]]


def test_a_task_without_annotations_gets_a_prediction_to_review(tmp_path: Path) -> None:
    path = write(tmp_path, {"data": {"image": "a.jpg"}})
    (changed,) = edited(path, "a.jpg", "sea")
    (changed,) = edited(path, "a.jpg", "sand")
    (prediction,) = changed["predictions"]
    assert prediction["model_version"] == "vse-ens"
    assert [one["value"] for one in prediction["result"]] == [{"choices": ["sea", "sand"]}]
    assert labels(path) == {"a.jpg": ("sea", "sand")}
    # The reviewer kept one of two labels: the prediction, which exports repeat, counts no more.
    changed["annotations"] = [{"id": 1, "result": [result("choices", ["sand"], "choice")]}]
    assert labels(write(tmp_path, changed)) == {"a.jpg": ("sand",)}


def test_removing_a_label_removes_its_regions(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        task(
            "a.jpg",
            result("choices", ["sea"]),
            result("rectanglelabels", ["sea"]),
            result("rectanglelabels", ["sea", "b"]),
        ),
    )
    (changed,) = edited(path, "a.jpg", remove=("sea",))
    assert [one["value"].get("rectanglelabels") for one in changed["annotations"][0]["result"]] == [["b"]]


def test_the_label_of_the_min_form_is_text_or_choices(tmp_path: Path) -> None:
    rest = {"annotator": 1, "annotation_id": 1, "lead_time": 1.0}
    box = {"x": 1, "rectanglelabels": ["ball"]}
    path = write(
        tmp_path,
        {"image": "a.jpg", "id": 1, "kind": "sea", "box": [box], "caption": "a text", **rest},
        {"image": "b.jpg", "id": 2, "kind": {"choices": ["sea", "sand"]}, **rest},
        {"image": "c.jpg", "id": 3, **rest},
    )
    assert labels(path) == {"a.jpg": ("sea", "ball"), "b.jpg": ("sea", "sand"), "c.jpg": ()}
    assert edited(path, "a.jpg", "dog", remove=("ball",))[0]["kind"] == {"choices": ["sea", "dog"]}
    assert edited(path, "b.jpg", remove=("sea",))[1]["kind"] == {"choices": ["sand"]}
    assert edited(path, "c.jpg", "dog")[2]["kind"] == "dog"
    assert labels(path) == {"a.jpg": ("sea", "dog"), "b.jpg": ("sand",), "c.jpg": ("dog",)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"data": {"image": "a.jpg"}, "annotations": [}]', "line 1, column 47"),
        (b"[1]", "every task is an object"),
        (b"[]", "has no task with an image"),
        (b"{}", "is not a JSON array of tasks"),
    ],
)
def test_a_damaged_file_is_one_sentence(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        list(open_collection(path, "label-studio").items())


def test_prediction_numbers_give_way_to_an_importable_one(tmp_path: Path) -> None:
    path = write(tmp_path, {"data": {"image": "a.jpg"}, "annotations": [], "predictions": [17, 18]})
    (changed,) = edited(path, "a.jpg", "sea")
    assert [one["model_version"] for one in changed["predictions"]] == ["vse-ens"]
