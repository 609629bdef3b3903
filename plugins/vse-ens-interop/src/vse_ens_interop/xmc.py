"""Files of the Extreme Classification Repository, and multi-label files of LIBSVM.

The first line of ``X_Y.txt`` has the numbers of rows and labels, and the line of a row has ``label:1 label:1``. A file
with features has the numbers of rows, features and labels first, and rows such as ``3,17 0:0.2 5:1``; LIBSVM's files
have the same rows without the first line. Features are not read. Rows are images: their ids are the lines of ``X.txt``,
if these all differ, else their numbers from 1, as in the files of splits. The names of labels are the lines of
``Y.txt`` or a similar file, else their numbers from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.arrow import lists_to_arrow, strings_to_arrow
from vse_ens.data.collections.base import OpenOptions
from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import count_of, decode_text, is_file, read_bytes
from vse_ens.data.io.formats import MAX_LINE_BYTES
from vse_ens.data.io.source import BATCH_ROWS, Batch, Source
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError, DataError
from vse_ens.storage.atomic import replace_files
from vse_ens_interop.rated_text import TableCollection, distinct, lines_of, only_file

_HEADER = re.compile(rb"\s*+(\d{1,10})[ \t]++(\d{1,10})(?:[ \t]++(\d{1,10}))?\s*+")
# A row of a file with features, and one of a matrix of labels.
_ROW = re.compile(rb"(?:\d++(?:,\d++)*+)?[ \t]++\d++:[-+.\w]++(?:[ \t].*+)?")
_MATRIX_ROW = re.compile(rb"(?:\d++:[-+.\w]++(?:[ \t]++|$))*+")
_LOOK = 8
_NAME_FILES = ("Y.txt", "label.raw.txt", "raw_data/label.raw.txt", "labels.txt")
_NAME_PATTERNS = ("*label_map.txt", "*_mappings/*label_map.txt")


def detect(glance: Glance) -> bool:
    """Return whether a text has a header and rows of one of the kinds, or a folder has a matrix of labels."""
    if glance.is_folder:
        return any(_is_matrix(name) for name in glance.names)
    if glance.kind != "text" or glance.path.suffix.lower() not in (".txt", ".svm", ".libsvm"):
        return False
    first, *rows = (line.rstrip(b"\r") for line in glance.head.split(b"\n")[: _LOOK + 1])
    rows = rows[:-1] if len(rows) == _LOOK else rows
    filled = [row for row in rows if row.strip()]
    header = _HEADER.fullmatch(first)
    if header is None:
        return len(filled) > 1 and all(_ROW.fullmatch(row) for row in (first, *filled))
    pattern = _MATRIX_ROW if header[3] is None else _ROW
    return bool(filled) and all(pattern.fullmatch(row) for row in filled)


def open(path: Path, options: OpenOptions) -> Xmc:  # noqa: A001  # the interface of formats
    """Return the rows of a file, or of the only matrix of labels in a folder."""
    return Xmc(path, only_file(path, _is_matrix, "no file X_Y.txt"), options)


def _is_matrix(name: str) -> bool:
    return name.endswith("X_Y.txt") and "/" not in name


class Xmc(TableCollection):
    """The rows of a file with their labels."""

    format = "xmc"

    def __init__(self, path: Path, file: Path, options: OpenOptions) -> None:
        super().__init__(path)
        self._file = file
        self._options = options
        if options.min_rating is not None:
            raise ConfigError(f"min_rating is for ratings, which {path} has not; leave it out")

    def source(self) -> Source:
        """Return the rows."""
        return _Rows(self._file, self._options.rows)


class _Rows:
    unit = "line"

    def __init__(self, path: Path, rows: str | None) -> None:
        self.name = str(path)
        self._path = path
        first = next(self._lines(), (1, b""))[1]
        header = _HEADER.fullmatch(first)
        self._has_header = header is not None
        self._has_features = header is None or header[3] is not None
        self._rows = int(header[1]) if header else None
        self._labels = int(header[3] or header[2]) if header else None
        self.expected_rows = min(self._rows or 1024, 1 << 20)
        self.notes: list[str] = []
        self._label_names = self._find_label_names()
        self._row_names = self._find_row_names()
        self._wanted = None if rows is None else _split_rows(rows)

    def batches(self) -> Iterator[Batch]:
        """Yield all rows in order, or those that a file of a split lists."""
        images: list[str] = []
        labels: list[list[str]] = []
        count = used = 0
        for line, text in self._data():
            count += 1
            if self._rows is not None and count > self._rows:
                raise self._fault(line, f"follows the {count_of(self._rows, 'row')} that line 1 announces")
            given = self._labels_of(line, text)
            if self._wanted is not None and count not in self._wanted:
                continue
            used += 1
            images.append(str(count) if self._row_names is None else self._row_names[count - 1])
            labels.append(given)
            if len(images) == BATCH_ROWS:
                yield _batch(images, labels)
                images, labels = [], []
        if self._rows is not None and count < self._rows:
            raise DataError(
                f"{self.name} has {count_of(count, 'row')}, but line 1 announces {self._rows:,}; download it again"
            )
        if self._wanted is not None and used < len(self._wanted):
            raise DataError(
                f"the rows to read go up to {max(self._wanted):,}, but {self.name} has {count_of(count, 'row')}"
            )
        if images:
            yield _batch(images, labels)

    def line_numbers(self, rows: Sequence[int]) -> list[int]:
        """Return the lines of rows."""
        chosen = sorted(self._wanted) if self._wanted is not None else None
        lines = [line for line, _ in self._data()]
        return [lines[row if chosen is None else chosen[row] - 1] for row in rows]

    def _data(self) -> Iterator[tuple[int, bytes]]:
        """Yield every row with its line; blank lines are rows without labels, except at the end of the file."""
        blank: list[tuple[int, bytes]] = []
        seen = 0
        for line, text in self._lines():
            if self._has_header and line == 1:
                continue
            if not text.strip() and (self._rows is None or seen + len(blank) >= self._rows):
                continue
            if not text.strip():
                blank.append((line, text))
                continue
            seen += 1 + len(blank)
            yield from chain(blank, [(line, text)])
            blank = []
        if self._rows is not None:
            yield from blank

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        try:
            with self._path.open("rb") as file:
                line = 0
                while text := file.readline(MAX_LINE_BYTES + 1):
                    line += 1
                    if len(text) > MAX_LINE_BYTES:
                        raise self._fault(line, f"is longer than {MAX_LINE_BYTES:,} bytes")
                    yield line, text.rstrip(b"\r\n")
        except OSError as error:
            raise DataError(f"{self._path} cannot be read: {error.strerror or error}") from None

    def _labels_of(self, line: int, text: bytes) -> list[str]:
        if self._has_features:
            fields = text.split(None, 1)[:1] if text[:1] not in (b" ", b"\t") else []
            numbers = fields[0].split(b",") if fields and b":" not in fields[0] else []
        else:
            numbers = []
            for field in text.split():
                number, colon, value = field.partition(b":")
                if not colon or not _is_number(value):
                    raise self._fault(line, f"has {_shown(field)} where label:value should be")
                if float(value):
                    numbers.append(number)
        return [self._label(line, number) for number in numbers]

    def _label(self, line: int, text: bytes) -> str:
        if not text.isdigit() or len(text) > 10:
            raise self._fault(line, f"has the label {_shown(text)}, which is not a whole number")
        number = int(text)
        if self._labels is not None and number >= self._labels:
            raise self._fault(
                line, f"has the label {number:,}, but line 1 announces {count_of(self._labels, 'label')} from 0"
            )
        return str(number) if self._label_names is None else self._label_names[number]

    def _fault(self, line: int, fault: str) -> DataError:
        return DataError(f"{self.name}, line {line} {fault}; check that this is a file of the XMC repository")

    def _find_label_names(self) -> list[str] | None:
        if self._labels is None:
            return None
        folder = self._path.parent
        found = [folder / name for name in _NAME_FILES if is_file(folder / name)]
        found += [path for pattern in _NAME_PATTERNS for path in sorted(folder.glob(pattern))]
        for path in found:
            names = lines_of(path, self._labels)
            if names is not None:
                self.notes.append(f"took the names of labels from {path}")
                return distinct(names, [str(number) for number in range(self._labels)])
            self.notes.append(f"did not use {path}: it has another number of lines than there are labels")
        return None

    def _find_row_names(self) -> list[str] | None:
        name = self._path.name
        path = self._path.with_name(f"{name.removesuffix('_Y.txt')}.txt")
        if self._rows is None or not _is_matrix(name) or not is_file(path):
            return None
        names = lines_of(path, self._rows)
        if names is None or not all(names) or len(set(names)) < len(names):
            self.notes.append(f"numbered the images: the lines of {path} are not ids, since some are equal or missing")
            return None
        return names


def _batch(images: list[str], labels: list[list[str]]) -> Batch:
    return Batch(strings_to_arrow(images), lists_to_arrow(labels))


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return b"_" not in text


def _shown(text: bytes) -> str:
    return repr(text[:40].decode(errors="replace"))


def _split_rows(given: str) -> set[int]:
    """Return the rows in a column of a file of a split, given as ``FILE`` or ``FILE:COLUMN``, counted from 0."""
    name, colon, column = given.rpartition(":")
    path, number = (Path(name), int(column)) if colon and column.isdecimal() else (Path(given), 0)
    rows: set[int] = set()
    for line, text in enumerate(decode_text(path, read_bytes(path)).splitlines(), 1):
        fields = text.split()
        if not fields:
            continue
        if (
            number >= len(fields)
            or not fields[number].isascii()
            or not fields[number].isdecimal()
            or len(fields[number]) > 10
        ):
            raise DataError(f"{path}, line {line} has no row number in column {number}; rows are counted from 1")
        rows.add(int(fields[number]))
    if not rows or 0 in rows:
        raise DataError(f"{path} {'lists the row 0, but rows are counted from 1' if rows else 'lists no rows'}")
    return rows


def write(path: Path, data: Annotations, test: Annotations | None = None) -> list[Path]:
    """Write a folder with ``trn_X_Y.txt``, the ids of its rows in ``trn_X.txt`` and the names of labels in ``Y.txt``.

    Held-out pairs become ``tst_X_Y.txt`` and ``tst_X.txt``, with the same numbers of labels.
    """
    labels = data.labels if test is None else data.joined(test).labels
    parts = {"trn": data, **({"tst": test} if test is not None else {})}
    path.mkdir(parents=True, exist_ok=True)
    files = [path / "Y.txt", *(path / f"{part}_{kind}.txt" for part in parts for kind in ("X", "X_Y"))]
    with replace_files(*files) as (names, *rest):
        _write_lines(names, labels)
        for part, ids, matrix in zip(parts.values(), rest[::2], rest[1::2], strict=True):
            _write_lines(ids, part.images)
            numbers: NDArray[np.int64] = np.array([labels.number(one) for one in part.labels], np.int64)
            with matrix.open("w", encoding="ascii", newline="\n") as file:
                file.write(f"{len(part.images)} {len(labels)}\n")
                for image in range(len(part.images)):
                    row = np.sort(numbers[part.label_numbers(image)])
                    file.write(" ".join(f"{label}:1" for label in row.tolist()) + "\n")
    return files


def _write_lines(path: Path, ids: Vocabulary) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for one in ids:
            if "\n" in one or one != one.strip():
                raise DataError(
                    f"the id {one!r} has a line break or white space around it, which a line cannot keep; "
                    "write another format, such as recbole"
                )
            file.write(f"{one}\n")
