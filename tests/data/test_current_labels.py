"""An image has now the labels of the cleaned data set, whatever people said and the rules are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vse_ens.data.annotations import Annotations
from vse_ens.data.current_labels import CurrentLabel, CurrentLabels
from vse_ens.data.feedback.verdicts import Feedback
from vse_ens.data.rules.store import NewRule, RulesFile
from vse_ens.errors import ConfigError, UnknownIdError

DATA = Annotations.from_pairs(
    [("a", "beach"), ("a", "cars"), ("a", "sky"), ("b", "car"), ("b", "sky"), ("c", "cars"), ("c", "car"), ("d", "sea")]
)
WHO: dict[str, Any] = {"by": "anna", "source": "page", "confidence": None, "model": "abc"}


@pytest.fixture
def feedback(tmp_path: Path) -> Iterator[Feedback]:
    opened = Feedback(tmp_path / "f.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def rules(tmp_path: Path) -> RulesFile:
    return RulesFile(tmp_path / "rules.jsonl")


@pytest.fixture
def labels(feedback: Feedback, rules: RulesFile) -> CurrentLabels:
    return CurrentLabels(DATA, feedback, rules)


def test_an_image_without_verdicts_has_its_labels(labels: CurrentLabels) -> None:
    found = labels.of("a")
    assert (found.image, found.number, found.has_changed, found.rejected) == ("a", 0, False, {})
    assert found.labels == [CurrentLabel(name, "data") for name in ("beach", "cars", "sky")]
    assert found.context == found.names == ["beach", "cars", "sky"]
    assert found.settled == {"beach", "cars", "sky"}
    assert CurrentLabels(DATA).of("a") == found


def test_an_image_has_changed_if_a_label_was_rejected(labels: CurrentLabels, feedback: Feedback) -> None:
    feedback.add("a", "sea", "reject", **WHO)  # which it did not have
    assert not labels.of("a").has_changed
    feedback.add("a", "sky", "reject", **WHO)
    found = labels.of("a")
    assert (found.has_changed, found.context) == (True, ["beach", "cars"])


def test_verdicts_count_at_once_and_an_undo_takes_them_back(labels: CurrentLabels, feedback: Feedback) -> None:
    before = labels.of("a")
    rejected = feedback.add("a", "sky", "reject", **WHO)
    refused = feedback.add("a", "sea", "reject", **WHO)
    second = feedback.add("a", "zeppelin", "accept", **WHO)
    third = feedback.add("a", "car", "accept", **WHO)
    found = labels.of("a")
    assert found.labels[2:] == [CurrentLabel("zeppelin", "feedback", second), CurrentLabel("car", "feedback", third)]
    assert found.names == ["beach", "cars", "zeppelin", "car"]
    assert found.rejected == {"sky": rejected, "sea": refused}
    assert found.settled == {"beach", "cars", "zeppelin", "car", "sky", "sea"}
    assert (found.context, found.has_changed) == (["beach", "cars", "car"], True)  # the data does not know zeppelins
    for event in (rejected, refused, second, third):
        feedback.undo(event, by="anna", model="abc")
    assert labels.of("a") == before


def test_another_connection_is_seen_at_once(labels: CurrentLabels, feedback: Feedback) -> None:
    other = Feedback(feedback.path)
    for label in ("one", "two"):
        other.add("a", label, "accept", **WHO)
        assert labels.of("a").names[-1] == label
    other.close()


@pytest.mark.parametrize(("verdict", "label"), [("reject", "sea"), ("accept", "sky"), ("accept", "zeppelin")])
def test_a_verdict_may_leave_what_a_model_scores_by(
    labels: CurrentLabels, feedback: Feedback, verdict: Any, label: str
) -> None:
    feedback.add("a", label, verdict, **WHO)
    found = labels.of("a")
    assert (found.context, found.has_changed) == (["beach", "cars", "sky"], False)
    assert label in found.settled


def test_a_label_of_the_data_that_was_accepted_is_from_the_data(labels: CurrentLabels, feedback: Feedback) -> None:
    feedback.add("a", "sky", "accept", **WHO)
    assert labels.of("a").labels[2] == CurrentLabel("sky", "data")


def test_rules_rename_merge_and_imply(labels: CurrentLabels, rules: RulesFile) -> None:
    rules.add([NewRule("alias", "cars", "car"), NewRule("implication", "beach", "sea")], by="anna")
    found = labels.of("a")
    assert found.names == ["beach", "car", "sky", "sea"]
    assert found.labels[-1] == CurrentLabel("sea", "rule", implied_by="beach")
    assert (found.context, found.has_changed) == (["beach", "cars", "sky"], False)
    assert labels.of("c").names == ["car"]
    assert labels.rules.name_of("cars") == "car"
    assert labels.version == 1
    rules.undo(by="anna")
    assert labels.of("a").names == ["beach", "cars", "sky"]


def test_rejection_holds_for_all_names_and_implications(
    labels: CurrentLabels, feedback: Feedback, rules: RulesFile
) -> None:
    rules.add([NewRule("alias", "cars", "car"), NewRule("implication", "beach", "sea")], by="anna")
    feedback.add("a", "car", "reject", **WHO)
    feedback.add("a", "sea", "reject", **WHO)
    found = labels.of("a")
    assert found.names == ["beach", "sky"]
    assert found.settled == {"beach", "sky", "car", "sea"}
    assert found.context == ["beach", "sky"]
    feedback.add("a", "cars", "accept", **WHO)
    assert labels.of("a").names == ["beach", "sky", "car"]  # accepted under one name, rejected under another


def test_an_accepted_name_counts_as_the_label_of_the_data(
    labels: CurrentLabels, feedback: Feedback, rules: RulesFile
) -> None:
    rules.add([NewRule("rename", "sea", "ocean")], by="anna")
    feedback.add("b", "ocean", "accept", **WHO)
    assert labels.of("b").names == ["car", "sky", "ocean"]
    assert labels.of("b").context == ["car", "sky", "sea"]
    rules.add([NewRule("alias", "cars", "car")], by="anna")
    feedback.add("b", "cars", "accept", **WHO)  # has it already, under another name
    assert labels.of("b").context == ["car", "sky", "sea"]


def test_an_image_that_the_data_does_not_have(labels: CurrentLabels, feedback: Feedback, rules: RulesFile) -> None:
    assert labels.of("new").settled == frozenset()
    feedback.add("new", "sea", "accept", **WHO)
    feedback.add("new", "sky", "reject", **WHO)
    found = labels.of("new", given=["sky", "zeppelin", "beach"])
    assert (found.number, found.names) == (None, ["zeppelin", "beach", "sea"])
    assert (found.context, found.has_changed) == (["beach", "sea"], True)
    assert CurrentLabels(DATA).of("new", given=["sky"]).names == ["sky"]
    assert labels.of("a", given=["sea"]).names == ["beach", "cars", "sky"]
    rules.add([NewRule("implication", "beach", "sand")], by="anna")
    assert labels.of_given(["beach", "sky"]).names == ["beach", "sky", "sand"]
    assert (labels.of_given(["beach"]).image, labels.of_given(["beach"]).has_changed) == (None, True)


def test_many_images_are_each_of_them_and_unknown_ones_an_error(labels: CurrentLabels, feedback: Feedback) -> None:
    feedback.add("b", "car", "reject", **WHO)
    assert labels.of_images(["b", "a"]) == [labels.of("b"), labels.of("a")]
    with pytest.raises(UnknownIdError, match="nobody"):
        labels.of_images(["a", "nobody"])


def test_rows_are_the_context_by_number(labels: CurrentLabels, feedback: Feedback) -> None:
    feedback.add("b", "car", "reject", **WHO)
    feedback.add("b", "beach", "accept", **WHO)
    feedback.add("c", "car", "reject", **WHO)
    feedback.add("c", "cars", "reject", **WHO)
    labels.of("b")
    rows = labels.rows([1, 2, 0])
    assert rows.indptr.tolist() == [0, 2, 2, 5]
    assert DATA.labels.ids(rows.indices) == ["beach", "sky", "beach", "cars", "sky"]
    assert labels.rows([]).indptr.tolist() == [0]


def test_verdicts_on_a_label_count_under_each_of_its_names(
    labels: CurrentLabels, feedback: Feedback, rules: RulesFile
) -> None:
    feedback.add("a", "cars", "reject", **WHO)
    feedback.add("d", "car", "accept", **WHO)
    feedback.add("elsewhere", "car", "accept", **WHO)
    assert labels.verdicts_on("car") == {3: "accept"}
    rules.add([NewRule("alias", "cars", "car")], by="anna")
    assert labels.verdicts_on("car") == labels.verdicts_on("cars") == {0: "reject", 3: "accept"}


def test_table_counts_images_under_the_names_in_force(labels: CurrentLabels, rules: RulesFile) -> None:
    assert labels.table.counts == {"beach": 1, "car": 2, "cars": 2, "sea": 1, "sky": 2}
    assert labels.table is labels.table
    rules.add([NewRule("alias", "cars", "car"), NewRule("implication", "beach", "sea")], by="anna")
    assert labels.table.counts == {"beach": 1, "car": 3, "sea": 2, "sky": 2}
    assert labels.table.find("", "count") == ["car", "sea", "sky", "beach"]
    assert labels.table.find("A", "name") == ["beach", "car", "sea"]


NAMES = ("beach", "car", "cars", "sea", "sky", "new", "newer")
VERDICTS = st.tuples(st.sampled_from("abcde"), st.sampled_from(NAMES), st.sampled_from(["accept", "reject"]))
RULES = st.tuples(st.sampled_from(["alias", "implication"]), st.sampled_from(NAMES), st.sampled_from(NAMES))


@settings(max_examples=60)
@given(verdicts=st.lists(VERDICTS, max_size=8), wanted=st.lists(RULES, max_size=4))
def test_all_images_at_once_have_the_same_labels(
    verdicts: list[Any], wanted: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("now")
    feedback, rules = Feedback(folder / "f.sqlite"), RulesFile(folder / "rules.jsonl")
    try:
        for verdict in verdicts:
            feedback.add(*verdict, **WHO)
        for rule in wanted:
            try:
                rules.add([NewRule(*rule)], by="anna")
            except ConfigError:
                continue
        labels = CurrentLabels(DATA, feedback, rules)
        cleaned = labels.cleaned().data
        for image in "abcde":
            expected = cleaned.labels_of(image) if image in cleaned.images else []
            assert sorted(labels.of(image).names) == sorted(expected), image
        for name in NAMES:
            now = labels.names.of(name)
            expected = [number for number, image in enumerate(DATA.images) if now in labels.of(image).names]
            assert labels.images_with(name).tolist() == expected, name
            assert labels.images_with(name).dtype == np.int64
    finally:
        feedback.close()
