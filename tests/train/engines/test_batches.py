"""Row ranges of the second phase that are about equal work."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.train.engines.batches import equal_work


@given(st.data(), st.integers(1, 30), st.integers(1, 6))
def test_ranges_cover_every_row_once(data: st.DataObject, rows: int, pieces: int) -> None:
    changed = data.draw(st.lists(st.integers(0, rows - 1), max_size=50))
    found = equal_work(rows, np.array(changed, np.int32), pieces).tolist()
    assert [row for first, last in found for row in range(first, last)] == list(range(rows))
    assert all(first < last for first, last in found)


def test_frequent_rows_are_a_small_range() -> None:
    changed = np.array([0] * 10 + [1] * 10 + [2] * 10 + list(range(3, 33)), np.int32)
    assert equal_work(100, changed, 2).tolist() == [[0, 3], [3, 100]]


def test_without_changes_ranges_are_of_equal_length() -> None:
    assert equal_work(10, np.empty(0, np.int32), 3).tolist() == [[0, 3], [3, 6], [6, 10]]
    assert equal_work(0, np.empty(0, np.int32), 2).shape == (0, 2)
