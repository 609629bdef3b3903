from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.curate.label_completion import LabelCompletion, complete_id
from vse_ens.data.annotations import Annotations
from vse_ens.data.filters import fold
from vse_ens.data.vocabulary import Vocabulary

COUNTS = {"sea": 3, "Sea lion": 5, "red sea": 9, "deep-sea fish": 1, "sealing wax": 3, "straße": 2, "under_sea": 4}


@pytest.fixture(scope="module")
def labels() -> LabelCompletion:
    return LabelCompletion.of(
        Annotations.from_pairs([(f"img {n}", label) for label, count in COUNTS.items() for n in range(count)])
    )


def test_labels_with_the_prefix_come_first_by_frequency(labels: LabelCompletion) -> None:
    found, total = labels.find("sea", 20)
    assert found == [
        (name, COUNTS[name]) for name in ("Sea lion", "sea", "sealing wax", "red sea", "under_sea", "deep-sea fish")
    ]
    assert total == 6
    assert labels.find("sea", 2) == (found[:2], 6)


def test_words_may_go_on_and_case_does_not_matter(labels: LabelCompletion) -> None:
    assert [name for name, _ in labels.find("SEA F", 9)[0]] == ["deep-sea fish"]
    assert [name for name, _ in labels.find("STRASSE", 9)[0]] == ["straße"]
    assert labels.find("ea", 9) == ([], 0)


def test_nothing_typed_gives_the_most_frequent(labels: LabelCompletion) -> None:
    assert labels.find("", 2) == ([("red sea", 9), ("Sea lion", 5)], len(COUNTS))


@given(st.lists(st.text(min_size=1), min_size=1, unique=True), st.text(max_size=3), st.integers(1, 5))
def test_ids_are_completed_like_by_looking_at_all_of_them(ids: list[str], prefix: str, limit: int) -> None:
    kept = [one for one in ids if one.strip()] or ["x"]
    expected = sorted(one for one in kept if one.startswith(prefix))
    assert complete_id(Vocabulary.from_ids(kept), prefix, limit) == (expected[:limit], len(expected))


@given(st.lists(st.text(min_size=1), min_size=1, unique=True), st.text(max_size=3))
def test_any_label_is_found_by_how_it_begins(ids: list[str], typed: str) -> None:
    kept = [one for one in ids if one.strip()] or ["x"]
    completion = LabelCompletion.of(Annotations.from_pairs([("img", one) for one in kept]))
    found = {name for name, _ in completion.find(typed, 10_000)[0]}
    assert {one for one in kept if fold(one).startswith(fold(typed))} <= found
    assert {one for one in kept if fold(typed) in fold(one)} >= found
    assert found == {one.label for one in completion.complete(typed, 10_000) if one.why != "typo"}


def test_accents_do_not_matter(labels: LabelCompletion) -> None:
    accented = LabelCompletion.of(Annotations.from_pairs([("a", "Café"), ("a", "été"), ("a", "㎒")]))
    assert [one.label for one in accented.complete("CAFE", 3)] == ["Café"]
    assert [one.label for one in accented.complete("été", 3)] == ["été"]
    assert [one.label for one in accented.complete("ete", 3)] == ["été"]
    assert [one.label for one in accented.complete("mhz", 3)] == ["㎒"]
    assert [one.label for one in labels.complete("séa", 1)] == ["sea"]


@given(
    st.text("abcde", min_size=4, max_size=7), st.text("abcde", max_size=3), st.integers(0, 6), st.sampled_from("abcdez")
)
def test_one_typing_error_is_forgiven(word: str, rest: str, place: int, letter: str) -> None:
    """A letter that is replaced, added, removed, or swapped with the next."""
    completion = LabelCompletion.of(Annotations.from_pairs([("a", f"big {word}{rest}"), ("a", "zzzzzzzz")]))
    cut = place % len(word)
    before, after = word[:cut], word[cut:]
    for typed in (before + letter + after[1:], before + letter + after, before + after[1:], swapped(before, after)):
        if len(typed) > 3:
            assert f"big {word}{rest}" in [one.label for one in completion.complete(typed, 5)], typed


def swapped(before: str, after: str) -> str:
    return before + after[1:2] + after[:1] + after[2:]


def test_typing_errors_come_last_and_not_in_short_texts(labels: LabelCompletion) -> None:
    found = labels.complete("seal", 9)
    assert (found[0].label, found[0].why) == ("sealing wax", "frequency")
    assert {one.label: one.why for one in found}["sea"] == "typo"
    assert labels.complete("xe", 9) == []
    assert [one.label for one in labels.complete("seal", 1)] == ["sealing wax"]


def test_labels_that_suit_the_image_come_before_frequent_ones(labels: LabelCompletion) -> None:
    names = sorted(COUNTS)
    scores = np.zeros(len(names), np.float32)
    scores[names.index("deep-sea fish")] = 6.0
    scores[names.index("sealing wax")] = 5.0
    found = labels.complete("sea", 9, scores, np.array([names.index("under_sea")]))
    assert [(one.label, one.why) for one in found] == [
        ("sea", "frequency"),  # equal to the text
        ("deep-sea fish", "context"),
        ("sealing wax", "context"),
        ("Sea lion", "frequency"),
        ("red sea", "frequency"),
    ]
    assert [one.label for one in labels.complete("", 2, scores)] == ["deep-sea fish", "sealing wax"]
