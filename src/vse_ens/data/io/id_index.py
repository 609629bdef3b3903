"""Number ids as they stream by, in RAM proportional to the distinct ids and not to the rows."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.arrow import GrowingArray, GrowingStrings, as_arrow, as_numpy, string_buffers, strings_to_arrow
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import MAX_LABEL, DataError, LongLabelError

# Bytes of all labels together: ten million labels of 50.
_MAX_LABELS = 1 << 29
# Initial number of slots of the hash table.
_SLOTS = 1 << 12
# Ids hashed at a time: their arrays stay in the cache, and are not returned to the system in between.
_BLOCK = 1 << 13
# Bytes of each id that are hashed at a time; ids of more than `_LONG` bytes are hashed one by one.
_CHUNK, _LONG = 64, 512
# Odd constants of the hash (those of splitmix64), and masks for the first 0 to 8 bytes of a little-endian word.
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_HALF = np.uint64(32)
_MASKS = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)


class IdIndex:
    """Give every distinct id a number in the order of its first occurrence; `finish` sorts them into a `Vocabulary`.

    Ids are looked up by a 64-bit hash. Every id is compared with the one that was found, so that a hash collision
    cannot merge two ids; the rare id that shares the hash of another is looked up by its text.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.has_blank = False
        self._ids = GrowingStrings()
        self._index = HashIndex()
        self._collisions: dict[str, int] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._ids)

    def numbers(self, ids: pa.LargeStringArray) -> NDArray[np.int64]:
        """Return the number of each id, none of which may be null; a new id gets the next number."""
        hashes = hash_ids(ids)
        numbers = self._index.find(hashes)
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            new, firsts, inverse = np.unique(hashes[unknown], return_index=True, return_inverse=True)
            numbers[unknown] = len(self) + inverse
            self._append(ids.take(as_arrow(unknown[firsts])))
            self._index.add(new)
        same = pc.equal(self._ids.arrow().take(as_arrow(numbers)), ids)
        if not pc.all(same).as_py():
            for row in np.flatnonzero(~same.to_numpy(zero_copy_only=False)):
                numbers[row] = self._number_by_text(ids[int(row)].as_py())
        return numbers

    def finish(self) -> tuple[Vocabulary, NDArray[np.uint32]]:
        """Return the vocabulary, and the number in it of every number given so far; the hash table is freed."""
        self._index = HashIndex()
        ids = self._ids.arrow()
        order = pc.sort_indices(ids)
        renumbered = np.empty(len(ids), np.uint32)
        renumbered[as_numpy(order)] = np.arange(len(ids), dtype=np.uint32)
        vocabulary = Vocabulary(ids.take(order), self.kind)
        self._ids = GrowingStrings()
        return vocabulary, renumbered

    def _append(self, ids: pa.LargeStringArray) -> None:
        if self.kind == "label":
            self._check_labels(ids)
        self._ids.extend(ids)
        self.has_blank = self.has_blank or bool(is_blank(ids).any())

    def _check_labels(self, labels: pa.LargeStringArray) -> None:
        lengths: NDArray[np.int64] = as_numpy(pc.binary_length(labels))
        for row in np.flatnonzero(lengths > MAX_LABEL):
            if len(label := labels[int(row)].as_py()) > MAX_LABEL:  # a character has up to four bytes
                raise LongLabelError(label)
        self._bytes += int(lengths.sum())
        if self._bytes > _MAX_LABELS:
            raise DataError(f"the labels have more than {_MAX_LABELS:,} bytes together; name the column of labels")

    def _number_by_text(self, one: str) -> int:
        if one not in self._collisions:
            self._collisions[one] = len(self)
            self._append(strings_to_arrow([one]))
            self._index.skip()
        return self._collisions[one]


def is_blank(ids: pa.LargeStringArray) -> NDArray[np.bool_]:
    """Return which ids are empty or white space, by Python's definition of it; none may be null."""
    lengths: NDArray[np.int64] = as_numpy(pc.binary_length(pc.utf8_trim_whitespace(ids)))
    return np.equal(lengths, 0)


