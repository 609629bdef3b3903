"""Rows with several labels: lists, JSON lists or text with a separator in one column, and several columns of labels."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vse_ens.data.arrow import as_arrow, as_numpy, lists_to_arrow
from vse_ens.data.io.guess import list_separator, python_list
from vse_ens.data.io.id_index import is_blank
from vse_ens.data.io.source import Batch, Source
from vse_ens.errors import ConfigError, DataError
from vse_ens.read_options import Layout

# Labels that are examined to see whether they are JSON lists.
_SAMPLE = 100
_LIST_SAMPLE = 1000  # labels that are examined to see whether they have a separator
BOORU_PREFIX = "tag_string"
"""Columns of Danbooru's and e621's dumps, such as ``tag_string_artist``: tags with spaces between them."""


class WideRows:
    """A source in which text that lists several labels becomes lists; other labels are passed on unchanged."""

    def __init__(self, source: Source, layout: Layout | None, label_separator: str | None, column: str = "") -> None:
        if layout is not None and layout not in get_args(Layout):
            raise ConfigError(f"layout must be long or wide, got {layout!r}")
        if label_separator == "":
            raise ConfigError("label_separator must not be empty")
        if layout == "long" and label_separator is not None:
            raise ConfigError("label_separator is for layout wide; leave one of the two out")
        self.name = source.name
        self.unit = source.unit
        self.expected_rows = source.expected_rows
        self._source = source
        self._layout = layout
        self._source_column = column
        self._separator = label_separator
        self._empty_labels = 0
        self._note = ""

    @property
    def notes(self) -> Sequence[str]:
        """The notes of the source, and notes on the lists."""
        notes = [*self._source.notes]
        if self._note:
            notes.append(self._note)
        if self._empty_labels:
            plural = "s" if self._empty_labels > 1 else ""
            notes.append(f"skipped {self._empty_labels:,} empty label{plural} between separators")
        return notes

    def batches(self) -> Iterator[Batch]:
        """Yield all rows in order."""
        self._empty_labels = start = 0
        as_json = self._layout == "wide" and self._separator is None
        for images, labels in self._source.batches():
            if pa.types.is_large_list(labels.type):
                self._check_real_lists()
            elif self._separator is not None:
                labels = self._split(labels)
            else:
                if start == 0 and self._layout is None:
                    as_json = self._are_lists(labels)
                    if not self._note:
                        self._separator, self._note = self._guess_separator(images, labels)
                if as_json:
                    labels = self._parse(labels, start)
                elif self._separator is not None:
                    labels = self._split(labels)
            start += len(images)
            yield Batch(images, labels)

    def line_numbers(self, rows: Sequence[int]) -> list[int]:
        """Return the line numbers of the source."""
        return self._source.line_numbers(rows)

    def _are_lists(self, labels: pa.Array) -> bool:
        sample = list(islice((text for text in labels.to_pylist() if text and text.strip()), _SAMPLE))
        lists = sum(text.startswith("[") and _text_list(text) is not None for text in sample)
        if not lists:
            return False
        kind = "JSON" if all(_json_list(text) is not None for text in sample if _text_list(text)) else "Python"
        if lists == len(sample):
            self._note = f"read the labels as {kind} lists; --layout long keeps them whole"
            return True
        self._note = f"read the labels as they are, though {lists} of {len(sample)} look like {kind} lists"
        return False

    def _guess_separator(self, images: pa.Array, labels: pa.Array) -> tuple[str | None, str]:
        rows = zip(images.to_pylist(), labels.to_pylist(), strict=True)
        sample = list(islice(((image, text) for image, text in rows if text and text.strip()), _LIST_SAMPLE))
        return list_separator([image for image, _ in sample], [text for _, text in sample], self._source_column)

    def _check_real_lists(self) -> None:
        if self._layout == "long" or self._separator is not None:
            option = "layout long" if self._layout == "long" else "label_separator"
            raise ConfigError(f"the labels of {self.name} are lists already; leave out {option}")

    def _split(self, labels: pa.Array) -> pa.Array:
        """Split at the separator, strip the labels, and drop the empty ones."""
        lists = pc.split_pattern(labels.fill_null(""), self._separator).cast(pa.large_list(pa.large_string()))
        stripped = pc.utf8_trim_whitespace(lists.values)
        kept = ~is_blank(stripped)
        # An empty field is an image without labels, not an empty label.
        self._empty_labels += int(np.count_nonzero(~kept)) - int(np.count_nonzero(is_blank(labels.fill_null(""))))
        offsets = np.concatenate([[0], np.cumsum(kept)])[as_numpy(lists.offsets)]
        return pa.LargeListArray.from_arrays(as_arrow(offsets), stripped.take(as_arrow(np.flatnonzero(kept))))

    def _parse(self, labels: pa.Array, start: int) -> pa.Array:
        lists = []
        for row, text in enumerate(labels.to_pylist(), start):
            parsed = _text_list(text) if text and text.strip() else []
            if parsed is None:
                raise DataError(
                    f"{self.name}, {self.unit} {self.line_numbers([row])[0]} has {text[:60]!r} where a JSON list of "
                    f'labels such as ["sea", "sand"] should be; fix it, or give --label-separator'
                )
            lists.append(parsed)
        return lists_to_arrow(lists)


def _text_list(text: str) -> list[str] | None:
    found = _json_list(text)
    return python_list(text) if found is None else found


def _json_list(text: str) -> list[str] | None:
    """Return the labels in a JSON list of strings and integers, or None if the text is not one."""
    try:
        decoded: Any = json.loads(text)
        if type(decoded) is not list or any(type(one) not in (str, int) for one in decoded):
            return None
        labels = [str(one) for one in decoded]
        "".join(labels).encode()
    except (ValueError, RecursionError):  # not JSON, a lone surrogate, or nested too deeply
        return None
    return labels


class LabelColumns:
    """The rows of several sources, one after the other; blank labels are left out, and namespaces put in front."""

    def __init__(self, sources: Sequence[Source], namespaces: Sequence[str]) -> None:
        self.name = sources[0].name
        self.unit = sources[0].unit
        self.expected_rows = sum(source.expected_rows for source in sources)
        self._sources = sources
        self._namespaces = namespaces

    @property
    def notes(self) -> Sequence[str]:
        """The notes of all sources, each once."""
        return list(dict.fromkeys(note for source in self._sources for note in source.notes))

    def batches(self) -> Iterator[Batch]:
        """Yield the rows of every column."""
        for number, (source, namespace) in enumerate(zip(self._sources, self._namespaces, strict=True)):
            for images, labels in source.batches():
                lists = _as_lists(labels, namespace)
                if number:  # a blank image was yielded with the first column, and is reported once
                    filled = as_arrow(np.flatnonzero(~is_blank(images.fill_null(""))))
                    images, lists = images.take(filled), lists.take(filled)
                yield Batch(images, lists)

    def line_numbers(self, rows: Sequence[int]) -> list[int]:
        """Return the lines of rows of the first column."""
        return self._sources[0].line_numbers(rows)


def namespace_of(column: str) -> str:
    """Return the namespace of a column's labels: ``artist:`` for ``tag_string_artist``, nothing for general tags."""
    name = column.removeprefix(BOORU_PREFIX).lstrip("_") if column.startswith(BOORU_PREFIX) else column
    return "" if name in ("", "general") else f"{name}:"


def _as_lists(labels: pa.Array, namespace: str) -> pa.Array:
    """Return lists of labels without blank ones, each with the namespace in front."""
    lengths = np.ones(len(labels), np.int64)
    if pa.types.is_large_list(labels.type):
        lengths = as_numpy(pc.list_value_length(labels).fill_null(0))
        labels = labels.flatten()
    labels = labels.fill_null("")
    kept = ~is_blank(labels)
    chosen = labels.take(as_arrow(np.flatnonzero(kept)))
    if namespace:
        chosen = pc.binary_join_element_wise(_text(namespace), chosen, _text(""))
    kept_before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    offsets = kept_before[np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])]
    return pa.LargeListArray.from_arrays(as_arrow(offsets), chosen)


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())
