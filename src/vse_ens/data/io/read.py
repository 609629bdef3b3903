"""Files in, `Annotations` out."""

from __future__ import annotations

from pathlib import Path

from vse_ens.data.annotations import Annotations
from vse_ens.data.io.columns import Column
from vse_ens.data.io.delimited import DelimitedSource
from vse_ens.data.io.dialect import sniff
from vse_ens.data.io.formats import FormatName, PairsFile, detect_format
from vse_ens.data.io.ingest import ingest
from vse_ens.data.io.jsonl import JsonLinesSource
from vse_ens.data.io.parquet import ParquetSource
from vse_ens.data.io.source import Source
from vse_ens.data.io.wide import Layout, WideRows
from vse_ens.errors import ConfigError


def read(
    path: str | Path,
    *,
    image: Column = None,
    label: Column = None,
    header: bool | None = None,
    separator: str | None = None,
    quote: str | None = '"',
    format: FormatName | None = None,  # noqa: A002  # the word users know
    layout: Layout | None = None,
    label_separator: str | None = None,
    min_images_per_label: int = 1,
    min_labels_per_image: int = 1,
) -> Annotations:
    """Read the (image, label) pairs of a csv, tsv, txt, jsonl or parquet file, gzipped or not.

    Args:
        path: The file. Its suffix says what it is, and its first bytes must agree.
        image: The column of image ids, by name or by number from 0; a known name or the first column if not said.
        label: The column of labels, likewise; a known name or the second column if not said.
        header: Whether line 1 of a delimited text names the columns; guessed if not said.
        separator: What stands between the fields of a delimited text; found if not said.
        quote: What a field that holds a separator is put in; None if no character has that meaning.
        format: What the file is, if its suffix does not say.
        layout: "long" for a pair a row, "wide" for an image and its labels a row; found if not said.
        label_separator: What stands between the labels of a row, in a wide layout that is not one of lists.
        min_images_per_label: Drop labels with fewer images than this, and what becomes too rare by that.
        min_labels_per_image: Drop images with fewer labels than this, likewise.

    What was found rather than said, merged or passed over is told in the ``notes`` of the result.
    """
    file = detect_format(path, format)
    source = WideRows(_source(file, image, label, header, separator, quote), layout, label_separator)
    return ingest(source, min_images_per_label, min_labels_per_image)


def _source(
    file: PairsFile, image: Column, label: Column, header: bool | None, separator: str | None, quote: str | None
) -> Source:
    if file.format in ("csv", "tsv", "txt"):
        return DelimitedSource(file, sniff(file, image, label, header, separator, quote))
    for option, value in (("header", header), ("separator", separator)):
        if value is not None:
            raise ConfigError(f"{option} is for delimited text, but {file.path} is {file.format}; leave it out")
    if file.format == "jsonl":
        return JsonLinesSource(file, image, label)
    return ParquetSource(file, image, label)
