"""The table in which kernels look combinations up."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.model.embeddings import label_pair_table


@given(st.integers(2, 9).flatmap(lambda labels: st.tuples(st.just(labels), st.integers(0, 99), st.integers(0, 36))))
def test_every_label_has_its_partners_sorted_with_the_number_of_the_pair(case: tuple[int, int, int]) -> None:
    labels, seed, count = case
    every = np.array(list(combinations(range(labels), 2)), np.int32)
    pairs = np.random.default_rng(seed).permutation(every)[:count]
    table = label_pair_table(pairs, labels)
    assert [array.dtype for array in table[:3]] == [np.int64, np.int32, np.int32]
    assert len(table.indptr) == labels + 1
    assert len(table.partners) == len(table.numbers) == table.indptr[-1] == len(pairs)
    for label in range(labels):
        places = slice(table.indptr[label], table.indptr[label + 1])
        assert table.partners[places].tolist() == sorted(pairs[pairs[:, 0] == label, 1].tolist())
        for partner, number in zip(table.partners[places], table.numbers[places], strict=True):
            assert pairs[number].tolist() == [label, partner]


def test_the_share_bites_from_18_labels_on() -> None:
    share = label_pair_table(np.empty((0, 2), np.int32), 3).pairs_per_label
    assert share * 17 >= 17 * 16 // 2
    assert share * 18 < 18 * 17 // 2