def hash_ids(ids: pa.LargeStringArray) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each id, none of which may be null.

    Ids constructed to collide are looked up slowly, but correctly.
    """
    hashes = np.empty(len(ids), np.uint64)
    for first in range(0, len(ids), _BLOCK):
        hashes[first : first + _BLOCK] = _hash_block(ids[first : first + _BLOCK])
    return hashes


def _hash_block(ids: pa.LargeStringArray) -> NDArray[np.uint64]:
    offsets, text = string_buffers(ids)
    first, size = int(offsets[0]), int(offsets[-1] - offsets[0])
    padded = np.zeros(size + _CHUNK, np.uint8)  # so that a chunk that starts in the last id does not end outside
    padded[:size] = text[first : first + size]
    starts, lengths = offsets[:-1] - first, np.diff(offsets)
    longest = int(lengths.max())
    hashes = lengths.astype(np.uint64)
    hashes *= _MIX[0]
    for begin in range(0, min(longest, _LONG), _CHUNK):
        rows = np.flatnonzero(lengths > begin) if begin else slice(None)
        hashes[rows] = _hash_chunk(hashes[rows], padded, starts[rows] + begin, lengths[rows] - begin)
    for row in np.flatnonzero(lengths > _LONG) if longest > _LONG else ():
        content = padded[starts[row] : starts[row] + lengths[row]].tobytes()
        hashes[row] = int.from_bytes(blake2b(content, digest_size=8).digest(), "little")
    return _mix(hashes, np.uint64(0), _MIX[2])


def _hash_chunk(
    hashes: NDArray[np.uint64], text: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return ``hashes`` continued by the next `_CHUNK` bytes of each id, of which ``lengths`` bytes are left."""
    shortest, longest = int(lengths.min()), int(lengths.max())
    width = 8 * -(-min(longest, _CHUNK) // 8)
    # One gather of whole chunks takes as long as one of single words.
    chunks = np.ndarray((len(text) - width + 1,), f"V{width}", text, strides=(1,))[starts]
    words = chunks.view("<u8").reshape(len(starts), width // 8)
    for column in range(width // 8):
        left, word = lengths - 8 * column, words[:, column]
        if shortest >= 8 * (column + 1):
            hashes = _mix(hashes, word, _MIX[1])
        else:
            mixed = _mix(hashes, word & _MASKS[np.clip(left, 0, 8)], _MIX[1])
            hashes = np.where(left > 0, mixed, hashes)
    return hashes


def _mix(hashes: NDArray[np.uint64], words: NDArray[np.uint64] | np.uint64, factor: np.uint64) -> NDArray[np.uint64]:
    mixed = hashes ^ words
    mixed *= factor
    mixed ^= mixed >> _HALF
    return mixed


class HashIndex:
    """Map 64-bit hashes to consecutive numbers: open addressing with linear probing, one batch at a time.

    All hashes of a batch are looked up at once, then those whose slot holds another hash in the next slot, and so on;
    each round has far fewer than the last. RAM: 8 bytes per hash, and 6 to 12 for the table.
    """

    def __init__(self) -> None:
        self._hashes = GrowingArray(np.uint64)
        self._table = np.zeros(_SLOTS, np.uint32)  # number + 1; 0 marks an empty slot
        self._skipped: list[int] = []

    def __len__(self) -> int:
        return len(self._hashes)

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the number of each hash, or -1."""
        if not len(self):
            return np.full(len(hashes), -1, np.int64)
        known = self._hashes.view()
        slots = self._first_slots(hashes)
        numbers = self._table[slots].astype(np.int64) - 1
        pending = np.flatnonzero((known[numbers] != hashes) & (numbers >= 0))
        slots = slots[pending]
        while len(pending):
            slots = self._next(slots)
            held = self._table[slots].astype(np.int64) - 1
            numbers[pending] = held
            other = (known[held] != hashes[pending]) & (held >= 0)
            pending, slots = pending[other], slots[other]
        return numbers

    def add(self, hashes: NDArray[np.uint64]) -> None:
        """Give the next numbers to ``hashes``, which must be distinct and new."""
        new = np.arange(len(self), len(self) + len(hashes))
        self._hashes.extend(hashes)
        if 3 * len(self) > 2 * len(self._table):
            self._table = np.zeros(2 ** int(np.ceil(np.log2(2 * len(self)))), np.uint32)
            self._enter(np.delete(np.arange(len(self)), self._skipped))
        else:
            self._enter(new)

    def skip(self) -> None:
        """Reserve the next number; no hash finds it."""
        self._skipped.append(len(self))
        self._hashes.extend(np.zeros(1, np.uint64))

    def _enter(self, numbers: NDArray[np.int64]) -> None:
        slots = self._first_slots(self._hashes.view()[numbers])
        entries = (numbers + 1).astype(np.uint32)
        while len(entries):
            empty = self._table[slots] == 0
            self._table[slots[empty]] = entries[empty]  # if several want a slot, one gets it
            waiting = self._table[slots] != entries
            entries, slots = entries[waiting], self._next(slots[waiting])

    def _first_slots(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        return (hashes & np.uint64(len(self._table) - 1)).astype(np.int64)

    def _next(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        return (slots + 1) & (len(self._table) - 1)
