from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Vse = Callable[..., Any]


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def rows(path: Path) -> list[tuple[str, ...]]:
    return pl.read_parquet(path).rows()


def test_leave_one_out_writes_two_files(vse: Vse, pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "split"
    answer = vse("split", pairs, "--out", out, "--json")
    assert (answer.status, answer.err) == (0, "")
    assert answer.document == {
        "images": 10,
        "labels": 4,
        "pairs": 23,
        "train": 16,
        "test": 7,
        "protocol": "leave-one-out",
        "seed": 0,
        "files": {"train": f"{out}/train.parquet", "test": f"{out}/test.parquet"},
        "notes": [],
    }
    assert list(written(out)) == ["test.parquet", "train.parquet"]
    train, test = rows(out / "train.parquet"), rows(out / "test.parquet")
    assert sorted(train + test) == rows(pairs)
    assert train == sorted(train)
    assert pl.read_parquet(out / "train.parquet").columns == ["image", "label"]


def test_result_is_shown_as_a_table(vse: Vse, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = vse("split", pairs.name, "--out", "split")
    assert answer.status == 0
    assert [line.split() for line in answer.out.splitlines()] == [
        ["file", "pairs", "images", "labels"],
        ["pairs.parquet", "23", "10", "4"],
        ["split/train.parquet", "16", "10", "4"],
        ["split/test.parquet", "7", "7", "4"],
    ]


def test_new_images_writes_what_is_revealed_too(vse: Vse, pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "split"
    arguments = ("split", pairs, "--out", out, "--protocol", "new-images", "--share", 0.4, "--reveal", 0.3, "--json")
    document = vse(*arguments).document
    assert list(written(out)) == ["revealed.parquet", "test.parquet", "train.parquet"]
    assert document["train"] + document["revealed"] + document["test"] == 23
    assert (document["share"], document["reveal"]) == (0.4, 0.3)
    held = {image for image, _ in rows(out / "test.parquet")}
    assert held == {image for image, _ in rows(out / "revealed.parquet")}
    assert not held & {image for image, _ in rows(out / "train.parquet")}


def test_random_holds_out_a_share(vse: Vse, pairs: Path, tmp_path: Path) -> None:
    document = vse("split", pairs, "--out", tmp_path, "--protocol", "random", "--share", 0.5, "--json").document
    assert (document["train"], document["test"]) == (11, 12)


def test_the_seed_decides(vse: Vse, pairs: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        vse("split", pairs, "--out", tmp_path / name, "--seed", seed)
    assert written(tmp_path / "a") == written(tmp_path / "b") != written(tmp_path / "c")


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["--share", "0.5"], 2, "error: invalid value for '--share': cannot be combined with --protocol leave-one-out"),
        (
            ["--protocol", "random", "--reveal", "0.5"],
            2,
            "error: invalid value for '--reveal': cannot be combined with --protocol random",
        ),
        (["--protocol", "random", "--share", "2"], 1, "error: --share must lie between 0 and 1, got 2.0"),
        (["--seed", "-1"], 1, "error: --seed must be an integer from 0 to 2**64 - 1, got -1"),
        (
            ["--protocol", "rondom"],
            2,
            "error: --protocol must be one of leave-one-out, new-images, random, got 'rondom'; did you mean random?",
        ),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(
    arguments: list[str], status: int, sentence: str, vse: Vse, pairs: Path, tmp_path: Path
) -> None:
    answer = vse("split", pairs, "--out", tmp_path / "split", *arguments)
    assert (answer.status, answer.out) == (status, "")
    assert answer.err.startswith(sentence)
    assert answer.err.count("\n") == 1
    assert not (tmp_path / "split").exists()


def test_a_folder_with_a_file_of_another_protocol_is_refused(vse: Vse, pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "revealed.parquet").write_text("from an earlier run")
    answer = vse("split", pairs, "--out", tmp_path)
    assert answer.status == 1
    assert answer.err == (
        f"error: {tmp_path}/revealed.parquet is left from a new-images split; remove it or choose another --out\n"
    )
    assert not (tmp_path / "train.parquet").exists()


def test_a_missing_file_is_named(vse: Vse, tmp_path: Path) -> None:
    answer = vse("split", tmp_path / "none.csv", "--out", tmp_path / "split")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith("error: ")
    assert "none.csv" in answer.err


def test_rare_labels_are_dropped_and_told(vse: Vse, pairs: Path, tmp_path: Path) -> None:
    answer = vse("split", pairs, "--out", tmp_path / "split", "--min-images-per-label", 5, "--json")
    assert answer.document["labels"] == 2
    (note,) = answer.document["notes"]
    assert note.startswith("dropped 2 labels with fewer than 5 images")
    assert f"note: {note}\n" in answer.err


@pytest.mark.shared_data
def test_iapr_tc12_and_the_same_with_its_lines_shuffled(vse: Vse, shared_data: Path, tmp_path: Path) -> None:
    original = shared_data / "iaprtc12" / "pairs.tsv.gz"
    document = vse("split", original, "--out", tmp_path / "original", "--seed", 0, "--json").document
    counts = {name: document[name] for name in ("images", "labels", "pairs", "train", "test")}
    assert counts == {"images": 19_627, "labels": 291, "pairs": 112_241, "train": 93_174, "test": 19_067}

    lines = gzip.decompress(original.read_bytes()).splitlines(keepends=True)
    random.Random(0).shuffle(lines)
    shuffled = tmp_path / "shuffled.tsv.gz"
    shuffled.write_bytes(gzip.compress(b"".join(lines), compresslevel=1))
    assert vse("split", shuffled, "--out", tmp_path / "shuffled", "--seed", 0).status == 0
    assert written(tmp_path / "shuffled") == written(tmp_path / "original")
