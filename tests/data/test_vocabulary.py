from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.data import vocabulary
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError, UnknownIdError

ids = st.text(min_size=1, max_size=6).filter(str.strip)
STRANGE = [
    "007",
    "7",
    "07",
    "a b",
    "a/b",
    "日本",
    "é",
    "e\u0301",
    "😀",
    "\uffff",
    "a\tb",
    '"',
    "A",
    "a",
    " a",
    "a\x00b",
]


@given(st.lists(ids, max_size=40))
def test_numbers_are_places_in_the_sorted_order(listed: list[str]) -> None:
    known = Vocabulary.from_ids(listed)
    by_hand = {one: number for number, one in enumerate(sorted(set(listed)))}
    assert list(known) == list(by_hand)
    assert len(known) == len(by_hand)
    assert {one: known.number(one) for one in listed} == {one: by_hand[one] for one in listed}
    assert known.numbers(listed).tolist() == [by_hand[one] for one in listed]
    assert known.ids(known.numbers(listed)) == listed
    assert [known.id(number) for number in range(len(known))] == list(by_hand)


@given(st.lists(ids, min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_ids_does_not_matter(listed: list[str], chance) -> None:
    shuffled = listed * 2
    chance.shuffle(shuffled)
    assert Vocabulary.from_ids(shuffled) == Vocabulary.from_ids(listed)
    assert hash(Vocabulary.from_ids(shuffled)) == hash(Vocabulary.from_ids(listed))


def test_strange_ids_come_back_as_they_were() -> None:
    known = Vocabulary.from_ids(STRANGE)
    assert len(known) == len(STRANGE)
    assert known.ids(known.numbers(STRANGE)) == STRANGE
    assert all(known.id(known.number(one)) == one for one in STRANGE)


@given(st.lists(ids, max_size=300, unique=True), st.lists(ids, max_size=3))
def test_both_ways_of_looking_up_agree(listed: list[str], asked: list[str]) -> None:
    known = Vocabulary.from_ids(listed)
    # Few ids of many are searched for, many are hashed: the same question asked both ways.
    one_by_one = [known.number(one, missing=None) for one in asked]
    together = known.numbers(asked * 100, missing="minus-one")[: len(asked)].tolist()
    assert together == [-1 if number is None else number for number in one_by_one]
    assert [one in known for one in asked] == [one in listed for one in asked]


def test_an_unknown_id_is_an_error_that_names_the_nearest() -> None:
    labels = Vocabulary.from_ids(["beach", "bench", "sky"], "label")
    with pytest.raises(UnknownIdError, match="unknown label 'Beech'; did you mean 'bench', 'beach'"):
        labels.number("Beech")
    with pytest.raises(UnknownIdError, match="unknown label 'Sky'; did you mean 'sky'"):
        labels.numbers(["sky", "Sky", "beech"])
    with pytest.raises(UnknownIdError, match=r"unknown label 'zoo'; there are labels such as 'beach'$"):
        labels.number("zoo")
    with pytest.raises(UnknownIdError, match=r"unknown label 'zoo'$"):
        Vocabulary.from_ids([], "label").number("zoo")
    assert labels.number("beech", missing=None) is None
    assert labels.numbers(["sky", "beech"], missing="minus-one").tolist() == [2, -1]
    assert "beech" not in labels
    assert 7 not in labels


def test_in_a_large_vocabulary_the_nearest_are_the_neighbors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "_SPELLING_LIMIT", 10)
    images = Vocabulary.from_ids([f"img_{number:03}" for number in range(0, 100, 2)], "image")
    assert images.nearest("img_013") == ["img_012", "img_014", "img_016"]
    assert images.nearest("a")[0] == "img_000"
    assert images.nearest("z") == ["img_098"]


@pytest.mark.parametrize("number", [-1, 3, 10**9])
def test_a_number_outside_is_an_index_error(number: int) -> None:
    with pytest.raises(IndexError, match=f"label numbers run from 0 to 2, got {number}"):
        Vocabulary.from_ids("abc", "label").id(number)


@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u2003"])
def test_a_blank_id_is_refused(blank: str) -> None:
    with pytest.raises(DataError, match="a label id must be text that is not blank, got"):
        Vocabulary.from_ids(["a", blank], "label")


@pytest.mark.parametrize("wrong", [None, 7, b"a"])
def test_an_id_that_is_no_text_is_refused(wrong: object) -> None:
    with pytest.raises(DataError, match="a label id must be text"):
        Vocabulary.from_ids(["a", wrong], "label")  # type: ignore[list-item]


def test_an_id_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(DataError, match="is not valid unicode"):
        Vocabulary.from_ids(["a", "\udcff"])


@pytest.mark.parametrize("wrong", [["b", "a"], ["a", "a"], ["a", None], [None]])
def test_ids_must_be_sorted_distinct_and_there(wrong: list[str | None]) -> None:
    with pytest.raises(DataError, match="must be sorted, distinct and not null"):
        Vocabulary(pa.array(wrong, pa.large_string()))


def test_an_empty_vocabulary_knows_nothing() -> None:
    empty = Vocabulary.from_ids([])
    assert len(empty) == 0
    assert list(empty) == []
    assert "a" not in empty
    assert empty.numbers([]).tolist() == []
    assert empty.ids([]) == []
    assert hash(empty) == hash(Vocabulary.from_ids([]))
    with pytest.raises(UnknownIdError, match=r"unknown id 'a'$"):
        empty.number("a")


def test_repr_shows_size_and_first_ids() -> None:
    assert repr(Vocabulary.from_ids("dcba", "label")) == "Vocabulary(4 labels: 'a', 'b', 'c', ...)"
    assert Vocabulary.from_ids("ab") != ["a", "b"]


def test_a_million_ids_are_found_quickly_in_little_memory() -> None:
    count = 1_000_000
    zero_padded = np.char.zfill(np.arange(count).astype(str), 9)
    known = Vocabulary(pa.array(zero_padded.tolist(), pa.large_string()), "image")
    # 9 bytes of text and 8 of offset each.
    assert known.nbytes <= count * (9 + 8) * 1.01

    asked = [f"{number:09}" for number in range(0, count, count // 1_000)]
    tracemalloc.start()
    start = time.process_time()
    assert [known.number(one) for one in asked] == list(range(0, count, count // 1_000))
    seconds = time.process_time() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seconds / len(asked) < 1e-3
    assert peak < 1_000_000  # no Python object per id

    start = time.process_time()
    assert np.array_equal(known.numbers(zero_padded.tolist()), np.arange(count))
    assert time.process_time() - start < 5
