"""Which number a 64-bit hash has: a hash table that is searched and filled a batch at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.growing import GrowingArray

_SMALLEST = 1 << 12


class HashIndex:
    """Hashes by number, and a table of numbers by hash: open addressing, with the next slot tried after a full one.

    All of a batch is looked up in one go, then those whose slot held another hash in the next slot, and so on: a few
    rounds, each on far fewer than the last. It takes 8 bytes a hash and 6 to 12 for the table.
    """

    def __init__(self) -> None:
        self._hashes = GrowingArray(np.uint64)
        self._table = np.zeros(_SMALLEST, np.uint32)  # a number and one; 0 is an empty slot
        self._skipped: list[int] = []

    def __len__(self) -> int:
        return len(self._hashes)

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The number of each hash, or -1."""
        if not len(self):
            return np.full(len(hashes), -1, np.int64)
        known = self._hashes.view()
        slots = self._first_slots(hashes)
        numbers = self._table[slots].astype(np.int64) - 1
        astray = np.flatnonzero((known[numbers] != hashes) & (numbers >= 0))
        slots = slots[astray]
        while len(astray):
            slots = self._next(slots)
            held = self._table[slots].astype(np.int64) - 1
            numbers[astray] = held
            still = (known[held] != hashes[astray]) & (held >= 0)
            astray, slots = astray[still], slots[still]
        return numbers

    def add(self, hashes: NDArray[np.uint64]) -> None:
        """Give the next numbers to ``hashes``, which are distinct and not held yet."""
        fresh = np.arange(len(self), len(self) + len(hashes))
        self._hashes.extend(hashes)
        if 3 * len(self) > 2 * len(self._table):
            self._table = np.zeros(2 ** int(np.ceil(np.log2(2 * len(self)))), np.uint32)
            self._enter(np.delete(np.arange(len(self)), self._skipped))
        else:
            self._enter(fresh)

    def skip(self) -> None:
        """Use up the next number: it is never found."""
        self._skipped.append(len(self))
        self._hashes.extend(np.zeros(1, np.uint64))

    def _enter(self, numbers: NDArray[np.int64]) -> None:
        slots = self._first_slots(self._hashes.view()[numbers])
        marks = (numbers + 1).astype(np.uint32)
        while len(marks):
            empty = self._table[slots] == 0
            self._table[slots[empty]] = marks[empty]  # of several that want a slot one gets it
            waiting = self._table[slots] != marks
            marks, slots = marks[waiting], self._next(slots[waiting])

    def _first_slots(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        return (hashes & np.uint64(len(self._table) - 1)).astype(np.int64)

    def _next(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        return (slots + 1) & (len(self._table) - 1)
