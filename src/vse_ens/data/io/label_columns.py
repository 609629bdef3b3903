"""Several columns of labels: each is read as a source of its own, and an image has the labels of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vse_ens.data.arrow import as_arrow, as_numpy
from vse_ens.data.io.id_index import is_blank
from vse_ens.data.io.source import Batch, Source

BOORU_PREFIX = "tag_string"
"""Columns of Danbooru's and e621's dumps, such as ``tag_string_artist``: tags with spaces between them."""


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
