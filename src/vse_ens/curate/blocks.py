"""Rows of scores at a time."""

from __future__ import annotations

from collections.abc import Iterator

# Bytes of one table of scores; a handful of them are held at once.
_TABLE = 32 << 20


def blocks(count: int, labels: int) -> Iterator[slice]:
    """Ranges of rows whose scores of all labels fit into one table: cut by the labels, never by the machine."""
    rows = max(1, _TABLE // (4 * max(labels, 1)))
    return (slice(first, min(first + rows, count)) for first in range(0, count, rows))
