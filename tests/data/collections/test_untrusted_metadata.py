"""Metadata of untrusted files: nothing unpacks, repeats or nests without end, and no encoding breaks the reader."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import pytest

from tests.support.photos import RDF, jpeg, packet, segment
from vse_ens.data.collections import containers, xmp
from vse_ens.data.collections.containers import DamagedFileError, Metadata, read_metadata
from vse_ens.data.collections.keywords import _is_cut, from_metadata, from_xmp
from vse_ens.data.collections.xmp import SUBJECT, change_keywords, read_keywords


def read(path: Path, content: bytes) -> Metadata:
    path.write_bytes(content)
    return read_metadata(str(path))


@pytest.mark.parametrize("encoding", ["rot13", "zlib", "utf-7", "idna", "punycode", "utf-32", "x" * 10_000])
def test_an_encoding_that_xml_cannot_have_is_a_fault(encoding: str) -> None:
    document = packet(["sea"]).replace(
        b"<?xpacket", f'<?xml version="1.0" encoding="{encoding}"?><?xpacket'.encode(), 1
    )
    fault = from_xmp(document).fault
    assert fault is not None
    assert fault.startswith("has XMP that is not well-formed XML")
    assert len(fault) < 200


@pytest.mark.parametrize("name", ["a", "rdf:li", "rdf:Bag"])
def test_elements_in_each_other_have_a_limit(name: str) -> None:
    start = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:dc="{SUBJECT.namespace}"><dc:subject>'
    for depth in (900, 1_100):
        document = f"{start}{f'<{name}>' * depth}{f'</{name}>' * depth}</dc:subject></rdf:RDF>".encode()
        fault = from_xmp(document).fault
        assert (fault == "has XMP with more than 1,000 elements in each other") == (depth > 1_000)


@pytest.mark.parametrize("inside", [" ", ' a="x"', "\n"])
def test_a_tag_has_a_limit(inside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xmp, "_MAX_TAG", 2_048)
    document = packet(["sea"]).replace(b"<rdf:Bag", b"<rdf:Bag" + inside.encode() * (20_000 // len(inside)), 1)
    assert from_xmp(document).fault == "has XMP with a tag of more than 2 KiB"
    with pytest.raises(DamagedFileError, match="a tag of more than 2 KiB"):
        change_keywords(document, {SUBJECT: ["sand"]}, {})


@pytest.mark.parametrize("piece", [180, 256, 1_000])
def test_a_packet_is_read_and_changed_the_same_in_pieces(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    keywords = [f"Zürich {number}" for number in range(80)]
    document = packet(keywords, ["a|b"], ["a/b"]).replace(b"<dc:subject>", b"<dc:subject >" + b" " * 5_000)
    whole, parts = (dict[xmp.Property, list[str]]() for _ in range(2))
    change = {SUBJECT: ["sand"]}, {SUBJECT: keywords[::3]}
    read_keywords(document, whole)
    after = change_keywords(document, *change)
    monkeypatch.setattr(xmp, "_MAX_TAG", piece)
    read_keywords(document, parts)
    assert parts == whole
    assert len(whole[SUBJECT]) == 80
    assert change_keywords(document, *change) == after


def chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + bytes(4)


def test_chunks_of_a_png_unpack_to_a_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "MAX_BYTES", 1 << 20)
    packed = b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(bytes(400 << 10))
    for count in (2, 3, 100):
        content = b"\x89PNG\r\n\x1a\n" + chunk(b"iTXt", packed) * count + chunk(b"IEND", b"")
        found = read(tmp_path / "a.png", content)
        assert len(found.xmp) == 2
        assert (found.fault == "has metadata of more than 1 MiB") == (count > 2)


@pytest.mark.parametrize("tag", [700, 33723, 34377, 0x9C9E])
def test_tags_of_a_tiff_repeat_a_place_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: int) -> None:
    monkeypatch.setattr(containers, "MAX_BYTES", 1 << 20)
    entry = tag.to_bytes(2, "little") + b"\1\0" + (100_000).to_bytes(4, "little")
    for tags in (5, 1_000):
        place = (10 + 12 * tags + 4).to_bytes(4, "little")
        content = b"II*\0\x08\0\0\0" + tags.to_bytes(2, "little") + (entry + place) * tags + bytes(4) + bytes(100_000)
        found = read(tmp_path / "a.tif", content)
        assert sum(map(len, found.xmp + found.iptc + found.xp_keywords)) <= 1 << 20
        assert (found.fault == "has metadata of more than 1 MiB") == (tags > 5)


@pytest.mark.parametrize("packets", [1, 50])
def test_parts_of_extended_packets_have_a_limit_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packets: int
) -> None:
    monkeypatch.setattr(containers, "MAX_BYTES", 100_000)
    head = b"http://ns.adobe.com/xmp/extension/\0"
    parts = [segment(0xE1, head + b"%032d" % (number % packets) + bytes(8) + bytes(10_000)) for number in range(50)]
    found = read(tmp_path / "a.jpg", jpeg(packet(["sea"]), b"", *parts))
    assert found.fault == "has metadata of more than 0 MiB"
    assert sum(map(len, found.xmp)) <= 100_000
    assert from_metadata(found).flat == ["sea"]


def test_a_keyword_that_was_cut_is_found_as_by_comparing_all() -> None:
    chance = random.Random(0)
    whole = sorted(
        "x" * chance.randrange(55, 70) + "".join(chance.choices("ab", k=chance.randrange(4))) for _ in range(99)
    )
    found = 0
    for _ in range(2_000):
        keyword = chance.choice(whole)[: chance.randrange(50, 75)] + chance.choice(("", "", "a"))
        expected = len(keyword) > 60 and any(one != keyword and one.startswith(keyword) for one in whole)
        assert _is_cut(keyword, whole) == expected
        found += expected
    assert 100 < found < 1_900
