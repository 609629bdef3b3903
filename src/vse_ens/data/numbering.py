"""Numbers for ids as they stream by, in memory that follows the distinct ids and not the rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.growing import GrowingStrings, as_arrow, as_numpy
from vse_ens.data.vocabulary import Vocabulary

# A level of the index is merged into the one before it until that one is this many times larger.
_LEVEL_RATIO = 4


class Numbering:
    """Gives every distinct id a number, in the order of first sight; `finish` sorts them into a `Vocabulary`.

    The index is a few sorted arrays of 64-bit hashes, each several times longer than the next, with the numbers beside
    them: about 12 bytes an id. Equal hashes are never taken for equal ids: every id is compared with the one it was
    found as, and the odd id that shares the hash of another is looked up by its text.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.has_blank = False
        self._ids = GrowingStrings()
        self._levels: list[tuple[NDArray[np.uint64], NDArray[np.uint32]]] = []
        self._same_hash: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def numbers(self, ids: pa.LargeStringArray) -> NDArray[np.uint32]:
        """The number of each id, none of which is null; a new id gets the next number."""
        if not len(ids):
            return np.empty(0, np.uint32)
        hashes = _hashes(ids)
        order = np.argsort(hashes)
        in_order = hashes[order]
        firsts = np.flatnonzero(np.concatenate([[True], in_order[1:] != in_order[:-1]]))
        distinct = in_order[firsts]
        found = self._find(distinct)
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            start = self._append(ids.take(as_arrow(order[firsts[unknown]])))
            found[unknown] = np.arange(start, len(self))
            self._add_level(distinct[unknown], found[unknown].astype(np.uint32))
        numbers = np.empty(len(ids), np.uint32)
        numbers[order] = np.repeat(found, np.diff(firsts, append=len(ids)))
        same = pc.equal(self._ids.arrow().take(as_arrow(numbers)), ids)
        if not pc.all(same).as_py():
            for row in np.flatnonzero(~same.to_numpy(zero_copy_only=False)):
                numbers[row] = self._number_by_text(ids[int(row)].as_py())
        return numbers

    def finish(self) -> tuple[Vocabulary, NDArray[np.uint32]]:
        """The vocabulary, and where in it each number has gone; what was held for the search is let go."""
        self._levels.clear()
        ids = self._ids.arrow()
        order = pc.sort_indices(ids)
        places = np.empty(len(ids), np.uint32)
        places[as_numpy(order)] = np.arange(len(ids), dtype=np.uint32)
        vocabulary = Vocabulary(ids.take(order), self.kind)
        self._ids = GrowingStrings()
        return vocabulary, places

    def _append(self, ids: pa.LargeStringArray) -> int:
        start = len(self._ids)
        self._ids.extend(ids)
        self.has_blank = self.has_blank or bool(is_blank(ids).any())
        return start

    def _find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The number last given to each hash, or -1."""
        found = np.full(len(hashes), -1, np.int64)
        for known, numbers in self._levels:
            places = np.searchsorted(known, hashes)
            places[places == len(known)] = 0
            hit = known[places] == hashes
            found[hit] = numbers[places[hit]]
        return found

    def _add_level(self, hashes: NDArray[np.uint64], numbers: NDArray[np.uint32]) -> None:
        while self._levels and len(self._levels[-1][0]) < _LEVEL_RATIO * len(hashes):
            older_hashes, older_numbers = self._levels.pop()
            places = np.searchsorted(older_hashes, hashes)
            hashes = np.insert(older_hashes, places, hashes)
            numbers = np.insert(older_numbers, places, numbers)
        self._levels.append((hashes, numbers))

    def _number_by_text(self, one: str) -> int:
        if one not in self._same_hash:
            self._same_hash[one] = self._append(pa.array([one], pa.large_string()))
        return self._same_hash[one]


def is_blank(ids: pa.LargeStringArray) -> NDArray[np.bool_]:
    """Where an id, none of which is null, is empty or nothing but white space by Python's notion of it."""
    lengths: NDArray[np.int64] = as_numpy(pc.binary_length(pc.utf8_trim_whitespace(ids)))
    return np.equal(lengths, 0)


def _hashes(ids: pa.LargeStringArray) -> NDArray[np.uint64]:
    return pl.Series(ids, dtype=pl.String).hash().to_numpy()
