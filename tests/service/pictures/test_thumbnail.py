from __future__ import annotations

import io
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.service.pictures.conftest import decoded
from vse_ens.service.errors import ApiError
from vse_ens.service.pictures import thumbnail as thumbnail_module
from vse_ens.service.pictures.thumbnail import count_scans, make_thumbnail


def made(path: Path, size: int = 160) -> Image.Image:
    with path.open("rb") as file:
        return decoded(make_thumbnail(file, size))


def refusal(path: Path) -> tuple[int, str]:
    with path.open("rb") as file, pytest.raises(ApiError) as refused:
        make_thumbnail(file, 160)
    return refused.value.status, refused.value.message


def test_a_picture_keeps_its_proportions_and_is_never_enlarged(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    Image.new("RGB", (900, 300), "red").save(path)
    assert made(path, 320).size == (320, 107)
    Image.new("RGB", (40, 30), "red").save(path)
    assert made(path, 320).size == (40, 30)


def test_a_photo_is_turned_upright_and_its_metadata_stay_behind(tmp_path: Path) -> None:
    pixels = np.zeros((40, 80, 3), np.uint8)
    pixels[:, :40] = (255, 0, 0)  # the left half is red
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees clockwise
    exif[0x010F] = "a camera with a name"
    for mode, name in (("RGB", "a.jpg"), ("RGB", "b.png"), ("P", "c.png")):
        Image.fromarray(pixels).convert(mode).save(tmp_path / name, exif=exif)
        image = made(tmp_path / name)
        assert image.size == (40, 80)
        red, _, _ = image.convert("RGB").getpixel((20, 10))  # type: ignore[misc]
        assert red > 200
        assert not image.getexif()


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "LA", "CMYK", "1", "I;16", "F"])
def test_every_kind_of_pixel_is_shown(tmp_path: Path, mode: str) -> None:
    suffix = "tif" if mode in ("CMYK", "F", "I;16") else "png"
    grey = 255 if mode == "1" else 200
    image = Image.new("L", (30, 20), grey).convert("L" if mode == "I;16" else mode)
    if mode == "I;16":
        image = Image.fromarray(np.full((20, 30), grey << 8, np.uint16))
    image.save(tmp_path / f"a.{suffix}")
    shown = made(tmp_path / f"a.{suffix}").convert("L").getpixel((10, 10))
    assert abs(shown - grey) < 8  # type: ignore[operator]


def test_transparent_pixels_become_white(tmp_path: Path) -> None:
    Image.new("RGBA", (20, 20), (0, 0, 0, 0)).save(tmp_path / "a.png")
    assert made(tmp_path / "a.png").convert("L").getpixel((5, 5)) == 255


def test_a_file_that_is_not_an_image_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    for content in (
        b"",
        b"GIF89a",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"%!PS-Adobe-3.0 EPSF-3.0\n",
        b"root:x:0:0",
    ):
        path.write_bytes(content)
        status, message = refusal(path)
        assert status == 415
        assert "\n" not in message


def test_postscript_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n%%EOF\n")
    assert refusal(path) == (415, "the file is not an image of a known kind")


def test_a_truncated_picture_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    noise = np.random.Generator(np.random.PCG64(0)).integers(0, 255, (200, 200, 3), np.uint8)
    Image.fromarray(noise).save(path)
    path.write_bytes(path.read_bytes()[:5_000])
    status, message = refusal(path)
    assert status == 415
    assert message.startswith("the picture is damaged or incomplete")


