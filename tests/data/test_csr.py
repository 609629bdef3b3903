"""Rows of a CSR table, taken in any order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vse_ens.data import csr
from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import ends_match, rises, rows_ascend, take_rows

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


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csr, "_BLOCK", 3)


@pytest.mark.usefixtures("small_blocks")
def test_a_fall_is_found_at_any_place_and_across_blocks() -> None:
    for length in range(9):
        good = np.arange(length, dtype=np.int64)
        assert rises(good)
        assert rises(np.zeros(length, np.int64))
        for place in range(1, length):
            fallen = good.copy()
            fallen[place] = -1
            assert not rises(fallen), (length, place)


@pytest.mark.usefixtures("small_blocks")
@given(st.lists(st.lists(st.integers(0, 5), max_size=5), min_size=1, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_ascend_if_every_one_is_sorted_and_distinct(table: list[list[int]]) -> None:
    for rows in (table, [sorted(set(row)) for row in table]):
        indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        indices = np.array([one for row in rows for one in row], np.int32)
        assert ends_match(indptr, indices, len(rows))
        assert rows_ascend(indptr, indices) == all(row == sorted(set(row)) for row in rows)


def test_ends_that_do_not_match_are_told() -> None:
    indices = np.zeros(3, np.int32)
    for wrong in ([0, 1], [1, 2, 3], [0, 1, 2], [0, 1, 4], [[0, 1, 3]]):
        assert not ends_match(np.array(wrong, np.int64), indices, 2)
    assert not ends_match(np.array([0, 1, 3]), indices.reshape(3, 1), 2)


def test_annotations_give_theirs() -> None:
    data = Annotations.from_pairs([("a", "x"), ("a", "y"), ("b", "z"), ("c", "x")])
    indptr, indices = data.rows(np.array([2, 0, 0]))
    assert indptr.tolist() == [0, 1, 3, 5]
    assert indices.tolist() == [0, 0, 1, 0, 1]
