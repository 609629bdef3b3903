"""Hugging Face imagefolders: metadata in JSON lines and CSV, loaded by the library itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.dataset_files import imagefolder

from vse_ens.data.collections import LabelEdit, OpenOptions, open_collection
from vse_ens.errors import DataError
from vse_ens_interop.imagefolder import ImageFolder


def write_lines(folder: Path, *rows: dict[str, Any], name: str = "metadata.jsonl") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return folder


def write_csv(folder: Path, text: str) -> Path:
    (folder / "metadata.csv").write_text(text, encoding="utf-8")
    return folder


def labels(path: Path, options: OpenOptions | None = None) -> dict[str, tuple[str, ...]]:
    return {item.image: item.labels for item in open_collection(path, options=options).items()}


def edit(folder: Path, image: str, *add: str, remove: tuple[str, ...] = ()) -> str:
    (change,) = ImageFolder(folder, OpenOptions()).changes({image: LabelEdit(add, remove)})
    change.path.write_bytes(change.after)
    return change.after.decode()


def test_datasets_loads_what_was_written(tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="datasets is not installed: pip install 'vse-ens[test]'")
    from datasets import load_dataset
    from PIL import Image

    source = tmp_path / "source"
    for split in ("train", "test"):
        (source / split).mkdir(parents=True)
        imagefolder(source / split, {"a.png": ["sea"], "b.png": []})
        for name in ("a.png", "b.png"):
            Image.new("RGB", (4, 3)).save(source / split / name)
    edits = {"train/a.png": LabelEdit(("sand",)), "test/b.png": LabelEdit(("dog",))}
    for change in ImageFolder(source, OpenOptions()).changes(edits):
        change.path.write_bytes(change.after)
    loaded = load_dataset("imagefolder", data_dir=str(source), cache_dir=str(tmp_path / "cache"))
    assert {split: list(loaded[split]["labels"]) for split in loaded} == {
        "train": [["sea", "sand"], []],
        "test": [["sea"], ["dog"]],
    }


def test_datasets_loads_a_new_column_beside_a_single_label(tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="datasets is not installed: pip install 'vse-ens[test]'")
    from datasets import load_dataset
    from PIL import Image

    source = tmp_path / "source"
    write_lines(source, {"file_name": "a.png", "label": 3}, {"file_name": "b.png", "label": 4})
    for name in ("a.png", "b.png"):
        Image.new("RGB", (4, 3)).save(source / name)
    edit(source, "b.png", "sea")
    loaded = load_dataset("imagefolder", data_dir=str(source), cache_dir=str(tmp_path / "cache"))["train"]
    assert list(loaded["label"]) == [3, 4]
    assert [list(row or []) for row in loaded["labels"]] == [[], ["sea"]]
    assert labels(source) == {"a.png": ("3",), "b.png": ("4", "sea")}


def test_every_split_has_its_own_file_and_its_folder_in_ids(tmp_path: Path) -> None:
    write_lines(tmp_path, {"file_name": "d/a.jpg", "tags": ["sea"]}, name="train/metadata.jsonl")
    write_lines(tmp_path, {"file_name": "a.jpg", "tags": ["sand"]}, name="val/metadata.jsonl")
    assert labels(tmp_path) == {"train/d/a.jpg": ("sea",), "val/a.jpg": ("sand",)}
    assert labels(tmp_path / "val" / "metadata.jsonl") == {"a.jpg": ("sand",)}
    changes = list(ImageFolder(tmp_path, OpenOptions()).changes({"val/a.jpg": LabelEdit(("dog",))}))
    assert [change.path for change in changes] == [tmp_path / "val" / "metadata.jsonl"]


def test_objects_have_labels_and_are_removed_whole(tmp_path: Path) -> None:
    boxes = {"bbox": [[1, 2, 3, 4], [5, 6, 7, 8]], "categories": ["cat", "dog"]}
    write_lines(tmp_path, {"file_name": "a.jpg", "objects": boxes})
    assert labels(tmp_path) == {"a.jpg": ("cat", "dog")}
    changed = json.loads(edit(tmp_path, "a.jpg", "sea", remove=("cat",)))
    assert changed["objects"] == {"bbox": [[5, 6, 7, 8]], "categories": ["dog"]}
    assert changed["labels"] == ["sea"]


def test_a_null_list_becomes_a_list(tmp_path: Path) -> None:
    write_lines(tmp_path, {"file_name": "a.jpg", "tags": ["x"]}, {"file_name": "b.jpg", "tags": None})
    assert json.loads(edit(tmp_path, "b.jpg", "sea").splitlines()[1])["tags"] == ["sea"]


def test_removing_a_single_label_leaves_null(tmp_path: Path) -> None:
    write_lines(tmp_path, {"file_name": "a.jpg", "label": "sea"})
    assert json.loads(edit(tmp_path, "a.jpg", remove=("sea",)))["label"] is None


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("sea|sand", ("sea", "sand")),
        ("sea; sand ;", ("sea", "sand")),
        ('"sea, sand"', ("sea", "sand")),
        ('"[""sea"", ""sand""]"', ("sea", "sand")),
        ("sea", ("sea",)),
        ("", ()),
    ],
)
def test_a_csv_field_may_hold_several_labels(field: str, expected: tuple[str, ...], tmp_path: Path) -> None:
    write_csv(tmp_path, f"file_name,labels\na.jpg,{field}\n")
    assert labels(tmp_path) == {"a.jpg": expected}
    edit(tmp_path, "a.jpg", "dog")
    assert labels(tmp_path) == {"a.jpg": (*expected, "dog")}


def test_a_single_label_of_a_csv_stays_and_a_column_is_added(tmp_path: Path) -> None:
    write_csv(tmp_path, 'file_name,label,text\r\na.jpg,sea,"x, ""y"""\r\nb.jpg,sand,\r\n')
    assert edit(tmp_path, "a.jpg", "dog") == (
        'file_name,label,text,labels\r\na.jpg,sea,"x, ""y""",dog\r\nb.jpg,sand,,\r\n'
    )
    assert labels(tmp_path) == {"a.jpg": ("sea", "dog"), "b.jpg": ("sand",)}


