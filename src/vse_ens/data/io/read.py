"""Read a file of pairs, or a collection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import cast, get_args

from vse_ens.data.annotations import Annotations
from vse_ens.data.arrow import lists_to_arrow, strings_to_arrow
from vse_ens.data.collections.base import Collection, OpenOptions, PairTable
from vse_ens.data.collections.detect import find_collection, find_format
from vse_ens.data.collections.pictures import Pictures
from vse_ens.data.filters import keep_frequent, spelling_note, with_ancestors, without_matching
from vse_ens.data.filters import merge_spelling as merged_spelling
from vse_ens.data.io.columns import Column
from vse_ens.data.io.delimited import DelimitedSource
from vse_ens.data.io.dialect import sniff
from vse_ens.data.io.formats import FormatName, PairsFile, detect_format
from vse_ens.data.io.ingest import ingest
from vse_ens.data.io.jsonl import JsonLinesSource
from vse_ens.data.io.parquet import ParquetSource
from vse_ens.data.io.source import Batch, Source
from vse_ens.data.io.wide import BOORU_PREFIX, LabelColumns, Layout, WideRows, namespace_of
from vse_ens.data.rules.apply import apply_rules
from vse_ens.data.rules.store import read_rules
from vse_ens.errors import ConfigError, DataError

_BATCH_IMAGES = 1 << 13


def read(
    path: str | Path,
    *,
    image: Column = None,
    label: Column | Sequence[str | int] = None,
    header: bool | None = None,
    separator: str | None = None,
    quote: str | None = '"',
    format: str | None = None,  # noqa: A002  # the usual word
    layout: Layout | None = None,
    label_separator: str | None = None,
    label_namespaces: bool = False,
    min_images_per_label: int = 1,
    min_labels_per_image: int = 1,
    ignore: Sequence[str] = (),
    ancestors: bool = False,
    merge_spelling: bool = False,
    rules: str | Path | None = None,
    cache: bool = True,
    min_rating: float | None = None,
    rows: str | Path | None = None,
    on_progress: Callable[[int, int | None], None] | None = None,
) -> Annotations:
    """Read the (image, label) pairs of a csv, tsv, txt, jsonl or parquet file, gzipped or not, or of a collection.

    Args:
        path: A file of pairs, whose first bytes must agree with its suffix, or a collection, which is recognised by
            its content: a folder of photos with keywords, an annotation file, a catalogue.
        image: The column of image ids, by name or by number from 0. Default: a known name, else the first column.
        label: The column of labels, or several. Default: a known name, else the second column.
        header: Whether line 1 of delimited text names the columns. Default: guessed.
        separator: The field separator of delimited text. Default: detected.
        quote: The quote character for fields that contain a separator; None if there is none.
        format: The format, if it is not to be recognised: csv, tsv, txt, jsonl or parquet for a file of pairs, or one
            of `vse_ens.data.collections.detect.format_names`.
        layout: "long" for one pair per row, "wide" for one image with all its labels per row. Default: detected.
        label_separator: The separator between the labels of a wide text field. Default: none, or a space in the
            columns ``tag_string`` and ``tag_string_...`` of Danbooru's and e621's dumps.
        label_namespaces: Put the name of its column in front of a label, as in ``culture:Roman``. The columns
            ``tag_string_artist`` and so on are then the default, and ``artist`` is the namespace; general tags have
            none.
        min_images_per_label: Drop labels with fewer images, repeatedly together with the next option.
        min_labels_per_image: Drop images with fewer labels.
        ignore: Leave out labels that match one of these patterns, such as ``suggested|*``.
        ancestors: Also give an image with the label ``place|beach`` the label ``place``.
        merge_spelling: Merge labels that differ only in case or accents into the most used of them.
        rules: A rules file, whose aliases, renames and implications are applied; see `vse_ens.data.rules`.
        cache: Keep the labels of a folder's files for the next read.
        min_rating: The lowest rating that makes a pair, for formats with ratings. Default: 4 for MovieLens, else any.
        rows: For a file of the XMC repository, a file of a split that lists the rows to read, as ``FILE`` or, for
            another column than the first, ``FILE:COLUMN``.
        on_progress: Called with the number of files read and the number of all files of a collection.

    The ``notes`` of the result list what was guessed, merged, skipped and dropped. ``pictures`` says where the pictures
    of a collection are.
    """
    tables = get_args(FormatName)
    if format is not None and format not in tables:
        find_format(format, tables)  # fails on an unknown name with the names of all
    plugin_notes: list[str] = []
    labels: tuple[str | int, ...] = () if label is None else (label,) if isinstance(label, str | int) else tuple(label)
    options = OpenOptions(
        image, labels, label_separator, cache, min_rating=min_rating, rows=None if rows is None else str(rows)
    )
    collection = None if format in tables else find_collection(path, format, options, plugin_notes.append)
    if collection is None:
        try:
            file = detect_format(path, cast("FormatName | None", format))
        except DataError as error:
            raise DataError("; ".join([str(error), *plugin_notes])) from None
        reading = _PairsReading(file, image, header, separator, quote, layout, label_separator)
        for option, value in (("min_rating", min_rating), ("rows", rows)):
            if value is not None:
                raise ConfigError(f"{option} is for the formats of docs/interop.md, but {path} is {file.format}")
        data = ingest(reading.source(labels, label_namespaces))
    elif isinstance(collection, PairTable):
        data = ingest(collection.source())
        data = replace(data, notes=(f"read {path} as {collection.format}", *data.notes))
    else:
        items = CollectionSource(collection, on_progress)
        data = ingest(items)
        data = replace(data, pictures=items.pictures(), notes=(*data.notes, *spelling_note(data, merge_spelling)))
    if plugin_notes:
        data = replace(data, notes=(*data.notes, *plugin_notes))
    if ignore:
        data = without_matching(data, ignore)
    if merge_spelling:
        data = merged_spelling(data)
    if ancestors:
        data = with_ancestors(data)
    if rules is not None:
        data = apply_rules(data, read_rules(rules)).data
    if min_images_per_label == min_labels_per_image == 1:
        return data  # without a filter, images without labels are kept
    return keep_frequent(data, min_images_per_label, min_labels_per_image)


@dataclass(frozen=True)
class _PairsReading:
    """A file of pairs and the options of reading it."""

    file: PairsFile
    image: Column
    header: bool | None
    separator: str | None
    quote: str | None
    layout: Layout | None
    label_separator: str | None

    def source(self, labels: Sequence[str | int], namespaces: bool) -> Source:
        """Return the rows of one or several columns of labels."""
        first = self._columns(self.image, labels[0] if labels else None)
        if namespaces and not labels:
            labels = [name for name in first.columns.names if name.startswith(f"{BOORU_PREFIX}_")]
            labels = labels or [first.columns.label_name]
            first = self._columns(self.image, labels[0])
        if len(labels) < 2 and not namespaces:
            return self._wide(first)
        for label in labels:
            if label in (first.columns.image, first.columns.image_name):
                raise ConfigError(
                    f"column {label!r} of {self.file.path} has the images; name them with the image column"
                )
        others = self
        if isinstance(first, DelimitedSource):  # what was guessed for one column holds for all
            others = replace(self, header=first.dialect.header, separator=first.dialect.separator)
        image = first.columns.image_name if self.file.format == "jsonl" else first.columns.image
        sources = [first, *(others._columns(image, label) for label in labels[1:])]
        spaces = [namespace_of(source.columns.label_name) if namespaces else "" for source in sources]
        return LabelColumns([self._wide(source) for source in sources], spaces)

    def _wide(self, source: DelimitedSource | JsonLinesSource | ParquetSource) -> WideRows:
        separator = self.label_separator
        if separator is None and self.layout is None and source.columns.label_name.startswith(BOORU_PREFIX):
            separator = " "
        return WideRows(source, self.layout, separator)

    def _columns(self, image: Column, label: Column) -> DelimitedSource | JsonLinesSource | ParquetSource:
        file = self.file
        if file.format in ("csv", "tsv", "txt"):
            return DelimitedSource(file, sniff(file, image, label, self.header, self.separator, self.quote))
        for option, value in (("header", self.header), ("separator", self.separator)):
            if value is not None:
                raise ConfigError(f"{option} is for delimited text, but {file.path} is {file.format}; leave it out")
        if file.format == "jsonl":
            return JsonLinesSource(file, image, label)
        return ParquetSource(file, image, label)


class CollectionSource:
    """The images of a collection with their lists of labels."""

    unit = "image"
    expected_rows = 1024

    def __init__(self, collection: Collection, on_progress: Callable[[int, int | None], None] | None = None) -> None:
        self.name = str(collection.path)
        self._collection = collection
        self._on_progress = on_progress
        self._locations: dict[str, str] = {}

    @property
    def notes(self) -> Sequence[str]:
        """The format, and the notes of the collection."""
        return [f"read {self.name} as {self._collection.format}", *self._collection.notes]

    def batches(self) -> Iterator[Batch]:
        """Yield all images in order."""
        items = self._collection.items(self._on_progress)
        while batch := list(islice(items, _BATCH_IMAGES)):
            self._locations.update({item.image: item.picture for item in batch if item.picture is not None})
            yield Batch(
                strings_to_arrow([item.image for item in batch]), lists_to_arrow([list(item.labels) for item in batch])
            )

    def line_numbers(self, rows: Sequence[int]) -> list[int]:
        """Return the position of each image, counted from 1."""
        return [row + 1 for row in rows]

    def pictures(self) -> Pictures:
        """Return where the pictures are; complete after the last batch."""
        root, source = (str(path.absolute()) for path in (self._collection.root, self._collection.path))
        return Pictures(root, self._collection.format, self._locations, source if source != root else "")
