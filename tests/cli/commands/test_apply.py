"""``vse apply``: a cleaned data set, in a file or in the collection."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.collections_made import tags_folder
from vse_ens.data.annotations import Annotations
from vse_ens.data.collections import open_collection
from vse_ens.data.feedback.verdicts import Feedback
from vse_ens.data.rules.store import NewRule, RulesFile

Vse = Callable[..., Any]

AUDIT = "kind,image,label,other_label,confidence,reason,decision\n"


@pytest.fixture
def decisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Options with feedback, an audit and rules for `tags`."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    feedback = Feedback(tmp_path / "f.sqlite")
    first, second = sorted(labels(tags_folder(tmp_path / "dataset")))[:2]
    feedback.add(first, "accepted", "accept", by="ann", source="page", confidence=None, model="m")
    feedback.close()
    (tmp_path / "audit.csv").write_text(f"{AUDIT}missing,{second},added,,0.9,r,accept\nduplicate,,sea,ocean,,r,merge\n")
    RulesFile(tmp_path / "rules.jsonl").add([NewRule("implication", "ocean", "water")], by="ann")
    return ["--feedback", feedback.path, "--audit", tmp_path / "audit.csv", "--rules", tmp_path / "rules.jsonl"]


def labels(folder: Path) -> dict[str, set[str]]:
    return {item.image: set(item.labels) for item in open_collection(folder).items()}


def expected(old: dict[str, set[str]]) -> dict[str, set[str]]:
    first, second = sorted(old)[:2]
    new = {image: {"ocean" if label == "sea" else label for label in found} for image, found in old.items()}
    new[first].add("accepted")
    new[second].add("added")
    return {image: found | ({"water"} if "ocean" in found else set()) for image, found in new.items()}


def test_a_cleaned_file(vse: Vse, tmp_path: Path, decisions: list[object]) -> None:
    old = labels(tmp_path / "dataset")
    out = tmp_path / "clean.csv"
    report = vse("apply", tmp_path / "dataset", *decisions, "--out", out, "--json").document
    cleaned = Annotations.read(out)
    assert {image: set(cleaned.labels_of(image)) for image in cleaned.images} == expected(old)
    assert labels(tmp_path / "dataset") == old
    seas = sum("sea" in found for found in old.values())
    assert report["file"] == str(out)
    assert report["added"]["feedback"] == {"count": 1, "first": [[min(old), "accepted"]]}
    assert report["added"]["rule"]["count"] == seas
    assert report["renamed"] == {"count": seas, "first": [["sea", "ocean", seas]]}
    answer = vse("apply", tmp_path / "dataset", *decisions, "--out", out)
    assert f"added by feedback      1 pair, such as accepted on {min(old)}" in answer.out
    assert "Next: vse train" in answer.out


def test_back_into_the_collection_and_undone(vse: Vse, tmp_path: Path, decisions: list[object]) -> None:
    folder = tmp_path / "dataset"
    old, before = labels(folder), {path: path.read_bytes() for path in folder.rglob("*.txt")}
    shown = vse("apply", folder, *decisions, "--to", folder, "--dry-run")
    assert shown.status == 0
    assert "+" in shown.out
    assert labels(folder) == old
    report = vse("apply", folder, *decisions, "--to", folder, "--json").document
    assert labels(folder) == expected(old)
    assert report["cleaned"]["added"]["audit"]["count"] == 1
    again = vse("apply", folder, *decisions, "--to", folder, "--json").document
    assert again["files"] == []
    vse("undo", report["journal"])
    assert {path: path.read_bytes() for path in folder.rglob("*.txt")} == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give --feedback, --audit or --rules"),
        (("--out", "clean.csv"), "give --feedback, --audit or --rules"),
        (("--rules", "r.jsonl"), "give --out FILE or --to SOURCE"),
        (("--rules", "r.jsonl", "--out", "c.csv", "--to", "dataset"), "cannot be combined with --to"),
        (("--rules", "r.jsonl", "--accept-from", "0.5", "--out", "c.csv"), "needs --audit"),
        (("--rules", "nowhere.jsonl", "--out", "c.csv"), "nowhere.jsonl does not exist"),
        (("--rules", "r.jsonl", "--out", "c.xlsx"), "must end in one of .csv, .jsonl, .parquet"),
    ],
)
def test_options_that_do_not_fit(vse: Vse, pairs: Path, options: tuple[str, ...], message: str) -> None:
    answer = vse("apply", pairs, *options)
    assert answer.status in (1, 2)
    assert message in answer.err.replace("\n", " ")


def test_findings_are_accepted_from_a_confidence_on(vse: Vse, pairs: Path, tmp_path: Path) -> None:
    audit = tmp_path / "audit.csv"
    audit.write_text(
        f"{AUDIT}missing,img 00,new,,0.9,r,\nmissing,img 01,new,,0.7,r,\nmissing,img 02,new,,0.9,r,reject\n"
    )
    out = tmp_path / "clean.csv"
    report = vse("apply", pairs, "--audit", audit, "--accept-from", 0.8, "--out", out, "--json").document
    assert report["added"]["audit"] == {"count": 1, "first": [["img 00", "new"]]}


def test_a_cleaned_copy_in_the_format_of_the_source(vse: Vse, tmp_path: Path) -> None:
    source, out = tmp_path / "coco.json", tmp_path / "clean.json"
    content = {
        "info": {"year": 2026},
        "images": [{"id": 1, "file_name": "a.jpg", "width": 8}, {"id": 2, "file_name": "b.jpg"}],
        "categories": [{"id": 1, "name": "dalmatian"}, {"id": 2, "name": "dog"}],
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 1},
            {"id": 2, "image_id": 2, "category_id": 1},
            {"id": 3, "image_id": 2, "category_id": 2},
        ],
    }
    source.write_text(json.dumps(content))
    before = source.read_bytes()
    RulesFile(tmp_path / "rules.jsonl").add([NewRule("implication", "dalmatian", "dog")], by="ann")
    rules = ("--rules", tmp_path / "rules.jsonl")
    answer = vse("apply", source, *rules, "--out", out)
    assert answer.status == 0, answer.err
    assert "1 pair added and 0 removed" in answer.out
    assert json.loads(out.read_text()).keys() >= content.keys()
    assert {item.image: set(item.labels) for item in open_collection(out).items()} == {
        "a.jpg": {"dalmatian", "dog"},
        "b.jpg": {"dalmatian", "dog"},
    }
    report = vse("apply", source, *rules, "--consolidate", "--out", out, "--json").document
    assert report["removed"]["rule"] == {"count": 1, "first": [["b.jpg", "dog"]]}
    assert {item.image: item.labels for item in open_collection(out).items()} == {
        "a.jpg": ("dalmatian",),
        "b.jpg": ("dalmatian",),
    }
    for arguments, message in (
        ((*rules, "--out", source), "coco.json is PAIRS itself; use --to, which vse undo can restore"),
        ((*rules, "--out", tmp_path / "clean.xml"), "clean.xml must end in one of .csv, .jsonl, .parquet"),
        (("--feedback", "f.sqlite", "--consolidate", "--out", out), "--consolidate': needs --rules"),
    ):
        answer = vse("apply", source, *arguments)
        assert answer.status in (1, 2)
        assert message in answer.err
    assert source.read_bytes() == before
    (tmp_path / "none.jsonl").write_text('{"format": "vse-ens rules", "version": 1}\n')
    vse("apply", source, "--rules", tmp_path / "none.jsonl", "--out", out)
    assert out.read_bytes() == before
