"""Find XMP packets and IPTC records in image files, without decoding pixels.

Each function walks the structure of one container (JPEG segments, PNG chunks, RIFF chunks, TIFF tags, ISO-BMFF boxes)
and reads only the parts that can hold keywords. Files are untrusted: every size is checked, every walk is bounded, and
what was found before a fault is kept.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from vse_ens.system import open_regular, read_at

MAX_BYTES = 32 << 20
"""The most metadata of one file that are read, and unpacked: places in a file may repeat, and chunks be bombs."""

_HEAD_BYTES = 1 << 16
_MAX_STEPS = 100_000  # segments, chunks, tags or boxes of one file

_XMP_JPEG = b"http://ns.adobe.com/xap/1.0/\0"
_XMP_EXTENDED = b"http://ns.adobe.com/xmp/extension/\0"
_EXTENDED_HEADER = 32 + 4 + 4  # digest, full length, offset
_PHOTOSHOP = b"Photoshop 3.0\0"
_EXIF = b"Exif\0\0"
_XMP_UUID = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")
_XMP_TAG, _IPTC_TAG, _PHOTOSHOP_TAG, _XP_KEYWORDS_TAG = 700, 33723, 34377, 0x9C9E
_TIFF_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 7: 1}


class DamagedFileError(ValueError):
    """The structure of a file is broken; the message completes the sentence "the file ..."."""


@dataclass
class Metadata:
    """The parts of an image file that can hold keywords."""

    xmp: list[bytes] = field(default_factory=list)
    iptc: list[bytes] = field(default_factory=list)
    """IPTC IIM records."""
    xp_keywords: list[bytes] = field(default_factory=list)
    """Values of the Exif tag XPKeywords: UTF-16, separated by semicolons."""
    fault: str | None = None
    """Why the file could not be read to the end, such as "ends inside a segment"."""


def read_metadata(path: str) -> Metadata:
    """Read the metadata of an image file; an `OSError` is raised, a broken structure is returned as ``fault``."""
    found = Metadata()
    descriptor = open_regular(path)
    try:
        file = _File(descriptor)
        walk = _walker(file.head)
        if walk is not None:
            walk(file, found)
        elif not file.head:
            found.fault = "is empty"
    except DamagedFileError as error:
        found.fault = str(error)
    finally:
        os.close(descriptor)
    return found


class _File:
    """Random access to a file whose first bytes are in memory."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.left = MAX_BYTES
        self.head = read_at(descriptor, _HEAD_BYTES, 0)
        self.size = len(self.head) if len(self.head) < _HEAD_BYTES else os.fstat(descriptor).st_size

    def peek(self, start: int, size: int) -> bytes:
        """Return up to ``size`` bytes."""
        if start + size <= len(self.head):
            return self.head[start : start + size]
        return read_at(self._descriptor, size, start) if start < self.size else b""

    def read(self, start: int, size: int) -> bytes:
        """Return exactly ``size`` bytes."""
        self.spend(size)
        data = self.peek(start, size)
        if len(data) < size:
            raise DamagedFileError("ends early")
        return data

    def spend(self, size: int) -> None:
        """Count bytes that were read or unpacked."""
        self.left -= size
        if self.left < 0:
            raise DamagedFileError(f"has metadata of more than {MAX_BYTES >> 20} MiB")


