"""Features on the command line: train, annotate and update; images without features, and without pairs."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support.photos import packet
from vse_ens.annotator import Annotator

Vse = Callable[..., Any]
KINDS = {"sea": ("sea", "wave", "boat"), "forest": ("forest", "tree", "moss"), "desert": ("desert", "dune", "camel")}
SETTINGS = ("--dimensions", 8, "--epochs", 4)


def vector(kind: int, rng: np.random.Generator) -> list[float]:
    return [round(float(value), 4) for value in np.eye(3)[kind] * 5 + rng.random(3)]


def write(path: Path, rows: list[Any]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 images of three kinds with labels, features of most, and of four that have nothing else."""
    folder, rng = tmp_path_factory.mktemp("features"), np.random.default_rng(0)
    pairs, features, scores = [("image", "label")], [("image", "blue", "green", "yellow")], [("image", "tag", "score")]
    for number in range(64):
        image = f"img {number:02}"
        if number < 60:
            pairs += [(image, label) for label in list(KINDS.values())[number % 3]]
        if number != 59:
            features.append((image, *vector(number % 3, rng)))
            scores.append((image, f"their {list(KINDS)[number % 3]}", 0.9))
            scores.append((image, "photo", 0.4))
    write(folder / "pairs.csv", pairs)
    write(folder / "features.csv", features)
    write(folder / "scores.csv", scores)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    path = folder / "model"
    Annotator(dimensions=8, epochs=4).fit(folder / "pairs.csv", features=folder / "features.csv").save(path)
    return path


def labels(answer: Any) -> list[set[str]]:
    return [{one["label"] for one in image["suggestions"]} for image in answer.document]


def test_images_without_features_or_pairs_are_counted(vse: Vse, folder: Path, model: Path, tmp_path: Path) -> None:
    arguments = ("--features", folder / "features.csv", *SETTINGS, "--json")
    answer = vse("train", folder / "pairs.csv", "--out", tmp_path / "model", *arguments)
    assert answer.status == 0, answer.err
    assert "1 of 64 images have no features" in answer.err
    assert "4 images have features and no pairs" in answer.err
    assert "images without a label" not in answer.err
    assert labels(vse("annotate", tmp_path / "model", "img 61", "--top", 3, "--json")) == [set(KINDS["forest"])]
    for name in ("arrays.safetensors", "images.arrow"):
        assert (tmp_path / "model" / name).read_bytes() == (model / name).read_bytes()


def test_images_with_features_have_no_note_on_missing_labels(vse: Vse, model: Path) -> None:
    assert vse("annotate", model, "img 61").err == ""


def test_words_of_another_tagger_become_ours(vse: Vse, folder: Path, tmp_path: Path) -> None:
    arguments = ("--scores", folder / "scores.csv", *SETTINGS)
    answer = vse("train", folder / "pairs.csv", "--out", tmp_path / "model", *arguments)
    assert answer.status == 0, answer.err
    assert labels(vse("annotate", tmp_path / "model", "img 62", "--top", 3, "--json")) == [set(KINDS["desert"])]
    # Another file has the tags in another order, and one that the model does not know.
    new = write(tmp_path / "new.csv", [("image", "tag", "score"), ("n", "unheard of", 1), ("n", "their sea", 0.9)])
    answer = vse("annotate", tmp_path / "model", "n", "--scores", new, "--top", 3, "--json")
    assert labels(answer) == [set(KINDS["sea"])]


