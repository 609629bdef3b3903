"""Which two columns are meant, and which types can be ids."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from vse_ens.errors import ConfigError, DataError

# In order of preference, without case, spaces or punctuation.
_IMAGE_NAMES = (
    "image", "imageid", "imagename", "imagefile", "images", "img", "imgid", "photo", "photoid", "picture", "pictureid",
    "file", "filename", "filepath", "path", "item", "itemid", "id",
)  # fmt: skip
_LABEL_NAMES = (
    "label", "labels", "labelname", "labelid", "tag", "tags", "tagname", "keyword", "keywords", "concept", "concepts",
    "category", "categories", "class", "classes", "classname", "annotation", "annotations",
)  # fmt: skip

Column = str | int | None


@dataclass(frozen=True)
class ColumnChoice:
    """The places of the two columns, and what a user should know about how they were chosen."""

    image: int
    label: int
    notes: tuple[str, ...] = ()


def choose(where: str, names: Sequence[str], image: Column = None, label: Column = None) -> ColumnChoice:
    """The columns asked for; else those with a known name; else the first two that are left."""
    if len(names) < 2:
        raise DataError(f"{where} has one column only, {names[0]!r}; pairs need two" if names else f"{where} is empty")
    asked_image = None if image is None else _asked(where, names, "image", image)
    asked_label = None if label is None else _asked(where, names, "label", label)
    if asked_image is not None and asked_image == asked_label:
        raise ConfigError(f"image and label are both column {names[asked_image]!r} of {where}; name two columns")
    image_place = _known(names, _IMAGE_NAMES, asked_label) if asked_image is None else asked_image
    label_place = _known(names, _LABEL_NAMES, image_place) if asked_label is None else asked_label
    guessed = image_place is None or label_place is None
    if image_place is None:
        image_place = next(place for place in range(len(names)) if place != label_place)
    if label_place is None:
        label_place = next(place for place in range(len(names)) if place != image_place)
    note = f"took column {names[image_place]!r} for the images and {names[label_place]!r} for the labels"
    return ColumnChoice(image_place, label_place, (note,) if guessed else ())


def are_known(names: Sequence[str]) -> bool:
    """Whether there is both a known image name and a known label name among ``names``."""
    return _known(names, _IMAGE_NAMES) is not None and _known(names, _LABEL_NAMES) is not None


def as_ids(array: pa.Array, where: str, name: str) -> pa.Array:
    """A column as large strings, or as lists of them; whole numbers become their decimal text."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        lists = array.cast(pa.large_list(kind.value_type)) if not pa.types.is_large_list(kind) else array
        values = as_ids(lists.values, where, name)
        return pa.LargeListArray.from_arrays(lists.offsets, values, mask=lists.is_null() if lists.null_count else None)
    if not can_be_ids(kind):
        raise DataError(
            f"column {name!r} of {where} holds {kind}, but ids are text or whole numbers; convert it to text first"
        )
    return array.cast(pa.large_string())


def can_be_ids(kind: pa.DataType) -> bool:
    """Whether a type can be read as ids without a choice of how to write it."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_null(kind)
    )


def listed(names: Sequence[str], most: int = 12) -> str:
    """Column names for a message: all of a few, the first of many."""
    shown = ", ".join(map(repr, names[:most]))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _asked(where: str, names: Sequence[str], option: str, column: str | int) -> int:
    if isinstance(column, bool) or not isinstance(column, str | int):
        raise ConfigError(f"{option} must be the name or the number of a column, got {column!r}")
    if isinstance(column, int):
        if not 0 <= column < len(names):
            raise DataError(f"{where} has no column {column}; its {len(names)} columns are 0 to {len(names) - 1}")
        return column
    if column not in names:
        raise DataError(f"{where} has no column {column!r}; it has {listed(names)}")
    if list(names).count(column) > 1:
        raise DataError(f"{where} has more than one column {column!r}; give {option} as a number, counting from 0")
    return list(names).index(column)


def _known(names: Sequence[str], known: Sequence[str], taken: int | None = None) -> int | None:
    bare = [re.sub(r"[\W_]+", "", name.casefold()) for name in names]
    for one in known:
        if one in bare and bare.index(one) != taken:
            return bare.index(one)
    return None
