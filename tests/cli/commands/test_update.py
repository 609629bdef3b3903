from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.collections_made import tagged_images, tags_folder
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations
from vse_ens.data.feedback.verdicts import Feedback

Vse = Callable[..., Any]

MORE = "image,label\nnew image,sea\nnew image,new label\nimg_0000001,new label\n"


@pytest.fixture
def more(tmp_path: Path) -> Path:
    path = tmp_path / "more.csv"
    path.write_text(MORE)
    return path


def judged(path: Path, *verdicts: tuple[str, str, str]) -> Path:
    feedback = Feedback(path)
    for image, label, verdict in verdicts:
        feedback.add(image, label, verdict, by="anna", source="page", confidence=None, model="m")  # type: ignore[arg-type]
    feedback.close()
    return path


def test_new_pairs_join_the_model(vse: Vse, model: Path, more: Path, tmp_path: Path) -> None:
    before = Annotator.load(model)
    answer = vse("update", model, more, "--out", tmp_path / "grown", "--json")
    assert answer.status == 0, answer.err
    document = answer.document
    assert document["new"] == {"pairs": 3, "images": 1, "labels": 1}
    assert (document["model"], document["from"]) == (str(tmp_path / "grown"), str(model))
    assert (document["given"], document["rejected"]) == (3, 0)
    assert document["seconds"] >= 0
    grown = Annotator.load(tmp_path / "grown")
    assert grown.known_ == before.known_.joined(Annotations.read(more))
    assert grown.annotate("new image")
    assert Annotator.load(model).known_ == before.known_  # the old one stays


def test_files_of_pairs_and_of_feedback_go_together(vse: Vse, model: Path, more: Path, tmp_path: Path) -> None:
    image = Annotator.load(model).known_.images.id(0)
    label = Annotator.load(model).known_labels(image)[0]
    file = judged(
        tmp_path / "f.sqlite", (image, label, "reject"), ("img 2", "sea", "accept"), ("img 2", "fog", "reject")
    )
    answer = vse("update", model, more, file, "--out", tmp_path / "grown")
    assert answer.status == 0, answer.err
    assert "note: ignored 2 rejected pairs; vse train --feedback" in answer.err
    assert "4 pairs, 2 images, 1 label" in answer.out
    grown = Annotator.load(tmp_path / "grown")
    assert grown.known_labels("img 2") == ["sea"]
    assert label in grown.known_labels(image)


def test_nothing_new_is_told(vse: Vse, model: Path, tmp_path: Path) -> None:
    image = Annotator.load(model).known_.images.id(0)
    label = Annotator.load(model).known_labels(image)[0]
    answer = vse("update", model, judged(tmp_path / "f.sqlite", (image, label, "accept")), "--out", tmp_path / "same")
    assert answer.status == 0
    assert f"note: the model already has the given 1 pair; {tmp_path / 'same'} is the same model" in answer.err
    assert Annotator.load(tmp_path / "same").annotate(image) == Annotator.load(model).annotate(image)


def test_a_model_may_be_updated_in_place(vse: Vse, model: Path, more: Path, tmp_path: Path) -> None:
    place = tmp_path / "grown"
    assert vse("update", model, more, "--out", place).status == 0
    file = judged(tmp_path / "f.sqlite", ("img 3", "sea", "accept"))
    assert vse("update", place, file, "--out", place, "--json").document["new"]["images"] == 1
    assert Annotator.load(place).known_labels("img 3") == ["sea"]


def test_bad_input_is_an_error_in_one_line(vse: Vse, model: Path, more: Path, tmp_path: Path) -> None:
    for arguments, sentence in (
        ((model, tmp_path / "none.csv", "--out", tmp_path / "x"), "none.csv"),
        ((tmp_path / "none", more, "--out", tmp_path / "x"), "none"),
        ((model, more, "--out", more), "more.csv"),
    ):
        answer = vse("update", *arguments)
        assert (answer.status, answer.out) == (1, "")
        assert sentence in answer.err
    assert vse("update", model, "--out", tmp_path / "x").status == 2


def test_labels_that_a_collection_lost_are_named(vse: Vse, tmp_path: Path) -> None:
    folder = tags_folder(tmp_path / "dataset", 30)
    data = Annotations.from_pairs((image, label) for image, labels in tagged_images(30).items() for label in labels)
    Annotator(epochs=1, dimensions=4).fit(data).save(tmp_path / "model")
    image, labels = next(iter(tagged_images(30).items()))
    (folder / image).with_suffix(".txt").write_text(", ".join(labels[1:]))
    (folder / list(tagged_images(30))[1]).unlink()  # an image that is gone says nothing about its labels
    (folder / "new.png").touch()
    (folder / "new.txt").write_text("sea")
    answer = vse("update", tmp_path / "model", folder, "--out", tmp_path / "grown")
    assert answer.status == 0, answer.err
    assert f"lacks 1 label of the model, such as {labels[0]} on {image}; an update only adds" in answer.err
    assert labels[0] in Annotator.load(tmp_path / "grown").known_labels(image)
    (tmp_path / "more.csv").write_text(f"image,label\n{image},new\nx,new\n")
    assert "lacks" not in vse("update", tmp_path / "model", tmp_path / "more.csv", "--out", tmp_path / "grown").err
