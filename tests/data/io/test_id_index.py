from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.data.arrow import GrowingArray, GrowingStrings, as_arrow, as_numpy
from vse_ens.data.io import id_index
from vse_ens.data.io.id_index import IdIndex

batches = st.lists(st.lists(st.text(max_size=5), max_size=30), max_size=6)


def check(streamed: list[list[str]]) -> None:
    ids = IdIndex("image")
    numbers = [ids.numbers(pa.array(batch, pa.large_string())) for batch in streamed]
    vocabulary, places = ids.finish()
    everything = [one for batch in streamed for one in batch]
    assert list(vocabulary) == sorted(set(everything))
    assert vocabulary.ids(places[np.concatenate([*numbers, np.empty(0, np.uint32)])]) == everything


@given(batches)
def test_every_id_gets_one_number_that_leads_back_to_it(streamed: list[list[str]]) -> None:
    check(streamed)


@pytest.mark.parametrize("kinds", [1, 3])
def test_ids_whose_hashes_are_equal_are_told_apart(monkeypatch: pytest.MonkeyPatch, kinds: int) -> None:
    usual = id_index.hash_ids
    monkeypatch.setattr(id_index, "hash_ids", lambda ids: usual(ids) % np.uint64(kinds))
    generator = np.random.default_rng(0)
    check([[f"{number}" for number in generator.integers(40, size=50)] for _ in range(5)])


@given(
    st.lists(st.one_of(st.text(max_size=20), st.sampled_from(["x" * 64, "x" * 65, "y" * 512, "y" * 513, "z" * 900])))
)
def test_a_hash_depends_on_the_id_alone(texts: list[str]) -> None:
    together = id_index.hash_ids(pa.array(["before", *texts], pa.large_string())[1:])
    alone = [int(id_index.hash_ids(pa.array([text], pa.large_string()))[0]) for text in texts]
    assert together.tolist() == alone


def test_hashes_differ_in_their_low_bits_too() -> None:
    ids = [f"img_{number:07d}" for number in range(50_000)] + [f"{number}" for number in range(50_000)]
    ids += ["a" * count for count in range(1, 400)] + ["\0" * count for count in range(1, 400)]
    hashes = id_index.hash_ids(pa.array(ids, pa.large_string()))
    assert len(np.unique(hashes)) == len(ids)
    # Of n random values of 2^20, n^2 / 2^21 pairs are expected to be equal.
    low = len(np.unique(hashes & np.uint64(2**20 - 1)))
    assert low == pytest.approx(2**20 * (1 - np.exp(-len(ids) / 2**20)), rel=0.02)


def test_many_batches_of_many_new_ids() -> None:
    check([[f"id {batch * 700 + number}" for number in range(1000)] for batch in range(20)])


def test_a_blank_id_is_noticed() -> None:
    ids = IdIndex("image")
    ids.numbers(pa.array(["a", "b c"], pa.large_string()))
    assert not ids.has_blank
    ids.numbers(pa.array(["a", "\u2003\t"], pa.large_string()))
    assert ids.has_blank


def test_blank_means_what_python_means_by_it() -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    found = id_index.is_blank(pa.array(characters, pa.large_string()))
    assert [one for one, blank in zip(characters, found, strict=True) if blank] == [
        one for one in characters if not one.strip()
    ]


@given(st.lists(st.lists(st.text(max_size=3), max_size=9), max_size=9))
def test_growing_strings(parts: list[list[str]]) -> None:
    strings = GrowingStrings()
    for part in parts:
        strings.extend(pa.array(["before", *part, "after"], pa.large_string())[1:-1])
    assert strings.arrow().to_pylist() == [one for part in parts for one in part]


def test_growing_array() -> None:
    array = GrowingArray(np.uint64, expected=2)
    for part in range(50):
        array.extend(np.full(part, part))
    expected = np.repeat(np.arange(50), np.arange(50))
    assert np.array_equal(array.view(), expected)
    released = array.release()
    assert np.array_equal(released, expected)
    assert released.flags.owndata
    assert len(array) == 0


def test_arrow_and_numpy_share_memory() -> None:
    numbers = np.arange(10, dtype=np.int64)
    assert as_arrow(numbers).to_pylist() == list(range(10))
    assert as_numpy(as_arrow(numbers)[3:7]).tolist() == [3, 4, 5, 6]
    assert np.shares_memory(as_numpy(as_arrow(numbers)), numbers)
