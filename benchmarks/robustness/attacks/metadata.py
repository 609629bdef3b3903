"""Hostile XMP and IPTC: bombs, huge packets, broken structure; read alone, in image files, and changed."""

from __future__ import annotations

import itertools
import tempfile
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.support.photos import MAKERS, RDF, iptc, jpeg, packet, photoshop, segment, tiff

from benchmarks.robustness import fuzz
from benchmarks.robustness.attacks.attack import Attack, Case, Outcome, all_limited
from vse_ens.data.collections import LabelEdit, OpenOptions
from vse_ens.data.collections.containers import DamagedFileError
from vse_ens.data.collections.detect import open_collection
from vse_ens.data.collections.xmp import SUBJECT, change_keywords

_MIB = 1 << 20
_START = f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="{RDF}">'
_DESCRIPTION = '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">'
_LIST, _END_LIST = "<dc:subject><rdf:Bag>", "</rdf:Bag></dc:subject>"
_END = "</rdf:Description></rdf:RDF></x:xmpmeta>"


def _document(items: str, before: str = "", description: str = _DESCRIPTION) -> bytes:
    return (before + _START + description + _LIST + items + _END_LIST + _END).encode()


def _entities(depth: int, width: int) -> str:
    lines = [f'<!ENTITY e{n} "{f"&e{n - 1};" * width}">' for n in range(1, depth)]
    return f'<!DOCTYPE x [<!ENTITY e0 "{"b" * 1000}">{"".join(lines)}]>'


def _packets() -> Iterator[tuple[str, bytes]]:
    """Yield hostile packets by name."""
    item = "<rdf:li>sea</rdf:li>"
    yield "a billion laughs", _document("<rdf:li>&e9;</rdf:li>", _entities(10, 10))
    yield "quadratic entities", _document("<rdf:li>" + "&e0;" * 100_000 + "</rdf:li>", _entities(1, 1))
    for name, declared in {
        "an external entity": '<!ENTITY x SYSTEM "file:///etc/passwd">',
        "a parameter entity": '<!ENTITY % x SYSTEM "file:///dev/zero"> %x;',
        "an entity from the network": '<!ENTITY x SYSTEM "http://127.0.0.1:9/x">',
        "an attribute list": '<!ATTLIST rdf:li x CDATA "y">',
    }.items():
        yield name, _document("<rdf:li>&x;</rdf:li>", f"<!DOCTYPE x [{declared}]>")
    for depth in (1_000, 100_000, 8_000_000):
        yield f"{depth:,} elements in each other", _document("<a>" * depth + "</a>" * depth)[: 31 * _MIB]
        yield f"{depth:,} items in each other", _document("<rdf:li>" * depth)[: 31 * _MIB]
        yield f"{depth:,} lists in each other", _document("<rdf:Bag>" * depth)[: 31 * _MIB]
    attributes = "".join(f' a{number}="x"' for number in range(2_000_000))
    yield "two million attributes", _document(item, description=_DESCRIPTION[:-1] + attributes + ">")
    names = "".join(f' xmlns:a{number}="u{number}"' for number in range(1_000_000))
    yield "a million namespaces", _document(item, description=_DESCRIPTION[:-1] + names + ">")
    bag = f"<dc:subject><rdf:Bag{' ' * (30 * _MIB)}>{item}{_END_LIST}"
    yield "a tag of 30 MB", (_START + _DESCRIPTION + bag + _END).encode()
    quoted = "".join(f' b{number}="x"' for number in range(1_000_000))
    yield (
        "a list of a million attributes",
        (_START + _DESCRIPTION + f"<dc:subject><rdf:Bag{quoted}>{item}{_END_LIST}" + _END).encode(),
    )
    yield "a keyword of 30 MB", _document(f"<rdf:li>{'x' * (30 * _MIB)}</rdf:li>")
    yield "a million keywords", _document(item * 1_000_000)
    yield "99,999 keywords", _document("".join(f"<rdf:li>k{number}</rdf:li>" for number in range(99_999)))
    yield "99,999 long keywords", _document("".join(f"<rdf:li>{number:0>300}</rdf:li>" for number in range(99_999)))
    yield "a million empty items", _document("<rdf:li/>" * 1_000_000)
    yield "a million comments", _document("<!--x-->" * 1_000_000 + item)
    yield "a million instructions", _document("<?x y?>" * 1_000_000 + item)
    yield "white space of 30 MB", _document("\n" * (30 * _MIB) + item)
    yield "a keyword of references", _document(f"<rdf:li>{'&#x41;' * 5_000_000}</rdf:li>")
    yield (
        "a million descriptions",
        (_START + (_DESCRIPTION + "</rdf:Description>") * 100_000 + "</rdf:RDF></x:xmpmeta>").encode(),
    )
    for encoding in (
        "utf-7",
        "rot13",
        "zlib",
        "hex",
        "idna",
        "punycode",
        "unicode_escape",
        "x" * 10_000,
        "utf-32",
        "cp037",
    ):
        yield f"the encoding {encoding[:20]}", _document(item, f'<?xml version="1.0" encoding="{encoding}"?>')
    for encoding in ("utf-16", "utf-16-be", "utf-32"):
        yield f"text in {encoding}", _document(item).decode().encode(encoding)
    for name, text in {
        "NUL": "&#0;",
        "a surrogate": "&#xD800;",
        "a large number": "&#99999999999;",
        "U+FFFE": "&#xFFFE;",
    }.items():
        yield f"a reference to {name}", _document(f"<rdf:li>{text}</rdf:li>")
    for bad in (b"\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\0", b"]]>", b"<![CDATA["):
        yield f"{bad!r} in a keyword", _document("<rdf:li>@</rdf:li>").replace(b"@", bad)
    for end in range(0, len(_document(item)), 40):
        yield f"cut after {end} bytes", _document(item)[:end]


