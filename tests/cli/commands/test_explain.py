from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.annotator import Annotator
from vse_ens.cli.commands.query import _rounded

Vse = Callable[..., Any]


@pytest.fixture
def suggested(model: Path) -> str:
    """The best label for img_0000001."""
    return Annotator.load(model).annotate("img_0000001")[0].label


def test_json_is_what_the_library_finds(vse: Vse, model: Path, suggested: str) -> None:
    answer = vse("explain", model, "img_0000001", suggested, "--json")
    assert (answer.status, answer.err) == (0, "")
    annotator = Annotator.load(model)
    found = annotator.explain("img_0000001", suggested)
    document = answer.document
    assert (document["image"], document["label"]) == ("img_0000001", suggested)
    assert document["labels"] == annotator.known_.labels_of("img_0000001")
    assert (document["score"], document["confidence"]) == (found.score, found.confidence)
    assert [tuple(one["labels"]) for one in document["reasons"]] == [one.labels for one in found.reasons]
    assert sum(one["share"] for one in document["reasons"]) == pytest.approx(found.score, abs=1e-4)


@pytest.mark.parametrize("top", [1, 2, 1000])
def test_the_shares_shown_add_up_to_the_score(top: int, vse: Vse, model: Path, suggested: str) -> None:
    answer = vse("explain", model, "img_0000001", suggested, "--top", top)
    assert (answer.status, answer.err) == (0, "")
    lines = answer.out.splitlines()
    names, shares = zip(*(line.rsplit(maxsplit=1) for line in lines[3:]), strict=True)
    assert names[-1] == "score"
    hundredths = [round(100 * float(share)) for share in shares]
    assert sum(hundredths[:-1]) == hundredths[-1]
    reasons = Annotator.load(model).explain("img_0000001", suggested).reasons
    assert any(name.endswith(" others") for name in names) is (len(reasons) > top + 1)


@given(st.lists(st.floats(-100, 100)))
def test_rounded_shares_add_up_and_are_close(shares: list[float]) -> None:
    rounded = _rounded(shares)
    assert sum(rounded) == round(100 * sum(shares)) or abs(sum(rounded) - 100 * sum(shares)) <= 0.5 + 1e-6
    assert all(abs(one - 100 * share) <= 1 + 1e-6 for one, share in zip(rounded, shares, strict=True))


def test_an_image_of_any_labels(vse: Vse, model: Path) -> None:
    annotator = Annotator.load(model)
    known = annotator.known_.labels.ids([3, 5])
    label = annotator.annotate(labels=known)[0].label
    document = vse("explain", model, "--labels", ",".join(known), label, "--json").document
    assert (document["image"], document["labels"]) == (None, known)
    assert document["score"] == annotator.explain(labels=known, label=label).score
    assert vse("explain", model, "--labels", ",".join(known), label).out.startswith(
        f"Score of {label} for these labels"
    )


def test_a_label_that_the_image_has_is_explained_by_its_others(vse: Vse, model: Path) -> None:
    annotator = Annotator.load(model)
    label, *others = annotator.known_.labels_of("img_0000001")
    document = vse("explain", model, "img_0000001", label, "--json").document
    assert document["left_out"] is True
    [[twin]] = annotator.annotate_numbers(annotator.known_.images.numbers(["img_0000001"]), [others], allow=[label])
    assert document["score"] == pytest.approx(twin.score)
    assert [label] not in [one["labels"] for one in document["reasons"]]
    assert "which has it: explained by its other labels" in vse("explain", model, "img_0000001", label).out
    assert annotator.explain(labels=others, label=label).left_out is False
    assert annotator.explain(labels=[label, *others], label=label).left_out is True


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["img_000001", "{label}"], 1, "unknown image 'img_000001'; did you mean '"),
        (["img_0000001", "no such thing"], 1, "unknown label 'no such thing'"),
        (["{label}"], 2, "give an IMAGE and a LABEL"),
        (["img_0000001", "{label}", "--labels", "{known}"], 2, "give one LABEL with --labels"),
        (["img_0000001", "{label}", "--top", "0"], 2, "--top must be"),
    ],
)
def test_bad_input_is_an_error_in_one_line(
    arguments: list[str], status: int, sentence: str, vse: Vse, model: Path, suggested: str
) -> None:
    known = Annotator.load(model).known_.labels_of("img_0000001")[0]
    answer = vse("explain", model, *(one.format(label=suggested, known=known) for one in arguments))
    assert (answer.status, answer.out) == (status, "")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1
