"""Thumbnails of image files by Pillow. Files are not trusted: large, damaged and unknown ones are refused."""

from __future__ import annotations

import io
import os
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from vse_ens.errors import optional_library
from vse_ens.service.errors import ApiError

if TYPE_CHECKING:
    from PIL import Image

# None of these starts another program, as EPS does.
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "JPEG2000", "PPM", "TGA", "ICO")
_MAX_BYTES = 250_000_000
_MAX_PIXELS = 60_000_000
# A JPEG is decoded at a smaller size.
_MAX_JPEG_PIXELS = 150_000_000
# Pixels times scans of a JPEG: about three seconds.
_MAX_SCANNED_PIXELS = 4_000_000_000
_MAX_PROFILE_BYTES = 4_000
# Scans of a JPEG. Each is a pass over all pixels and may be a few bytes long, so that a small file can take minutes.
# Programs write about ten. libtiff has the same limit.
MAX_SCANS = 100
# Large metadata are divided into segments of 64 kB.
MAX_SEGMENTS = 10_000
_START, _END, _SCAN, _TEMPORARY = b"\xff\xd8", 0xD9, 0xDA, 0x01
# In the data of a scan, FF 00 is a byte FF, and FF D0 to FF D7 are restarts, which belong to the scan.
_MARKER = re.compile(rb"\xff([^\x00\xd0-\xd7\xff])")
_STRIP = 8  # rows of the smaller picture
_decoders = threading.Condition()
_pixels = 0
_BLOCK = 1 << 20  # bytes of a scan read at a time


def check_pillow() -> None:
    """Raise an error that says how to install Pillow if it is missing."""
    optional_library("PIL", "pictures need the library Pillow", "service")


def media_type() -> str:
    """Return the media type of thumbnails: WebP, or JPEG where Pillow was built without it."""
    return "image/webp" if "WEBP" in _formats() and "WEBP" in _pillow().SAVE else "image/jpeg"


def make_thumbnail(file: BinaryIO, size: int) -> bytes:
    """Return the picture of a file, upright, within a square of ``size`` pixels, without its metadata."""
    if os.fstat(file.fileno()).st_size > _MAX_BYTES:
        raise ApiError(415, f"the picture is larger than {_MAX_BYTES // 1_000_000} MB")
    pillow = _pillow()
    try:
        scans = count_scans(file)
        with pillow.open(file, formats=_formats()) as image:
            _check_size(image, scans)
            with _decoding(image.width * image.height):
                small = _small(image, size)
            return encode(small)
    except ApiError:
        raise
    except pillow.UnidentifiedImageError:
        raise ApiError(415, "the file is not an image of a known kind") from None
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning):
        raise ApiError(415, "the picture has too many pixels to be shown") from None
    except Exception as error:  # noqa: BLE001  # a damaged file may raise anything in Pillow
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ApiError(415, f"the picture is damaged or incomplete: {reason}") from None


def encode(image: Image.Image) -> bytes:
    """Return a picture as WebP or JPEG."""
    out = io.BytesIO()
    profile = image.info.get("icc_profile") or b""
    options = {"icc_profile": profile} if 0 < len(profile) <= _MAX_PROFILE_BYTES and image.mode == "RGB" else {}
    image.info = {}
    if media_type() == "image/webp":
        image.save(out, "WEBP", quality=82, method=2, **options)
    else:
        image.save(out, "JPEG", quality=85, **options)
    return out.getvalue()


def count_scans(file: BinaryIO) -> int:
    """Return the number of scans; 0 if the file is not a JPEG. Refuse one with too many scans or segments."""
    file.seek(0)
    if file.read(2) != _START:
        return 0
    scans = 0
    for _ in range(MAX_SEGMENTS):
        marker = _next_marker(file)
        if marker is None or marker == _END:
            return scans
        if marker == _TEMPORARY:  # has no length
            continue
        if marker == _SCAN:
            scans += 1
            if scans > MAX_SCANS:
                raise ApiError(415, f"the picture has more than {MAX_SCANS} scans")
        length = int.from_bytes(file.read(2), "big")
        file.seek(max(length - 2, 0), 1)
    raise ApiError(415, f"the picture has more than {MAX_SEGMENTS:,} segments")


def _next_marker(file: BinaryIO) -> int | None:
    """Return the next marker, and leave the file behind it; None at the end of the file."""
    size = 2  # a segment is mostly followed by the next one, the data of a scan are long
    while True:
        start = file.tell()
        block = file.read(size)
        found = _MARKER.search(block)
        if found:
            file.seek(start + found.end())
            return found[1][0]
        if len(block) < size:
            return None
        file.seek(-1, 1)  # the last byte may be the first of a marker
        size = _BLOCK


def _check_size(image: Image.Image, scans: int) -> None:
    limit = _MAX_JPEG_PIXELS if image.format in ("JPEG", "MPO") else _MAX_PIXELS
    if image.width * image.height > limit:
        raise ApiError(415, f"the picture has more than {limit // 1_000_000} million pixels")
    if image.width * image.height * scans > _MAX_SCANNED_PIXELS:
        raise ApiError(415, f"the picture has {scans} scans, which are too many for its size")


@contextmanager
def _decoding(pixels: int) -> Iterator[None]:
    """Wait until the pictures that are being decoded have few pixels together: each takes up to 10 bytes."""
    global _pixels  # of the process, as its memory is
    with _decoders:
        _decoders.wait_for(lambda: not _pixels or _pixels + pixels <= _MAX_PIXELS)
        _pixels += pixels
    try:
        yield
    finally:
        with _decoders:
            _pixels -= pixels
            _decoders.notify_all()


def _small(image: Image.Image, size: int) -> Image.Image:
    from PIL import Image, ImageOps

    image.draft("RGB", (2 * size, 2 * size))  # has an effect on JPEG only
    # As `thumbnail` reduces with a gap of 2; a strip at a time, since every step below copies the pixels.
    factor = max(image.width, image.height) // (2 * size)
    if image.mode in ("RGB", "L"):
        plain = image
    elif factor < 2:
        plain = _plain(image)
    else:
        plain = Image.new("RGB", (-(-image.width // factor), -(-image.height // factor)))
        for row in range(0, image.height, _STRIP * factor):
            below = min(row + _STRIP * factor, image.height)
            strip = _plain(image.crop((0, row, image.width, below)))
            plain.paste(strip.reduce(factor).convert("RGB"), (0, row // factor))
    plain.thumbnail((size, size), Image.Resampling.LANCZOS, reducing_gap=2.0)
    if plain is not image:
        plain.info |= {key: image.info[key] for key in ("exif", "icc_profile") if key in image.info}
    upright = ImageOps.exif_transpose(plain)
    return upright if upright.mode == "RGB" else upright.convert("RGB")


def _plain(image: Image.Image) -> Image.Image:
    from PIL import Image

    if image.mode.startswith("I"):  # 16 bits
        return Image.fromarray(np.clip(np.asarray(image) >> 8, 0, 255).astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
    return image.convert("RGB")


@cache
def _pillow() -> ModuleType:
    from PIL import Image

    # `_check_size` decides.
    warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
    return Image


@cache
def _formats() -> tuple[str, ...]:
    pillow = _pillow()
    pillow.init()
    return tuple(name for name in _FORMATS if name in pillow.OPEN)
