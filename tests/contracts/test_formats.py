"""Every built-in format of collections passes the tests that authors of plug-ins run on theirs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import dataset_files as made
from tests.support.collection_samples import TREE
from tests.support.photos import jpeg, packet
from vse_ens.data.collections.detect import GENERAL, SPECIFIC
from vse_ens.data.collections.testing import FormatContract

Table = made.Table


def txt_tags(folder: Path, table: Table) -> Path:
    for image, labels in table.items():
        (folder / image).parent.mkdir(exist_ok=True)
        (folder / image).touch()
        (folder / image).with_suffix(".txt").write_text(", ".join(labels))
    return folder


def class_folders(folder: Path, table: Table) -> Path:
    for image, labels in table.items():
        (folder / labels[0]).mkdir(exist_ok=True)
        (folder / image).touch()
    return folder


def photos(folder: Path, table: Table) -> Path:
    for image, labels in table.items():
        (folder / image).parent.mkdir(exist_ok=True)
        (folder / image).write_bytes(jpeg(packet(labels)))
    return folder


FLAT: Table = {"a.jpg": ["beach", "sea"], "d/b.jpg": ["sea"]}
# The function that makes a source, and what it holds.
FORMATS: dict[str, tuple[Callable[[Path, Table], Path], Table]] = {
    "coco": (made.coco, made.IMAGES),
    "label-studio": (made.label_studio, made.IMAGES),
    "lightroom": (made.lightroom, TREE),
    "digikam": (made.digikam, TREE),
    "darktable": (made.darktable, TREE),
    "txt-tags": (txt_tags, FLAT),
    "folders": (class_folders, {"sand/b.jpg": ["sand"], "sea/a.jpg": ["sea"]}),
    "photos": (photos, FLAT),
}


@pytest.mark.parametrize("format_name", FORMATS)
class TestBuiltInFormat(FormatContract):
    @pytest.fixture(autouse=True)
    def _format(self, format_name: str) -> None:
        self.name = format_name  # type: ignore[misc]
        self._make, self.expected = FORMATS[format_name]  # type: ignore[misc]

    def make(self, folder: Path) -> Path:
        return self._make(folder, self.expected)


def test_every_format_is_tested() -> None:
    assert FORMATS.keys() == {entry.name for entry in (*SPECIFIC, *GENERAL)}
