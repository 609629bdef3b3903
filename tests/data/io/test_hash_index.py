from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.data.io.id_index import HashIndex

# Few low bits differ, so that many hashes want the same slots, also past the end of the table.
hashes = st.builds(lambda high, low: high << 32 | low, st.integers(0, 9), st.sampled_from([0, 1, 2, 4094, 4095]))


@given(st.lists(st.sets(hashes), max_size=6))
def test_every_hash_keeps_the_number_it_was_given(batches: list[set[int]]) -> None:
    index = HashIndex()
    given_numbers: dict[int, int] = {}
    for batch in batches:
        new = sorted(batch - given_numbers.keys())
        given_numbers.update({one: len(index) + place for place, one in enumerate(new)})
        index.add(np.array(new, np.uint64))
        sought = [high << 32 | low for high in range(11) for low in (0, 1, 2, 3, 4094, 4095)]
        found = index.find(np.array(sought, np.uint64))
        assert found.tolist() == [given_numbers.get(one, -1) for one in sought]


def test_the_table_grows() -> None:
    index = HashIndex()
    words = np.random.default_rng(0).permutation(np.arange(50_000, dtype=np.uint64) * np.uint64(2**40 + 7))
    for part in np.array_split(words, 13):
        index.add(part)
    assert np.array_equal(index.find(words), np.arange(50_000))
    assert (index.find(words + np.uint64(1)) == -1).all()


def test_a_number_that_is_skipped_is_never_found() -> None:
    index = HashIndex()
    index.skip()
    assert index.find(np.zeros(1, np.uint64)).tolist() == [-1]
    index.add(np.zeros(1, np.uint64))
    assert index.find(np.zeros(1, np.uint64)).tolist() == [1]
    index.add(np.arange(1, 20_000, dtype=np.uint64))
    assert index.find(np.zeros(1, np.uint64)).tolist() == [1]
