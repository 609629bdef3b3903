"""From an annotation file or a catalog to a model, and back into a file that the program reads."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.build_once import build_once
from tests.support.collections_made import tagged_images
from tests.support.dataset_files import WRITABLE, Style, digikam, yolo
from tests.support.photos import jpeg
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations
from vse_ens.data.collections import open_collection

Vse = Callable[..., Any]
IMAGES = {image: [label.replace("|", ":") for label in labels] for image, labels in tagged_images(120).items()}


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home" / "state"))


@pytest.fixture(scope="module")
def dataset_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def train(path: Path) -> None:
        pairs = ((image, label) for image, labels in IMAGES.items() for label in labels)
        Annotator(epochs=2, dimensions=8, negatives=4).fit(Annotations.from_pairs(pairs)).save(path)

    return build_once(tmp_path_factory, "dataset-model", train)


def state(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def labels(path: Path) -> dict[str, set[str]]:
    return {item.image: set(item.labels) for item in open_collection(path).items()}


@pytest.mark.parametrize("kind", WRITABLE)
def test_suggestions_are_written_to_every_format_and_undone(
    vse: Vse, dataset_model: Path, kind: str, tmp_path: Path
) -> None:
    folder = tmp_path / "dataset"
    folder.mkdir()
    source = WRITABLE[kind](folder, IMAGES, Style("  "))
    before, old = state(folder), labels(source)
    assert old == {image: set(given) for image, given in IMAGES.items()}
    arguments = ("annotate", dataset_model, "--all", "--write", source, "--min-confidence", 0.1, "--json")
    report = vse(*arguments).document
    new = labels(source)
    assert sum(len(new[image] - old[image]) for image in old) == report["labels_added"] > 50
    assert all(old[image] <= new[image] for image in old)
    assert vse(*arguments).document["files"] == []
    assert vse("undo", report["journal"], "--json").document["files"] == report["files"]
    assert state(folder) == before


def test_an_audit_decision_removes_the_boxes_of_a_label(vse: Vse, tmp_path: Path) -> None:
    source = WRITABLE["coco"](tmp_path, {"a.jpg": ["cat", "dog"], "b.jpg": ["cat"]}, Style())
    table = tmp_path / "audit.csv"
    with table.open("w", newline="") as file:
        rows = csv.DictWriter(file, ["kind", "image", "label", "other_label", "confidence", "decision"])
        rows.writeheader()
        rows.writerow({"kind": "wrong", "image": "a.jpg", "label": "cat", "decision": "accept"})
    answer = vse("apply", table, "--to", source, "--json")
    assert answer.status == 0, answer.err
    assert labels(source) == {"a.jpg": {"dog"}, "b.jpg": {"cat"}}


def test_read_only_formats_and_catalogs_are_not_written(vse: Vse, dataset_model: Path, tmp_path: Path) -> None:
    for name, source in (("yolo", yolo(tmp_path, {"a.jpg": ["x"]})), ("digikam", digikam(tmp_path, {"a.jpg": ["x"]}))):
        answer = vse("annotate", dataset_model, "--all", "--write", source, "--format", name)
        assert answer.status != 0
        assert answer.err.startswith("error: ")
        assert "\n" not in answer.err.strip()


def test_labels_of_a_catalog_come_back_as_sidecars(vse: Vse, dataset_model: Path, tmp_path: Path) -> None:
    pictures = tmp_path / "Pictures"
    for image in IMAGES:
        (pictures / image).parent.mkdir(parents=True, exist_ok=True)
        (pictures / image).write_bytes(jpeg(b""))
    catalog = digikam(pictures, IMAGES)
    with sqlite3.connect(catalog) as db:
        db.execute("UPDATE AlbumRoots SET identifier = ?", [f"volumeid:?path={pictures}"])
    data = Annotations.read(catalog)
    assert set(data.images) == set(IMAGES)
    assert f"image ids are paths below {pictures}" in data.notes
    before = catalog.read_bytes()
    answer = vse(
        "annotate", dataset_model, "--all", "--write", pictures, "--format", "photos", "--min-confidence", 0.1, "--json"
    )  # fmt: skip
    assert answer.document["labels_added"] > 50, answer.err
    assert all(Path(path).suffix == ".xmp" for path in answer.document["files"])
    assert catalog.read_bytes() == before
    assert not list(pictures.glob("digikam4.db-*"))