def _walker(head: bytes) -> Callable[[_File, Metadata], None] | None:
    if head.startswith(b"\xff\xd8\xff"):
        return _jpeg
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return _png
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _webp
    if head[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+", b"IIRO", b"IIRS", b"IIU\0"):
        return _tiff
    if head[4:8] in (b"ftyp", b"JXL "):
        return _boxes
    return None


# --- JPEG -----------------------------------------------------------------------------------------------------------


def _jpeg(file: _File, found: Metadata) -> None:
    photoshop: list[bytes] = []
    extended: dict[bytes, list[tuple[int, bytes]]] = {}
    try:
        for marker, start, size in _segments(file):
            if marker == 0xE1:
                _app1(file.read(start, size), found, extended)
            elif marker == 0xED and file.peek(start, len(_PHOTOSHOP)) == _PHOTOSHOP:
                photoshop.append(file.read(start, size)[len(_PHOTOSHOP) :])
    finally:
        if photoshop:
            found.iptc += _photoshop_iptc(b"".join(photoshop))
        for parts in extended.values():
            found.xmp.append(b"".join(data for _, data in sorted(parts)))


def _segments(file: _File) -> Iterator[tuple[int, int, int]]:
    """Yield the marker, the start and the size of every segment before the pixels."""
    at = 2
    for _ in range(_MAX_STEPS):
        head = file.peek(at, 4)
        if len(head) < 4:
            raise DamagedFileError("ends early")
        if head[0] != 0xFF:
            raise DamagedFileError(f"has no JPEG segment at byte {at}")
        marker = head[1]
        if marker in (0xDA, 0xD9):  # pixels, or the end
            return
        if marker == 0xFF:  # a fill byte
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD7:  # no content
            at += 2
        else:
            size = int.from_bytes(head[2:4], "big")
            if size < 2:
                raise DamagedFileError(f"has a JPEG segment without a size at byte {at}")
            yield marker, at + 4, size - 2
            at += 2 + size
    raise DamagedFileError("has too many JPEG segments")


def _app1(data: bytes, found: Metadata, extended: dict[bytes, list[tuple[int, bytes]]]) -> None:
    if data.startswith(_XMP_JPEG):
        found.xmp.append(data[len(_XMP_JPEG) :])
    elif data.startswith(_XMP_EXTENDED):
        body = data[len(_XMP_EXTENDED) :]
        offset = int.from_bytes(body[36:40], "big")
        extended.setdefault(body[:32], []).append((offset, body[_EXTENDED_HEADER:]))
    elif data.startswith(_EXIF):
        _exif(data[len(_EXIF) :], found)


def _photoshop_iptc(data: bytes) -> list[bytes]:
    """Return the IPTC records among Photoshop's image resources."""
    records, at = [], 0
    while data[at : at + 4] == b"8BIM":
        kind = data[at + 4 : at + 6]
        at += 6
        at += (data[at] + 2) & ~1 if at < len(data) else 1  # a Pascal string, padded to an even length
        size = int.from_bytes(data[at : at + 4], "big")
        at += 4
        if kind == b"\x04\x04":
            records.append(data[at : at + size])
        at += size + (size & 1)
    return records


# --- PNG and WebP ---------------------------------------------------------------------------------------------------


def _png(file: _File, found: Metadata) -> None:
    at = 8
    for _ in range(_MAX_STEPS):
        head = file.peek(at, 8)
        if len(head) < 8:
            raise DamagedFileError("ends early")
        size, kind = int.from_bytes(head[:4], "big"), head[4:]
        if kind == b"IEND":
            return
        if kind in (b"iTXt", b"zTXt", b"tEXt"):
            _png_text(kind, file.read(at + 8, size), file, found)
        elif kind == b"eXIf":
            _exif(file.read(at + 8, size), found)
        at += size + 12
    raise DamagedFileError("has too many PNG chunks")


def _png_text(kind: bytes, data: bytes, file: _File, found: Metadata) -> None:
    keyword, _, rest = data.partition(b"\0")
    if keyword not in (b"XML:com.adobe.xmp", b"Raw profile type iptc", b"Raw profile type xmp"):
        return
    compressed = kind == b"zTXt"
    if kind == b"zTXt":
        rest = rest[1:]
    elif kind == b"iTXt":
        compressed = rest[:1] == b"\1"
        rest = rest[2:].split(b"\0", 2)[-1]
    if compressed:
        rest = _inflate(rest, file)
    if keyword == b"XML:com.adobe.xmp":
        found.xmp.append(rest)
        return
    profile = _raw_profile(rest)
    if keyword == b"Raw profile type xmp":
        found.xmp.append(profile)
    else:
        found.iptc += _photoshop_iptc(profile) if profile.startswith(b"8BIM") else [profile]


def _inflate(data: bytes, file: _File) -> bytes:
    try:
        text = zlib.decompressobj().decompress(data, file.left + 1)
    except zlib.error:
        raise DamagedFileError("has damaged compressed text") from None
    file.spend(len(text))
    return text


def _raw_profile(text: bytes) -> bytes:
    """Return the bytes of ImageMagick's form: a line break, a name, a length, and hexadecimal digits."""
    lines = text.strip().split(b"\n", 2)
    try:
        return bytes.fromhex(lines[2].decode("ascii")) if len(lines) == 3 else b""
    except ValueError:
        raise DamagedFileError("has a damaged text chunk") from None


def _webp(file: _File, found: Metadata) -> None:
    at = 12
    for _ in range(_MAX_STEPS):
        head = file.peek(at, 8)
        if not head.strip(b"\0"):
            return
        if len(head) < 8:
            raise DamagedFileError("ends early")
        kind, size = head[:4], int.from_bytes(head[4:], "little")
        if kind == b"XMP ":
            found.xmp.append(file.read(at + 8, size))
        elif kind == b"EXIF":
            _exif(file.read(at + 8, size).removeprefix(_EXIF), found)
        at += 8 + size + (size & 1)
    raise DamagedFileError("has too many WebP chunks")


# --- TIFF, raw photographs and Exif ---------------------------------------------------------------------------------


class _Block(_File):
    """Bytes in memory, with the methods of a file."""

    def __init__(self, data: bytes) -> None:
        self.head, self.size, self.left = data, len(data), MAX_BYTES

    def peek(self, start: int, size: int) -> bytes:
        return self.head[start : start + size]


def _exif(data: bytes, found: Metadata) -> None:
    # Keywords in Exif are rare: look for the number of the tag before the tags are read.
    if b"\x9e\x9c" in data or b"\x9c\x9e" in data:
        _tiff(_Block(data), found)


def _tiff(file: _File, found: Metadata) -> None:
    order: Literal["little", "big"] = "little" if file.peek(0, 2) == b"II" else "big"

    def number(data: bytes) -> int:
        return int.from_bytes(data, order)

    big = number(file.peek(2, 2)) == 43
    width, entry, at = (8, 20, number(file.read(8, 8))) if big else (4, 12, number(file.read(4, 4)))
    seen: set[int] = set()
    while at and at not in seen and len(seen) < 16:  # pages
        seen.add(at)
        counted = 8 if big else 2
        count = number(file.read(at, counted))
        if count > _MAX_STEPS:
            raise DamagedFileError("has too many TIFF tags")
        table = file.read(at + counted, count * entry + width)
        for first in range(0, count * entry, entry):
            tag, kind = number(table[first : first + 2]), number(table[first + 2 : first + 4])
            if tag not in (_XMP_TAG, _IPTC_TAG, _PHOTOSHOP_TAG, _XP_KEYWORDS_TAG):
                continue
            size = number(table[first + 4 : first + 4 + width]) * _TIFF_SIZES.get(kind, 0)
            field_at = first + 4 + width
            value = (
                table[field_at : field_at + size]
                if size <= width
                else file.read(number(table[field_at : field_at + width]), size)
            )
            _tiff_value(tag, kind, value, order, found)
        at = number(table[count * entry :])


def _tiff_value(tag: int, kind: int, value: bytes, order: str, found: Metadata) -> None:
    if tag == _XMP_TAG:
        found.xmp.append(value)
    elif tag == _PHOTOSHOP_TAG:
        found.iptc += _photoshop_iptc(value)
    elif tag == _XP_KEYWORDS_TAG:
        found.xp_keywords.append(value)
    else:
        # Adobe stores the bytes of IPTC as 32-bit numbers, which some writers swap with the byte order of the file.
        if kind == 4 and order == "little" and value[3:4] == b"\x1c" and value[:1] != b"\x1c":
            value = b"".join(value[at : at + 4][::-1] for at in range(0, len(value), 4))
        found.iptc.append(value)


# --- ISO-BMFF: HEIC, AVIF, CR3, JPEG XL -----------------------------------------------------------------------------


def _boxes(file: _File, found: Metadata) -> None:
    for kind, start, size in _box_list(file, 0, file.size):
        if kind == b"meta":
            _meta(file, start + 4, start + size, found)
        elif kind == b"uuid" and size > 16 and file.peek(start, 16) == _XMP_UUID:
            found.xmp.append(file.read(start + 16, size - 16))
        elif kind == b"xml ":
            found.xmp.append(file.read(start, size))


def _box_list(file: _File, at: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield the type, the start and the size of the content of each box."""
    for _ in range(_MAX_STEPS):
        if at + 8 > end:
            return
        head = file.peek(at, 16)
        if len(head) < 8:
            raise DamagedFileError("ends early")
        size, kind, header = int.from_bytes(head[:4], "big"), head[4:8], 8
        if size == 1:
            size, header = int.from_bytes(head[8:16], "big"), 16
        elif size == 0:
            size = end - at
        if size < header:
            raise DamagedFileError(f"has a box without a size at byte {at}")
        yield kind, at + header, size - header
        at += size
    raise DamagedFileError("has too many boxes")


def _meta(file: _File, at: int, end: int, found: Metadata) -> None:
    parts = {kind: (start, size) for kind, start, size in _box_list(file, at, end)}
    if not {b"iinf", b"iloc"} <= parts.keys():
        return
    wanted = set(_xmp_items(file, *parts[b"iinf"]))
    if not wanted:
        return
    idat = parts.get(b"idat", (0, 0))[0]
    for item, method, extents in _locations(file.read(*parts[b"iloc"])):
        if item in wanted and method in (0, 1):
            base = idat if method == 1 else 0
            found.xmp.append(b"".join(file.read(base + start, size) for start, size in extents))


def _xmp_items(file: _File, start: int, size: int) -> Iterator[int]:
    """Yield the ids of the items of an ``iinf`` box that are XMP packets."""
    short = file.read(start, 1) == b"\0"
    for kind, at, length in _box_list(file, start + (6 if short else 8), start + size):
        if kind != b"infe":
            continue
        data = file.read(at, length)
        version = data[0] if data else 0
        if version not in (2, 3):
            continue
        width = 2 if version == 2 else 4
        rest = data[4 + width + 2 :]
        if rest[:4] == b"mime" and rest[4:].split(b"\0")[1:2] == [b"application/rdf+xml"]:
            yield int.from_bytes(data[4 : 4 + width], "big")


def _locations(data: bytes) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """Yield the id, the construction method and the extents of each item of an ``iloc`` box."""
    at = 0

    def number(size: int) -> int:
        nonlocal at
        if at + size > len(data):
            raise DamagedFileError("has a damaged iloc box")
        at += size
        return int.from_bytes(data[at - size : at], "big")

    version = number(1)
    at = 4
    sizes = number(2)
    offset_size, length_size, base_size, index_size = (sizes >> shift & 15 for shift in (12, 8, 4, 0))
    steps = 0
    for _ in range(number(2 if version < 2 else 4)):
        item = number(2 if version < 2 else 4)
        method = number(2) & 15 if version else 0
        number(2)
        base = number(base_size)
        extents = []
        for _ in range(number(2)):
            steps += 1
            if steps > _MAX_STEPS:
                raise DamagedFileError("has a damaged iloc box")
            if version and index_size:
                number(index_size)
            start = number(offset_size)
            extents.append((base + start, number(length_size)))
        yield item, method, extents
