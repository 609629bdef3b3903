"""Read a file of pairs."""

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
    format: FormatName | None = None,  # noqa: A002  # the usual word
    layout: Layout | None = None,
    label_separator: str | None = None,
    min_images_per_label: int = 1,
    min_labels_per_image: int = 1,
) -> Annotations:
    """Read the (image, label) pairs of a csv, tsv, txt, jsonl or parquet file, gzipped or not.

    Args:
        path: The file. Its first bytes must agree with its suffix.
        image: The column of image ids, by name or by number from 0. Default: a known name, else the first column.
        label: The column of labels. Default: a known name, else the second column.
        header: Whether line 1 of delimited text names the columns. Default: guessed.
        separator: The field separator of delimited text. Default: detected.
        quote: The quote character for fields that contain a separator; None if there is none.
        format: The format of a file without a known suffix.
        layout: "long" for one pair per row, "wide" for one image with all its labels per row. Default: detected.
        label_separator: The separator between the labels of a wide text field.
        min_images_per_label: Drop labels with fewer images, repeatedly together with the next option.
        min_labels_per_image: Drop images with fewer labels.

    The ``notes`` of the result list what was guessed, merged, skipped and dropped.
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
