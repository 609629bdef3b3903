"""Helpers of the loaders of published data sets: finding files, reading lines, reporting progress and errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from re import Pattern
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.arrow import as_arrow, strings_to_arrow
from vse_ens.data.io.source import Batch
from vse_ens.errors import DataError

# Called with the bytes read so far, and the bytes of all files.
Progress = Callable[[int, int], None]
# Files, each with its distance in folders from the path that the user named.
Files = dict[Path, int]

# The deepest nesting of files in the archives of the data sets, in a folder of their own.
_DEPTH = 4
# Lines between two calls of the progress function.
_REPORT_EVERY = 1 << 12
_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".rar")


def list_files(path: Path) -> Files:
    """Return the files in and below a folder; for a file, those beside it and beside its folder."""
    if path.is_file():
        if path.name.lower().endswith(_ARCHIVES):
            raise DataError(f"{path} is an archive; unpack it and name the folder")
        return dict(_walk(path.parent, 1)) | dict(_walk(path.parent.parent, 1, steps=1))
    if not path.is_dir():
        raise DataError(f"{path} does not exist; name the folder or file that you downloaded")
    return dict(_walk(path, _DEPTH))


def find_file(files: Files, pattern: Pattern[str]) -> Path | None:
    """Return the nearest file with a matching name; two at the same distance are an error."""
    matches = sorted((steps, one) for one, steps in files.items() if pattern.fullmatch(one.name))
    if len(matches) > 1 and matches[0][0] == matches[1][0]:
        raise DataError(f"{matches[0][1]} and {matches[1][1]} both exist; remove one of them, or name its folder")
    return matches[0][1] if matches else None


def numbered_lines(path: Path, progress: FileProgress | None = None) -> Iterator[tuple[int, str]]:
    """Yield the stripped lines of a text file with their numbers; blank lines are allowed only at its end."""
    blank = 0
    with readable(path), path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError as error:
                byte = line[error.start]
                raise DataError(
                    f"{path}, line {number:,} is not UTF-8 (byte 0x{byte:02x}); download it again"
                ) from None
            if not text:
                blank = blank or number
                continue
            if blank:
                raise DataError(f"{path}, line {blank:,} is blank; remove it, or download the file again")
            yield number, text
            if progress and number % _REPORT_EVERY == 0:
                progress.update(stream)
    if progress:
        progress.finish(path)


def distinct_lines(path: Path) -> list[str]:
    """Return the lines of a dictionary or list of names, which must be distinct."""
    lines: dict[str, int] = {}
    for number, text in numbered_lines(path):
        if text in lines:
            raise DataError(f"{path}, line {number} repeats {text!r} of line {lines[text]}; download the file again")
        lines[text] = number
    if not lines:
        raise DataError(f"{path} is empty; download it again")
    return list(lines)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn an `OSError` into a `DataError` that names the file."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


class FileProgress:
    """Reports how many bytes of several files have been read, one file after another."""

    def __init__(self, files: Iterable[Path], progress: Progress | None) -> None:
        self._sizes = {file: file.stat().st_size for file in files} if progress else {}
        self._total = sum(self._sizes.values())
        self._finished = 0
        self._progress = progress

    def update(self, stream: IO[bytes]) -> None:
        """Report the position in the current file; for a gzip file, in its compressed bytes."""
        if self._progress:
            self._progress(self._finished + getattr(stream, "fileobj", stream).tell(), self._total)

    def finish(self, file: Path) -> None:
        """Report that ``file`` was read to its end."""
        if self._progress:
            self._finished += self._sizes[file]
            self._progress(self._finished, self._total)


@dataclass
class LoadedPairs:
    """The `Source` of a loader, which has checked all ids."""

    name: str
    load: Callable[[], Iterator[Batch]]
    notes: list[str] = field(default_factory=list)
    expected_rows: int = 1 << 16
    unit: str = "row"

    def batches(self) -> Iterator[Batch]:
        """Return the batches of ``load``."""
        return self.load()

    def line_numbers(self, rows: Sequence[int]) -> list[int]:
        """Return ``rows`` counted from 1."""
        return [row + 1 for row in rows]


def matrix_pairs(matrix: NDArray[Any], images: Sequence[str], labels: Sequence[str]) -> Batch:
    """Return the pairs at the nonzero entries of a matrix, images by labels."""
    rows, columns = map(np.ascontiguousarray, np.nonzero(matrix))
    return Batch(strings_to_arrow(images).take(as_arrow(rows)), strings_to_arrow(labels).take(as_arrow(columns)))


def count_of(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun: "1 row", "2 rows"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def _walk(folder: Path, depth: int, steps: int = 0) -> Iterator[tuple[Path, int]]:
    with readable(folder):
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_file():
            yield Path(entry.path), steps
        elif depth > 1 and entry.is_dir():
            yield from _walk(Path(entry.path), depth - 1, steps + 1)
