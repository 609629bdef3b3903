from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.local_cluster import stand_in
from vse_ens.annotator import Annotator
from vse_ens.data.datasets.scenes import scenes

Vse = Callable[..., Any]


def test_json_is_what_the_library_finds(vse: Vse, model: Path) -> None:
    answer = vse("annotate", model, "img_0000001", "img_0000007", "--top", 3, "--json")
    assert (answer.status, answer.err) == (0, "")
    found = Annotator.load(model).annotate(["img_0000001", "img_0000007"], top=3)
    assert answer.document == [
        {
            "image": image,
            "suggestions": [
                {"label": one.label, "score": one.score, "confidence": one.confidence, "hit": one.hit}
                for one in suggestions
            ],
        }
        for image, suggestions in zip(("img_0000001", "img_0000007"), found, strict=True)
    ]


def test_the_table_names_an_image_once(vse: Vse, model: Path) -> None:
    answer = vse("annotate", model, "img_0000001", "img_0000007", "--top", 2)
    heading, *rows = answer.out.splitlines()
    assert heading.split() == ["image", "suggestion", "confidence", "hit", "score"]
    assert [row.partition(" ")[0] for row in rows] == ["img_0000001", "", "img_0000007", ""]


def test_an_image_of_any_labels(vse: Vse, model: Path) -> None:
    known = Annotator.load(model).known_.labels.ids([3, 5])
    [answer] = vse("annotate", model, "--labels", f' {known[0]} , "{known[1]}"', "--json").document
    assert (answer["image"], answer["labels"]) == (None, known)
    assert [one["label"] for one in answer["suggestions"]] == [
        one.label for one in Annotator.load(model).annotate(labels=known)
    ]
    assert vse("annotate", model, "--labels", known[0]).out.startswith("suggestion")


def test_reasons_are_named(vse: Vse, model: Path) -> None:
    answer = vse("annotate", model, "img_0000001", "--top", 1, "--explain", "--json").document
    [found] = answer[0]["suggestions"]
    assert sum(reason["share"] for reason in found["because"]) == pytest.approx(found["score"], abs=1e-4)
    shown = vse("annotate", model, "img_0000001", "--explain").out
    assert "because of" in shown
    assert " + ".join(found["because"][0]["labels"]) in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_labels_are_allowed_and_denied_by_list_or_file(vse: Vse, model: Path, tmp_path: Path) -> None:
    labels = list(Annotator.load(model).known_.labels)
    lacking = [one.label for one in Annotator.load(model).annotate("img_0000001", top=4)]
    file = tmp_path / "labels.txt"
    file.write_text("\n".join(["", *lacking[:2], ""]), encoding="utf-8")

    def suggested(*options: object) -> list[str]:
        [answer] = vse("annotate", model, "img_0000001", "--top", len(labels), *options, "--json").document
        return [one["label"] for one in answer["suggestions"]]

    assert suggested("--allow", file) == lacking[:2]
    assert suggested("--allow", ",".join(lacking), "--deny", lacking[0]) == lacking[1:]
    assert not set(lacking[:2]) & set(suggested("--deny", file))


