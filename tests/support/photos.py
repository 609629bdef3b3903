"""Image files with keywords, made by Pillow or byte by byte."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from xml.sax.saxutils import escape

from PIL import Image, PngImagePlugin, TiffImagePlugin

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
NAMESPACES = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "lr": "http://ns.adobe.com/lightroom/1.0/",
    "digiKam": "http://www.digikam.org/ns/1.0/",
    "MicrosoftPhoto": "http://ns.microsoft.com/photo/1.0/",
}


def packet(
    subject: Sequence[str] = (),
    hierarchical: Sequence[str] = (),
    tags_list: Sequence[str] = (),
    last_keyword: Sequence[str] = (),
    more: str = "",
) -> bytes:
    """An XMP packet with keywords in the places that programs use."""
    lists = {
        "dc:subject": ("Bag", subject),
        "lr:hierarchicalSubject": ("Bag", hierarchical),
        "digiKam:TagsList": ("Seq", tags_list),
        "MicrosoftPhoto:LastKeywordXMP": ("Bag", last_keyword),
    }
    body = "".join(_list(name, kind, keywords) for name, (kind, keywords) in lists.items() if keywords)
    declared = "".join(f'\n    xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items())
    return (
        f'<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n<x:xmpmeta xmlns:x="adobe:ns:meta/">\n'
        f' <rdf:RDF xmlns:rdf="{RDF}">\n  <rdf:Description rdf:about=""{declared}>\n{body}{more}'
        f'  </rdf:Description>\n </rdf:RDF>\n</x:xmpmeta>\n<?xpacket end="w"?>\n'
    ).encode()


def _list(name: str, kind: str, keywords: Sequence[str]) -> str:
    items = "".join(f"     <rdf:li>{escape(keyword)}</rdf:li>\n" for keyword in keywords)
    return f"   <{name}>\n    <rdf:{kind}>\n{items}    </rdf:{kind}>\n   </{name}>\n"


def iptc(keywords: Iterable[bytes], character_set: bytes | None = b"\x1b%G") -> bytes:
    """An IPTC record."""
    start = b"" if character_set is None else _dataset(1, 90, character_set)
    return start + b"".join(_dataset(2, 25, keyword) for keyword in keywords)


def _dataset(record: int, number: int, value: bytes) -> bytes:
    return bytes((0x1C, record, number)) + len(value).to_bytes(2, "big") + value


def photoshop(record: bytes) -> bytes:
    """Photoshop's image resources with an IPTC record after another resource."""
    other = b"8BIM\x04\x0a\0\0" + (1).to_bytes(4, "big") + b"\1\0"
    return other + b"8BIM\x04\x04\0\0" + len(record).to_bytes(4, "big") + record + b"\0" * (len(record) & 1)


def segment(marker: int, data: bytes) -> bytes:
    """A JPEG segment."""
    return bytes((0xFF, marker)) + (len(data) + 2).to_bytes(2, "big") + data


def _saved(kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), (120, 130, 140)).save(stream, kind, **options)
    return stream.getvalue()


def jpeg(xmp: bytes = b"", record: bytes = b"", *segments: bytes) -> bytes:
    """A JPEG file with an XMP packet, an IPTC record and other segments, in this order."""
    plain = _saved("JPEG")
    added = [segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp)] if xmp else []
    if record:
        added.append(segment(0xED, b"Photoshop 3.0\0" + photoshop(record)))
    return plain[:2] + b"".join((*added, *segments)) + plain[2:]


def png(xmp: bytes, compressed: bool = False) -> bytes:
    """A PNG file with an XMP packet."""
    info = PngImagePlugin.PngInfo()
    info.add_itxt("XML:com.adobe.xmp", xmp.decode(), zip=compressed)
    return _saved("PNG", pnginfo=info)


def tiff(xmp: bytes, record: bytes = b"") -> bytes:
    """A TIFF file with an XMP packet and an IPTC record."""
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    tags.tagtype[700], tags[700] = 1, xmp
    if record:
        tags.tagtype[33723], tags[33723] = 7, record
    return _saved("TIFF", tiffinfo=tags)


def webp(xmp: bytes) -> bytes:
    """A WebP file with an XMP packet."""
    return _saved("WEBP", xmp=xmp)


def avif(xmp: bytes) -> bytes:
    """An AVIF file with an XMP packet."""
    return _saved("AVIF", xmp=xmp)


def heic(xmp: bytes) -> bytes:
    """The boxes of a HEIC file that lead to its XMP packet; without pixels, which Pillow cannot write."""

    def box(kind: bytes, content: bytes) -> bytes:
        return (len(content) + 8).to_bytes(4, "big") + kind + content

    ftyp = box(b"ftyp", b"heic\0\0\0\0mif1heic")
    infe = box(b"infe", b"\2\0\0\0\0\7\0\0mime\0application/rdf+xml\0")
    iinf = box(b"iinf", b"\0\0\0\0\0\1" + infe)

    def meta(offset: int) -> bytes:
        extent = offset.to_bytes(4, "big") + len(xmp).to_bytes(4, "big")
        iloc = box(b"iloc", b"\0\0\0\0\x44\0\0\1" + b"\0\7\0\0\0\1" + extent)
        return box(b"meta", b"\0\0\0\0" + iinf + iloc)

    return ftyp + meta(len(ftyp) + len(meta(0)) + 8) + box(b"mdat", xmp)


MAKERS: dict[str, Callable[[bytes], bytes]] = {
    "jpg": jpeg,
    "png": png,
    "tif": tiff,
    "webp": webp,
    "avif": avif,
    "heic": heic,
}
"""Functions that make a file with an XMP packet, by suffix."""
