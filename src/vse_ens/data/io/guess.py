"""Guess from the first rows of a table how it lists labels, and whether its columns are as expected."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from itertools import islice

from vse_ens.data.annotations import Annotations
from vse_ens.data.collections.files import is_image

TRUE = ("1", "1.0", "true", "True", "TRUE")
FALSE = ("0", "0.0", "false", "False", "FALSE", "")
_SEPARATORS = ",;|"
_MIN_SHARE = 0.2  # of rows that have a separator
_MIN_MIXED = 0.1  # of labels that are the first of some row and a later one of another
_MIN_ROWS = 10  # with a separator, unless the column is called labels
_PLURAL = re.compile("(labels|tags|keywords|categories|classes|concepts)$", re.IGNORECASE)
_MANY = 50  # labels from which their number says that columns are swapped
_ITEM = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?\d+"""
_LIST = re.compile(rf"\[\s*(?:(?:{_ITEM})\s*,?\s*)*\]")


def python_list(text: str) -> list[str] | None:
    """Return the labels of a list as Python or NumPy prints it, such as ``['sea', 'sand']``; None for other text."""
    if not _LIST.fullmatch(text.strip()):
        return None
    try:
        return [str(ast.literal_eval(item)) for item in re.findall(_ITEM, text)]
    except (SyntaxError, ValueError):
        return None


def list_separator(images: Sequence[str], texts: Sequence[str], column: str) -> tuple[str | None, str]:
    """Return the separator of texts that list labels, or None, and a note on it.

    Each image has one row. In a list, labels change places, as ``dog`` does in ``cat|dog`` and ``dog|tree``; in a
    hierarchy or a name such as ``Paris, France`` they do not. A column that is called labels may have both.
    """
    if len(set(images)) < 0.99 * len(images):
        return None, ""
    is_plural = _PLURAL.search(column)
    for separator in _SEPARATORS:
        rows = [[part.strip() for part in text.split(separator)] for text in texts]
        several = [row for row in rows if len(row) > 1]
        if len(several) < max(1 if is_plural else _MIN_ROWS, _MIN_SHARE * len(rows)):
            continue
        example = next(text for text in texts if separator in text)[:60]
        first, later = {row[0] for row in rows}, {part for row in several for part in row[1:]}
        mixed = [part for part in first & later if re.search(r"\w", part)]
        if (is_plural and separator != "|") or len(mixed) > _MIN_MIXED * min(len(first), len(later)):
            return separator, f"split labels such as {example!r} at {separator!r}; --layout long keeps them whole"
        if separator != "|":  # which separates the levels of a hierarchy
            splits = f"--label-separator {separator!r} splits them"
            return None, f"read labels such as {example!r} as they are; if they are lists, {splits}"
    return None, ""


def one_hot_columns(rows: Sequence[Sequence[str]], image: int) -> tuple[int, ...]:
    """Return the columns that have 0 or 1 in all rows, if there are at least two."""
    flags = {*TRUE, *FALSE}
    width = min(map(len, rows), default=0)
    found = [index for index in range(width) if index != image and all(row[index] in flags for row in rows)]
    return tuple(found) if len(found) > 1 and any(row[index] in TRUE for row in rows for index in found) else ()


def stands_out(values: Sequence[str]) -> bool:
    """Return whether the first value is a plain word, and the others have digits, dots or slashes, as image IDs do."""
    has_sign = [bool(re.search(r"[\d./]", value)) for value in values]
    return len(values) > 3 and not has_sign[0] and all(has_sign[1:])


def swapped_note(data: Annotations) -> list[str]:
    """Return a note if the labels look like images: by their names, or as they are many more."""
    labels, images = (list(islice(ids, 100)) for ids in (data.labels, data.images))
    are_files = all(map(is_image, labels)) and not any(map(is_image, images))
    are_many = len(data.labels) >= max(_MANY, 2 * len(data.images)) and data.pairs >= 10 * len(data.images)
    note = (
        f"the columns may be swapped: {len(data.labels):,} labels, such as {labels[0]!r}, of {len(data.images):,} "
        f"images, such as {images[0]!r}; --image-column and --label-column name them"
    )
    return [note] if are_files or are_many else []
