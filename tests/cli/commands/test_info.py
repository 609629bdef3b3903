from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Vse = Callable[..., Any]


def test_summary_is_shown(vse: Vse, pairs: Path) -> None:
    answer = vse("info", pairs)
    assert (answer.status, answer.err) == (0, "")
    assert [line.rstrip() for line in answer.out.splitlines()] == [
        "images            10",
        "labels            4",
        "pairs             23",
        "labels per image  mean 2.30, min 1, median 2, max 4",
        "images per label  mean 5.75, min 2, median 5.5, max 10",
        "most used labels  label/0 10, label/1 7, label/2 4, label/3 2",
    ]


def test_json_has_the_numbers(vse: Vse, pairs: Path) -> None:
    document = vse("info", pairs, "--json").document
    assert document["file"] == str(pairs)
    assert (document["images"], document["labels"], document["pairs"]) == (10, 4, 23)
    assert document["labels_per_image"] == {"mean": 2.3, "min": 1, "median": 2.0, "max": 4}
    assert document["most_used"] == {"label/0": 10, "label/1": 7, "label/2": 4, "label/3": 2}
    assert document["notes"] == []


def test_the_options_of_reading_reach_the_reader(vse: Vse, tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("who;what;where\n1;sea|sand;01\n2;sea;02\n", encoding="utf-8")
    options = ("--image-column", "where", "--label-column", "what", "--separator", ";", "--label-separator", "|")
    document = vse("info", path, "--header", *options, "--json").document
    assert (document["images"], document["labels"], document["pairs"]) == (2, 2, 3)


def test_a_column_that_is_not_there_is_named(vse: Vse, pairs: Path) -> None:
    answer = vse("info", pairs, "--label-column", "lable")
    assert (answer.status, answer.out) == (1, "")
    assert "lable" in answer.err
    assert "label" in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "images", "labels", "pairs"),
    # Counted with sort -u and wc.
    [
        ("corel5k", 5_000, 374, 17_610),
        ("iaprtc12", 19_627, 291, 112_241),
        ("mirflickr25k", 20_015, 1_386, 92_808),
        ("nuswide81", 209_347, 81, 503_849),
        ("openimages_v1val_sample", 8_209, 5_390, 62_049),
    ],
)
def test_real_files_are_read_as_they_are(
    name: str, images: int, labels: int, pairs: int, vse: Vse, shared_data: Path
) -> None:
    document = vse("info", shared_data / name / "pairs.tsv.gz", "--json").document
    assert (document["images"], document["labels"], document["pairs"]) == (images, labels, pairs)
