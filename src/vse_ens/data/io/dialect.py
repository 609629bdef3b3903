"""Detect the dialect of a delimited text: its separator, whether line 1 is a header, and the two columns."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from vse_ens.data.io.columns import Column, ColumnChoice, choose_columns, has_known_names
from vse_ens.data.io.formats import BOM, PairsFile
from vse_ens.data.io.guess import one_hot_columns, stands_out
from vse_ens.errors import ConfigError, DataError

if TYPE_CHECKING:
    from _csv import Reader

_SEPARATORS = {"csv": ",;\t|", "tsv": "\t", "txt": "\t,;|"}
_SEPARATOR_NAMES = {"\t": "a tab", " ": "a space"}
_SAMPLE_ROWS = 10_000
# With fewer rows, too few values recur to recognize a header.
_MIN_ROWS = 20
# A header is a row without recurring values. If more of the other rows than this share are like that, it cannot be
# recognized.
_MAX_UNIQUE_ROWS = 0.02


class OneColumnError(DataError):
    """A delimited text with a single column."""


@dataclass(frozen=True)
class Dialect:
    """Everything that is needed to parse a delimited text."""

    separator: str
    quote: str | None
    header: bool
    columns: ColumnChoice
    notes: tuple[str, ...]
    one_hot: tuple[int, ...] = ()
    """The columns of a table that has a column of 0 and 1 for each label."""


def sniff(
    file: PairsFile, image: Column, label: Column, header: bool | None, separator: str | None, quote: str | None
) -> Dialect:
    """Return the dialect of a file; options that are None are detected from its start."""
    for option, value in (("separator", separator), ("quote", quote)):
        if value is not None and (len(value) != 1 or not value.isascii() or value in "\r\n"):
            raise ConfigError(f"{option} must be a single ASCII character, got {value!r}")
    if separator is not None and separator == quote:
        raise ConfigError(f"separator and quote are both {quote!r}; they must differ")
    head, complete = file.head()
    text = head.removeprefix(BOM).decode(errors="replace")
    if not complete:
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text
    notes = []
    if separator is None:
        separator = _find_separator(text, _SEPARATORS[file.format], quote)
        if file.format == "txt" or separator != _SEPARATORS[file.format][0]:
            notes.append(f"used {describe_separator(separator)} as the separator")
    rows = _sample(text, separator, quote)
    if len(rows[0]) < 2:
        raise OneColumnError(
            f"{file.path} has one column only when split at {describe_separator(separator)}: its first line is "
            f"{_shorten(text.splitlines()[0])!r}; give its separator"
        )
    if header is False:
        for option, column in (("image", image), ("label", label)):
            if isinstance(column, str):
                raise ConfigError(f"{option} names column {column!r}, but there is no header: give its number, from 0")
    if header is None:
        header, how = _guess_header(rows, image, label)
        notes.extend(how)
    names = rows[0] if header else [str(index) for index in range(len(rows[0]))]
    columns = choose_columns(str(file.path), names, image, label)
    hot = one_hot_columns(rows[1:], columns.image) if header and label is None else ()
    if columns.label in hot or (columns.notes and 2 * len(hot) > len(names)):
        notes.append(
            f"read {len(hot):,} columns of 0 and 1, such as {names[hot[0]]!r}, as labels; unless --layout long"
        )
        return Dialect(separator, quote, header, columns, tuple(notes), hot)
    return Dialect(separator, quote, header, columns, (*notes, *(columns.notes if header else ())))


def describe_separator(separator: str) -> str:
    """Return a separator as messages show it."""
    return _SEPARATOR_NAMES.get(separator, repr(separator))


@contextmanager
def unlimited_field_size() -> Iterator[None]:
    """Let Python's CSV parser accept fields of any length, such as long lists of labels."""
    usual = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(usual)


def csv_reader(lines: Iterable[str], separator: str, quote: str | None, strict: bool = False) -> Reader:
    """Return Python's CSV parser with the settings that Arrow's has."""
    if quote is None:
        return csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE, quotechar=None, strict=strict)
    return csv.reader(lines, delimiter=separator, quotechar=quote, strict=strict)


def _find_separator(text: str, candidates: str, quote: str | None) -> str:
    """Return the first candidate that splits all lines into the same number of columns, at least two."""
    for candidate in candidates:
        widths = {len(row) for row in _sample(text, candidate, quote)[:1000]}
        if len(widths) == 1 and min(widths) > 1:
            return candidate
    # Some line is malformed. A separator that splits the first line will show which one.
    first = _sample(text, candidates[0], quote)[0]
    return candidates[0] if len(first) > 1 else max(candidates, key=lambda one: len(_sample(text, one, quote)[0]))


def _sample(text: str, separator: str, quote: str | None) -> list[list[str]]:
    """Return the first rows without blank lines."""
    rows: list[list[str]] = []
    with suppress(csv.Error), unlimited_field_size():  # an error is reported when the whole file is read
        parsed = csv_reader(io.StringIO(text, newline=""), separator, quote)
        rows.extend(islice((row for row in parsed if row), _SAMPLE_ROWS))
    return rows or [[text]]


def _guess_header(rows: Sequence[Sequence[str]], image: Column, label: Column) -> tuple[bool, list[str]]:
    """Return whether the first row is a header, and notes on how this was decided."""
    first = rows[0]
    if isinstance(image, str) or isinstance(label, str) or has_known_names(first):
        return True, []
    others = rows[1:]
    if len(others) < _MIN_ROWS or one_hot_columns(others, 0):
        if different := _differs_from_others(rows, image):
            return True, [different]
        return False, [
            f"read line 1 as a pair, not a header: {len(rows)} lines are too few to decide; if it is one, use --header"
        ]
    columns = choose_columns("", [str(index) for index in range(len(first))], image, label)
    pairs = [(row[columns.image], row[columns.label]) for row in rows if len(row) == len(first)]
    images, labels = (Counter(column) for column in zip(*pairs, strict=True))
    unique = [images[one] == 1 and labels[other] == 1 for one, other in pairs]
    if unique[0] and sum(unique[1:]) < _MAX_UNIQUE_ROWS * len(others):
        return True, [f"read line 1, {_shorten(' '.join(first))!r}, as a header: its values do not occur again"]
    different = _differs_from_others(rows, image)
    return bool(different), [different] if different else []


def _differs_from_others(rows: Sequence[Sequence[str]], image: Column) -> str:
    """Return a note if the values of line 1 are of another kind than those below it, or nothing."""
    at = image if isinstance(image, int) and image < len(rows[0]) else 0
    is_flagged = one_hot_columns(rows[1:], at) and not one_hot_columns(rows, at)
    if not is_flagged and not stands_out([row[at] for row in rows if len(row) > at]):
        return ""
    return f"read line 1, {_shorten(' '.join(rows[0]))!r}, as a header: the lines below look different"


def _shorten(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
