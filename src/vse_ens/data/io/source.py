"""The interface between readers and `ingest`: batches of ids, and the line number of each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa

# Large enough that the calls per batch do not count, small enough that a batch is small beside the result.
BATCH_ROWS = 1 << 16


class Batch(NamedTuple):
    """Consecutive rows: one image id each, and one label id or one list of label ids each.

    The types are large strings, and large strings or large lists of them.
    """

    images: pa.Array
    labels: pa.Array


class Source(Protocol):
    """A table of pairs that can be read more than once; the second time only to locate an error."""

    @property
    def name(self) -> str:
        """The name that messages use."""

    @property
    def unit(self) -> str:
        """What rows are counted in: "line" or "row"."""

    @property
    def expected_rows(self) -> int:
        """The number of rows, or an estimate."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the user; complete after the last batch."""

    def batches(self) -> Iterator[Batch]:
        """Yield all rows in order; raise a `DataError` for what cannot be read."""

    def line_numbers(self, rows: Sequence[int]) -> list[int]:
        """Return the line (or row, counted from 1) of each of ``rows``, which are counted from 0 and ascending."""


class CountedRows:
    """A source whose rows have no lines: they are counted from 1."""

    unit = "row"

    def line_numbers(self, rows: Sequence[int]) -> list[int]:
        """Return ``rows`` counted from 1."""
        return [row + 1 for row in rows]
