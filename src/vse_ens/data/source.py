"""What every reader turns its input into: batches of ids, and where each row was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa

# Enough rows to make a batch worth its calls, few enough that a batch is small beside what is kept of it.
BATCH_ROWS = 1 << 15


class Batch(NamedTuple):
    """Some rows: an image id each, and a label id or a list of them each; large strings, or large lists of those."""

    images: pa.Array
    labels: pa.Array


class Source(Protocol):
    """An input that can be gone through more than once: a second time only to tell what was wrong."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def unit(self) -> str:
        """What its rows are counted in: "line" or "row"."""

    @property
    def expected_rows(self) -> int:
        """How many rows there will be, or a guess."""

    @property
    def notes(self) -> Sequence[str]:
        """What a user should know, complete once the last batch was taken."""

    def batches(self) -> Iterator[Batch]:
        """All rows in order; what cannot be read is a `DataError`."""

    def places(self, rows: Sequence[int]) -> list[int]:
        """The line (or row, counted from 1) of each of these rows, which are counted from 0 and rising."""
