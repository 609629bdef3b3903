from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vse_ens.annotator import Annotator

Vse = Callable[..., Any]


def test_images_come_with_confidence_and_labels(vse: Vse, model: Path) -> None:
    annotator = Annotator.load(model)
    wanted, unwanted = annotator.known_labels("img_0000001")[:2]
    answer = vse("search", model, wanted, "--without", unwanted, "--tagged", "--top", 4, "--json")
    assert (answer.status, answer.err) == (0, "")
    found = annotator.search([wanted, f"-{unwanted}"], 4, tagged=True)
    assert answer.document == {
        "labels": [wanted],
        "without": [unwanted],
        "images": [
            {
                "image": one.image,
                "score": one.score,
                "confidence": one.confidence,
                "labels": annotator.known_labels(one.image),
            }
            for one in found
        ],
    }
    shown = vse("search", model, wanted, "--without", unwanted, "--tagged", "--top", 4).out
    assert [line.split()[0] for line in shown.splitlines() if "img_" in line] == [one.image for one in found]


def test_an_index_is_made_at_first_use(vse: Vse, model: Path, tmp_path: Path) -> None:
    pytest.importorskip("usearch", reason="an index of images needs the library usearch")
    label = Annotator.load(model).known_labels("img_0000001")[0]
    exact = vse("search", model, label, "--json").document
    for _ in range(2):
        assert vse("search", model, label, "--index", tmp_path / "index", "--json").document == exact
    assert (tmp_path / "index").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["no such thing"], 1, "no label 'no such thing' is known"),
        (["sky", "--without", "sky"], 1, "the label 'sky' is both included and excluded"),
        (["sky", "--top", "0"], 2, "'--top'"),
        ([], 2, "'LABEL"),
    ],
)
def test_what_cannot_be_is_a_sentence(arguments: list[str], status: int, sentence: str, vse: Vse, model: Path) -> None:
    answer = vse("search", model, *arguments)
    assert (answer.status, answer.out) == (status, "")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1
