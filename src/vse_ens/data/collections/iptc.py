"""Keywords in IPTC IIM records."""

from __future__ import annotations

from collections.abc import Iterator

_CHARACTER_SET, _KEYWORDS = (1, 90), (2, 25)
KEYWORD_BYTES = 64
"""The longest keyword that IPTC allows; programs cut longer ones."""

_ESCAPE = b"\x1b"
_UTF8 = b"\x1b%G"
# The last byte of the escape sequence of ISO 2022 that selects the right half of ISO 8859.
_ISO_8859 = {
    b"A": "iso8859-1", b"B": "iso8859-2", b"C": "iso8859-3", b"D": "iso8859-4", b"L": "iso8859-5", b"G": "iso8859-6",
    b"F": "iso8859-7", b"H": "iso8859-8", b"M": "iso8859-9", b"V": "iso8859-10", b"T": "iso8859-11", b"Y": "iso8859-13",
    b"_": "iso8859-14", b"b": "iso8859-15", b"f": "iso8859-16",
}  # fmt: skip


def read_keywords(record: bytes) -> list[str]:
    """Return the keywords of an IPTC record, decoded by its CodedCharacterSet.

    Without a character set, text that is valid UTF-8 is read so, as many programs write it, and other text as
    Windows-1252.
    """
    declared, keywords = b"", []
    for dataset, value in _datasets(record):
        if dataset == _CHARACTER_SET:
            declared = value
        elif dataset == _KEYWORDS:
            keywords.append(value)
    return [_decode(value, declared) for value in keywords]


def _datasets(record: bytes) -> Iterator[tuple[tuple[int, int], bytes]]:
    at = 0
    while record[at : at + 1] == b"\x1c" and at + 5 <= len(record):
        dataset = record[at + 1], record[at + 2]
        size = int.from_bytes(record[at + 3 : at + 5], "big")
        at += 5
        if size & 0x8000:  # the size of the size
            width = min(size & 0x7FFF, 8)
            size = int.from_bytes(record[at : at + width], "big")
            at += width
        yield dataset, record[at : at + size]
        at += size


def _decode(value: bytes, declared: bytes) -> str:
    encoding = _ISO_8859.get(declared[2:3]) if declared[:1] == _ESCAPE and declared[1:2] in b"-./" else None
    if declared != _UTF8 and encoding is not None:
        return value.decode(encoding, "replace")
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        pass
    if len(value) >= KEYWORD_BYTES - 3:  # cut inside a character
        for cut in (1, 2, 3):
            try:
                return value[:-cut].decode("utf-8")
            except UnicodeDecodeError:
                continue
    try:
        return value.decode("cp1252")
    except UnicodeDecodeError:
        return value.decode("latin-1")
