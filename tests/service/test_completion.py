from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.service.completion import LabelCompletion, complete_id

COUNTS = {"sea": 3, "Sea lion": 5, "red sea": 9, "deep-sea fish": 1, "sealing wax": 3, "straße": 2, "under_sea": 4}


@pytest.fixture(scope="module")
def labels() -> LabelCompletion:
    return LabelCompletion(
        Annotations.from_pairs([(f"img {n}", label) for label, count in COUNTS.items() for n in range(count)])
    )


def test_those_that_begin_so_come_first_and_the_most_frequent_of_them(labels: LabelCompletion) -> None:
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
    completion = LabelCompletion(Annotations.from_pairs([("img", one) for one in kept]))
    found = {name for name, _ in completion.find(typed, 10_000)[0]}
    assert {one for one in kept if one.casefold().startswith(typed.casefold())} <= found
    assert {one for one in kept if typed.casefold() in one.casefold()} >= found
