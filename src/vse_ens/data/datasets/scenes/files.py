"""Write scenes to a file in RAM that does not grow with it, or to a folder of tiny images; both atomically."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import IO, Literal, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vse_ens.data.arrow import string_buffers
from vse_ens.data.collections.xmp import HIERARCHICAL, NEW_SIDECAR, SUBJECT, change_keywords
from vse_ens.data.datasets.scenes.drawing import stream_scenes
from vse_ens.data.datasets.scenes.words import SCENES
from vse_ens.errors import ConfigError, DataError
from vse_ens.storage.atomic import replace_dir, replace_file

_SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl", ".csv.gz", ".tsv.gz", ".jsonl.gz")
_CHUNKS_PER_ROW_GROUP = 32

FolderKind = Literal["photos", "txt-tags", "coco"]

# One gray pixel.
_JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19iZ2hnPk1xeXBk"
    "eFxlZ2P/wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAAP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AP//Z"
)
_XMP_HEADER = b"http://ns.adobe.com/xap/1.0/\0"


class SceneCounts(NamedTuple):
    """The size of a written file."""

    images: int
    labels: int
    """The number of labels that occur."""
    pairs: int


def write_scenes(
    path: str | Path,
    images: int,
    labels: int | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> SceneCounts:
    """Write ``image``, ``label`` rows to a .parquet, .csv, .tsv or .jsonl file, the last three also as .gz.

    ``progress`` is called with the number of images written.

    >>> write_scenes("scenes.parquet", images=10_000_000, labels=20_000)  # doctest: +SKIP
    """
    path = Path(path)
    suffix = next((one for one in _SUFFIXES if path.name.endswith(one)), None)
    if suffix is None:
        raise ConfigError(f"{path} must end in one of {', '.join(_SUFFIXES)}")
    chunks = stream_scenes(images, labels, seed)
    first = next(chunks)
    words = pa.array(first.words, pa.string())
    seen = np.zeros(len(words), dtype=bool)
    pairs = 0

    def tables() -> Iterator[pa.Table]:
        nonlocal pairs
        for chunk in chain([first], chunks):
            ids = pa.array(image_ids(chunk.first, len(chunk.scene)), pa.string())
            columns = ids.take(pa.array(chunk.image - chunk.first)), words.take(pa.array(chunk.label))
            yield pa.table(columns, names=["image", "label"])
            seen[chunk.label] = True
            pairs += len(chunk.label)
            if progress:
                progress(chunk.first + len(chunk.scene))

    with replace_file(path) as partial:
        if suffix == ".parquet":
            _write_parquet(partial, tables())
        else:
            _write_text(partial, suffix, tables())
    return SceneCounts(images, int(seen.sum()), pairs)


def image_ids(first: int, count: int) -> list[str]:
    """Return the ids of consecutive images."""
    return [f"img_{number:07d}" for number in range(first, first + count)]


def _write_parquet(path: Path, tables: Iterator[pa.Table]) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, pa.schema({"image": pa.string(), "label": pa.string()})) as writer:
        while group := list(islice(tables, _CHUNKS_PER_ROW_GROUP)):
            writer.write_table(pa.concat_tables(group))


def _write_text(path: Path, suffix: str, tables: Iterator[pa.Table]) -> None:
    # Ids and words consist of letters, digits, spaces, hyphens and underscores: no field needs quotes or escapes.
    separator = "\t" if suffix.startswith(".tsv") else ","
    start, between, end, header = "", separator, "\n", f"image{separator}label\n"
    if suffix.startswith(".jsonl"):
        start, between, end, header = '{"image":"', '","label":"', '"}\n', ""
    with path.open("wb") as plain, ExitStack() as stack:
        file: IO[bytes] = plain
        if suffix.endswith(".gz"):
            # Without a name and a time, the same pairs give the same bytes.
            compressed = gzip.GzipFile(filename="", mode="wb", fileobj=plain, mtime=0)
            file = cast("IO[bytes]", stack.enter_context(compressed))
        file.write(header.encode())
        for table in tables:
            image, label = (table[name].combine_chunks().cast(pa.large_string()) for name in ("image", "label"))
            parts = (pa.scalar(text, pa.large_string()) for text in (start, between, end, ""))
            offsets, text = string_buffers(
                pc.binary_join_element_wise(next(parts), image, next(parts), label, next(parts), next(parts))
            )
            file.write(text[offsets[0] : offsets[-1]].data)


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
    boxes: dict[str, list[str]] = {}
    with replace_dir(Path(path), check=_check_empty) as folder:
        for image, scene, words in _images(images, labels, seed):
            own = [] if kind == "coco" else [f"place|{scene}"]
            if kind == "photos":
                (folder / f"{image}.jpg").write_bytes(_photo(scene, words))
            elif kind == "coco":
                (folder / "images").mkdir(exist_ok=True)
                (folder / "images" / f"{image}.jpg").write_bytes(_JPEG)
                boxes[f"{image}.jpg"] = words
            else:
                (folder / f"{image}.jpg").write_bytes(_JPEG)
                (folder / f"{image}.txt").write_text(", ".join((f"place:{scene}", *words)), encoding="utf-8")
            used.update(words, own)
            pairs += len(words) + len(own)
            done += 1
            if progress:
                progress(done)
        if kind == "coco":
            (folder / "annotations.json").write_text(_coco(boxes), encoding="utf-8")
    return SceneCounts(done, len(used), pairs)


def _coco(labels_of: Mapping[str, Sequence[str]]) -> str:
    """Return a COCO file with one entry per line, and a box of one pixel for each label of an image."""
    images = [{"id": n, "file_name": name, "width": 1, "height": 1} for n, name in enumerate(labels_of, 1)]
    numbers: dict[str, int] = {}
    pairs = [
        (image, numbers.setdefault(label, len(numbers) + 1))
        for image, labels in enumerate(labels_of.values(), 1)
        for label in labels
    ]
    boxes = [
        {"id": n, "image_id": image, "category_id": category, "bbox": [0, 0, 1, 1], "area": 1, "iscrowd": 0}
        for n, (image, category) in enumerate(pairs, 1)
    ]
    categories = [{"id": number, "name": label} for label, number in numbers.items()]
    parts = (("images", images), ("annotations", boxes), ("categories", categories))
    lists = [f'"{name}": [\n' + ",\n".join(map(json.dumps, entries)) + "\n]" for name, entries in parts]
    return "{\n" + ",\n".join(lists) + "\n}\n"


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
