"""Comparing sets of pairs with vocabularies of their own."""

from __future__ import annotations

from vse_ens.data.annotations import Annotations
from vse_ens.data.filters import contained, pairs_without

ONE = Annotations.from_pairs([("a", "x"), ("a", "y"), ("b", "x"), ("c", "z")])
OTHER = Annotations.from_pairs([("a", "y"), ("b", "w"), ("d", "x"), ("c", "z")])


def test_pairs_are_compared_by_id() -> None:
    assert contained(ONE, OTHER).tolist() == [False, True, False, True]
    assert pairs_without(ONE, OTHER) == [("a", "x"), ("b", "x")]
    assert pairs_without(OTHER, ONE) == [("b", "w"), ("d", "x")]


def test_nothing() -> None:
    nothing = Annotations.from_pairs([])
    assert pairs_without(ONE, nothing) == [("a", "x"), ("a", "y"), ("b", "x"), ("c", "z")]
    assert pairs_without(nothing, ONE) == []
