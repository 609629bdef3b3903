"""Conversions between Python, NumPy and Arrow against Arrow's own."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.data.arrow import lists_to_arrow, string_buffers, strings_to_arrow

strings = st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=20)


@given(strings)
def test_strings(given_strings: list[str | None]) -> None:
    array = strings_to_arrow(given_strings)
    array.validate(full=True)
    assert array.equals(pa.array(given_strings, pa.large_string()))


@given(st.lists(st.none() | strings, max_size=9))
def test_lists(lists: list[list[str | None] | None]) -> None:
    array = lists_to_arrow(lists)
    array.validate(full=True)
    assert array.to_pylist() == [one or [] for one in lists]


@given(st.lists(st.text(max_size=4), max_size=9), st.integers(0, 3), st.integers(0, 3))
def test_buffers_of_a_slice(texts: list[str], start: int, end: int) -> None:
    array = pa.array(texts, pa.large_string())[start : len(texts) - end]
    offsets, text = string_buffers(array)
    ends = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    assert [text[first:last].tobytes().decode() for first, last in ends] == array.to_pylist()
