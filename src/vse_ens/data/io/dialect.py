"""How a delimited text is laid out: its separator, whether line 1 is a header, which columns are meant."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from vse_ens.data.io.columns import Column, ColumnChoice, are_known, choose
from vse_ens.data.io.formats import BOM, PairsFile
from vse_ens.errors import ConfigError, DataError

if TYPE_CHECKING:
    from _csv import Reader

_SEPARATORS = {"csv": ",;\t|", "tsv": "\t", "txt": "\t,;|"}
_SPELLED = {"\t": "a tab", " ": "a space"}
_SAMPLE_ROWS = 10_000
# Below this many rows too little recurs to tell a header by.
_ROWS_TO_TELL = 20
# A header is a row of which nothing recurs; where more than this share of the other rows is so too, it tells nothing.
_LONELY_SHARE = 0.02


@dataclass(frozen=True)
class Dialect:
    """All that is needed to read a delimited text."""

    separator: str
    quote: str | None
    header: bool
    columns: ColumnChoice
    notes: tuple[str, ...]


def sniff(
    file: PairsFile, image: Column, label: Column, header: bool | None, separator: str | None, quote: str | None
) -> Dialect:
    """Find out what was not said, from the start of the file."""
    for option, value in (("separator", separator), ("quote", quote)):
        if value is not None and (len(value) != 1 or not value.isascii() or value in "\r\n"):
            raise ConfigError(f"{option} must be a single ASCII character, got {value!r}")
    if separator is not None and separator == quote:
        raise ConfigError(f"separator and quote are both {quote!r}; they must differ")
    head, whole = file.head()
    text = head.removeprefix(BOM).decode(errors="replace")
    if not whole:
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text
    notes = []
    if separator is None:
        separator = _find_separator(text, _SEPARATORS[file.format], quote)
        if file.format == "txt" or separator != _SEPARATORS[file.format][0]:
            notes.append(f"took {spell(separator)} for the separator")
    rows = _sample(text, separator, quote)
    if len(rows[0]) < 2:
        raise DataError(
            f"{file.path} has one column only when split at {spell(separator)}: its first line is "
            f"{_shortened(text.splitlines()[0])!r}; give its separator"
        )
    if header is False:
        for option, column in (("image", image), ("label", label)):
            if isinstance(column, str):
                raise ConfigError(f"{option}={column!r} names a column, but header=False: give its number, from 0")
    if header is None:
        header, how = _guess_header(rows, image, label)
        notes.extend(how)
    names = rows[0] if header else [str(place) for place in range(len(rows[0]))]
    columns = choose(str(file.path), names, image, label)
    return Dialect(separator, quote, header, columns, (*notes, *(columns.notes if header else ())))


def spell(separator: str) -> str:
    """A separator as a message shows it."""
    return _SPELLED.get(separator, repr(separator))


def _find_separator(text: str, candidates: str, quote: str | None) -> str:
    """The first candidate that splits all lines into the same number of columns, at least two; else the usual one."""
    for candidate in candidates:
        widths = {len(row) for row in _sample(text, candidate, quote)[:1000]}
        if len(widths) == 1 and min(widths) > 1:
            return candidate
    # Nothing splits all lines alike: a line is at fault, and the separator that suits the first line will show which.
    first = _sample(text, candidates[0], quote)[0]
    return candidates[0] if len(first) > 1 else max(candidates, key=lambda one: len(_sample(text, one, quote)[0]))


def _sample(text: str, separator: str, quote: str | None) -> list[list[str]]:
    """Rows from the start, blank lines left out."""
    rows: list[list[str]] = []
    with suppress(csv.Error), any_field_length():  # reading the whole file will say what is wrong with it
        parsed = rows_of(io.StringIO(text, newline=""), separator, quote)
        rows.extend(islice((row for row in parsed if row), _SAMPLE_ROWS))
    return rows or [[text]]


@contextmanager
def any_field_length() -> Iterator[None]:
    """Let Python's parser take fields of any length: the label lists of a wide layout may be long."""
    usual = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(usual)


def rows_of(lines: Iterable[str], separator: str, quote: str | None, strict: bool = False) -> Reader:
    """Python's own parser, set as the fast one is."""
    if quote is None:
        return csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE, quotechar=None, strict=strict)
    return csv.reader(lines, delimiter=separator, quotechar=quote, strict=strict)


def _guess_header(rows: Sequence[Sequence[str]], image: Column, label: Column) -> tuple[bool, list[str]]:
    first = rows[0]
    if isinstance(image, str) or isinstance(label, str) or are_known(first):
        return True, []
    others = rows[1:]
    if len(others) < _ROWS_TO_TELL:
        note = f"took line 1 for a pair, not a header: {len(rows)} lines are too few to tell; say header if it is one"
        return False, [note]
    columns = choose("", [str(place) for place in range(len(first))], image, label)
    pairs = [(row[columns.image], row[columns.label]) for row in rows if len(row) == len(first)]
    images, labels = (Counter(column) for column in zip(*pairs, strict=True))
    lonely = [images[one] == 1 and labels[other] == 1 for one, other in pairs]
    if lonely[0] and sum(lonely[1:]) < _LONELY_SHARE * len(others):
        return True, [f"took line 1, {_shortened(' '.join(first))!r}, for a header: nothing in it occurs again"]
    return False, []


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
