"""``vse data openimages``, ``nuswide`` and ``iaprtc12``: what the loaders find, written and told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Vse = Callable[..., Any]


@pytest.fixture
def openimages(tmp_path: Path) -> Path:
    folder = tmp_path / "openimages"
    folder.mkdir()
    header = "ImageID,Source,LabelName,Confidence\n"
    (folder / "validation-annotations-human-imagelabels.csv").write_text(
        f"{header}a,verification,/m/1,1\na,verification,/m/2,0\nb,verification,/m/2,1\n"
    )
    (folder / "test-annotations-machine-imagelabels.csv").write_text(
        f"{header}c,machine,/m/1,0.8\nc,machine,/m/2,0.5\n"
    )
    (folder / "class-descriptions.csv").write_text("/m/1,Tree\n/m/2,Dog\n")
    return folder


def test_openimages(vse: Vse, openimages: Path, tmp_path: Path) -> None:
    out = tmp_path / "pairs.parquet"
    answer = vse("data", "openimages", openimages, "--out", out, "--json")
    assert (answer.status, answer.err) == (0, "")
    assert pl.read_parquet(out).rows() == [("a", "Tree"), ("b", "Dog")]
    document = answer.document
    assert (document["file"], document["images"], document["labels"], document["pairs"]) == (str(out), 2, 2, 2)
    assert document["notes"] == [
        "read validation-annotations-human-imagelabels.csv",
        "dropped 1 label verified as absent",
        "labels are named as in class-descriptions.csv",
    ]
    shown = vse("data", "openimages", openimages, "--out", out, "--source", "both", "--min-confidence", 0.6, "--ids")
    assert pl.read_parquet(out).rows() == [("a", "/m/1"), ("b", "/m/2"), ("c", "/m/1")]
    assert "dropped 1 machine label with confidence below 0.6" in shown.out
    assert vse("data", "openimages", openimages, "--out", out, "--source", "machine", "--split", "test").status == 0
    assert pl.read_parquet(out).rows() == [("c", "Dog"), ("c", "Tree")]


def test_nuswide(vse: Vse, tmp_path: Path) -> None:
    for name, text in (
        ("All_Tags.txt", "11 sky sea\n12 sky x\n"),
        ("Final_Tag_List.txt", "sky\nsea\n"),
        ("AllTags1k.txt", "0\n1\n"),
        ("TagList1k.txt", "dog\n"),
        ("Imagelist.txt", "a_b\\0001_11.jpg\na_b\\0002_12.jpg\n"),
        ("TrainImagelist.txt", "a_b\\0002_12.jpg\n"),
        ("Labels_sun.txt", "1\n1\n"),
    ):
        (tmp_path / name).write_text(text)
    out = tmp_path / "pairs.parquet"
    for options, expected in (
        ((), [("11", "sea"), ("11", "sky"), ("12", "sky")]),
        (("--labels", "tags1k"), [("12", "dog")]),
        (("--labels", "concepts81"), [("11", "sun"), ("12", "sun")]),
        (("--labels", "concepts81", "--split", "train"), [("12", "sun")]),
    ):
        answer = vse("data", "nuswide", tmp_path, "--out", out, "--json", *options)
        assert (answer.status, answer.err, answer.document["pairs"]) == (0, "", len(expected))
        assert pl.read_parquet(out).rows() == expected


def test_iaprtc12(vse: Vse, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("house\ntree\n")
    (tmp_path / "1.eng").write_text(
        "<DOCNO>annotations/00/1.eng</DOCNO><DESCRIPTION>two houses and a tree</DESCRIPTION>"
    )
    out = tmp_path / "pairs.parquet"
    answer = vse("data", "iaprtc12", tmp_path, "--out", out, "--form", "texts", "--dictionary", words, "--json")
    assert (answer.status, answer.err, answer.document["images"]) == (0, "", 1)
    assert pl.read_parquet(out).rows() == [("00/1", "house"), ("00/1", "tree")]


@pytest.mark.parametrize(
    ("command", "page"),
    [
        ("openimages", "https://storage.googleapis.com/openimages/web/download_v7.html"),
        ("nuswide", "https://lms.comp.nus.edu.sg/"),
        ("iaprtc12", "https://www.imageclef.org/photodata"),
    ],
)
def test_a_wrong_folder_is_one_sentence_with_the_page(command: str, page: str, vse: Vse, tmp_path: Path) -> None:
    answer = vse("data", command, tmp_path, "--out", tmp_path / "pairs.parquet")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith(f"error: {tmp_path} has no ")
    assert page in answer.err
    assert answer.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["openimages", "nuswide", "iaprtc12"])
def test_another_suffix_is_refused_before_anything_is_read(command: str, vse: Vse, tmp_path: Path) -> None:
    answer = vse("data", command, tmp_path / "nowhere", "--out", tmp_path / "pairs.csv")
    assert (answer.status, answer.err) == (1, f"error: {tmp_path / 'pairs.csv'} must end in .parquet\n")


def test_a_choice_that_is_none_is_bad_usage(vse: Vse, openimages: Path, tmp_path: Path) -> None:
    answer = vse("data", "openimages", openimages, "--out", tmp_path / "p.parquet", "--source", "crowd")
    assert answer.status == 2
    assert "must be one of human, machine, both, got 'crowd'" in answer.err
