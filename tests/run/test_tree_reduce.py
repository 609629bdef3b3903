"""The tree by which results are merged depends on their number alone."""

from __future__ import annotations

import pytest

from vse_ens.run.pool import tree_reduce


@pytest.mark.parametrize(
    ("count", "tree"),
    [(1, "0"), (2, "(01)"), (3, "((01)2)"), (4, "((01)(23))"), (6, "(((01)(23))(45))"), (7, "(((01)(23))((45)6))")],
)
def test_neighbors_are_merged_first(count: int, tree: str) -> None:
    assert tree_reduce(map(str, range(count)), lambda left, right: f"({left}{right})") == tree


def test_results_that_come_one_by_one_are_merged_as_they_come() -> None:
    held = most = 0

    def results() -> object:
        nonlocal held, most
        for number in range(64):
            held += 1
            most = max(most, held)
            yield number

    def merge(left: int, right: int) -> int:
        nonlocal held
        held -= 1
        return left + right

    assert tree_reduce(results(), merge) == sum(range(64))  # type: ignore[arg-type]
    assert most <= 7
