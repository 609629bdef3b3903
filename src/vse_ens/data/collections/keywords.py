"""The keywords of one image from all the places that programs write them to, merged into labels.

Programs write the same keyword several times: ``place|beach`` in ``lr:hierarchicalSubject``, ``place/beach`` in
``digiKam:TagsList``, and ``beach``, often with ``place``, in ``dc:subject`` and IPTC. The merged labels have it once,
with its hierarchy: a flat keyword that is part of a hierarchical keyword of the same image is not a label of its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from vse_ens.data.collections import xmp
from vse_ens.data.collections.containers import DamagedFileError, Metadata

_CHARACTER_SET, _KEYWORDS = (1, 90), (2, 25)
_KEYWORD_BYTES = 64  # the longest keyword that IPTC allows; programs cut longer ones

_ESCAPE = b"\x1b"
_UTF8 = b"\x1b%G"
# The last byte of the escape sequence of ISO 2022 that selects the right half of ISO 8859.
_ISO_8859 = {
    b"A": "iso8859-1", b"B": "iso8859-2", b"C": "iso8859-3", b"D": "iso8859-4", b"L": "iso8859-5", b"G": "iso8859-6",
    b"F": "iso8859-7", b"H": "iso8859-8", b"M": "iso8859-9", b"V": "iso8859-10", b"T": "iso8859-11", b"Y": "iso8859-13",
    b"_": "iso8859-14", b"b": "iso8859-15", b"f": "iso8859-16",
}  # fmt: skip
_CONTROLS = {0: None, 0x1D: " ", 0x1E: " ", 0x1F: " "}  # which IPTC may have, and no label should
INTERNAL = ("darktable|", "_Digikam_Internal_Tags_|")
"""The beginnings of tags that programs keep for themselves."""


def read_iptc(record: bytes) -> list[str]:
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
    if len(value) >= _KEYWORD_BYTES - 3:  # cut inside a character
        for cut in (1, 2, 3):
            try:
                return value[:-cut].decode("utf-8")
            except UnicodeDecodeError:
                continue
    try:
        return value.decode("cp1252")
    except UnicodeDecodeError:
        return value.decode("latin-1")


@dataclass
class FileKeywords:
    """The keywords of one file; a fault says why the rest could not be read."""

    flat: list[str] = field(default_factory=list)
    """Keywords without hierarchy: dc:subject, IPTC, XPKeywords."""
    paths: list[str] = field(default_factory=list)
    """Keywords with ``|`` between the parts of their hierarchy, if they have one."""
    fault: str | None = None


def from_metadata(found: Metadata) -> FileKeywords:
    """Return the keywords in the metadata of an image file."""
    parsed: xmp.Keywords = {}
    fault = found.fault
    for packet in found.xmp:
        lists: xmp.Keywords = {}
        try:
            xmp.read_keywords(packet, lists)
        except DamagedFileError as error:
            fault = str(error)
        if b"darktable:xmp_version" in packet:
            # It leaves these lists as other programs wrote them; the tags it has now are in the others.
            now = () if xmp.HIERARCHICAL in lists else lists.get(xmp.SUBJECT, ())
            for old in (xmp.TAGS_LIST, xmp.LAST_KEYWORD):
                lists[old] = [tag for tag in lists.get(old, ()) if set(tag.split("/")) <= set(now)]
        for name, values in lists.items():
            parsed.setdefault(name, []).extend(values)
    flat = parsed.get(xmp.SUBJECT, [])
    whole = sorted(flat)
    for record in found.iptc:
        flat += [keyword for keyword in read_iptc(record) if not _is_cut(keyword, whole)]
    for value in found.xp_keywords:
        flat += value.decode("utf-16-le", "replace").rstrip("\0").split(";")
    return FileKeywords(_distinct(flat), _paths(parsed, flat), fault)


def from_xmp(document: bytes) -> FileKeywords:
    """Return the keywords of a sidecar."""
    return from_metadata(Metadata(xmp=[document]))


def _paths(parsed: xmp.Keywords, flat: list[str]) -> list[str]:
    known = set(flat)
    paths = [*parsed.get(xmp.HIERARCHICAL, ())]
    # A slash separates levels, but it is part of a keyword such as "24/7" if the other list has it so.
    with_slash = {path.replace("|", "/"): path for path in paths if "/" in path}
    paths += [with_slash.get(tag, tag.replace("/", "|")) for tag in parsed.get(xmp.TAGS_LIST, ())]
    # Windows separates levels by a slash too, but a keyword such as "24/7" is then also in dc:subject as it is.
    paths += [tag if tag in known else tag.replace("/", "|") for tag in parsed.get(xmp.LAST_KEYWORD, ())]
    return _distinct("|".join(part for part in (one.strip() for one in path.split("|")) if part) for path in paths)


def _is_cut(keyword: str, whole: Sequence[str]) -> bool:
    """Return whether an IPTC keyword is the beginning of a longer one of sorted XMP, which has it in full."""
    if len(keyword.encode("utf-8", "replace")) <= _KEYWORD_BYTES - 4:
        return False
    after = bisect_right(whole, keyword)
    return after < len(whole) and whole[after].startswith(keyword)


def _distinct(keywords: Iterable[str]) -> list[str]:
    stripped = (keyword.translate(_CONTROLS).strip() for keyword in keywords)
    return list(dict.fromkeys(keyword for keyword in stripped if keyword))


def merge(files: Iterable[FileKeywords]) -> tuple[str, ...]:
    """Return the labels of an image from the keywords of its file and its sidecars."""
    flat: dict[str, None] = {}
    paths: dict[str, None] = {}
    for one in files:
        flat.update(dict.fromkeys(one.flat))
        paths.update(dict.fromkeys(one.paths))
    if not paths:
        return tuple(flat)
    # Parts of a hierarchy, and keywords without one that a program lists as a path.
    covered = {*paths, *"|".join(path for path in paths if "|" in path).split("|")}
    labels = [path for path in paths if not path.startswith(INTERNAL)]
    return (*labels, *(keyword for keyword in flat if keyword not in covered))


def leaf(label: str) -> str:
    """Return the last part of a label: the flat keyword that programs show for it."""
    return label.rsplit("|", 1)[-1]
