"""The table in which kernels look combinations up."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.model.embeddings import label_pair_table


@given(st.integers(2, 9).flatmap(lambda labels: st.tuples(st.just(labels), st.integers(0, 99), st.integers(0, 36))))
def test_every_pair_has_a_slot_with_its_number_and_half_of_the_slots_are_empty(case: tuple[int, int, int]) -> None:
    labels, seed, count = case
    every = np.array(list(combinations(range(labels), 2)), np.int32)
    pairs = np.random.default_rng(seed).permutation(every)[:count]
    table = label_pair_table(pairs, labels)
    assert (table.labels, table.pairs) == (labels, len(pairs))
    assert [array.dtype for array in table[:2]] == [np.int64, np.int32]
    assert len(table.keys) == len(table.numbers) == 1 << 64 - table.shift >= 2 * len(pairs)
    filled = table.keys >= 0
    assert filled.sum() == len(pairs)
    for key, number in zip(table.keys[filled].tolist(), table.numbers[filled].tolist(), strict=True):
        assert pairs[number].tolist() == [key >> 32, key & 0xFFFFFFFF]


def test_the_share_bites_from_18_labels_on() -> None:
    share = label_pair_table(np.empty((0, 2), np.int32), 3).pairs_per_label
    assert share * 17 >= 17 * 16 // 2
    assert share * 18 < 18 * 17 // 2
