"""Detect the format of a file by its suffix, and check it against the first bytes."""

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

from vse_ens.data.collections.files import unreadable
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
# Delimited text may start with a bracket, and JSON Lines with a broken line, which the parser reports by its number.
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
    "a JSON array": "write one object per line",
    "UTF-16 text": "re-encode it, for example with iconv -f UTF-16 -t UTF-8",
    "binary data": "check that it is the right file",
}
_FIFTYONE = re.compile(rb'"(_media_type|sample_fields)"|"classes".*"labels"\s*:\s*\{', re.DOTALL)
_HEAD_BYTES = 1 << 20
BOM = b"\xef\xbb\xbf"
# A line, or a record of several lines in quotes, may be this long: a million numbers or labels fit. Longer ones are
# refused, so that a small compressed file cannot fill the memory.
MAX_LINE_BYTES = 1 << 24
# Codes that no text has: those below a space except tab, line ends and form feed, and delete.
_CONTROL = bytes(code for code in (*range(32), 127) if code not in b"\t\n\f\r")


@dataclass(frozen=True)
class PairsFile:
    """A readable file whose content agrees with its suffix."""

    path: Path
    format: FormatName
    gzipped: bool

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the file, decompressed; a damaged gzip file raises a `DataError`, also inside the caller's block."""
        with _readable(self.path), gzip.open(self.path) if self.gzipped else self.path.open("rb") as stream:
            yield cast("IO[bytes]", stream)

    @contextmanager
    def open_text(self) -> Iterator[IO[bytes]]:
        """Open the file, decompressed, after its byte order mark if it has one."""
        with self.open() as stream:
            if stream.read(len(BOM)) != BOM:
                stream.seek(0)
            yield stream

    def head(self) -> tuple[bytes, bool]:
        """Return up to 1 MiB from the start, decompressed, and whether that is the whole file."""
        with self.open() as stream:
            head = stream.read(_HEAD_BYTES)
            return head, not stream.read(1)


def detect_format(path: str | Path, requested: FormatName | None = None) -> PairsFile:
    """Return the file with its format; raise if it is missing, empty, or not what its suffix says."""
    path = Path(path)
    if requested is not None and requested not in get_args(FormatName):
        raise ConfigError(f"format must be one of {', '.join(get_args(FormatName))}, got {requested!r}")
    check_exists(path)
    file = _by_suffix(path) if requested is None else PairsFile(path, requested, _starts_with(path, _GZIP))
    head, _ = file.head()
    if not head.removeprefix(BOM).strip():
        raise DataError(f"{path} is empty")
    _check_content(file, head)
    return file


def check_exists(path: Path) -> None:
    """Raise unless a path is a regular file."""
    try:
        if path.is_dir():
            is_model = (path / "model.json").is_file()
            raise DataError(f"{path} is a {'model; name a file of pairs' if is_model else 'folder; name a file in it'}")
        if path.is_file():
            return
        if path.exists():
            raise DataError(f"{path} is a pipe or a device, not a regular file; write its content to a file first")
        if not path.parent.is_dir():
            raise DataError(f"{path} does not exist: there is no folder {path.parent}")
        near = difflib.get_close_matches(path.name, [one.name for one in path.parent.iterdir()], n=3, cutoff=0.6)
    except OSError as error:
        raise unreadable(path, error) from None
    hint = f"did you mean {' or '.join(near)}?" if near else f"{path.parent} has no file with a similar name"
    raise DataError(f"{path} does not exist; {hint}")


def _by_suffix(path: Path) -> PairsFile:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    named_gzip = suffixes[-1:] == [".gz"]
    format_name = _SUFFIXES.get("".join(suffixes[-2:-1] if named_gzip else suffixes[-1:]))
    if format_name is None:
        advice = f"rename it, or give its format: {', '.join(get_args(FormatName))}"
        if suffixes[-1:] in ([".xlsx"], [".xls"], [".ods"]):
            advice = "save the sheet that has the pairs as CSV"
        elif suffixes[-1:] == [".json"] and _FIFTYONE.search(PairsFile(path, "jsonl", False).head()[0]):
            advice = "it looks like FiftyOne's: export it as COCO, with dataset_type=fo.types.COCODetectionDataset"
        elif suffixes[-1:] == [".json"]:
            advice = "it is not the JSON of COCO or Label Studio; check it, or convert it to JSON Lines (.jsonl)"
        raise DataError(f"{path} has none of the suffixes {', '.join(_SUFFIXES)} (each also with .gz); {advice}")
    is_gzip = _starts_with(path, _GZIP)
    if named_gzip and not is_gzip and path.stat().st_size:
        raise DataError(f"{path} is not a gzip file, as its suffix says, but looks like {_guess_file(path)}; rename it")
    if is_gzip and not named_gzip:
        raise DataError(f"{path} is a gzip file, not what its suffix says; rename it to {path.name}.gz")
    return PairsFile(path, format_name, named_gzip and is_gzip)


def _check_content(file: PairsFile, head: bytes) -> None:
    content = _guess_content(head)
    if content not in _CONTENT[file.format]:
        raise DataError(
            f"{file.path} is not {file.format}, as its suffix or format says, but looks like {content}; "
            f"{_ADVICE.get(content, 'convert it first')}"
        )


def _guess_content(head: bytes) -> str:
    """Return a description of the content that the first bytes of a file suggest."""
    start = head[:32].lower()
    for magic, name in _FOREIGN.items():
        if head.startswith(magic) or start.startswith(magic):
            return name
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or (len(head) >= 4 and not (any(head[1::2]) and any(head[0::2]))):
        return "UTF-16 text"
    text = head.removeprefix(BOM).lstrip()
    if has_control_codes(head) and not _is_utf8(head):
        return "binary data"
    if text.startswith(b"["):
        return "a JSON array"
    return "JSON Lines" if re.match(rb'\{\s*("|$)', text) else "text"


def has_control_codes(content: bytes) -> bool:
    """Return whether bytes contain codes that text does not have."""
    return len(content.translate(None, _CONTROL)) < len(content)


def _is_utf8(head: bytes) -> bool:
    """Return whether bytes are UTF-8, of which the last character may be incomplete."""
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def _guess_file(path: Path) -> str:
    with _readable(path), path.open("rb") as stream:
        return _guess_content(stream.read(64))


def _starts_with(path: Path, magic: bytes) -> bool:
    with _readable(path), path.open("rb") as stream:
        return stream.read(len(magic)) == magic


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except EOFError:
        raise DataError(f"{path} is a truncated gzip file: it ends early; download or copy it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is a damaged gzip file ({error}); download or copy it again") from None
    except OSError as error:
        raise unreadable(path, error) from None
