"""Results at a prompt, in a notebook and as frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.support.html_reading import Reader
from vse_ens.annotator import Annotator
from vse_ens.curate.audit.audit import Audit, Finding
from vse_ens.curate.explain import Explanation, Reason
from vse_ens.curate.search import FoundImage, FoundImages, Neighbor, Neighbors
from vse_ens.curate.suggest import Suggestion, SuggestionLists, Suggestions
from vse_ens.data.annotations import Annotations
from vse_ens.display import MAX_ROWS, Table, short
from vse_ens.errors import ConfigError, MissingPartError

NASTY = "<img src=x onerror=alert(1)>\x1b[2J\ud800"
FRAMES: dict[str, type] = {"arrow": pa.Table, "pandas": pd.DataFrame, "polars": pl.DataFrame}


@pytest.fixture(scope="module")
def model(small_model: Path) -> Annotator:
    return Annotator.load(small_model)


def results(text: str = "sea") -> list[Any]:
    """One result of each kind, with a text in every place that has one."""
    suggestion = Suggestion(text, 1.23456789, 0.5, (Reason((text,), 0.25), Reason((), 1.0, "bias")))
    return [
        Suggestions([suggestion]),
        SuggestionLists([Suggestions([suggestion])], [text]),
        FoundImages([FoundImage(text, -0.1234567, None)]),
        Neighbors([Neighbor(text, 0.987654321)]),
        Audit([Finding(text, text, 0.9, text, ())], [], []),
        Explanation(text, 1.0, None, (Reason((text, text), 0.5),), left_out=True),
        Annotations.from_pairs([(text.encode("utf-8", "replace").decode(),) * 2]),
    ]


@pytest.mark.parametrize("result", results(NASTY), ids=lambda one: type(one).__name__)
def test_no_text_becomes_markup_or_moves_the_cursor(result: Any) -> None:
    assert "\x1b" not in repr(result)
    html = result._repr_html_()
    html.encode("utf-8")
    assert "<img" not in html
    assert len(html) < 4000


@pytest.mark.parametrize("result", results()[:-1], ids=lambda one: type(one).__name__)
def test_numbers_are_short_at_the_prompt_and_in_a_notebook(result: Any) -> None:
    for text in (repr(result), Reader(result._repr_html_()).text):
        assert not any(len(word.partition(".")[2]) > 3 for word in text.split() if word.replace(".", "").isdigit())
        assert "sea" in text


def test_suggestions_are_a_list_that_is_shown_as_a_table() -> None:
    one, two = Suggestion("sea", 17.35512, 0.30531, hit=0.25), Suggestion("sandy beach", 0.000123456, None)
    found = Suggestions([one, two])
    assert found == [one, two]
    assert (
        repr(found) == "label           score  confidence    hit\nsea            17.355       0.305  0.250\n"
        "sandy beach  0.000123           -      -"
    )
    assert repr(one) == "Suggestion('sea', score=17.355, confidence=0.305)"
    assert repr(two) == "Suggestion('sandy beach', score=0.000123)"
    assert type(found[:1]) is Suggestions
    assert found[:1] == [one]
    assert found[1] is two
    assert repr(Suggestions()) == "[]"


def test_lists_of_suggestions_keep_their_images() -> None:
    lists = SuggestionLists([Suggestions([Suggestion(label, 1.0)]) for label in "abc"], ["x", "y", "z"])
    assert lists[1:].images == ["y", "z"]
    assert lists[1:].to_frame()["image"].to_pylist() == ["y", "z"]
    assert SuggestionLists(lists).to_frame()["row"].to_pylist() == [0, 1, 2]


def test_long_tables_are_cut_in_what_is_shown() -> None:
    found = Neighbors(Neighbor(str(number), 0.5) for number in range(1000))
    assert len(repr(found).splitlines()) == MAX_ROWS + 2
    assert repr(found).endswith("... and 980 more")
    assert found._repr_html_().count("<tr>") == MAX_ROWS + 1
    assert len(found.to_frame()) == 1000


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0.000"),
        (-0.12345, "-0.123"),
        (1e-5, "1e-05"),
        (12345, "12,345"),
        ("a\tb", "a\\tb"),
        ("é", "é"),
    ],
)
def test_values_are_short(value: Any, text: str) -> None:
    assert short(value) == text


def test_bars_show_the_share() -> None:
    html = Table(("label", "confidence"), [("sea", 0.25), ("sand", 1.5)], bars=("confidence",)).html()
    assert "--share:25%" in html
    assert "--share:100%" in html


def test_a_model_says_whether_it_is_fitted(model: Annotator) -> None:
    assert "fitted on 300 images, 60 labels, 749 pairs, 8 dimensions" in repr(model)
    assert "300 images, 60 labels" in Reader(model._repr_html_()).text
    assert "fittedno" in Reader(Annotator()._repr_html_()).text


def test_a_report_is_shown_in_full(model: Annotator) -> None:
    train, test = model.known_.leave_one_out()
    report = model.evaluate(test, known=train)
    assert repr(report) == str(report)
    text = Reader(report._repr_html_()).text
    assert "recall@10" in text
    assert report.headline() in text


# --- frames ---


@pytest.mark.parametrize("backend", FRAMES)
@pytest.mark.parametrize("result", results(), ids=lambda one: type(one).__name__)
def test_every_result_becomes_a_frame_of_each_library(result: Any, backend: str) -> None:
    frame = result.to_frame(backend)
    assert isinstance(frame, FRAMES[backend])
    assert len(frame) >= 1


@pytest.mark.parametrize("result", [Suggestions(), SuggestionLists([], []), FoundImages(), Audit([], [], [])])
def test_an_empty_result_has_its_columns(result: Any) -> None:
    assert len(result.to_frame()) == 0
    assert len(result.to_frame("polars").columns) >= 3


def test_a_frame_of_an_unknown_library_is_refused() -> None:
    with pytest.raises(ConfigError, match="backend must be arrow, pandas or polars, got 'excel'"):
        Suggestions().to_frame("excel")
    with pytest.raises(MissingPartError, match="a cudf frame needs the package cudf; install it"):
        Suggestions().to_frame("cudf")


def test_a_report_as_a_frame_has_every_number(model: Annotator) -> None:
    train, test = model.known_.leave_one_out()
    report = model.evaluate(test, known=train)
    frame = report.to_frame("pandas").set_index(["group", "metric"])
    assert frame.loc[("all", "map"), "value"] == report["map"]
    assert tuple(frame.loc[("all", "map"), ["low", "high"]]) == report.intervals["map"]
    assert pd.isna(frame.loc[("all", "coverage@5"), "low"])
    assert frame.loc[("tail", "mrr"), "value"] == report.groups["tail"].metrics["mrr"]


def test_an_audit_as_a_frame_has_every_finding(model: Annotator) -> None:
    found = model.audit(top=3)
    rows = found.to_frame().to_pylist()
    assert [row["kind"] for row in rows[:6]] == ["wrong"] * 3 + ["missing"] * 3
    assert (rows[0]["image"], rows[0]["label"], rows[0]["reason"]) == (
        found.wrong[0].image,
        found.wrong[0].label,
        found.wrong[0].reason,
    )
    assert [row["other_label"] for row in rows[6:]] == [one.other for one in found.duplicates]


@pytest.mark.parametrize("how", [{}, {"min_confidence": 0.1}, {"per_namespace": 2}])
def test_the_frame_of_many_images_is_that_of_their_lists(how: dict[str, Any], model: Annotator) -> None:
    images = list(model.known_.images)[::-7]
    lists = model.annotate(images, top=4, **how)
    assert model.annotate(images, top=4, frame="arrow", **how).equals(lists.to_frame())
    rows = [["beach"], [], ["sand", "sky"]]
    by_labels = model.annotate(labels=rows, top=4, frame="arrow", **how)
    assert by_labels.equals(model.annotate(labels=rows, top=4, **how).to_frame())
    assert by_labels.column_names[0] == "row"
    assert len(model.annotate([], frame="polars")) == 0
    assert isinstance(model.annotate(images[0], frame="pandas"), pd.DataFrame)
    assert len(model.annotate(model.known_.images, top=1, frame="arrow")) == 300


def test_reasons_do_not_fit_into_a_frame(model: Annotator) -> None:
    with pytest.raises(ConfigError, match="explain cannot be used with frame"):
        model.annotate(labels=["sky"], explain=True, frame="arrow")


# --- what the methods take ---


@pytest.mark.parametrize(
    ("method", "arguments"), [("annotate", ("img_0000001",)), ("annotate_all", ("x.csv",)), ("suggested_edits", ())]
)
def test_an_unknown_argument_is_told_with_the_name_of_the_method(
    method: str, arguments: tuple[str, ...], model: Annotator
) -> None:
    with pytest.raises(
        TypeError, match=rf"Annotator\.{method}\(\) got an unexpected keyword argument 'tpo'; did you mean 'top'"
    ):
        getattr(model, method)(*arguments, tpo=3)


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_to_pairs_or_a_collection_just_works(kind: type, tmp_path: Path) -> None:
    pairs = [(f"{number}.jpg", label) for number in range(8) for label in ("sea", "sand", "sky")[: 1 + number % 3]]
    data = Annotations.from_pairs(pairs)
    small: dict[str, Any] = {"sampler": "uniform", "dimensions": 8, "epochs": 1, "workers": 1}
    data.to_frame("pandas").to_csv(tmp_path / "pairs.csv", index=False)
    data.to_frame("polars").write_parquet(tmp_path / "pairs.parquet")
    for number in range(8):  # a folder of images with tags
        folder = tmp_path / "tags"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.jpg").write_bytes(b"\xff\xd8\xff\xd9")
        (folder / f"{number}.txt").write_text(", ".join(data.labels_of(f"{number}.jpg")))
    for name in ("pairs.csv", "pairs.parquet", "tags"):
        assert Annotator("opt-auc", **small).fit(kind(tmp_path / name)).known_.pairs == data.pairs
    assert Annotator("opt-auc", **small).fit(pairs, np.ones(8)).known_ == data
    (tmp_path / "parts").mkdir()
    (tmp_path / "pairs.parquet").rename(tmp_path / "parts" / "0.parquet")
    with pytest.raises(ConfigError, match="a folder of Parquet files needs checkpoint"):
        Annotator("opt-auc", **small).fit(kind(tmp_path / "parts"))


def test_annotations_are_a_sequence_of_pairs() -> None:
    data = Annotations.from_pairs([("b", "sea"), ("a", "sea"), ("a", "sand")])
    assert list(data) == [data[0], data[1], data[2]] == [("a", "sand"), ("a", "sea"), ("b", "sea")]
    assert data[-1] == ("b", "sea")
    assert data.to_matrix().toarray().tolist() == [[1, 1], [0, 1]]
