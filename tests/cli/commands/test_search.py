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


def test_a_label_with_a_dash_is_excluded_as_on_the_web_page(vse: Vse, model: Path) -> None:
    wanted, unwanted, other = Annotator.load(model).known_labels("img_0000001")[:3]
    expected = vse("search", model, wanted, "--without", f"{unwanted},{other}", "--top", 4, "--json").document
    assert expected["without"] == [unwanted, other]
    for terms in (
        [wanted, f"-{unwanted}", f"-{other}", "--top", 4],
        [f"-{unwanted}", wanted, "--top", 4, f"-{other}"],
        ["--top", 4, "--", wanted, f"-{unwanted}", f"-{other}"],
        [f"-{unwanted}", "--without", other, "--top=4", "--", wanted],
    ):
        assert vse("search", "--json", model, *terms).document == expected


def test_letters_of_options_may_begin_a_label(vse: Vse, model: Path) -> None:
    """Without care, the h of -hill asks for help, and the value of an option is taken for a label."""
    assert "unknown label 'hzz'" in vse("search", model, "sky", "-hzz").err
    assert "--top must be at least 1, got '-5'" in vse("search", model, "sky", "--top", "-5").err
    assert vse("search", model, "-h").out.startswith("Usage: vse search")
    assert "no such option '--tpo'" in vse("search", model, "sky", "--tpo", "3").err


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["no such thing"], 1, "unknown label 'no such thing'"),
        (["sky", "--without", "sky"], 1, "the label 'sky' is both included and excluded"),
        (["sky", "--top", "0"], 2, "--top must be at least 1, got '0'"),
        ([], 2, "'LABEL"),
    ],
)
def test_bad_input_is_an_error_in_one_line(
    arguments: list[str], status: int, sentence: str, vse: Vse, model: Path
) -> None:
    answer = vse("search", model, *arguments)
    assert (answer.status, answer.out) == (status, "")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1
