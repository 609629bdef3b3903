from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from tests.support.mutations import mutated
from tests.support.photos import MAKERS, iptc, jpeg, packet, photoshop, png, segment, tiff
from vse_ens.data.collections.containers import MAX_BYTES, Metadata, read_metadata
from vse_ens.data.collections.keywords import from_metadata

PACKET = packet(["beach", "Zürich"], ["place|beach"])


def metadata(tmp_path: Path, content: bytes) -> Metadata:
    path = tmp_path / "image"
    path.write_bytes(content)
    return read_metadata(str(path))


@pytest.mark.parametrize("kind", MAKERS)
def test_xmp_is_found_in_every_container(tmp_path: Path, kind: str) -> None:
    found = metadata(tmp_path, MAKERS[kind](PACKET))
    assert [one.strip(b"\0") for one in found.xmp] == [PACKET]
    assert found.fault is None


def test_xmp_in_a_compressed_png_chunk_is_found(tmp_path: Path) -> None:
    assert metadata(tmp_path, png(PACKET, compressed=True)).xmp == [PACKET]


def test_iptc_is_found_in_jpeg_and_tiff(tmp_path: Path) -> None:
    record = iptc([b"sea", b"sand"])
    assert metadata(tmp_path, jpeg(b"", record)).iptc == [record]
    assert metadata(tmp_path, tiff(PACKET, record)).iptc == [record]


def test_iptc_that_spans_two_segments_is_joined(tmp_path: Path) -> None:
    record = iptc([b"sea", b"sand"])
    resources = photoshop(record)
    parts = [segment(0xED, b"Photoshop 3.0\0" + part) for part in (resources[:20], resources[20:])]
    assert metadata(tmp_path, jpeg(b"", b"", *parts)).iptc == [record]


def test_extended_xmp_is_joined_by_offset(tmp_path: Path) -> None:
    more = packet(["far away"])
    digest, length = b"0" * 32, len(more).to_bytes(4, "big")
    parts = [
        segment(0xE1, b"http://ns.adobe.com/xmp/extension/\0" + digest + length + at.to_bytes(4, "big") + more[at:end])
        for at, end in ((100, len(more)), (0, 100))
    ]
    found = metadata(tmp_path, jpeg(PACKET, b"", *parts))
    assert found.xmp == [PACKET, more]
    assert from_metadata(found).flat == ["beach", "Zürich", "far away"]


def test_keywords_of_windows_are_read_from_exif(tmp_path: Path) -> None:
    text = "sea;sand\0".encode("utf-16-le")
    tag = (0x9C9E).to_bytes(2, "little") + b"\1\0" + len(text).to_bytes(4, "little") + (26).to_bytes(4, "little")
    exif = b"II*\0\x08\0\0\0\1\0" + tag + b"\0\0\0\0" + text
    found = metadata(tmp_path, jpeg(b"", b"", segment(0xE1, b"Exif\0\0" + exif)))
    assert from_metadata(found).flat == ["sea", "sand"]


def test_keywords_before_the_end_of_a_truncated_jpeg_are_kept(tmp_path: Path) -> None:
    content = jpeg(PACKET)
    cut = content.index(b"\xff\xdb") + 2
    found = metadata(tmp_path, content[:cut])
    assert found.xmp == [PACKET]
    assert found.fault == "ends early"


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xd8" + b"\xff" * 1_000_000,
        b"\x89PNG\r\n\x1a\n" + b"\0\0\0\0junkcrc!" * 200_000,
        b"II*\0\x08\0\0\0\0\0\x08\0\0\0",  # the next page of a page is itself
        b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + b"\0\0\0\x08free" * 200_000,
        b"RIFF\0\0\0\0WEBP" + b"junk\0\0\0\0" * 200_000,
    ],
    ids=["fill bytes", "PNG chunks", "TIFF pages", "boxes", "WebP chunks"],
)
def test_endless_structures_end(tmp_path: Path, content: bytes) -> None:
    assert metadata(tmp_path, content).xmp == []


def test_a_compressed_bomb_is_not_inflated(tmp_path: Path) -> None:
    text = zlib.compress(b" " * (MAX_BYTES + 1))
    data = b"XML:com.adobe.xmp\0\1\0\0\0" + text
    chunk = len(data).to_bytes(4, "big") + b"iTXt" + data + b"\0\0\0\0"
    found = metadata(tmp_path, b"\x89PNG\r\n\x1a\n" + chunk)
    assert (found.xmp, found.fault) == ([], "has metadata of more than 32 MiB")


def test_a_size_larger_than_the_file_is_not_allocated(tmp_path: Path) -> None:
    found = metadata(tmp_path, b"\x89PNG\r\n\x1a\n" + b"\x7f\xff\xff\xffiTXt")
    assert found.fault == "has metadata of more than 32 MiB"


@pytest.mark.parametrize("kind", MAKERS)
def test_200_damaged_files_of_each_kind_raise_nothing(tmp_path: Path, kind: str) -> None:
    content = MAKERS[kind](PACKET)
    for damaged in mutated(content, 200, kind):
        from_metadata(metadata(tmp_path, damaged))
