"""Hugging Face imagefolder: images with ``metadata.jsonl`` or ``metadata.csv``, in the folder or in folders of splits.

The id of an image is its ``file_name`` below the folder of its metadata file. Labels are in the columns ``label``,
``labels``, ``tags`` and others of that kind, and in the categories of ``objects``: lists in JSON, and in CSV text with
a separator (``|``, ``;``, a comma in columns such as ``tags``) or a JSON list.

A label is written to the first column that holds lists of text. Without one, a column ``labels`` is added, and a single
label in another column stays as it is. Removing a label takes it out of its list, or empties its field.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vse_ens.data.collections.base import (
    Editable,
    Edits,
    FileChange,
    ImageList,
    Item,
    LabelEdit,
    OpenOptions,
    edited,
)
from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import as_label, list_files, read_bytes, relative_id
from vse_ens.data.collections.text_edits import JsonText, Splice
from vse_ens.errors import DataError
from vse_ens_interop.csv_text import CsvText

_METADATA = ("metadata.jsonl", "metadata.csv")
_SINGULAR = ("label", "tag", "category", "class", "keyword", "concept", "label_name", "class_name")
_PLURAL = ("labels", "tags", "categories", "classes", "keywords", "concepts", "label_names", "class_names")
_KNOWN = frozenset((*_SINGULAR, *_PLURAL))
_FILE = ("file_name", "image_file_name")
_SEPARATORS = ("|", ";")


def detect(glance: Glance) -> bool:
    """Return whether a folder has a metadata file, or a file is one; a CSV file alone is a table of pairs."""
    if glance.is_folder:
        return any(name.rpartition("/")[2] in _METADATA and name.count("/") <= 2 for name in glance.names)
    return glance.kind == "json" and glance.path.name in _METADATA and b"file_name" in glance.head


class ImageFolder(ImageList, Editable):
    """The images of an imagefolder with the labels of its metadata."""

    format = "imagefolder"

    def entries(self) -> Iterator[tuple[Item, tuple[str, _JsonLines | _Csv, int]]]:
        """Yield every image that the metadata names, in their order."""
        for name in self._files():
            table = self._table(name)
            for item, place in table.rows():
                yield item, (name, table, place)

    def write(self, edits: Edits) -> Iterator[FileChange]:
        """Yield the change of every metadata file that the edits affect."""
        tables: dict[str, _JsonLines | _Csv] = {}
        chosen: dict[str, dict[int, LabelEdit]] = {}
        for item, (name, table, place) in self.distinct():
            if (edit := edits.of(item)) is not None:
                tables[name] = table
                chosen.setdefault(name, {})[place] = edit
        edits.check_known()
        found: list[FileChange] = []
        for name, table in tables.items():
            for change in table.changed(chosen[name]):
                self._check(name, change, chosen[name])
                found.append(change)
        yield from found

    def _files(self) -> list[str]:
        if self.path.is_file():
            return [self.path.name]
        suffixes = frozenset([".jsonl", ".csv"])
        found = [name for name in list_files(self.root, [], suffixes) if name.rpartition("/")[2] in _METADATA]
        if not found:
            raise DataError(f"{self.path} has neither a metadata.jsonl nor a metadata.csv")
        return found

    def _table(self, name: str, content: bytes | None = None) -> _JsonLines | _Csv:
        path = self.root / name
        folder = name.rpartition("/")[0]
        kind = _JsonLines if name.endswith(".jsonl") else _Csv
        return kind(path, f"{folder}/" if folder else "", content or read_bytes(path), self.options)

    def _check(self, name: str, change: FileChange, edits: Mapping[int, LabelEdit]) -> None:
        """Raise if a label would be read as another one: in CSV, a label with a separator would become two."""
        before, after = (self._table(name, content).rows() for content in (change.before, change.after))
        for (old, place), (new, _) in zip(before, after, strict=True):
            expected = edited(old.labels, edits.get(place, LabelEdit()))
            if set(new.labels) != set(expected):
                label = next((label for label in expected if label not in new.labels), expected[0] if expected else "")
                raise DataError(
                    f"{change.path} cannot have the label {label!r} for {old.image!r}, which would be read as "
                    f"several labels; leave it out, or use a metadata.jsonl"
                )


open = ImageFolder  # noqa: A001  # the interface of formats


class _Table:
    """A metadata file."""

    def __init__(self, path: Path, prefix: str, options: OpenOptions) -> None:
        self.path = path
        self._prefix = prefix
        self._asked = [str(column) for column in options.label_columns]
        self._asked_separator = options.label_separator

    def _item(self, name: str, labels: Iterable[str]) -> Item:
        return Item(self._prefix + relative_id(name), tuple(dict.fromkeys(labels)))

    def _check_columns(self, found: Collection[object], names: Sequence[str]) -> None:
        shown = ", ".join(repr(name[:40]) for name in names[:12])
        for column in self._asked:
            if column not in names:
                raise DataError(f"{self.path} has no column {column!r}; it has {shown}")
        if not found and not self._asked:
            raise DataError(f"{self.path} has no column of labels; it has {shown}; name one with --label-column")


class _JsonLines(_Table):
    """A metadata file of JSON lines."""

    def __init__(self, path: Path, prefix: str, before: bytes, options: OpenOptions) -> None:
        super().__init__(path, prefix, options)
        self._text = JsonText(path, before)
        self._columns: dict[str, str] = {}

    def rows(self) -> Iterator[tuple[Item, int]]:
        self._columns = self._find_columns()
        for start, row in self._objects():
            name = as_label(next((row[key] for key in _FILE if key in row), None))
            if name is None:
                raise self._text.error(start, "this line has no file_name")
            yield self._item(name, (label for key in self._columns for label in self._values(row.get(key)))), start

    def changed(self, edits: Mapping[int, LabelEdit]) -> Iterator[FileChange]:
        """Yield the change by the edits of the lines that start at some positions."""
        target = next((key for key, kind in self._columns.items() if kind == "lists of text"), None)
        target = target or _new_column([*self._columns, *{key for _, row in self._objects() for key in row}])
        splices: list[Splice] = []
        for start, edit in edits.items():
            splices += self._change(start, target, edit.add, set(edit.remove))
        return self._text.change(splices)

    def _change(self, start: int, target: str, add: Sequence[str], remove: set[str]) -> list[Splice]:
        text = self._text
        splices: list[Splice] = []
        left = list(add)
        for key, position in text.members(start):
            if key not in self._columns and key != target:
                continue
            if text.opens(position) == "[":
                entries = list(text.elements(position))
                gone = {number for number, entry in enumerate(entries) if as_label(entry.content) in remove}
                new = left if key == target else []
                splices += text.change_array(position, entries, gone, new)
            elif key == target and left:  # null in a column of lists
                value = text.value(position)
                splices.append(Splice(value.start, value.end, json.dumps(left, ensure_ascii=text.text.isascii())))
            elif text.opens(position) == "{":
                splices += self._remove_objects(position, remove)
            elif remove:
                value = text.value(position)
                kept = [label for label in self._values(value.content) if label not in remove]
                if kept != list(self._values(value.content)):
                    joined = (self._asked_separator or "").join(kept) if kept else None
                    splices.append(Splice(value.start, value.end, json.dumps(joined)))
            if key == target:
                left = []
        if left:
            splices += text.add_member(start, target, left)
        return splices

    def _remove_objects(self, start: int, remove: set[str]) -> list[Splice]:
        """Remove objects: the same elements of every list of ``objects``."""
        text = self._text
        lists = {key: list(text.elements(at)) for key, at in text.members(start) if text.opens(at) == "["}
        places = {key: at for key, at in text.members(start) if text.opens(at) == "["}
        gone = {
            number
            for key, entries in lists.items()
            if key in _KNOWN
            for number, entry in enumerate(entries)
            if as_label(entry.content) in remove
        }
        return [
            splice
            for key, entries in lists.items()
            for splice in text.change_array(places[key], entries, {number for number in gone if number < len(entries)})
        ]

    def _values(self, value: object) -> Iterator[str]:
        """Yield the labels of a field."""
        if isinstance(value, dict):  # objects with boxes
            for key, inner in value.items():
                if key in _KNOWN and isinstance(inner, list):
                    yield from self._values(inner)
            return
        given = value if isinstance(value, list) else [value]
        if self._asked_separator is not None and isinstance(value, str):
            given = value.split(self._asked_separator)
        yield from _labels(given)

    def _find_columns(self) -> dict[str, str]:
        """Return the columns of labels and what they hold."""
        columns: dict[str, str] = {}
        keys: dict[str, None] = {}
        for _, row in self._objects():
            keys |= dict.fromkeys(row)
            for key, value in row.items():
                if not (key in self._asked if self._asked else key in _KNOWN or key == "objects"):
                    continue
                kind = _kind(value)
                known = columns.get(key) or kind
                columns[key] = known if kind in ("", known) else "mixed"
        self._check_columns(columns, list(keys))
        return columns

    def _objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        text = self._text
        start = text.start()
        while start < len(text.text):
            value = text.value(start)
            if not isinstance(value.content, dict):
                raise text.error(start, "every line is an object")
            yield start, value.content
            start = text.skip_space(value.end)


class _Csv(_Table):
    """A metadata file of comma-separated text."""

    def __init__(self, path: Path, prefix: str, before: bytes, options: OpenOptions) -> None:
        super().__init__(path, prefix, options)
        self._text = CsvText(path, before, ",")
        self._columns: dict[int, str] = {}
        """The separator of each column of labels: empty for single labels, ``[`` for JSON lists."""

    def rows(self) -> Iterator[tuple[Item, int]]:
        header = self._text.header
        file = next((header.index(name) for name in _FILE if name in header), None)
        if file is None:
            raise DataError(f"{self.path} has no column file_name")
        self._columns = self._find_columns(header)
        for number, fields in enumerate(self._text.rows):
            name = as_label(fields[file])
            if name is None:
                raise DataError(f"{self.path}, line {self._text.line(number)} has no file_name")
            labels = (label for column in self._columns for label in self._values(fields[column], column))
            yield self._item(name, labels), number

    def changed(self, edits: Mapping[int, LabelEdit]) -> Iterator[FileChange]:
        """Yield the change by the edits of some rows, by their numbers."""
        header = self._text.header
        names = {column: header[column] for column in self._columns}
        target = next((column for column, separator in self._columns.items() if separator), None)
        if target is None:
            target = next((column for column, name in names.items() if name in _PLURAL), None)
        new_column: dict[int, str] = {}
        for row, edit in edits.items():
            fields = self._text.rows[row]
            for column in self._columns:
                old = list(self._values(fields[column], column))
                new = edited(old, LabelEdit(edit.add if column == target else (), edit.remove))
                if new != old:
                    self._text.set(row, column, self._joined(new, self._columns[column]))
            if target is None and edit.add:
                new_column[row] = self._joined(edit.add, "|")
        if new_column:
            self._text.add_column(_new_column(header), new_column)
        return self._text.change()

    def _joined(self, labels: Sequence[str], separator: str) -> str:
        if separator == "[":
            return json.dumps(list(labels), ensure_ascii=False)
        separator = separator or "|"
        return separator.join(labels)

    def _values(self, text: str, column: int) -> Iterator[str]:
        separator = self._columns[column]
        parts: Sequence[object] = [text]
        if separator == "[":
            parts = _json_list(text) or []
        elif separator:
            parts = text.split(separator)
        yield from _labels(parts)

    def _find_columns(self, header: Sequence[str]) -> dict[int, str]:
        columns = {
            number: self._find_separator(name, number)
            for number, name in enumerate(header)
            if (name in self._asked if self._asked else name in _KNOWN)
        }
        self._check_columns(columns, header)
        return columns

    def _find_separator(self, name: str, column: int) -> str:
        if self._asked_separator is not None:
            return self._asked_separator
        fields = [row[column] for row in self._text.rows if row[column].strip()]
        if fields and all(_json_list(text) is not None for text in fields):
            return "["
        candidates = (*_SEPARATORS, ",") if name in _PLURAL else _SEPARATORS
        return next((one for one in candidates if any(one in text for text in fields)), "")


def _labels(values: Iterable[object]) -> Iterator[str]:
    return (label for label in map(as_label, values) if label is not None)


def _kind(value: object) -> str:
    """Return what a field of JSON holds; empty for null."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "lists of text" if all(isinstance(one, str) for one in value) else "lists"
    return "objects" if isinstance(value, dict) else "single labels"


def _new_column(taken: Sequence[str]) -> str:
    """Return a name for a column of labels that no other column has."""
    return next(
        name
        for name in ("labels", "tags", "keywords", *(f"labels{n}" for n in range(len(taken) + 1)))
        if name not in taken
    )


def _json_list(text: str) -> list[object] | None:
    if not text.lstrip().startswith("["):
        return None
    try:
        decoded = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return decoded if isinstance(decoded, list) else None
