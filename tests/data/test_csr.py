"""Rows of a CSR table, taken in any order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows

tables = st.lists(st.lists(st.integers(0, 99), max_size=4), min_size=1, max_size=6)


@given(tables, st.data())
def test_rows_are_those_that_were_asked_for(table: list[list[int]], data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.integers(0, len(table) - 1), max_size=8))
    indptr = np.cumsum([0, *map(len, table)], dtype=np.int64)
    found = take_rows(indptr, np.array([one for row in table for one in row], np.int32), np.array(wanted, np.int64))
    assert found.indptr.dtype == np.int64
    assert found.indices.dtype == np.int32
    edges = found.indptr.tolist()
    rows = [found.indices[first:last].tolist() for first, last in pairwise(edges)]
    assert rows == [table[row] for row in wanted]
    assert edges[0] == 0
    assert edges[-1] == len(found.indices)


def test_annotations_give_theirs() -> None:
    data = Annotations.from_pairs([("a", "x"), ("a", "y"), ("b", "z"), ("c", "x")])
    indptr, indices = data.rows(np.array([2, 0, 0]))
    assert indptr.tolist() == [0, 1, 3, 5]
    assert indices.tolist() == [0, 0, 1, 0, 1]
