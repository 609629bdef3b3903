"""Read a file of pairs, or a collection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Unpack, cast, get_args

from vse_ens.data.annotations import Annotations
from vse_ens.data.arrow import lists_to_arrow, strings_to_arrow
from vse_ens.data.collections.base import Collection, OpenOptions, PairTable
from vse_ens.data.collections.detect import find_collection, find_format
from vse_ens.data.collections.pictures import Pictures
from vse_ens.data.filters import (
    keep_frequent,
    merge_spelling,
    spelling_note,
    strip_weights,
    with_ancestors,
    without_matching,
)
from vse_ens.data.io.columns import Column
from vse_ens.data.io.delimited import DelimitedSource
from vse_ens.data.io.dialect import sniff
from vse_ens.data.io.formats import FormatName, PairsFile, detect_format
from vse_ens.data.io.guess import swapped_note
from vse_ens.data.io.ingest import ingest
from vse_ens.data.io.jsonl import JsonLinesSource
from vse_ens.data.io.parquet import ParquetSource
from vse_ens.data.io.source import Batch, CountedRows, Source
from vse_ens.data.io.wide import BOORU_PREFIX, LabelColumns, WideRows, namespace_of
from vse_ens.data.rules.apply import apply_rules
from vse_ens.data.rules.store import read_rules
from vse_ens.errors import MAX_LABEL, ConfigError, DataError, LongLabelError
from vse_ens.read_options import DEFAULTS, ReadOptions

_BATCH_IMAGES = 1 << 13


def read(path: str | Path, **options: Unpack[ReadOptions]) -> Annotations:
    """Read the (image, label) pairs of a csv, tsv, txt, jsonl or parquet file, gzipped or not, or of a collection.

    The first bytes of a file must agree with its suffix; a collection is recognized by its content. `ReadOptions`
    documents the options. The ``notes`` of the result list what was guessed, merged, skipped and dropped.
    """
    for name in options.keys() - ReadOptions.__annotations__.keys():
        raise TypeError(f"read() has no keyword argument {name!r}")
    options = {**DEFAULTS, **options}
    format, label = options.get("format"), options.get("label")  # noqa: A001  # the usual word
    tables = get_args(FormatName)
    if format is not None and format not in tables:
        find_format(format, tables)  # fails on an unknown name with the names of all
    plugin_notes: list[str] = []
    labels: tuple[str | int, ...] = () if label is None else (label,) if isinstance(label, str | int) else tuple(label)
    rows = options.get("rows")
    opening = OpenOptions(
        options.get("image"),
        labels,
        options.get("label_separator"),
        options["cache"],
        min_rating=options.get("min_rating"),
        rows=None if rows is None else str(rows),
    )
    collection = None if format in tables else find_collection(path, format, opening, plugin_notes.append)
    if collection is None:
        try:
            file = detect_format(path, cast("FormatName | None", format))
        except DataError as error:
            raise DataError("; ".join([str(error), *plugin_notes])) from None
        for option in ("min_rating", "rows"):
            if options.get(option) is not None:
                raise ConfigError(f"{option} is for the formats of docs/interop.md, but {path} is {file.format}")
        data = ingest(_PairsReading(file, options).source(labels))
        data = replace(data, notes=(*data.notes, *swapped_note(data)))
    elif isinstance(collection, PairTable):
        data = ingest(collection.source())
        data = replace(data, notes=(f"read {path} as {collection.format}", *data.notes))
    else:
        items = CollectionSource(collection, options.get("on_progress"))
        data = ingest(items)
        notes = spelling_note(data, options["merge_spelling"])
        data = replace(data, pictures=items.pictures(), notes=(*data.notes, *notes))
    if plugin_notes:
        data = replace(data, notes=(*data.notes, *plugin_notes))
    if options["ignore"]:
        data = without_matching(data, options["ignore"])
    if options["strip_weights"]:
        data = strip_weights(data)
    if options["merge_spelling"]:
        data = merge_spelling(data)
    if options["ancestors"]:
        data = with_ancestors(data)
    if (rules := options.get("rules")) is not None:
        data = apply_rules(data, read_rules(rules))
    if options["min_images_per_label"] == options["min_labels_per_image"] == 1:
        return data  # without a filter, images without labels are kept
    return keep_frequent(data, options["min_images_per_label"], options["min_labels_per_image"])


@dataclass(frozen=True)
class _PairsReading:
    """A file of pairs and the options of reading it."""

    file: PairsFile
    options: ReadOptions

    def source(self, labels: Sequence[str | int]) -> Source:
        """Return the rows of one or several columns of labels."""
        named, namespaces = self.options.get("image"), self.options["label_namespaces"]
        first = self._columns(named, labels[0] if labels else None)
        if namespaces and not labels:
            labels = [name for name in first.columns.names if name.startswith(f"{BOORU_PREFIX}_")]
            labels = labels or [first.columns.label_name]
            first = self._columns(named, labels[0])
        if len(labels) < 2 and not namespaces:
            return self._wide(first)
        for label in labels:
            if label in (first.columns.image, first.columns.image_name):
                raise ConfigError(
                    f"column {label!r} of {self.file.path} has the images; name them with the image column"
                )
        others = self
        if isinstance(first, DelimitedSource):  # what was guessed for one column holds for all
            dialect = first.dialect
            others = replace(self, options={**self.options, "header": dialect.header, "separator": dialect.separator})
        image = first.columns.image_name if self.file.format == "jsonl" else first.columns.image
        sources = [first, *(others._columns(image, label) for label in labels[1:])]
        spaces = [namespace_of(source.columns.label_name) if namespaces else "" for source in sources]
        return LabelColumns([self._wide(source) for source in sources], spaces)

    def _wide(self, source: DelimitedSource | JsonLinesSource | ParquetSource) -> WideRows:
        separator, layout = self.options.get("label_separator"), self.options.get("layout")
        if separator is None and layout is None and source.columns.label_name.startswith(BOORU_PREFIX):
            separator = " "
        return WideRows(source, layout, separator, source.columns.label_name)

    def _columns(self, image: Column, label: Column) -> DelimitedSource | JsonLinesSource | ParquetSource:
        file, options = self.file, self.options
        if file.format in ("csv", "tsv", "txt"):
            header, separator = options.get("header"), options.get("separator")
            dialect = sniff(file, image, label, header, separator, options["quote"])
            if options.get("layout") or options.get("label_separator") or options["label_namespaces"]:
                dialect = replace(dialect, one_hot=())
            return DelimitedSource(file, dialect)
        for option in ("header", "separator"):
            if options.get(option) is not None:
                raise ConfigError(f"{option} is for delimited text, but {file.path} is {file.format}; leave it out")
        if file.format == "jsonl":
            return JsonLinesSource(file, image, label)
        return ParquetSource(file, image, label)


class CollectionSource(CountedRows):
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
            for item in batch:
                # Before a label is repeated in an array: a small file can repeat one of a megabyte very often.
                if item.labels and len(longest := max(item.labels, key=len)) > MAX_LABEL:
                    raise LongLabelError(longest)
            self._locations.update({item.image: item.picture for item in batch if item.picture is not None})
            yield Batch(
                strings_to_arrow([item.image for item in batch]), lists_to_arrow([list(item.labels) for item in batch])
            )

    def pictures(self) -> Pictures:
        """Return where the pictures are; complete after the last batch."""
        root, source = (str(path.absolute()) for path in (self._collection.root, self._collection.path))
        return Pictures(root, self._collection.format, self._locations, source if source != root else "")
