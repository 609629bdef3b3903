"""The index of verdicts in memory: by image, by label, and which images are to be scored again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.data.feedback.verdict_index import VerdictIndex
from vse_ens.data.feedback.verdicts import Feedback

WHO: dict[str, Any] = {"by": "anna", "source": "page", "confidence": 0.5, "model": "abc"}
KNOWN = Annotations.from_pairs([(f"img{number}", "sea") for number in range(5)])


@pytest.fixture
def feedback(tmp_path: Path) -> Iterator[Feedback]:
    opened = Feedback(tmp_path / "f.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def index(feedback: Feedback) -> VerdictIndex:
    return VerdictIndex(KNOWN, feedback)


def test_new_labels_are_counted_while_they_are_accepted(feedback: Feedback, index: VerdictIndex) -> None:
    feedback.add("img1", "fog", "accept", **WHO)
    feedback.add("elsewhere", "fog", "accept", **WHO)
    mist = feedback.add("img1", "mist", "accept", **WHO)
    feedback.add("img2", "rain", "reject", **WHO)
    feedback.add("img2", "sea", "accept", **WHO)
    index.refresh()
    assert index.new_labels() == {"fog": 2, "mist": 1}
    feedback.undo(mist, by="anna", model="abc")
    feedback.add("elsewhere", "fog", "reject", **WHO)
    index.refresh()
    assert index.new_labels() == {"fog": 1}


def test_verdicts_by_image_and_by_label(feedback: Feedback, index: VerdictIndex) -> None:
    first = feedback.add("img0", "fog", "accept", **WHO)
    second = feedback.add("img0", "sea", "reject", **WHO)
    feedback.add("img3", "fog", "reject", **WHO)
    index.refresh()
    assert index.of_image(0) == feedback.of("img0")
    assert (index.of_image(0).accepted, index.of_image(0).rejected) == ({"fog": first}, {"sea": second})
    assert index.of_label("fog") == {0: "accept", 3: "reject"}
    assert index.of_label("fog", "sea") == {0: "reject", 3: "reject"}
    assert (index.count, index.mask.tolist()) == (2, [True, False, False, True, False])
    for event in (first, second):
        feedback.undo(event, by="anna", model="abc")
    index.refresh()
    assert (index.count, index.of_label("fog"), index.of_image(0).accepted) == (1, {3: "reject"}, {})


def test_images_with_the_latest_verdicts_are_taken_first(feedback: Feedback, index: VerdictIndex) -> None:
    for number in (0, 1, 2, 3):
        feedback.add(f"img{number}", "fog", "accept", **WHO)
    index.refresh()
    feedback.add("img1", "mist", "accept", **WHO)  # is the latest again
    index.refresh()
    assert index.take_changed(2, {3}) == [1, 2]
    assert index.take_changed(9, {3}) == [0]
    assert index.has_changed
    assert index.take_changed(9, ()) == [3]
    assert not index.has_changed
    index.change_all()
    assert sorted(index.take_changed(9, ())) == [0, 1, 2, 3]
