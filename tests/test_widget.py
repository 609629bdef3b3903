"""The Python side of the notebook widget."""

from __future__ import annotations

from pathlib import Path

import pytest

from vse_ens.annotator import Annotator
from vse_ens.errors import ConfigError, UnknownIdError

widgets = pytest.importorskip("vse_ens.widget", reason="anywidget is not installed", exc_type=ImportError)
IMAGES = ["img_0000001", "img_0000002"]


@pytest.fixture(scope="module")
def model(small_model: Path) -> Annotator:
    return Annotator.load(small_model)


def test_an_image_is_shown_with_its_labels_and_suggestions(model: Annotator) -> None:
    widget = widgets.AnnotationWidget(model, IMAGES, top=3, picture=lambda image: f"data:,{image}")
    shown = widget.shown
    assert (shown["image"], shown["number"], shown["total"]) == ("img_0000001", 1, 2)
    assert shown["labels"] == model.known_labels("img_0000001")
    assert [one["label"] for one in shown["suggestions"]] == [one.label for one in model.annotate(IMAGES[0], top=3)]
    assert shown["picture"] == "data:,img_0000001"


def test_clicks_accept_and_take_back(model: Annotator, small_model: Path) -> None:
    widget = widgets.AnnotationWidget(model, IMAGES)
    first, second = (one["label"] for one in widget.shown["suggestions"][:2])
    widget.receive({"toggle": first})
    widget.receive({"toggle": second})
    widget.receive({"toggle": first})
    assert [one["accepted"] for one in widget.shown["suggestions"][:2]] == [False, True]
    widget.receive({"step": 1})
    assert widget.shown["image"] == "img_0000002"
    other = widget.shown["suggestions"][0]["label"]
    widget.receive({"toggle": other})
    assert list(widget.accepted()) == [("img_0000001", second), ("img_0000002", other)]
    learnt = Annotator.load(small_model).partial_fit(widget.accepted())
    assert other in learnt.known_labels("img_0000002")


def test_steps_stop_at_the_ends(model: Annotator) -> None:
    widget = widgets.AnnotationWidget(model, IMAGES)
    widget.receive({"step": -1})
    assert widget.shown["number"] == 1
    for _ in range(5):
        widget.receive({"step": 1})
    assert widget.shown["image"] is None
    widget.receive({"toggle": "sky"})
    widget.receive({"step": -1})
    assert widget.shown["image"] == "img_0000002"


@pytest.mark.parametrize(
    "message", [None, [], {}, {"toggle": "no such label"}, {"toggle": None}, {"step": 100}, {"step": "1"}]
)
def test_strange_messages_change_nothing(message: object, model: Annotator) -> None:
    widget = widgets.AnnotationWidget(model, IMAGES)
    before = widget.shown
    widget.receive(message)
    assert widget.shown == before
    assert widget.accepted().pairs == 0


def test_bad_images_are_told_at_once(model: Annotator) -> None:
    with pytest.raises(UnknownIdError, match="unknown image 'nothing'"):
        widgets.AnnotationWidget(model, ["img_0000001", "nothing"])
    with pytest.raises(ConfigError, match="at least one image"):
        widgets.AnnotationWidget(model, [])
