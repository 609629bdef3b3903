"""What a network expects of a picture: size, crop, and the scale of its numbers."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import ConfigError, optional_library

Size = tuple[int, int]

CONFIG = "preprocessor_config.json"
_IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# None of these starts another program, as EPS does.
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "JPEG2000", "PPM", "TGA", "ICO")
_MAX_PIXELS = 150_000_000
_BICUBIC = 3


class Preprocessing(NamedTuple):
    """How a picture becomes the input of a network, in this order."""

    resize: int | Size | None
    """The length of the shorter side, or height and width."""
    crop: Size | None
    """Height and width of the part in the middle."""
    resample: int
    """The filter, by its number in Pillow."""
    scale: float
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def read(cls, path: Path) -> Preprocessing:
        """Read a ``preprocessor_config.json`` of the Hub, as CLIP, SigLIP, DINOv2, ViT and others have it."""
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
            return cls._of(config)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ConfigError(f"{path} does not describe how pictures are prepared ({error_line(error)})") from None

    @classmethod
    def _of(cls, config: Mapping[str, Any]) -> Preprocessing:
        size, crop = config.get("size", 224), config.get("crop_size")
        resize = _size(size) if config.get("do_resize", True) else None
        share = config.get("crop_pct")  # of ConvNeXt: the picture is made larger, and cropped to its size
        if share and isinstance(resize, int) and resize < 384:
            resize, crop = int(resize / share), resize
        cropped = _size(224 if crop is None else crop) if config.get("do_center_crop", crop is not None) else None
        if cropped is None and isinstance(resize, int):
            if isinstance(size, Mapping):
                cropped = resize
            else:
                resize = (resize, resize)
        normalizes = config.get("do_normalize", True)
        found = cls(
            resize,
            (cropped, cropped) if isinstance(cropped, int) else cropped,
            int(config.get("resample", _BICUBIC)),
            float(config.get("rescale_factor", 1 / 255)) if config.get("do_rescale", True) else 1.0,
            tuple(map(float, config["image_mean"])) if normalizes else (0.0,) * 3,
            tuple(map(float, config["image_std"])) if normalizes else (1.0,) * 3,
        )
        if found.resize is None and found.crop is None:
            raise ValueError("it has neither a size nor a crop")
        if len(found.mean) != 3 or len(found.std) != 3 or 0.0 in found.std or found.resample not in range(6):
            raise ValueError("image_mean and image_std have three numbers, and resample is 0 to 5")
        return found

    @classmethod
    def usual(cls, size: Size | None) -> Preprocessing:
        """Return that of most networks trained on ImageNet, for a network without a configuration."""
        crop = size or (224, 224)
        return cls(round(max(crop) / 0.875), crop, _BICUBIC, 1 / 255, *_IMAGENET)

    def __str__(self) -> str:
        resize = f"{self.resize[0]}x{self.resize[1]}" if isinstance(self.resize, tuple) else f"side {self.resize}"
        crop = f", crop {self.crop[0]}x{self.crop[1]}" if self.crop else ""
        return f"{resize}{crop}, mean {', '.join(f'{one:g}' for one in self.mean)}"

    def decode(self, content: bytes) -> NDArray[np.uint8]:
        """Return the picture of a file as height x width x 3, upright, resized and cropped."""
        image = _open(content)
        least = min(self.resize) if isinstance(self.resize, tuple) else self.resize or max(image.size)
        image.draft("RGB", (2 * least, 2 * least))  # a JPEG is decoded at up to an eighth, but at least twice the size
        image = _upright_rgb(image)
        if self.resize is not None:
            image = image.resize(self._target(image.width, image.height), self.resample)
        if self.crop is not None:
            top, left = (image.height - self.crop[0]) // 2, (image.width - self.crop[1]) // 2
            image = image.crop((left, top, left + self.crop[1], top + self.crop[0]))  # black outside
        return np.asarray(image)

    def batch(self, pictures: list[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Return decoded pictures as pictures x 3 x height x width, normalized."""
        factor = (self.scale / np.array(self.std, np.float32)).astype(np.float32)
        offset = (np.array(self.mean, np.float32) / np.array(self.std, np.float32)).astype(np.float32)
        found = np.empty((len(pictures), 3, *pictures[0].shape[:2]), np.float32)
        for place, picture in zip(found, pictures, strict=True):
            np.multiply(picture.transpose(2, 0, 1), factor[:, None, None], out=place)
        found -= offset[:, None, None]
        return found

    def _target(self, width: int, height: int) -> tuple[int, int]:
        if isinstance(self.resize, tuple):
            return self.resize[1], self.resize[0]
        short = self.resize or 0
        longer = int(short * max(width, height) / min(width, height))
        return (short, longer) if width <= height else (longer, short)


def _size(value: Any) -> int | Size:
    """Return a length, or height and width, in one of the forms of the Hub."""
    if isinstance(value, Mapping):
        if "shortest_edge" in value and "longest_edge" not in value:
            return int(value["shortest_edge"])
        return int(value["height"]), int(value["width"])
    return int(value)


def _open(content: bytes) -> Any:
    Image = optional_library("PIL.Image", "pictures need the library Pillow", "pixels")  # noqa: N806  # its usual name
    Image.init()
    formats = [name for name in _FORMATS if name in Image.OPEN]  # Pillow may be built without some
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the limit below decides
        image = Image.open(io.BytesIO(content), formats=formats)
    if image.width * image.height > _MAX_PIXELS:
        raise OSError(f"more than {_MAX_PIXELS // 1_000_000} million pixels")
    return image


def _upright_rgb(image: Any) -> Any:
    from PIL import Image, ImageOps

    upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith("I"):  # 16 bits
        upright = Image.fromarray(np.clip(np.asarray(upright) >> 8, 0, 255).astype(np.uint8))
    if "A" in upright.mode or "transparency" in upright.info:
        upright = upright.convert("RGBA")
        upright = Image.alpha_composite(Image.new("RGBA", upright.size, "white"), upright)
    return upright if upright.mode == "RGB" else upright.convert("RGB")


def error_line(error: Exception) -> str:
    """Return the class and the message of an error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
