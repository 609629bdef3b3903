"""What the loaders of published data sets share: finding files, naming what is wrong with them, telling progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from re import Pattern
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vse_ens.data.io.buffers import as_arrow
from vse_ens.data.io.source import Batch
from vse_ens.errors import DataError

# Bytes of the data set's files behind, and in all.
Progress = Callable[[int, int], None]
# Files, and how many folders away from what the user named each of them is.
Files = dict[Path, int]

# As deep as any of the data sets nests its files in the folder of their archive, and that folder in another.
_DEPTH = 4
_TELL_EVERY = 1 << 12
_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".rar")


def files_of(path: Path) -> Files:
    """The files in and below a folder; of a file: those beside it, and beside the folder it is in."""
    if path.is_file():
        if path.name.lower().endswith(_ARCHIVES):
            raise DataError(f"{path} is an archive; unpack it and name the folder")
        return dict(_walk(path.parent, 1)) | dict(_walk(path.parent.parent, 1, steps=1))
    if not path.is_dir():
        raise DataError(f"{path} does not exist; name the folder or file that you downloaded")
    return dict(_walk(path, _DEPTH))


def named(files: Files, pattern: Pattern[str]) -> Path | None:
    """The file whose name matches, the nearest if several do; of two equally near ones neither is taken."""
    found = sorted((steps, one) for one, steps in files.items() if pattern.fullmatch(one.name))
    if len(found) > 1 and found[0][0] == found[1][0]:
        raise DataError(f"{found[0][1]} and {found[1][1]} are both there; remove one of them, or name its folder")
    return found[0][1] if found else None


def lines_of(path: Path, meter: Meter | None = None) -> Iterator[tuple[int, str]]:
    """The lines of a text with their numbers, without white space at their ends; only the last ones may be blank."""
    blank = 0
    with readable(path), path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError as error:
                byte = line[error.start]
                raise DataError(f"{path}, line {number:,} is not UTF-8 (byte 0x{byte:02x}); fetch it again") from None
            if not text:
                blank = blank or number
                continue
            if blank:
                raise DataError(f"{path}, line {blank:,} is blank; remove it, or fetch the file again")
            yield number, text
            if meter and number % _TELL_EVERY == 0:
                meter.at(stream)
    if meter:
        meter.done(path)


def distinct_lines(path: Path) -> list[str]:
    """The lines of a dictionary or list of names, of which none may occur twice."""
    found: dict[str, int] = {}
    for number, text in lines_of(path):
        if text in found:
            raise DataError(f"{path}, line {number} has {text!r}, as line {found[text]} has; fetch the file again")
        found[text] = number
    if not found:
        raise DataError(f"{path} is empty; fetch it again")
    return list(found)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Make a `DataError` that names the file of what the operating system says."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


class Meter:
    """Tells how much of several files has been read, one file after another."""

    def __init__(self, files: Iterable[Path], progress: Progress | None) -> None:
        self._sizes = {file: file.stat().st_size for file in files} if progress else {}
        self._total = sum(self._sizes.values())
        self._behind = 0
        self._progress = progress

    def at(self, stream: IO[bytes]) -> None:
        """Tell how far into the file at hand ``stream`` is; of a gzip file the packed bytes count."""
        if self._progress:
            self._progress(self._behind + getattr(stream, "fileobj", stream).tell(), self._total)

    def done(self, file: Path) -> None:
        """Tell that ``file`` is behind."""
        if self._progress:
            self._behind += self._sizes[file]
            self._progress(self._behind, self._total)


@dataclass
class LoadedPairs:
    """The `Source` of a loader: batches in which every id was checked where it was read."""

    name: str
    load: Callable[[], Iterator[Batch]]
    notes: list[str] = field(default_factory=list)
    expected_rows: int = 1 << 16
    unit: str = "row"

    def batches(self) -> Iterator[Batch]:
        """What ``load`` gives."""
        return self.load()

    def places(self, rows: Sequence[int]) -> list[int]:
        """Rows counted from 1."""
        return [row + 1 for row in rows]


def as_ids(names: Sequence[str]) -> pa.LargeStringArray:
    """Names as Arrow holds them."""
    return pa.array(names, pa.large_string())


def pairs_of(matrix: NDArray[Any], images: pa.LargeStringArray, labels: pa.LargeStringArray) -> Batch:
    """The pairs where a matrix of 0 and 1, images by labels, has a 1."""
    rows, columns = map(np.ascontiguousarray, np.nonzero(matrix))
    return Batch(images.take(as_arrow(rows)), labels.take(as_arrow(columns)))


def counted(number: int, thing: str, things: str | None = None) -> str:
    """A number with its noun: "1 row", "2 rows"."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


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
