"""stub"""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image

ILLUSTRATION_VERSION = 1


def illustrate(image: str, labels: Sequence[str], size: int) -> Image.Image:
    return Image.new("RGB", (size, size * 3 // 4), "teal")