def test_new_images_are_annotated_by_their_features(vse: Vse, model: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new.csv", [("image", "yellow", "blue", "green"), ("b", 0, 6, 0), ("a", 6, 0, 0)])
    answer = vse("annotate", model, "--features", new, "--top", 3, "--json")
    assert [one["image"] for one in answer.document] == ["a", "b"]
    assert labels(answer) == [set(KINDS["desert"]), set(KINDS["sea"])]
    answer = vse("annotate", model, "b", "--features", new, "--top", 3)
    assert answer.out.splitlines()[1].split()[0] == "b"
    answer = vse("annotate", model, "c", "--features", new)
    assert (answer.status, "unknown image 'c'" in answer.err) == (1, True)


def test_known_labels_of_an_image_count_with_its_features(vse: Vse, model: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new.csv", [("image", "blue", "green", "yellow"), ("img 00", 6, 0, 0), ("new", 6, 0, 0)])
    known, unknown = labels(vse("annotate", model, "--features", new, "--top", 3, "--json"))
    assert unknown == set(KINDS["sea"])
    assert not known & set(KINDS["sea"])
    for images in ((), ("new", "img 00")):  # the labels given count instead
        answer = vse("annotate", model, *images, "--features", new, "--labels", "boat", "--top", 2, "--json")
        assert labels(answer) == [{"sea", "wave"}] * 2


def test_all_images_of_a_file_are_annotated(vse: Vse, model: Path, folder: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new.csv", [("image", "blue", "green", "yellow"), ("x", 0, 6, 0), ("img 00", 6, 0, 0)])
    out = tmp_path / "out.csv"
    answer = vse("annotate", model, "--features", new, "--all", "--out", out, "--top", 2)
    assert answer.status == 0, answer.err
    rows = list(csv.DictReader(out.open(encoding="utf-8")))
    assert [row["image"] for row in rows] == ["img 00"] * 2 + ["x"] * 2
    assert {row["label"] for row in rows if row["image"] == "x"} < set(KINDS["forest"])
    assert {row["label"] for row in rows if row["image"] == "img 00"}.isdisjoint(KINDS["sea"])


def test_images_with_features_only_are_added_to_a_model(vse: Vse, model: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new.csv", [("image", "green", "blue", "yellow"), ("new", 6, 0, 0)])
    answer = vse("update", model, "--features", new, "--out", tmp_path / "model-2")
    assert answer.status == 0, answer.err
    assert "0 pairs, 1 images, 0 labels" in answer.out or "0 pairs, 1 image, 0 labels" in answer.out
    assert labels(vse("annotate", tmp_path / "model-2", "new", "--top", 3, "--json")) == [set(KINDS["forest"])]
    pairs = write(tmp_path / "pairs.csv", [("image", "label"), ("newer", "moss")])
    new = write(tmp_path / "newer.csv", [("image", "blue", "green", "yellow"), ("newer", 0, 6, 0)])
    answer = vse("update", model, pairs, "--features", new, "--out", tmp_path / "model-3", "--json")
    assert answer.document["new"] == {"pairs": 1, "images": 1, "labels": 0}
    assert labels(vse("annotate", tmp_path / "model-3", "newer", "--top", 2, "--json")) == [{"forest", "tree"}]


def test_mistakes_are_one_message(vse: Vse, folder: Path, model: Path, tmp_path: Path) -> None:
    pairs, features, scores = (folder / f"{name}.csv" for name in ("pairs", "features", "scores"))
    other = write(tmp_path / "other.csv", [("image", "red"), ("img 00", 1)])
    alien = write(tmp_path / "alien.csv", [("image", "x"), ("elsewhere", 1)])
    Annotator(dimensions=8, epochs=1).fit(pairs).save(tmp_path / "plain")
    out = ("--out", tmp_path / "out")
    for arguments, message in (
        (("train", pairs, *out, "--features", features, "--scores", scores), "give only one of --features, --scores"),
        (("train", pairs, *out, "--features", features, "--embed", "x.onnx"), "give only one of --features, --scores"),
        (("train", pairs, *out, "--features", alien), "no image of the features is in the pairs"),
        (("train", pairs, *out, "--embed", "x.onnx"), "does not say where its pictures are"),
        (("annotate", model, "--features", features, "--labels", "sea", "--all"), "give exactly one of"),
        (("annotate", model, "--features", other), "has no feature 'blue', which the model was trained on"),
        (("annotate", tmp_path / "plain", "--features", features), "trained without features"),
        (("update", tmp_path / "plain", "--features", features, *out), "no features of its images"),
        (("update", model, *out), "give new pairs, --features or --scores"),
    ):
        answer = vse(*arguments)
        assert answer.status != 0, arguments
        assert message in " ".join(answer.err.split()), arguments
        assert "Traceback" not in answer.err


def test_rows_of_a_frame_have_the_images_of_their_vectors(model: Path) -> None:
    annotator = Annotator.load(model)
    vectors = {"z": [6, 0, 0], "a": [0, 6, 0]}
    lists = annotator.annotate(features=vectors, top=3)
    frame = annotator.annotate(features=vectors, top=3, frame="pandas")
    for image, suggestions in zip(vectors, lists, strict=True):
        assert list(frame[frame["image"] == image]["label"]) == [one.label for one in suggestions]
    assert {one.label for one in lists[0]} == set(KINDS["sea"])


def test_photos_without_keywords_get_those_of_the_same_hour(vse: Vse, tmp_path: Path) -> None:
    folder = tmp_path / "Pictures"
    for number in range(180):
        hour, kind = divmod(number, 6)  # six photos an hour, all of one kind, one without keywords
        exif = Image.Exif()
        exif.get_ifd(0x8769)[0x9003] = f"2023:10:{hour // 10 + 1:02} {hour % 10 + 8:02}:{kind:02}:00"
        path = folder / f"{number:03}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (8, 8)).save(path, exif=exif)
        if kind:
            keywords = list(KINDS.values())[hour % 3]
            path.with_suffix(".jpg.xmp").write_bytes(packet([*keywords[: kind % 3], keywords[2]]))
    answer = vse("train", folder, "--out", tmp_path / "plain", *SETTINGS)
    assert answer.status == 0, answer.err
    assert "train with features: --nearby (folder and time), --embed NETWORK or --features FILE" in answer.err
    answer = vse("train", folder, "--nearby", "--out", tmp_path / "model", *SETTINGS)
    assert answer.status == 0, answer.err
    assert "images without a label" not in answer.err
    for hour in (4, 5, 6):  # the first photo of an hour has no keywords
        [found] = vse("annotate", tmp_path / "model", f"{6 * hour:03}.jpg", "--top", 1, "--json").document
        [best] = found["suggestions"]
        assert best["label"] in list(KINDS.values())[hour % 3]
        assert best["confidence"] > 0.5
    Image.new("RGB", (8, 8)).save(folder / "IMG_20231001_120600.jpg")
    answer = vse("update", tmp_path / "model", folder, "--nearby", "--out", tmp_path / "model-2", "--json")
    assert (answer.status, answer.document["new"]["images"]) == (0, 1), answer.err
    [found] = vse("annotate", tmp_path / "model-2", "IMG_20231001_120600.jpg", "--top", 1, "--json").document
    assert found["suggestions"][0]["label"] in list(KINDS.values())[4 % 3]


def test_only_one_source_of_features_is_taken(vse: Vse, folder: Path, tmp_path: Path) -> None:
    answer = vse("train", folder / "pairs.csv", "--nearby", "--features", "f.csv", "--out", tmp_path / "m")
    assert (answer.status, "give only one of --features, --scores, --embed and --nearby" in answer.err) == (2, True)
    answer = vse("train", folder / "pairs.csv", "--nearby", "--out", tmp_path / "m")
    assert (answer.status, "pairs.csv does not say where its pictures are" in answer.err) == (2, True)


def test_features_that_are_all_the_same_change_nothing(vse: Vse, folder: Path, tmp_path: Path) -> None:
    # So are those of --nearby if the photos with keywords are in one folder and have no times.
    same = [("image", "x", "y"), *((f"img {number:02}", 1, 0) for number in range(60)), ("new", 0, 1)]
    features = write(tmp_path / "same.csv", same)
    arguments = (folder / "pairs.csv", "--out", tmp_path / "model", *SETTINGS)
    assert vse("train", *arguments, "--features", features).status == 0
    [found] = vse("annotate", tmp_path / "model", "new", "--top", 9, "--json").document
    assert all(0 < one["confidence"] < 0.9 for one in found["suggestions"])
