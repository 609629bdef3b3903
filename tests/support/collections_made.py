"""Small collections with labels that a model can learn."""

from __future__ import annotations

from pathlib import Path

from tests.support.photos import jpeg, packet
from vse_ens.streams import Streams

SCENES = {
    "beach": ("sea", "sand", "sun", "person:ann"),
    "city": ("street", "car", "night", "person:bob"),
    "forest": ("tree", "moss", "bird", "person:cem"),
}


def tagged_images(count: int) -> dict[str, tuple[str, ...]]:
    """Labels by image: a place such as ``place|beach`` and three of its four words."""
    images = {}
    for number in range(count):
        draw = Streams(0).child("collection", number).uniforms(2)
        place = list(SCENES)[int(draw[0] * 3)]
        words = [word for at, word in enumerate(SCENES[place]) if at != int(draw[1] * 4)]
        images[f"{number % 4}/{number:04}.jpg"] = (f"place|{place}", *words)
    return images


def photo_folder(root: Path, count: int = 120) -> Path:
    """A folder of JPEG files with keywords."""
    for name, labels in tagged_images(count).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        flat = [label.rsplit("|", 1)[-1] for label in labels]
        path.write_bytes(jpeg(packet(flat, [label for label in labels if "|" in label])))
    return root


def tags_folder(root: Path, count: int = 120) -> Path:
    """A folder of images with files of tags."""
    for name, labels in tagged_images(count).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        path.with_suffix(".txt").write_text(", ".join(labels) + "\n")
    return root
