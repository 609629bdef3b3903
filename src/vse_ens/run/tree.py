"""Merging many results two at a time: the same tree for so many results, whoever merges and whenever."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TypeVar

T = TypeVar("T")


def merge_in_tree(results: Iterable[T], merge: Callable[[T, T], T]) -> T:
    """Neighbours first, then neighbouring pairs, and so on; what is left over joins at the end, from the right.

    Sums of floating-point numbers depend on their order, which here depends on the number of results alone. They may
    come one by one: at most log2 of their number is held at a time.
    """
    waiting: list[tuple[int, T]] = []
    for result in results:
        size = 1
        while waiting and waiting[-1][0] == size:
            result = merge(waiting.pop()[1], result)
            size *= 2
        waiting.append((size, result))
    return reduce(lambda right, left: merge(left, right), [result for _, result in reversed(waiting)])