def _change(document: bytes) -> None:
    """Add and remove a keyword, as a write to a sidecar does."""
    try:
        change_keywords(document, {SUBJECT: ["sand"]}, {SUBJECT: ["sea", "k1"]})
    except DamagedFileError:
        return


def _read(name: str, content: bytes) -> None:
    """Read a folder with one image, and change its labels without writing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        if name.endswith(".xmp"):
            (Path(folder) / "a.jpg").write_bytes(jpeg())
        photos = open_collection(Path(folder), "photos", OpenOptions(cache=False))
        items = list(photos.items())
        photos.faults.notes()  # type: ignore[attr-defined]
        list(photos.changes({items[0].image: LabelEdit(("sand",), items[0].labels[:1])}))  # type: ignore[attr-defined]


def xmp(times: int) -> Outcome:
    """Read packets as sidecars and inside image files, and change them."""

    def cases() -> Iterator[Case]:
        for name, content in _packets():
            yield f"{name}, changed", partial(_change, content)
            yield f"{name}, as a sidecar", partial(_read, "a.xmp", content)
            for end, make in (
                MAKERS.items() if len(content) < 60_000 else (("tif", MAKERS["tif"]), ("heic", MAKERS["heic"]))
            ):
                try:
                    made = make(content)
                except ValueError:  # a format that cannot hold it
                    continue
                yield f"{name}, in .{end}", partial(_read, f"a.{end}", made)

    return all_limited(itertools.islice(cases(), times), ram=2 << 30)


# --- containers -----------------------------------------------------------------------------------------------------


def _chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


def _png(chunks: bytes) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + chunks + _chunk(b"IEND", b"")


def _tiff(tags: int, tag: int, size: int) -> bytes:
    """Return a TIFF file whose tags all have the same place of ``size`` bytes."""
    at = 10 + 12 * tags + 4
    entry = (
        tag.to_bytes(2, "little") + (1).to_bytes(2, "little") + size.to_bytes(4, "little") + at.to_bytes(4, "little")
    )
    return b"II*\0\x08\0\0\0" + tags.to_bytes(2, "little") + entry * tags + bytes(4) + bytes(size)


def _extended(parts: int, size: int, different: int) -> bytes:
    """Return a JPEG file with parts of an extended packet, or of as many packets."""
    name = b"http://ns.adobe.com/xmp/extension/\0"
    made = (
        segment(0xE1, name + b"%032d" % (number * different) + bytes(4) + number.to_bytes(4, "big") + bytes(size))
        for number in range(parts)
    )
    return jpeg(packet(["sea"]), b"", *made)


def _datasets(count: int, value: bytes, size: bytes | None = None) -> bytes:
    return (b"\x1c\x02\x19" + (len(value).to_bytes(2, "big") if size is None else size) + value) * count


def _files() -> Iterator[tuple[str, bytes]]:
    """Yield image files that hold more than they show, by name."""
    bomb = zlib.compress(bytes(31 * _MIB), 9)
    text = _chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + bomb)
    profile = _chunk(b"zTXt", b"Raw profile type iptc\0\0" + bomb)
    for count in (1, 40, 400):
        yield f"{count} compressed chunks of 31 MB.png", _png(text * count)
        yield f"{count} compressed profiles of 31 MB.png", _png(profile * count)
    yield "a chunk that claims 4 GB.png", b"\x89PNG\r\n\x1a\n" + b"\xff\xff\xff\xffiTXt"
    yield "a million empty chunks.png", _png(_chunk(b"tEXt", b"") * 1_000_000)
    for tag in (700, 33723, 34377, 0x9C9E):
        yield f"60,000 tags {tag} with the same 16 MB.tif", _tiff(60_000, tag, 16 * _MIB)
        yield f"a tag {tag} of 4 GB.tif", _wrong(_tiff(1, tag, 8), 14)
    yield "a page that is its own next.tif", b"II*\0\x08\0\0\0\0\0\x08\0\0\0"
    for parts, size, different in ((90_000, 10, 0), (90_000, 10, 1), (600, 64_000, 0), (3_000, 64_000, 1)):
        packets = "as many packets" if different else "one packet"
        yield f"{parts:,} parts of {size:,} bytes, {packets}.jpg", _extended(parts, size, different)
    yield "a million fill bytes.jpg", b"\xff\xd8" + b"\xff" * 1_000_000
    yield "150,000 empty segments.jpg", b"\xff\xd8" + b"\xff\xe5\0\x02" * 150_000
    for count, value in ((6_000, b""), (3_000, b"x" * 15), (900, b"y" * 61), (1, b"z" * 32_000)):
        yield f"{count} keywords of {len(value)} bytes.jpg", jpeg(b"", _datasets(count, value))
    # Keywords of IPTC that may be cut are compared with those of XMP.
    long = _document("".join(f"<rdf:li>{number:0>65}</rdf:li>" for number in range(99_999)))
    cut = b"".join(_datasets(1, b"%061d" % number) for number in range(200_000))
    yield "long keywords in both.tif", tiff(long, cut)
    yield "2 million empty keywords.tif", tiff(b"", _datasets(2_000_000, b""))
    yield "6 million datasets.tif", tiff(b"", b"\x1c\x01\x00\0\0" * 6_000_000)
    for claimed in ("8000", "8004ffffffff", "8008" + "ff" * 8, "ffff" + "ff" * 9, "800103"):
        yield f"a dataset of the size {claimed}.jpg", jpeg(b"", _datasets(3, b"sea", bytes.fromhex(claimed)))
    for declared in (b"", b"\x1b", b"\x1b%G\x1b%G", b"\x1b-", b"\x1b.A" * 100, b"\x1b-\xff", b"\x1b%/I"):
        yield f"the character set {declared[:8].hex()}.jpg", jpeg(b"", iptc([b"\xe9\x1b\xff"], declared))
    whole = photoshop(iptc([b"sea"]))
    for end in range(0, len(whole), 3):
        yield f"resources cut after {end}.jpg", _resources(whole[:end])
    for at in range(0, len(whole), 2):
        yield f"resources with a wrong size at {at}.jpg", _resources(_wrong(whole, at))
    for offset in range(8, 64, 4):  # of boxes, and of what they lead to
        yield f"a box with a wrong size at {offset}.heic", _wrong(MAKERS["heic"](packet(["sea"])), offset)


def _resources(data: bytes) -> bytes:
    return jpeg(b"", b"", segment(0xED, b"Photoshop 3.0\0" + data))


def _wrong(content: bytes, at: int) -> bytes:
    return content[:at] + b"\xff\xff\xff\xff" + content[at + 4 :]


def containers(times: int) -> Outcome:
    """Read image files whose metadata claim, unpack to, or repeat more than there is."""
    cases = ((name, partial(_read, f"a.{name.rpartition('.')[2]}", made)) for name, made in _files())
    return all_limited(itertools.islice(cases, times), ram=2 << 30)


def damaged(times: int) -> Outcome:
    """Read ``times`` damaged copies of a file of every kind."""
    found = fuzz.measure(fuzz.Sizes(times))["measured"]
    faults = [f"{name}: {one['example']}" for name, one in found.items() for _ in range(one["failures"])]
    slowest, ram = (max(one[key] for one in found.values()) for key in ("slowest", "ram_bytes"))
    seen = f"labels or one sentence; at most {slowest:.1f} s and {ram / 1e6:,.0f} MB"
    return Outcome(times * len(found), faults, seen)


METADATA = {
    "damaged files": Attack(
        "damaged photographs, sidecars, data sets and catalogs",
        damaged,
        400,
        5,
        "a line of digits took minutes, an error of 5 kB, a traceback",
    ),
    "XMP": Attack("XMP: entities, nesting, huge packets, odd encodings, damage; read and changed", xmp, 10_000, 20),
    "metadata": Attack(
        "IPTC and containers: bombs, repeated places, sizes and character sets that lie", containers, 10_000, 12
    ),
}
