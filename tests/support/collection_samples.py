"""A small whole file of every kind that collections are read from, and the function that reads it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.support import dataset_files as made
from tests.support.photos import MAKERS, iptc, packet
from vse_ens.data.collections import LabelEdit, OpenOptions, WritableCollection, open_collection
from vse_ens.data.collections.containers import DamagedFileError, read_metadata
from vse_ens.data.collections.detect import find_collection
from vse_ens.data.collections.keywords import from_metadata, from_xmp, read_iptc
from vse_ens.data.collections.txt_tags import TxtTagsFolder
from vse_ens.data.collections.xmp import SUBJECT, change_keywords, read_keywords
from vse_ens.errors import VseError

Reader = Callable[[bytes, Path], None]
"""Reads content, which may also be written to the path; raises only errors of `vse_ens.errors`."""

HASHES = {"0a" * 32: ["character:alice", "solo"], "0b" * 32: ["solo"]}
TREE = {"a.jpg": ["place|beach", "sea"], "d/b.jpg": ["sea"]}


def write_hydrus_export(folder: Path) -> Path:
    path = folder / "metadata.json"
    tags = {"k": {"name": "my tags", "type": 5, "storage_tags": {"0": ["solo"]}, "display_tags": {"0": ["solo"]}}}
    path.write_bytes(made.PLAIN.json({"metadata": [{"file_id": 1, "hash": "0a" * 32, "ext": ".jpg", "tags": tags}]}))
    return path


# The format, the function that makes a source, and the file of it that is damaged.
CASES: dict[str, tuple[str, Callable[[Path], Path], str]] = {
    "coco": ("coco", lambda folder: made.coco(folder, made.IMAGES), "instances.json"),
    "voc": ("voc", lambda folder: made.voc(folder, made.IMAGES, made.Style("\t")), "Annotations/a.xml"),
    "cvat": ("cvat", lambda folder: made.cvat(folder, made.IMAGES, made.Style("  ")), "annotations.xml"),
    "label-studio": ("label-studio", lambda folder: made.label_studio(folder, made.IMAGES), "project-1.json"),
    "label-studio-min": (
        "label-studio",
        lambda folder: made.label_studio_min(folder, made.IMAGES),
        "project-1-min.json",
    ),
    "imagefolder": ("imagefolder", lambda folder: made.imagefolder(folder, made.IMAGES), "metadata.jsonl"),
    "imagefolder-csv": ("imagefolder", lambda folder: made.imagefolder_csv(folder, TREE), "metadata.csv"),
    "yolo-names": ("yolo", lambda folder: made.yolo(folder, TREE), "data.yaml"),
    "yolo-boxes": ("yolo", lambda folder: made.yolo(folder, TREE), "labels/train/a.txt"),
    "lightroom": ("lightroom", lambda folder: made.lightroom(folder, TREE), "Lightroom Catalog.lrcat"),
    "digikam": ("digikam", lambda folder: made.digikam(folder, TREE), "digikam4.db"),
    "darktable-library": ("darktable", lambda folder: made.darktable(folder, TREE), "library.db"),
    "darktable-data": ("darktable", lambda folder: made.darktable(folder, TREE), "data.db"),
    "hydrus": ("hydrus", lambda folder: made.hydrus(folder, HASHES), "client.db"),
    "hydrus-master": ("hydrus", lambda folder: made.hydrus(folder, HASHES), "client.master.db"),
    "hydrus-mappings": ("hydrus", lambda folder: made.hydrus(folder, HASHES), "client.mappings.db"),
    "hydrus-export": ("hydrus", write_hydrus_export, "metadata.json"),
}


def read_and_change(path: Path, format_name: str) -> None:
    """Read a collection, and add and remove a label if it can be written; errors of this package are one sentence."""
    try:
        collection = open_collection(path, format_name)
        items = list(collection.items())
        for item in items:
            assert all(label and label == label.strip() for label in item.labels)
            "".join((item.image, *item.labels)).encode()
        if isinstance(collection, WritableCollection) and items:
            edits = {items[0].image: LabelEdit(("new label",), items[0].labels[:1])}
            for change in collection.changes(edits):
                assert change.before != change.after
        find_collection(path)
    except VseError as error:
        message = str(error)
        assert "\n" not in message, message
        assert len(message) < 1000, message
        assert str(path.parent) in message, message


def samples() -> dict[str, tuple[bytes, Reader]]:
    """Return a whole file of every kind and the function that reads it."""
    xmp = packet(["beach", "Zürich"], ["place|beach"], ["place/beach"], ["place/beach"])
    found: dict[str, tuple[bytes, Reader]] = {
        f"photos: {suffix}": (make(xmp), _read_image) for suffix, make in MAKERS.items()
    }
    found["photos: IPTC"] = (iptc([b"beach", "Zürich".encode()]), _read_iptc)
    found["photos: sidecar, read"] = (xmp, _read_sidecar)
    found["photos: sidecar, changed"] = (xmp, _change_sidecar)
    found["txt-tags: read and changed"] = ("1girl, long_hair, Zürich\nsolo\n".encode(), _change_tags)
    return found | _data_sets()


def _data_sets() -> dict[str, tuple[bytes, Reader]]:
    """Return the files of data sets and catalogs, which are read, and changed where that is possible."""
    found: dict[str, tuple[bytes, Reader]] = {}
    for name, (_, make, file) in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder))
            found[name] = ((Path(folder) / file).read_bytes(), partial(_change_data_set, name))
    return found


def _read_image(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    from_metadata(read_metadata(str(path)))


def _read_iptc(content: bytes, _path: Path) -> None:
    "".join(read_iptc(content)).encode()


def _read_sidecar(content: bytes, _path: Path) -> None:
    from_xmp(content)


def _change_sidecar(content: bytes, _path: Path) -> None:
    try:
        after = change_keywords(content, {SUBJECT: ["sand"]}, {SUBJECT: ["beach"]})
    except DamagedFileError:
        return
    found: dict[object, list[str]] = {}
    read_keywords(after, found)  # type: ignore[arg-type]
    if "sand" not in found.get(SUBJECT, ()):
        raise AssertionError("the added keyword is not read back")


def _change_tags(content: bytes, path: Path) -> None:
    path.with_name("file.jpg").touch()
    path.with_name("file.txt").write_bytes(content)
    folder = TxtTagsFolder(path.parent, OpenOptions(cache=False))
    [item] = folder.items()
    "".join(item.labels).encode()
    list(folder.changes({"file.jpg": LabelEdit(("sand",), ("solo",))}))


def _change_data_set(name: str, content: bytes, path: Path) -> None:
    format_name, make, file = CASES[name]
    folder = path.parent / name
    place = folder / "source"
    if not folder.exists():
        folder.mkdir()
        place.symlink_to(make(folder))  # remembers which file or folder is the source
    (folder / file).write_bytes(content)
    read_and_change(place.readlink(), format_name)
