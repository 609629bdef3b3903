"""A folder of pictures, and a model whose images are in it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from tests.support.build_once import build_once
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations

IMAGES = (
    "red.jpg",
    "sub/blue.png",
    "stem",
    "away.jpg",
    "../outside.jpg",
    "link.jpg",
    "text.jpg",
    "pipe.jpg",
    "bomb.png",
)
LABELS = ("sea", "sand", "beach")


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that knows the images only by their ids."""

    def train(path: Path) -> None:
        pairs = [(image, label) for image in IMAGES for label in LABELS]
        Annotator(epochs=1, dimensions=8, validate=False).fit(Annotations.from_pairs(pairs)).save(path)

    return build_once(tmp_path_factory, "service/pictures", train)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three good pictures, and one outside."""
    root = tmp_path / "photos"
    (root / "sub").mkdir(parents=True)
    save(root / "red.jpg", "red", (400, 200))
    save(root / "sub" / "blue.png", "blue", (30, 50))
    save(root / "stem.jpg", "green", (20, 20))
    save(tmp_path / "outside.jpg", "white", (20, 20))
    return root


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of thumbnails, empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "vse-ens" / "pictures"


def save(path: Path, color: str, size: tuple[int, int], **options: object) -> None:
    Image.new("RGB", size, color).save(path, **options)


def decoded(content: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(content))
    image.load()
    return image
