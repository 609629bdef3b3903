"""Pictures are prepared as the configurations of the Hub say."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from vse_ens.errors import ConfigError
from vse_ens.pixels.preprocessing import Preprocessing

# The processors of the families as published, without the fields that say nothing about pixels.
CLIP = {
    "crop_size": {"height": 224, "width": 224},
    "do_center_crop": True,
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "resample": 3,
    "rescale_factor": 0.00392156862745098,
    "size": {"shortest_edge": 224},
}
SIGLIP = {
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "resample": 3,
    "rescale_factor": 0.00392156862745098,
    "size": {"height": 256, "width": 192},
}
DINOV2 = {
    **CLIP,
    "size": {"shortest_edge": 256},
    "image_mean": [0.485, 0.456, 0.406],
    "image_std": [0.229, 0.224, 0.225],
}
CASES: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "CLIP": (CLIP, 224, (224, 224)),
    "CLIP, old": ({**CLIP, "size": 224, "crop_size": 224}, 224, (224, 224)),
    "SigLIP": (SIGLIP, (256, 192), None),
    "DINOv2": (DINOV2, 256, (224, 224)),
    "ViT, old": ({**SIGLIP, "size": 224}, (224, 224), None),
    "ConvNeXt": ({**SIGLIP, "size": {"shortest_edge": 224}, "crop_pct": 0.875}, 256, (224, 224)),
    "shortest edge alone": ({**SIGLIP, "size": {"shortest_edge": 200}}, 200, (200, 200)),
    "crop alone": ({**CLIP, "do_resize": False}, None, (224, 224)),
}


def read(folder: Path, config: Any) -> Preprocessing:
    path = folder / "preprocessor_config.json"
    path.write_text(config if isinstance(config, str) else json.dumps(config))
    return Preprocessing.read(path)


def picture(pixels: np.ndarray, form: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, form, **options)
    return out.getvalue()


def noise(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)


@pytest.mark.parametrize("case", CASES)
def test_sizes_of_published_processors(tmp_path: Path, case: str) -> None:
    config, resize, crop = CASES[case]
    found = read(tmp_path, config)
    assert (found.resize, found.crop) == (resize, crop)
    wanted = crop or resize
    for height, width in ((300, 500), (500, 300), (20, 30)):
        assert found.decode(picture(noise(height, width))).shape == (*wanted, 3)


def test_pixels_are_resized_cropped_and_normalized_as_by_transformers(tmp_path: Path) -> None:
    found = read(tmp_path, CLIP)
    pixels = noise(333, 500)
    # Of CLIPImageProcessor: the shorter edge first, then the middle, all by Pillow and NumPy.
    resized = Image.fromarray(pixels).resize((int(224 * 500 / 333), 224), Image.Resampling.BICUBIC)
    left = (resized.width - 224) // 2
    middle = np.asarray(resized)[:, left : left + 224].astype(np.float64)
    wanted = (middle * CLIP["rescale_factor"] - CLIP["image_mean"]) / CLIP["image_std"]
    batch = found.batch([found.decode(picture(pixels))])
    assert batch.dtype == np.float32
    np.testing.assert_allclose(batch[0], wanted.transpose(2, 0, 1), atol=2e-6)


@pytest.mark.parametrize(("flag", "neutral"), [("do_rescale", 255.0), ("do_normalize", 1.0)])
def test_steps_can_be_off(tmp_path: Path, flag: str, neutral: float) -> None:
    config = {**SIGLIP, "image_mean": [0.0] * 3, "image_std": [1.0] * 3, flag: False}
    found = read(tmp_path, config)
    white = np.full((4, 4, 3), 255, np.uint8)
    assert found.batch([found.decode(picture(white))]).max() == pytest.approx(neutral)


def test_pictures_are_upright_and_on_white(tmp_path: Path) -> None:
    found = read(tmp_path, {**SIGLIP, "size": {"height": 2, "width": 4}})
    pixels = np.zeros((40, 20, 3), np.uint8)
    pixels[:20] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    decoded = found.decode(picture(pixels, "JPEG", exif=exif, quality=95))
    assert decoded[:, 3].min() > 200
    assert decoded[:, 0].max() < 50
    transparent = np.zeros((8, 8, 4), np.uint8)
    assert found.decode(picture(transparent)).min() == 255
    for mode in ("L", "P", "1", "CMYK"):
        out = io.BytesIO()
        Image.new(mode, (9, 9)).save(out, "TIFF")
        assert found.decode(out.getvalue()).shape == (2, 4, 3)
    deep = io.BytesIO()
    Image.fromarray(np.full((8, 8), 65535, np.uint16)).save(deep, "PNG")
    assert found.decode(deep.getvalue()).min() == 255


def test_a_large_jpeg_is_decoded_small(tmp_path: Path) -> None:
    pixels = np.full((2000, 3000, 3), (200, 100, 50), np.uint8)
    decoded = read(tmp_path, DINOV2).decode(picture(pixels, "JPEG", quality=95))
    assert np.abs(decoded.astype(int) - (200, 100, 50)).max() <= 2


FAULTS = {
    "no JSON": "{",
    "no mean": {"size": 224},
    "two means": {**CLIP, "image_mean": [0.5, 0.5]},
    "a zero": {**CLIP, "image_std": [0.0, 1.0, 1.0]},
    "an unknown filter": {**CLIP, "resample": 9},
    "longest edge": {**CLIP, "size": {"longest_edge": 224}},
    "no size": {**CLIP, "do_resize": False, "do_center_crop": False},
    "no object": [1],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_other_configurations_are_refused(tmp_path: Path, fault: str) -> None:
    with pytest.raises(ConfigError, match=r"preprocessor_config\.json does not describe how pictures are prepared"):
        read(tmp_path, FAULTS[fault])