@pytest.mark.parametrize(("field", "label"), [("sea|sand", "a|b"), ("", "a;b"), ("", "a, b"), ("", "a|b")])
def test_a_label_that_would_be_read_as_two_is_refused(field: str, label: str, tmp_path: Path) -> None:
    write_csv(tmp_path, f"file_name,labels\na.jpg,{field}\nb.jpg,x\n")
    with pytest.raises(DataError, match=rf"cannot have the label '{re.escape(label)}' for 'a\.jpg'"):
        edit(tmp_path, "a.jpg", label)


def test_columns_and_separator_can_be_named(tmp_path: Path) -> None:
    write_csv(tmp_path, "file_name,style,about\na.jpg,oil,sea + sand\n")
    options = OpenOptions(label_columns=("style", "about"), label_separator="+")
    assert labels(tmp_path, options) == {"a.jpg": ("oil", "sea", "sand")}
    with pytest.raises(DataError, match="has no column 'nope'; it has 'file_name', 'style', 'about'"):
        labels(tmp_path, OpenOptions(label_columns=("nope",)))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "metadata.jsonl",
            '{"file_name": "a.jpg", "text": "x"}\n',
            "has no column of labels; it has 'file_name', 'text'",
        ),
        ("metadata.jsonl", '{"file_name": "a.jpg", "labels": []}\n{"labels": []}\n', "line 2, .*has no file_name"),
        (
            "metadata.jsonl",
            '{"file_name": "a.jpg", "labels": []}\n{"x" 1}\n',
            r"line 2, column 6: this JSON cannot be read",
        ),
        ("metadata.jsonl", "[1]\n", "every line is an object"),
        ("metadata.csv", "name,labels\na,b\n", "has no column file_name"),
        ("metadata.csv", "file_name,labels\na.jpg\n", "line 2 has 1 field where the header has 2"),
        ("metadata.csv", 'file_name,labels\na.jpg,"x\n', "line 2 has a quote"),
        ("metadata.csv", "", "is empty"),
    ],
)
def test_damaged_metadata_is_one_sentence(name: str, content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        labels(tmp_path)
