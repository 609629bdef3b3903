from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from vse_ens.curate.suggest import SuggestionBlock
from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError
from vse_ens.export.suggestions import ExportCounts, format_of, write_suggestions

IMAGES = Vocabulary.from_ids(["a.jpg", "b,c.jpg", "海 🏖️.jpg"], "image")
LABELS = Vocabulary.from_ids(['"quoted"', "sand", "sea, wide", "Ωmega"], "label")
NUMBERS = np.array([[1, 3], [-1, -1], [2, 0]], np.int32)
SCORES = np.array([[2.5, 1.0], [-np.inf, -np.inf], [0.5, -0.25]], np.float32)
SURE = np.array([[0.75, 0.25], [0, 0], [0.5, 0.125]], np.float32)
ROWS = [
    {"image": "a.jpg", "label": "sand", "score": 2.5, "confidence": 0.75, "hit": 0.375, "rank": 1},
    {"image": "a.jpg", "label": "Ωmega", "score": 1.0, "confidence": 0.25, "hit": 0.125, "rank": 2},
    {"image": "海 🏖️.jpg", "label": "sea, wide", "score": 0.5, "confidence": 0.5, "hit": 0.25, "rank": 1},
    {"image": "海 🏖️.jpg", "label": '"quoted"', "score": -0.25, "confidence": 0.125, "hit": 0.0625, "rank": 2},
]


def block(rows: slice, confidences: np.ndarray | None = SURE) -> SuggestionBlock:
    sure = None if confidences is None else confidences[rows]
    hits = None if sure is None else sure / 2
    return SuggestionBlock(np.arange(3)[rows], NUMBERS[rows], SCORES[rows], sure, hits, LABELS)


def blocks(confidences: np.ndarray | None = SURE) -> list[SuggestionBlock]:
    """One block of two images and one of the third."""
    return [block(slice(0, 2), confidences), block(slice(2, 3), confidences)]


def write(path: Path, some: list[SuggestionBlock], form: str, **options: str) -> ExportCounts:
    return write_suggestions(path, IMAGES, some, form, **options)


def test_tables_have_a_row_a_suggestion_and_read_back_as_pairs(tmp_path: Path) -> None:
    for name in ("x.parquet", "x.csv", "x.jsonl"):
        assert write(tmp_path / name, blocks(), format_of(name)).suggestions == 4
        read = Annotations.read(tmp_path / name, image="image", label="label")
        assert read.labels_of("海 🏖️.jpg") == ['"quoted"', "sea, wide"]
    assert pl.read_parquet(tmp_path / "x.parquet").to_dicts() == ROWS
    lines = (tmp_path / "x.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == ROWS
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        assert [row | {"rank": int(row["rank"])} for row in csv.DictReader(file)] == [
            {name: value if isinstance(value, int) else str(value).removesuffix(".0") for name, value in row.items()}
            for row in ROWS
        ]


def test_formulas_in_a_csv_are_defused_on_request(tmp_path: Path) -> None:
    labels = Vocabulary(pa.array(["+x", "-y", "@z", "a=b"], pa.large_string()), "label")
    images = Vocabulary(pa.array(["\tb", "=SUM(A1:A9)", "c"], pa.large_string()), "image")
    numbers, scores = np.array([[0, 1], [2, 3], [3, -1]]), np.full((3, 2), -1, np.float32)
    some = [SuggestionBlock(np.arange(3), numbers, scores, None, None, labels)]
    write_suggestions(tmp_path / "x.csv", images, some, "csv", defuse_formulas=True)
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["image"], row["label"], row["score"]) for row in csv.DictReader(file)]
    assert rows == [
        ("'\tb", "'+x", "-1"),
        ("'\tb", "'-y", "-1"),
        ("'=SUM(A1:A9)", "'@z", "-1"),
        ("'=SUM(A1:A9)", "a=b", "-1"),
        ("c", "a=b", "-1"),
    ]
    write_suggestions(tmp_path / "y.csv", images, some, "csv")
    assert '"=SUM(A1:A9)","@z"' in (tmp_path / "y.csv").read_text(encoding="utf-8")
    with pytest.raises(ConfigError, match="defuse_formulas is for the format csv, not parquet"):
        write_suggestions(tmp_path / "x.parquet", images, some, "parquet", defuse_formulas=True)


def test_blocks_and_all_at_once_are_the_same(tmp_path: Path) -> None:
    whole = [block(slice(0, 3))]
    for form in ("csv", "jsonl", "exiftool", "label-studio"):
        write(tmp_path / "whole", whole, form)
        write(tmp_path / "blocks", blocks(), form)
        assert (tmp_path / "whole").read_bytes() == (tmp_path / "blocks").read_bytes()


def test_exiftool_gets_keywords_for_files_that_have_some(tmp_path: Path) -> None:
    write(tmp_path / "x.json", blocks(), "exiftool", prefix="photos/")
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8")) == [
        {"SourceFile": "photos/a.jpg", "Subject": ["sand", "Ωmega"]},
        {"SourceFile": "photos/海 🏖️.jpg", "Subject": ["sea, wide", '"quoted"']},
    ]


def test_label_studio_gets_every_image_as_a_task(tmp_path: Path) -> None:
    write(tmp_path / "x.json", blocks(), "label-studio", prefix="/data/")
    first, second, third = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    (prediction,) = first["predictions"]
    assert first["data"] == {"image": "/data/a.jpg"}
    assert prediction["score"] == 0.5
    assert prediction["result"] == [
        {
            "id": "labels",
            "from_name": "labels",
            "to_name": "image",
            "type": "choices",
            "value": {"choices": ["sand", "Ωmega"]},
        }
    ]
    assert second == {"data": {"image": "/data/b,c.jpg"}, "predictions": []}
    assert third["predictions"][0]["result"][0]["value"]["choices"] == ["sea, wide", '"quoted"']


def test_without_confidence_there_is_none(tmp_path: Path) -> None:
    write(tmp_path / "x.jsonl", blocks(None), "jsonl")
    assert '"confidence": null' in (tmp_path / "x.jsonl").read_text()
    write(tmp_path / "x.json", blocks(None), "label-studio")
    assert "score" not in json.loads((tmp_path / "x.json").read_text())[0]["predictions"][0]


def test_no_suggestions_are_a_file_too(tmp_path: Path) -> None:
    for form in ("parquet", "csv", "jsonl", "exiftool", "label-studio"):
        assert write(tmp_path / form, [], form) == ExportCounts()
    assert json.loads((tmp_path / "exiftool").read_text()) == []


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"x.xml must end in .parquet, .csv, .jsonl, or its format must be given: parquet"
    ):
        format_of("x.xml")
    with pytest.raises(ConfigError, match="unknown format 'xml' of suggestions"):
        write(tmp_path / "x", [], "xml")
