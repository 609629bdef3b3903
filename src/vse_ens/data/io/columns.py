"""Choose the image and the label column, and convert columns to ids."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from vse_ens.errors import ConfigError, DataError

# In order of preference, without case, spaces or punctuation.
_IMAGE_NAMES = (
    "image", "imageid", "imagename", "imagefile", "imagepath", "images", "img", "imgid", "photo", "photoid", "picture",
    "pictureid", "file", "filename", "filepath", "path", "item", "itemid", "id",
)  # fmt: skip
_LABEL_NAMES = (
    "label", "labels", "labelname", "labelid", "tag", "tags", "tagname", "keyword", "keywords", "concept", "concepts",
    "category", "categories", "class", "classes", "classname", "annotation", "annotations",
    "tagstring",
)  # fmt: skip

# A table of more columns takes gigabytes of RAM for its bookkeeping alone.
MAX_COLUMNS = 65_536

Column = str | int | None


@dataclass(frozen=True)
class ColumnChoice:
    """The indices of the image and the label column, and notes on how they were chosen."""

    image: int
    label: int
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """The names of all columns."""

    @property
    def image_name(self) -> str:
        """The name of the image column."""
        return self.names[self.image]

    @property
    def label_name(self) -> str:
        """The name of the label column."""
        return self.names[self.label]


def choose_columns(source: str, names: Sequence[str], image: Column = None, label: Column = None) -> ColumnChoice:
    """Return the requested columns, else those with a known name, else the first two that are left."""
    if len(names) > MAX_COLUMNS:
        raise DataError(
            f"{source} has more than {MAX_COLUMNS:,} columns, which is the limit; write one pair or value per row "
            f"instead"
        )
    if len(names) < 2:
        reason = f"has one column only, {names[0]!r}; pairs need two" if names else "is empty"
        raise DataError(f"{source} {reason}")
    image_index = None if image is None else _requested(source, names, "image", image)
    label_index = None if label is None else _requested(source, names, "label", label)
    if image_index is not None and image_index == label_index:
        raise ConfigError(f"image and label are both column {names[image_index]!r} of {source}; name two columns")
    if image_index is None:
        image_index = _find_known(names, _IMAGE_NAMES, label_index)
    if label_index is None:
        label_index = _find_known(names, _LABEL_NAMES, image_index)
    guessed = image_index is None or label_index is None
    if image_index is None:
        image_index = next(index for index in range(len(names)) if index != label_index)
    if label_index is None:
        label_index = next(index for index in range(len(names)) if index != image_index)
    note = f"used column {names[image_index]!r} for images and {names[label_index]!r} for labels"
    notes = (note,) if guessed else ()
    return ColumnChoice(image_index, label_index, notes, tuple(names))


def is_image_name(name: str) -> bool:
    """Return whether a column of this name holds image ids."""
    return _find_known([name], _IMAGE_NAMES) is not None


def has_known_names(names: Sequence[str]) -> bool:
    """Return whether ``names`` contain both a known image name and a known label name."""
    return _find_known(names, _IMAGE_NAMES) is not None and _find_known(names, _LABEL_NAMES) is not None


def to_ids(array: pa.Array, source: str, name: str, *, lists: bool = False) -> pa.Array:
    """Return a column as large strings, or as ``lists`` of them where allowed; integers become their decimal text."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    if lists and (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        large = array.cast(pa.large_list(kind.value_type)) if not pa.types.is_large_list(kind) else array
        if pa.types.is_nested(kind.value_type):
            raise DataError(
                f"column {name!r} of {source} holds {kind}, but a list of labels holds text or whole numbers"
            )
        values = to_ids(large.values, source, name)
        return pa.LargeListArray.from_arrays(large.offsets, values, mask=large.is_null() if large.null_count else None)
    if not _can_be_ids(kind):
        raise DataError(
            f"column {name!r} of {source} holds {kind}, but ids are text or whole numbers; convert it to text first"
        )
    ids = array.cast(pa.large_string())
    try:
        ids.validate(full=True)  # Arrow takes text in a Parquet file as it is
    except pa.ArrowInvalid:
        raise DataError(f"column {name!r} of {source} holds text that is not UTF-8; write it again as UTF-8") from None
    return ids


def format_names(names: Sequence[str], limit: int = 12) -> str:
    """Return column names for a message, at most ``limit`` of them."""
    shown = ", ".join(map(repr, names[:limit]))
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown


def _can_be_ids(kind: pa.DataType) -> bool:
    """Return whether values of a type have one obvious text form."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_null(kind)
    )


def _requested(source: str, names: Sequence[str], option: str, column: str | int) -> int:
    if isinstance(column, bool) or not isinstance(column, str | int):
        raise ConfigError(f"{option} must be the name or the number of a column, got {column!r}")
    if isinstance(column, int):
        if not 0 <= column < len(names):
            raise DataError(f"{source} has no column {column}; its {len(names)} columns are 0 to {len(names) - 1}")
        return column
    if column not in names:
        raise DataError(f"{source} has no column {column!r}; it has {format_names(names)}")
    if list(names).count(column) > 1:
        raise DataError(f"{source} has more than one column {column!r}; give {option} as a number, counting from 0")
    return list(names).index(column)


def _find_known(names: Sequence[str], known: Sequence[str], taken: int | None = None) -> int | None:
    """Return the index of the first known name that is not the ``taken`` column."""
    normalized = [re.sub(r"[\W_]+", "", name.casefold()) for name in names]
    for one in known:
        if one in normalized and normalized.index(one) != taken:
            return normalized.index(one)
    return None
