"""Write scenes as a folder of tiny images with their labels, to try collections without own files."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from vse_ens.data.collections.xmp import HIERARCHICAL, NEW_SIDECAR, SUBJECT, change_keywords
from vse_ens.data.datasets.scenes.drawing import stream_scenes
from vse_ens.data.datasets.scenes.files import SceneCounts, image_ids
from vse_ens.data.datasets.scenes.world import SCENES
from vse_ens.errors import DataError
from vse_ens.storage.atomic import replace_dir

FolderKind = Literal["photos", "txt-tags", "coco"]

# One grey pixel.
_JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19iZ2hnPk1xeXBk"
    "eFxlZ2P/wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAAP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AP//Z"
)
_XMP_HEADER = b"http://ns.adobe.com/xap/1.0/\0"


def write_scene_folder(
    path: str | Path,
    kind: FolderKind,
    images: int,
    labels: int | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> SceneCounts:
    """Write one JPEG per image, with its labels as keywords (photos), in a .txt file (txt-tags) or as boxes (coco).

    The scene of an image is a label too: ``place|beach`` as a keyword, ``place:beach`` as a tag. Boxes have no scene.
    """
    used: set[str] = set()
    pairs = done = 0
    boxes = _Coco()
    with replace_dir(Path(path), check=_check_empty) as folder:
        for image, scene, words in _images(images, labels, seed):
            own = [] if kind == "coco" else [f"place|{scene}"]
            if kind == "photos":
                (folder / f"{image}.jpg").write_bytes(_photo(scene, words))
            elif kind == "coco":
                (folder / "images").mkdir(exist_ok=True)
                (folder / "images" / f"{image}.jpg").write_bytes(_JPEG)
                boxes.add(f"{image}.jpg", words)
            else:
                (folder / f"{image}.jpg").write_bytes(_JPEG)
                (folder / f"{image}.txt").write_text(", ".join((f"place:{scene}", *words)), encoding="utf-8")
            used.update(words, own)
            pairs += len(words) + len(own)
            done += 1
            if progress:
                progress(done)
        if kind == "coco":
            (folder / "annotations.json").write_text(boxes.text(), encoding="utf-8")
    return SceneCounts(done, len(used), pairs)


class _Coco:
    """A COCO file with one box per label."""

    def __init__(self) -> None:
        self._images: list[dict[str, object]] = []
        self._boxes: list[dict[str, object]] = []
        self._numbers: dict[str, int] = {}

    def add(self, name: str, labels: list[str]) -> None:
        """Add an image with a box of one pixel for each label."""
        number = len(self._images) + 1
        self._images.append({"id": number, "file_name": name, "width": 1, "height": 1})
        for label in labels:
            category = self._numbers.setdefault(label, len(self._numbers) + 1)
            box = {"id": len(self._boxes) + 1, "image_id": number, "category_id": category, "bbox": [0, 0, 1, 1]}
            self._boxes.append({**box, "area": 1, "iscrowd": 0})

    def text(self) -> str:
        """Return the file, with one entry per line."""
        categories = [{"id": number, "name": label} for label, number in self._numbers.items()]
        parts = {"images": self._images, "annotations": self._boxes, "categories": categories}
        lists = (f'"{name}": [\n{_lines(entries)}\n]' for name, entries in parts.items())
        return "{\n" + ",\n".join(lists) + "\n}\n"


def _lines(entries: list[dict[str, object]]) -> str:
    return ",\n".join(json.dumps(entry) for entry in entries)


def _images(images: int, labels: int | None, seed: int) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the name, the scene and the other labels of each image."""
    for chunk in stream_scenes(images, labels, seed):
        names = image_ids(chunk.first, len(chunk.scene))
        starts = np.searchsorted(chunk.image, np.arange(len(names) + 1) + chunk.first)
        for number, name in enumerate(names):
            scene = SCENES[int(chunk.scene[number, 0])].name
            found = [chunk.words[at] for at in chunk.label[starts[number] : starts[number + 1]].tolist()]
            yield name, scene, [word for word in found if word != scene]


def _photo(scene: str, words: list[str]) -> bytes:
    keywords = {SUBJECT: [scene, *words], HIERARCHICAL: [f"place|{scene}", *words]}
    data = _XMP_HEADER + change_keywords(NEW_SIDECAR, keywords, {})
    return _JPEG[:2] + b"\xff\xe1" + (len(data) + 2).to_bytes(2, "big") + data + _JPEG[2:]


def _check_empty(path: Path) -> None:
    if any(path.iterdir()):
        raise DataError(f"{path} is not empty; choose another --out")
