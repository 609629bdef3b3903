"""JSON Lines: one object per line, decoded by Python's parser, which is the strictest."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from vse_ens.data.arrow import lists_to_arrow, strings_to_arrow
from vse_ens.data.io.columns import choose_columns, format_names
from vse_ens.data.io.formats import MAX_LINE_BYTES, PairsFile
from vse_ens.data.io.records import MAX_BLANK_LINES, encoding_advice
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
        columns = choose_columns(self.name, names, image, label)
        self._image, self._label = names[columns.image], names[columns.label]
        self._wide = isinstance(first[self._label], list)
        self._blank_lines = 0
        self.columns = columns

    @property
    def notes(self) -> Sequence[str]:
        """How the keys were chosen, and the number of blank lines."""
        blank = f"skipped {self._blank_lines:,} blank line{'s' if self._blank_lines > 1 else ''}"
        return (*self.columns.notes, *([blank] if self._blank_lines else []))

    def batches(self) -> Iterator[Batch]:
        """Yield all rows in order."""
        images: list[str | None] = []
        labels: list[Any] = []
        rows = line = 0
        for line, content in self._objects():
            rows += 1
            images.append(self._id(self._value(content, self._image, line), self._image, line))
            label = self._value(content, self._label, line)
            labels.append(self._labels(label, line) if self._wide else self._id(label, self._label, line))
            if len(images) == BATCH_ROWS:
                yield self._batch(images, labels)
                images, labels = [], []
        yield self._batch(images, labels)
        self._blank_lines = line - rows

    def line_numbers(self, rows: Sequence[int]) -> list[int]:
        """Return the line of each row."""
        requested = set(rows)
        return [line for row, (line, _) in enumerate(self._objects()) if row in requested]

    def _batch(self, images: list[str | None], labels: list[Any]) -> Batch:
        return Batch(strings_to_arrow(images), lists_to_arrow(labels) if self._wide else strings_to_arrow(labels))

    def _objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        decode = json.JSONDecoder(object_pairs_hook=_with_distinct_keys).decode
        for line, content in self._lines():
            try:
                decoded = decode(content)
            except ValueError as error:
                reason = error.msg if isinstance(error, json.JSONDecodeError) else error
                raise self._error(line, f"is not JSON ({reason}): {content.strip()[:60]!r}") from None
            except RecursionError:
                raise self._error(line, f"is nested too deeply: {content.strip()[:60]!r}") from None
            if type(decoded) is not dict:
                raise self._error(line, f"is not a JSON object with an image and a label: {content.strip()[:60]!r}")
            yield line, decoded

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Yield every line that is not blank, with its number."""
        with self._file.open_text() as stream:
            lines = io.BufferedReader(cast("io.RawIOBase", stream)) if self._file.gzipped else stream
            line = last = 0
            while content := lines.readline(MAX_LINE_BYTES + 1):
                line += 1
                if len(content) > MAX_LINE_BYTES:
                    raise self._error(line, f"is longer than {MAX_LINE_BYTES:,} bytes; split it into several")
                if content.isspace():
                    if line - last > MAX_BLANK_LINES:
                        raise self._error(line, f"follows {MAX_BLANK_LINES:,} blank lines; remove them")
                    continue
                last = line
                try:
                    yield line, content.decode()
                except UnicodeDecodeError:
                    raise self._error(line, f"is not UTF-8; {encoding_advice(content)}") from None

    def _value(self, content: dict[str, Any], key: str, line: int) -> Any:
        if key not in content:
            raise self._error(line, f"has no {key!r}; it has {format_names(list(content))}")
        return content[key]

    def _id(self, value: Any, key: str, line: int) -> str | None:
        if type(value) is str:
            if value.isascii() or _is_unicode(value):
                return value
            raise self._error(line, f"has {json.dumps(value)[:60]} for {key!r}, which is not valid unicode")
        if type(value) is int:
            return str(value)
        if value is None:
            return None
        raise self._error(line, f"has {json.dumps(value)[:60]} for {key!r}, but ids are text or whole numbers")

    def _labels(self, value: Any, line: int) -> list[str | None] | None:
        if value is None:
            return None
        if type(value) is not list:
            raise self._error(line, f"has {json.dumps(value)[:60]} for {self._label!r} where line 1 has a list")
        return [self._id(one, self._label, line) for one in value]

    def _error(self, line: int, reason: str) -> DataError:
        return DataError(f"{self.name}, line {line} {reason}")


def _with_distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key occurs twice")
    return content


def _is_unicode(text: str) -> bool:
    """Return whether a text has no lone surrogate, which JSON can write as an escape."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
