"""Numbers for ids as they stream by, in memory that follows the distinct ids and not the rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.growing import GrowingStrings, as_arrow, as_numpy
from vse_ens.data.hash_index import HashIndex
from vse_ens.data.vocabulary import Vocabulary


class Numbering:
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
