"""Vocabularies: ids to numbers and back."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vse_ens.data.arrow import as_arrow, strings_to_arrow
from vse_ens.errors import DataError, UnknownIdError

# A hash table of the whole vocabulary pays off if more than one in this many ids is looked up.
_HASH_SHARE = 64
# Larger vocabularies are not searched for similar spellings; the neighbors in sorted order are suggested instead.
_SPELLING_LIMIT = 50_000
# Up to this many ids are compared by Python, which takes less time than importing Arrow's functions.
_FEW_COMPARED = 20_000
# Up to this many ids are looked up or read one by one: a call of Arrow takes longer, and may import pandas first.
_FEW = 32


class Vocabulary:
    """Immutable, sorted, distinct ids; the number of an id is its index in that order.

    Numbers follow the sorted order of ids, so the order of the input rows does not matter. The ids are one Arrow array
    (their bytes plus 8 bytes each), searched by bisection: there is no Python object per id.

    >>> labels = Vocabulary.from_ids(["sea", "beach", "sea", "007"])
    >>> len(labels), labels.number("sea"), labels.id(0)
    (3, 2, '007')
    """

    __slots__ = ("_ids", "kind")

    def __init__(self, ids: pa.LargeStringArray, kind: str = "id") -> None:
        if ids.null_count or not _is_increasing(ids):
            raise DataError(f"the {kind} ids of a vocabulary must be sorted, distinct and not null")
        self._ids = ids
        self.kind = kind

    @classmethod
    def from_ids(cls, ids: Iterable[str], kind: str = "id") -> Vocabulary:
        """Return the vocabulary of ids in any order; they may repeat."""
        given = list(ids)
        for one in given:
            if not isinstance(one, str) or not one.strip():
                raise DataError(f"a {kind} id must be text that is not blank, got {one!r}")
        try:
            unsorted = strings_to_arrow(given).unique()
        except UnicodeEncodeError as error:
            raise DataError(f"the {kind} id {error.object!r} is not valid unicode") from None
        return cls(_sorted(unsorted), kind)

    @classmethod
    def trusted(cls, ids: pa.LargeStringArray, kind: str = "id") -> Vocabulary:
        """Return the vocabulary of ids that are sorted, distinct and not null, unchecked; a memory map stays unread."""
        vocabulary = cls.__new__(cls)
        vocabulary._ids = ids
        vocabulary.kind = kind
        return vocabulary

    @property
    def arrow(self) -> pa.LargeStringArray:
        """The ids in order, as an Arrow array."""
        return self._ids

    @property
    def nbytes(self) -> int:
        """The bytes of the ids."""
        return int(self._ids.nbytes)

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), 65_536):
            yield from self._ids[start : start + 65_536].to_pylist()

    def __contains__(self, one: object) -> bool:
        return isinstance(one, str) and self._find(one) >= 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self._ids.equals(other._ids)

    def __hash__(self) -> int:
        return hash((len(self), *(self.id(n) for n in {0, len(self) - 1} if len(self))))

    def __repr__(self) -> str:
        shown = ", ".join(repr(one) for one in self._ids[:3].to_pylist())
        return f"Vocabulary({len(self):,} {self.kind}s: {shown}{', ...' if len(self) > 3 else ''})"

    @overload
    def number(self, one: str, missing: Literal["error"] = "error") -> int: ...
    @overload
    def number(self, one: str, missing: None) -> int | None: ...
    def number(self, one: str, missing: Literal["error"] | None = "error") -> int | None:
        """Return the number of an id; an unknown one is an `UnknownIdError`, or None if ``missing`` is None."""
        number = self._find(one)
        if number >= 0:
            return number
        if missing is None:
            return None
        raise self.unknown(one)

    def numbers(self, ids: Sequence[str], missing: Literal["error", "minus-one"] = "error") -> NDArray[np.int64]:
        """Return the numbers of many ids; unknown ones raise, or become -1 if ``missing`` is "minus-one"."""
        if len(ids) <= _FEW or len(ids) * _HASH_SHARE < len(self):
            numbers = np.fromiter((self._find(one) for one in ids), np.int64, len(ids))
        else:
            numbers = _positions(pa.array(ids, pa.large_string()), self._ids)
        if missing == "error" and len(numbers) and numbers.min() < 0:
            raise self.unknown(ids[int(np.argmax(numbers < 0))])
        return numbers

    def unknown(self, one: str) -> UnknownIdError:
        """Return the error for an unknown id, with similar ids, or some id if none is similar."""
        return UnknownIdError(one, self.kind, self.nearest(one), self.id(0) if len(self) else None)

    def translate(self, other: Vocabulary) -> NDArray[np.int64]:
        """Return the number here of every id of another vocabulary, or -1; no Python object per id is made."""
        if self is other:
            return np.arange(len(self))
        return _positions(other._ids, self._ids)

    def joined(self, other: Vocabulary) -> Vocabulary:
        """Return the vocabulary of the ids of both."""
        together = pa.chunked_array([self._ids, other._ids]).unique()
        return Vocabulary(_sorted(together), self.kind)

    def id(self, number: int) -> str:
        """Return the id of a number."""
        if not 0 <= number < len(self):
            raise IndexError(f"{self.kind} numbers run from 0 to {len(self) - 1}, got {number}")
        one: str = self._ids[int(number)].as_py()
        return one

    def ids(self, numbers: NDArray[np.integer] | Sequence[int]) -> list[str]:
        """Return the ids of many numbers."""
        if len(numbers) <= _FEW:
            return [self.id(number) for number in np.asarray(numbers, np.int64).tolist()]
        ids: list[str] = self._ids.take(as_arrow(np.ascontiguousarray(numbers, dtype=np.int64))).to_pylist()
        return ids

    def nearest(self, one: str, count: int = 3) -> list[str]:
        """Return known ids that are spelled like ``one``, or in a large vocabulary sort next to it."""
        if len(self) <= _SPELLING_LIMIT:
            by_fold: dict[str, str] = {}
            for known in self:
                by_fold.setdefault(known.casefold(), known)
            close = difflib.get_close_matches(one.casefold(), by_fold, n=count, cutoff=0.6)
            return [by_fold[fold] for fold in close]
        index = self._bisect(one)
        return list(self._ids[max(0, index - 1) : index + count - 1].to_pylist())

    def _bisect(self, one: str) -> int:
        """Return how many ids sort before ``one``. Python compares code points, which is the order of UTF-8 bytes."""
        low, high = 0, len(self._ids)
        while low < high:
            middle = (low + high) // 2
            if self._ids[middle].as_py() < one:
                low = middle + 1
            else:
                high = middle
        return low

    def _find(self, one: str) -> int:
        index = self._bisect(one)
        return index if index < len(self._ids) and self._ids[index].as_py() == one else -1


def _is_increasing(ids: pa.LargeStringArray) -> bool:
    if len(ids) <= _FEW_COMPARED:
        known = ids.to_pylist()
        return all(map(operator.lt, known, known[1:]))
    import pyarrow.compute as pc

    return bool(pc.all(pc.less(ids[:-1], ids[1:])).as_py())


def _sorted(ids: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return ids.take(pc.sort_indices(ids))


def _positions(ids: pa.Array, among: pa.Array) -> NDArray[np.int64]:
    """Return the index of every id in another array, or -1."""
    import pyarrow.compute as pc

    indices = pc.index_in(ids, value_set=among)
    return np.asarray(indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
