"""The wide layout, an image and its labels a row: real lists, JSON lists in text, or text with a separator."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from vse_ens.data.io.buffers import as_arrow, as_numpy
from vse_ens.data.io.id_index import is_blank
from vse_ens.data.io.source import Batch, Source
from vse_ens.errors import ConfigError, DataError

Layout = Literal["long", "wide"]

# How many labels are looked at to see whether they are JSON lists.
_SAMPLE = 100


class WideRows:
    """A source whose label column may list several labels a row: it makes lists of those, and leaves others alone."""

    def __init__(self, source: Source, layout: Layout | None, label_separator: str | None) -> None:
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
        self._separator = label_separator
        self._empty_pieces = 0
        self._json_note = ""

    @property
    def notes(self) -> Sequence[str]:
        """Those of the source, and what was done to the lists."""
        notes = [*self._source.notes]
        if self._json_note:
            notes.append(self._json_note)
        if self._empty_pieces:
            plural = "s" if self._empty_pieces > 1 else ""
            notes.append(f"passed over {self._empty_pieces:,} empty label{plural} between separators")
        return notes

    def batches(self) -> Iterator[Batch]:
        """All rows, the labels as lists if they are such."""
        self._empty_pieces = start = 0
        as_json = self._layout == "wide" and self._separator is None
        for images, labels in self._source.batches():
            if pa.types.is_large_list(labels.type):
                self._check_real_lists()
            elif self._separator is not None:
                labels = self._split(labels)
            else:
                if start == 0 and self._layout is None:
                    as_json = self._look(labels)
                if as_json:
                    labels = self._parse(labels, start)
            start += len(images)
            yield Batch(images, labels)

    def places(self, rows: Sequence[int]) -> list[int]:
        """Where the source has these rows."""
        return self._source.places(rows)

    def _look(self, labels: pa.Array) -> bool:
        """Whether the first labels are JSON lists."""
        sample = list(islice((text for text in labels.to_pylist() if text and text.strip()), _SAMPLE))
        found = sum(text.startswith("[") and _json_list(text) is not None for text in sample)
        if not found:
            return False
        if found == len(sample):
            self._json_note = "took the labels for JSON lists; say layout long if they are not"
            return True
        self._json_note = f"took the labels as they are, though {found} of {len(sample)} look like JSON lists"
        return False

    def _check_real_lists(self) -> None:
        if self._layout == "long" or self._separator is not None:
            option = "layout long" if self._layout == "long" else "label_separator"
            raise ConfigError(f"the labels of {self.name} are lists already; leave out {option}")

    def _split(self, labels: pa.Array) -> pa.Array:
        """Split at the separator, trim the pieces, and drop the empty ones."""
        lists = pc.split_pattern(labels.fill_null(""), self._separator).cast(pa.large_list(pa.large_string()))
        pieces = pc.utf8_trim_whitespace(lists.values)
        kept = ~is_blank(pieces)
        # A field with nothing in it is an image without labels, not an empty label.
        self._empty_pieces += int(np.count_nonzero(~kept)) - int(np.count_nonzero(is_blank(labels.fill_null(""))))
        offsets = np.concatenate([[0], np.cumsum(kept)])[as_numpy(lists.offsets)]
        return pa.LargeListArray.from_arrays(as_arrow(offsets), pieces.take(as_arrow(np.flatnonzero(kept))))

    def _parse(self, labels: pa.Array, start: int) -> pa.Array:
        lists = []
        for row, text in enumerate(labels.to_pylist(), start):
            found = _json_list(text) if text and text.strip() else []
            if found is None:
                raise DataError(
                    f"{self.name}, {self.unit} {self.places([row])[0]} has {text[:60]!r} where a JSON list of labels "
                    f'such as ["sea", "sand"] should be; mend it, or give label_separator'
                )
            lists.append(found)
        return pl.Series(lists, dtype=pl.List(pl.String)).to_arrow()


def _json_list(text: str) -> list[str] | None:
    """The labels in a JSON list of text and whole numbers; None if it is not one."""
    try:
        found: Any = json.loads(text)
        if type(found) is not list or any(type(one) not in (str, int) for one in found):
            return None
        labels = [str(one) for one in found]
        "".join(labels).encode()
    except ValueError:  # neither JSON, nor unicode
        return None
    return labels
