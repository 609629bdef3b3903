"""The options of reading pairs: keyword arguments of `Annotations.read`, and options of every command that reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

Layout = Literal["long", "wide"]
"""One pair per row, or one image with all its labels per row."""


@dataclass(frozen=True)
class Option:
    """An option of a command, or a flag if its type is bool."""

    help: str
    metavar: str | None = None
    name: str = ""
    """By default the name of the parameter, as in ``--top``."""
    min: float | None = None
    max: float | None = None
    default: str = ""
    """Says what happens without the option, if the value of the parameter does not."""
    callback: Callable[..., Any] | None = None
    """Called by click with its context, the parameter and the value, before all other options are read."""


class ReadOptions(TypedDict, total=False):
    """How to read a file of pairs or a collection."""

    image: Annotated[
        str | int | None,
        Option("Column of image IDs: its name, or its number from 0.", "NAME", name="--image-column"),
    ]
    """Default: a known name, else the first column."""
    label: Annotated[
        str | int | Sequence[str | int] | None,
        Option(
            "Column of labels: its name, or its number from 0. Several: repeat it, or use commas.",
            "NAME",
            name="--label-column",
        ),
    ]
    """Default: a known name, else the second column."""
    header: Annotated[bool | None, Option("Whether line 1 has column names; detected by default.")]
    separator: Annotated[str | None, Option("Column separator; detected by default.", "CHAR")]
    quote: Annotated[str | None, Option("Quote character; '' disables quoting.", "CHAR")]
    """Quotes fields that contain a separator; None if there is none."""
    layout: Annotated[Layout | None, Option("long: one pair per row. wide: one image with its labels per row.", "NAME")]
    """Default: detected."""
    label_separator: Annotated[str | None, Option("Separator between the labels of a row.", "TEXT")]
    """Default: none, or a space in the columns ``tag_string`` and ``tag_string_...`` of Danbooru's and e621's dumps."""
    label_namespaces: Annotated[bool, Option("Put the column's name in front of a label, as in artist:monet.")]
    """The columns ``tag_string_artist`` and so on are then the default, and ``artist`` is the namespace; general tags
    have none."""
    format: Annotated[
        str | None,
        Option("Format, such as csv, photos or coco; recognized by default. docs/collections.md lists all.", "NAME"),
    ]
    """csv, tsv, txt, jsonl or parquet, or one of `vse_ens.data.collections.detect.format_names`."""
    ignore: Annotated[
        Sequence[str],
        Option("Leave out labels that match, such as 'suggested|*'; may be repeated.", "PATTERN"),
    ]
    ancestors: Annotated[bool, Option("Give an image with the label place|beach the label place too.")]
    merge_spelling: Annotated[bool, Option("Merge labels that differ only in case or accents.")]
    """The most used of them remains."""
    strip_weights: Annotated[bool, Option("Read tags with weights, such as (masterpiece:1.2), without them.")]
    cache: Annotated[bool, Option("Whether to keep the labels of a folder's files for the next read.")]
    min_rating: Annotated[float | None, Option("Lowest rating that makes a pair; 4 for MovieLens, else any.", "X")]
    rows: Annotated[
        str | Path | None,
        Option("Read the rows that a split of the XMC repository lists; FILE:N for column N.", "FILE"),
    ]
    rules: Annotated[
        str | Path | None,
        Option("Apply the aliases, renames and implications of a rules file; see vse rules.", "FILE"),
    ]
    min_images_per_label: Annotated[int, Option("Drop labels with fewer images.", "N", min=1)]
    """Repeated with the next option until both hold."""
    min_labels_per_image: Annotated[int, Option("Drop images with fewer labels.", "N", min=1)]
    on_progress: Callable[[int, int | None], None] | None
    """Called with the number of files read and the number of all files of a collection."""


DEFAULTS: ReadOptions = {
    "quote": '"',
    "label_namespaces": False,
    "ignore": (),
    "ancestors": False,
    "merge_spelling": False,
    "strip_weights": False,
    "cache": True,
    "min_images_per_label": 1,
    "min_labels_per_image": 1,
}
"""The others are None."""
