"""JSON Lines: an object a line. Python's own decoder reads them, since it alone lets nothing doubtful pass."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from vse_ens.data.io.columns import choose, listed
from vse_ens.data.io.formats import PairsFile
from vse_ens.data.io.source import BATCH_ROWS, Batch
from vse_ens.errors import ConfigError, DataError


class JsonLinesSource:
    """The rows of a JSON Lines file: the image under one key, a label or a list of labels under another."""

    unit = "line"
    expected_rows = 1 << 16

    def __init__(self, file: PairsFile, image: str | int | None, label: str | int | None) -> None:
        for option, key in (("image", image), ("label", label)):
            if isinstance(key, int):
                raise ConfigError(f"{option} must be a key of the objects in {file.path}, got the number {key}")
        self.name = str(file.path)
        self._file = file
        _, first = next(self._objects())
        names = list(first)
        columns = choose(self.name, names, image, label)
        self._image, self._label = names[columns.image], names[columns.label]
        self._wide = isinstance(first[self._label], list)
        self._blank_lines = 0
        self._column_notes = columns.notes

    @property
    def notes(self) -> Sequence[str]:
        """How the keys were chosen, and how many blank lines there are."""
        blank = f"passed over {self._blank_lines:,} blank line{'s' if self._blank_lines > 1 else ''}"
        return (*self._column_notes, *([blank] if self._blank_lines else []))

    def batches(self) -> Iterator[Batch]:
        """All rows in order."""
        images: list[str | None] = []
        labels: list[Any] = []
        rows = line = 0
        for line, found in self._objects():
            rows += 1
            images.append(self._id(self._value(found, self._image, line), self._image, line))
            label = self._value(found, self._label, line)
            labels.append(self._labels(label, line) if self._wide else self._id(label, self._label, line))
            if len(images) == BATCH_ROWS:
                yield _batch(images, labels, self._wide)
                images, labels = [], []
        yield _batch(images, labels, self._wide)
        self._blank_lines = line - rows

    def places(self, rows: Sequence[int]) -> list[int]:
        """The line of each row."""
        wanted = set(rows)
        return [line for row, (line, _) in enumerate(self._objects()) if row in wanted]

    def _objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        decode = json.JSONDecoder(object_pairs_hook=_with_distinct_keys).decode
        with self._file.open() as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="\n")
            for line, content in enumerate(text, 1):
                if content.isspace():
                    continue
                if not content.isascii() and not _is_unicode(content):
                    raise self._fault(line, "is not UTF-8; re-encode the file")
                try:
                    found = decode(content)
                except ValueError as error:
                    reason = error.msg if isinstance(error, json.JSONDecodeError) else error
                    raise self._fault(line, f"is not JSON ({reason}): {content.strip()[:60]!r}") from None
                if type(found) is not dict:
                    raise self._fault(line, f"is not a JSON object with an image and a label: {content.strip()[:60]!r}")
                yield line, found

    def _value(self, found: dict[str, Any], key: str, line: int) -> Any:
        if key not in found:
            raise self._fault(line, f"has no {key!r}; it has {listed(list(found))}")
        return found[key]

    def _id(self, value: Any, key: str, line: int) -> str | None:
        if type(value) is str:
            if value.isascii() or _is_unicode(value):
                return value
            raise self._fault(line, f"has {json.dumps(value)[:60]} for {key!r}, which is not valid unicode")
        if type(value) is int:
            return str(value)
        if value is None:
            return None
        raise self._fault(line, f"has {json.dumps(value)[:60]} for {key!r}, but ids are text or whole numbers")

    def _labels(self, value: Any, line: int) -> list[str | None] | None:
        if value is None:
            return None
        if type(value) is not list:
            raise self._fault(line, f"has {json.dumps(value)[:60]} for {self._label!r} where line 1 has a list")
        return [self._id(one, self._label, line) for one in value]

    def _fault(self, line: int, what: str) -> DataError:
        return DataError(f"{self.name}, line {line} {what}")


def _batch(images: list[str | None], labels: list[Any], wide: bool) -> Batch:
    kind = pl.List(pl.String) if wide else pl.String
    return Batch(pl.Series(images, dtype=pl.String).to_arrow(), pl.Series(labels, dtype=kind).to_arrow())


def _with_distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _is_unicode(text: str) -> bool:
    """Whether there is no half of a surrogate pair in it, whether escaped in the file or a byte that is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
