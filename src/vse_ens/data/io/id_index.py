"""Numbers for ids as they stream by, in memory that follows the distinct ids and not the rows.

Which number a 64-bit hash has: a hash table that is searched and filled a batch at a time.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.io.buffers import GrowingArray, GrowingStrings, as_arrow, as_numpy
from vse_ens.data.vocabulary import Vocabulary


class IdIndex:
    """Gives every distinct id a number, in the order of first sight; `finish` sorts them into a `Vocabulary`.

    Ids are looked up by their hash, but equal hashes are never taken for equal ids: every id is compared with the one
    it was found as, and the odd id that shares the hash of another is looked up by its text.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.has_blank = False
        self._ids = GrowingStrings()
        self._index = HashIndex()
        self._same_hash: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def numbers(self, ids: pa.LargeStringArray) -> NDArray[np.int64]:
        """The number of each id, none of which is null; a new id gets the next number."""
        hashes = _hashes(ids)
        numbers = self._index.find(hashes)
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            fresh, firsts, which = np.unique(hashes[unknown], return_index=True, return_inverse=True)
            numbers[unknown] = len(self) + which
            self._append(ids.take(as_arrow(unknown[firsts])))
            self._index.add(fresh)
        same = pc.equal(self._ids.arrow().take(as_arrow(numbers)), ids)
        if not pc.all(same).as_py():
            for row in np.flatnonzero(~same.to_numpy(zero_copy_only=False)):
                numbers[row] = self._number_by_text(ids[int(row)].as_py())
        return numbers

    def finish(self) -> tuple[Vocabulary, NDArray[np.uint32]]:
        """The vocabulary, and where in it each number has gone; what was held for the search is let go."""
        self._index = HashIndex()
        ids = self._ids.arrow()
        order = pc.sort_indices(ids)
        places = np.empty(len(ids), np.uint32)
        places[as_numpy(order)] = np.arange(len(ids), dtype=np.uint32)
        vocabulary = Vocabulary(ids.take(order), self.kind)
        self._ids = GrowingStrings()
        return vocabulary, places

    def _append(self, ids: pa.LargeStringArray) -> None:
        self._ids.extend(ids)
        self.has_blank = self.has_blank or bool(is_blank(ids).any())

    def _number_by_text(self, one: str) -> int:
        if one not in self._same_hash:
            self._same_hash[one] = len(self)
            self._append(pa.array([one], pa.large_string()))
            self._index.skip()
        return self._same_hash[one]


def is_blank(ids: pa.LargeStringArray) -> NDArray[np.bool_]:
    """Where an id, none of which is null, is empty or nothing but white space by Python's notion of it."""
    lengths: NDArray[np.int64] = as_numpy(pc.binary_length(pc.utf8_trim_whitespace(ids)))
    return np.equal(lengths, 0)


def _hashes(ids: pa.LargeStringArray) -> NDArray[np.uint64]:
    return pl.Series(ids, dtype=pl.String).hash().to_numpy()


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
