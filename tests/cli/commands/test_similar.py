from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vse_ens.annotator import Annotator

Vse = Callable[..., Any]


def test_labels_like_a_label(vse: Vse, model: Path) -> None:
    found = Annotator.load(model).similar_labels("sky", 3)
    expected = [{"label": one.id, "similarity": one.similarity} for one in found]
    assert vse("similar", model, "sky", "--top", 3, "--json").document == {"label": "sky", "similar": expected}
    assert [line.split()[-1] for line in vse("similar", model, "sky", "--top", 3).out.splitlines()[1:]] == [
        f"{one.similarity:.3f}" for one in found
    ]


def test_images_like_an_image(vse: Vse, model: Path) -> None:
    found = Annotator.load(model).similar_images("img_0000001", 2)
    answer = vse("similar", model, "--image", "img_0000001", "--top", 2, "--json")
    expected = [{"image": one.id, "similarity": one.similarity} for one in found]
    assert answer.document == {"image": "img_0000001", "similar": expected}
    assert found[0].id in vse("similar", model, "--image", "img_0000001").out


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        ([], 2, "give either LABEL or --image IMAGE"),
        (["sky", "--image", "img_0000001"], 2, "give either LABEL or --image IMAGE"),
        (["skj"], 1, "unknown label 'skj'; did you mean 'sk"),
        (["--image", "nie"], 1, "unknown image 'nie'"),
    ],
)
def test_bad_input_is_an_error_in_one_line(
    arguments: list[str], status: int, sentence: str, vse: Vse, model: Path
) -> None:
    answer = vse("similar", model, *arguments)
    assert (answer.status, answer.out) == (status, "")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1
