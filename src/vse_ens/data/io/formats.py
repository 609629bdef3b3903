"""What a file is: by its suffix, held against its first bytes."""

from __future__ import annotations

import difflib
import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, cast, get_args

from vse_ens.errors import ConfigError, DataError

FormatName = Literal["csv", "tsv", "txt", "jsonl", "parquet"]

_SUFFIXES: dict[str, FormatName] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "txt",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_FOREIGN = {
    _GZIP: "a gzip file",
    _PARQUET: "a Parquet file",
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ\x00": "an xz file",
    b"ARROW1": "an Arrow (Feather) file",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a NumPy array file",
    b"SQLite format 3": "a SQLite database",
    b"%PDF": "a PDF",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"<!doctype html": "an HTML page",
    b"<html": "an HTML page",
    b"<?xml": "an XML file",
}
# Text may well start with a bracket, and a line that is not JSON is better named by its number than by its looks.
_TEXT = {"text", "a JSON array"}
_CONTENT: dict[FormatName, set[str]] = {
    "csv": _TEXT,
    "tsv": _TEXT,
    "txt": _TEXT,
    "jsonl": {"text", "JSON Lines"},
    "parquet": {"a Parquet file"},
}
_ADVICE = {
    "a Parquet file": "give it the right suffix or format",
    "JSON Lines": "give it the right suffix or format",
    "text": "give it the right suffix or format",
    "a JSON array": "write one object a line",
    "UTF-16 text": "re-encode it, for example with iconv -f UTF-16 -t UTF-8",
}
_HEAD = 1 << 20
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class PairsFile:
    """A file that exists, can be read, and is what its suffix says."""

    path: Path
    format: FormatName
    gzipped: bool

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Its bytes, unzipped; a damaged gzip becomes a `DataError`, also from within the caller's block."""
        with _readable(self.path), gzip.open(self.path) if self.gzipped else self.path.open("rb") as stream:
            yield cast("IO[bytes]", stream)

    def head(self) -> tuple[bytes, bool]:
        """Up to a mebibyte from its start, unzipped, and whether that is all of it."""
        with self.open() as stream:
            head = stream.read(_HEAD)
            return head, not stream.read(1)


def detect_format(path: str | Path, asked: FormatName | None = None) -> PairsFile:
    """Find out what a file is, and refuse what is missing, empty, or something else than its suffix says."""
    path = Path(path)
    if asked is not None and asked not in get_args(FormatName):
        raise ConfigError(f"format must be one of {', '.join(get_args(FormatName))}, got {asked!r}")
    _check_exists(path)
    file = _by_suffix(path) if asked is None else PairsFile(path, asked, _starts(path, _GZIP))
    head, _ = file.head()
    if not head.removeprefix(BOM).strip():
        raise DataError(f"{path} is empty")
    _check_content(file, head)
    return file


def _check_exists(path: Path) -> None:
    try:
        if path.is_dir():
            raise DataError(f"{path} is a folder; name a file in it")
        if path.exists():
            return
        if not path.parent.is_dir():
            raise DataError(f"{path} does not exist: there is no folder {path.parent}")
        near = difflib.get_close_matches(path.name, [one.name for one in path.parent.iterdir()], n=3, cutoff=0.6)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; the folder {path.parent} has nothing of that name"
    raise DataError(f"{path} does not exist{hint}")


def _by_suffix(path: Path) -> PairsFile:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    named_gzip = suffixes[-1:] == [".gz"]
    format_name = _SUFFIXES.get("".join(suffixes[-2:-1] if named_gzip else suffixes[-1:]))
    if format_name is None:
        raise DataError(
            f"{path} has none of the suffixes {', '.join(_SUFFIXES)} (each also with .gz); "
            f"rename it or say format={'|'.join(get_args(FormatName))}"
        )
    is_gzip = _starts(path, _GZIP)
    if named_gzip and not is_gzip and path.stat().st_size:
        raise DataError(f"{path} is not a gzip file, as its suffix says, but looks like {_look(path)}; rename it")
    if is_gzip and not named_gzip:
        raise DataError(f"{path} is a gzip file, not what its suffix says; rename it to {path.name}.gz")
    return PairsFile(path, format_name, named_gzip and is_gzip)


def _check_content(file: PairsFile, head: bytes) -> None:
    looks = what_it_looks_like(head)
    if looks not in _CONTENT[file.format]:
        raise DataError(
            f"{file.path} is not {file.format}, as its suffix or format says, but looks like {looks}; "
            f"{_ADVICE.get(looks, 'convert it first')}"
        )


def what_it_looks_like(head: bytes) -> str:
    """What the first bytes of a file tell of it."""
    start = head[:32].lower()
    for magic, name in _FOREIGN.items():
        if head.startswith(magic) or start.startswith(magic):
            return name
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or (len(head) >= 4 and not (any(head[1::2]) and any(head[0::2]))):
        return "UTF-16 text"
    text = head.removeprefix(BOM).lstrip()
    if text.startswith(b"["):
        return "a JSON array"
    return "JSON Lines" if re.match(rb'\{\s*("|$)', text) else "text"


def _look(path: Path) -> str:
    with _readable(path), path.open("rb") as stream:
        return what_it_looks_like(stream.read(64))


def _starts(path: Path, magic: bytes) -> bool:
    with _readable(path), path.open("rb") as stream:
        return stream.read(len(magic)) == magic


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except EOFError:
        raise DataError(f"{path} is a truncated gzip file: it ends early; fetch it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is a damaged gzip file ({error}); fetch it again") from None
    except PermissionError:
        raise DataError(f"{path} cannot be read: permission denied") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