def test_nothing_is_suggested_below_a_confidence(vse: Vse, model: Path) -> None:
    [answer] = vse("annotate", model, "img_0000001", "--min-confidence", 1, "--json").document
    assert answer["suggestions"] == []
    assert vse("annotate", model, "img_0000001", "--min-confidence", 1).out.split()[-2:] == ["img_0000001", "(none)"]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_all_images_go_to_a_file(
    suffix: str, vse: Vse, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vse_ens.model.topk._TASKS_PER_BLOCK", 1)  # several blocks, and the last is not full
    path = tmp_path / f"suggestions.{suffix}"
    answer = vse("annotate", model, "--all", "--out", path, "--top", 2, "--json")
    assert (answer.status, answer.err) == (0, "")
    frame = {"parquet": pl.read_parquet, "csv": pl.read_csv, "jsonl": pl.read_ndjson}[suffix](path)
    annotator = Annotator.load(model)
    images = list(annotator.known_.images)
    found = annotator.annotate(images, top=2)
    assert frame.select("image", "label").rows() == [
        (image, one.label) for image, suggestions in zip(images, found, strict=True) for one in suggestions
    ]
    assert answer.document == {
        "file": str(path),
        "images": len(images),
        "images_with_suggestions": len(images),
        "suggestions": len(frame),
    }


def test_all_images_go_to_a_file_for_another_program(vse: Vse, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "keywords.json"
    vse("annotate", model, "--all", "--out", path, "--format", "exiftool", "--prefix", "photos/", "--top", 2)
    first = json.loads(path.read_text(encoding="utf-8"))[0]
    labels = [one.label for one in Annotator.load(model).annotate("img_0000000", top=2)]
    assert first == {"SourceFile": "photos/img_0000000", "Subject": labels}


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_cluster_writes_the_same_file(
    suffix: str, vse: Vse, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / f"here.{suffix}", tmp_path / f"there.{suffix}"
    options = ("--top", 3, "--min-confidence", 0.01, "--deny", "sky")
    vse("annotate", model, "--all", "--out", here, *options)
    started = stand_in(monkeypatch)
    answer = vse("annotate", model, "--all", "--out", there, *options, "--cluster", "ray", "--address", "10.0.0.1:6379")
    assert (answer.status, answer.err) == (0, "")
    assert started == [("ray", "10.0.0.1:6379", None)]
    assert there.read_bytes() == here.read_bytes()


def test_a_model_without_held_out_labels_has_no_confidence(vse: Vse, tmp_path: Path) -> None:
    path = tmp_path / "model"
    Annotator("vse-ens", epochs=1, dimensions=4).fit(scenes(images=100, labels=50, seed=0)).save(path)
    [answer] = vse("annotate", path, "img_0000001", "--top", 1, "--json").document
    assert answer["suggestions"][0]["confidence"] is None
    assert " - " in vse("annotate", path, "img_0000001", "--top", 1).out
    told = vse("annotate", path, "img_0000001", "--min-confidence", 0.5)
    assert (told.status, told.out) == (1, "")
    assert "no confidence" in told.err


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["img_000001"], 1, "unknown image 'img_000001'; did you mean '"),
        (["--labels", "no such thing"], 1, "unknown label 'no such thing'"),
        (["img_0000001", "--allow", "no such thing"], 1, "unknown label 'no such thing'"),
        (["--all", "--out", "x.txt"], 1, "x.txt must end in"),
        ([], 2, "give exactly one of IMAGE, --labels and --all"),
        (["img_0000001", "--all", "--out", "x.csv"], 2, "give exactly one of IMAGE, --labels and --all"),
        (["--all"], 2, "--all and --out FILE or --write SOURCE must be given together"),
        (["img_0000001", "--out", "x.csv"], 2, "--all and --out FILE or --write SOURCE must be given together"),
        (["--all", "--out", "x.csv", "--explain"], 2, "'--explain'"),
        (["--all", "--out", "x.csv", "--format", "xml"], 1, "unknown format 'xml'"),
        (["img_0000001", "--format", "csv"], 2, "--format and --prefix need --all"),
        (["img_0000001", "--cluster", "ray"], 2, "--cluster and --address need --all"),
        (["--labels", "sky", "--address", "a:1"], 2, "--cluster and --address need --all"),
        (["--all", "--out", "x.jsonl", "--defuse-formulas"], 2, "'--defuse-formulas': needs --all and --out FILE.csv"),
        (["img_0000001", "--defuse-formulas"], 2, "'--defuse-formulas': needs --all and --out FILE.csv"),
        (["--all", "--out", "x.csv", "--cluster", "spark"], 2, "--cluster must be ray"),
        (["--all", "--out", "x.csv", "--address", "a:1"], 1, "address needs a cluster"),
        (["img_0000001", "--top", "0"], 2, "--top must be"),
        (["img_0000001", "--min-confidence", "1.5"], 2, "--min-confidence must be"),
    ],
)
def test_bad_input_is_an_error_in_one_line(
    arguments: list[str], status: int, sentence: str, vse: Vse, model: Path
) -> None:
    answer = vse("annotate", model, *arguments)
    assert (answer.status, answer.out) == (status, "")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1


def test_a_file_of_labels_must_be_text(vse: Vse, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "labels.txt"
    file.write_bytes(b"\xff\xfe\x00")
    answer = vse("annotate", model, "img_0000001", "--deny", file)
    assert answer.status == 2
    assert "labels.txt is not UTF-8 text with one label per line" in answer.err