def png_of(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims to be large."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("size", [(8_000, 8_000), (12_000, 10_000), (100_000, 100_000)])
def test_too_many_pixels_are_refused_before_decoding(tmp_path: Path, size: tuple[int, int]) -> None:
    path = tmp_path / "bomb.png"
    path.write_bytes(png_of(*size))
    status, message = refusal(path)
    assert status == 415
    assert "pixels" in message


def with_scans(raw: bytes, scans: int) -> bytes:
    """A progressive JPEG with its last scan repeated."""
    last = raw[raw.rindex(b"\xff\xda") : -2]
    return raw[:-2] + last * scans + b"\xff\xd9"


def jpeg(*, size: tuple[int, int] = (64, 64), progressive: bool = True, exif: bytes = b"") -> bytes:
    out = io.BytesIO()
    noise = np.random.Generator(np.random.PCG64(0)).integers(0, 255, (*size[::-1], 3), np.uint8)
    Image.fromarray(noise).save(out, "JPEG", progressive=progressive, quality=95, exif=exif)
    return out.getvalue()


def test_too_many_scans_are_refused_before_decoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, raw = tmp_path / "a.jpg", jpeg()
    path.write_bytes(with_scans(raw, 80))
    assert made(path).size == (64, 64)
    path.write_bytes(with_scans(raw, 91))  # Pillow writes ten
    assert refusal(path) == (415, "the picture has more than 100 scans")
    monkeypatch.setattr(thumbnail_module, "_MAX_SCANNED_PIXELS", 64 * 64 * 20)
    path.write_bytes(with_scans(raw, 10))
    assert made(path).size == (64, 64)
    path.write_bytes(with_scans(raw, 11))
    assert refusal(path) == (415, "the picture has 21 scans, which are too many for its size")


@pytest.mark.parametrize("block", [2, 3, 50, 1 << 20])
def test_scans_are_counted_as_a_decoder_reads_them(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thumbnail_module, "_BLOCK", block)
    plain = jpeg(progressive=False)
    restarts = plain.replace(b"\xff\xda", b"\xff\xdd\x00\x04\x00\x01\xff\xda", 1)
    assert count_scans(io.BytesIO(plain)) == 1
    assert count_scans(io.BytesIO(restarts[:-2] + b"\xff\xd0\xff\x00\xff\xd9")) == 1
    assert count_scans(io.BytesIO(jpeg())) == 10
    # A picture in the metadata, or after the end, is not decoded.
    assert count_scans(io.BytesIO(jpeg(exif=b"Exif\0\0" + b"\xff\xda" * 200))) == 10
    assert count_scans(io.BytesIO(jpeg() + jpeg())) == 10
    # Between segments, a decoder skips what is not a marker.
    assert count_scans(io.BytesIO(plain[:2] + b"junk\xff\xff\xff\x01" + plain[2:])) == 1
    assert count_scans(io.BytesIO(plain[:-200])) == 1
    assert count_scans(io.BytesIO(b"\xff\xd8")) == 0
    assert count_scans(io.BytesIO(b"GIF89a\xff\xda")) == 0


def test_a_picture_of_too_many_segments_is_refused(tmp_path: Path) -> None:
    path, raw = tmp_path / "a.jpg", jpeg()
    path.write_bytes(raw[:2] + b"\xff\xe0\x00\x02" * 10_000 + raw[2:])
    assert refusal(path) == (415, "the picture has more than 10,000 segments")


def test_a_file_of_too_many_bytes_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jpg"
    Image.new("RGB", (20, 20)).save(path)
    monkeypatch.setattr(thumbnail_module, "_MAX_BYTES", 100)
    assert refusal(path)[0] == 415


def test_without_webp_it_is_a_jpeg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    Image.new("RGB", (20, 20), "red").save(path)
    assert made(path).format == "WEBP"
    monkeypatch.setattr(thumbnail_module, "_formats", lambda: ("PNG",))
    assert made(path).format == "JPEG"


_MEASURE = """
import resource, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from vse_ens.service.pictures.thumbnail import make_thumbnail
def make(_):
    with Path(sys.argv[1]).open("rb") as file:
        return make_thumbnail(file, 320)
make_thumbnail(Path(sys.argv[2]).open("rb"), 320)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with ThreadPoolExecutor(3) as executor:
    list(executor.map(make, range(3)))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


@pytest.mark.unhurried
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux counts it")
@pytest.mark.parametrize(("kind", "most"), [("I;16", 300), ("RGBA", 400)])
def test_large_pictures_are_reduced_in_strips_and_wait_for_each_other(tmp_path: Path, kind: str, most: int) -> None:
    """59 million pixels of 16 bits took 1.4 GB, and several at once the sum."""
    if kind == "I;16":
        Image.fromarray(np.zeros((7_700, 7_700), np.uint16)).save(tmp_path / "large.png", compress_level=1)
    else:
        Image.new("RGBA", (7_700, 7_700), (9, 9, 9, 99)).save(tmp_path / "large.png", compress_level=1)
    Image.new("L", (64, 64)).save(tmp_path / "small.png")
    command = [sys.executable, "-c", _MEASURE, str(tmp_path / "large.png"), str(tmp_path / "small.png")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < most


@pytest.mark.parametrize("mode", ["RGBA", "P", "I;16", "LA"])
def test_a_picture_reduced_in_strips_looks_the_same(tmp_path: Path, mode: str) -> None:
    ramp = np.add.outer(np.arange(1_501), np.arange(2_003)) // 14
    if mode == "I;16":
        image = Image.fromarray((ramp << 8).astype(np.uint16))
    else:
        image = Image.fromarray(ramp.astype(np.uint8)).convert(mode)
    image.save(tmp_path / "a.png")
    Image.fromarray(ramp.astype(np.uint8)).save(tmp_path / "b.png")
    one, other = (np.asarray(made(tmp_path / name).convert("L")).astype(int) for name in ("a.png", "b.png"))
    assert one.shape == other.shape == (120, 160)
    assert np.abs(one - other).max() < 8
