"""Whatever a folder holds: reading changes nothing, writing nothing changes nothing, and undo restores every byte."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.photos import jpeg, packet
from vse_ens.data.collections import LabelEdit, OpenOptions, WritableCollection
from vse_ens.data.collections.journal import undo
from vse_ens.data.collections.photos import PhotoFolder
from vse_ens.data.collections.txt_tags import TxtTagsFolder
from vse_ens.data.collections.write import write_labels

OPTIONS = OpenOptions(cache=False)

word = st.text(
    st.characters(codec="utf-8", exclude_characters=",", exclude_categories=("Cc", "Z")), min_size=1, max_size=8
)
label = st.lists(word.filter(lambda text: "|" not in text), min_size=1, max_size=3).map("|".join)
labels = st.lists(label, unique=True, max_size=4)
edit = st.builds(LabelEdit, labels.map(tuple), labels.map(tuple))
image = st.tuples(labels, st.none() | labels, edit)
"""The labels of an image, those of its sidecar or file of tags, and an edit."""
folders = st.lists(image, min_size=1, max_size=4)


def state(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def photo_folder(root: Path, images: list[tuple[list[str], list[str] | None, LabelEdit]]) -> WritableCollection:
    for number, (inside, beside, _) in enumerate(images):
        paths = [label for label in inside if "|" in label]
        (root / f"{number}.jpg").write_bytes(jpeg(packet([one.rsplit("|")[-1] for one in inside], paths)))
        if beside is not None:
            (root / f"{number}.xmp").write_bytes(packet(beside, beside[:2], beside[1:], beside[2:]))
    return PhotoFolder(root, OPTIONS)


def tags_folder(root: Path, images: list[tuple[list[str], list[str] | None, LabelEdit]]) -> WritableCollection:
    for number, (_, beside, _) in enumerate(images):
        (root / f"{number}.jpg").touch()
        if beside is not None:
            (root / f"{number}.txt").write_text((", " if number % 2 else "\n").join(beside), encoding="utf-8")
    return TxtTagsFolder(root, OPTIONS)


@pytest.mark.unhurried
@pytest.mark.parametrize("make", [photo_folder, tags_folder])
@given(images=folders)
def test_writing_and_undoing_restore_every_byte(make, images) -> None:  # type: ignore[no-untyped-def]
    with tempfile.TemporaryDirectory() as name:
        root, journal = Path(name) / "root", Path(name) / "undo.jsonl"
        root.mkdir()
        folder = make(root, images)
        before = state(root)
        old = {item.image: item.labels for item in folder.items()}
        assert list(folder.changes({})) == []
        assert list(folder.changes({one: LabelEdit(add=found, remove=()) for one, found in old.items()})) == []
        assert state(root) == before
        edits = {f"{number}.jpg": change for number, (_, _, change) in enumerate(images)}
        report = write_labels(folder, edits, journal)
        new = {item.image: set(item.labels) for item in folder.items()}
        for one, change in edits.items():
            parts = {part for label in new[one] for part in label.split("|")}
            assert set(change.add) - set(change.remove) <= new[one] | parts
        if report.written.journal is not None:
            undo(journal)
        assert state(root) == before
