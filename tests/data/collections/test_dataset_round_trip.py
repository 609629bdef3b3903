"""Formats that can be written: nothing is lost, nothing is written twice, and the rest of a file stays as it is."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.dataset_files import IMAGES, WRITABLE, Style, Table
from vse_ens.data.collections import LabelEdit, WritableCollection, open_collection
from vse_ens.errors import DataError

CHARACTERS = st.characters(exclude_categories=["Cs", "Cc", "Cn"], exclude_characters="\ufffe\uffff")
STYLES = st.builds(
    Style,
    indent=st.sampled_from([None, "  ", "\t"]),
    crlf=st.booleans(),
    bom=st.booleans(),
    compact=st.booleans(),
)


def labels_for(kind: str) -> st.SearchStrategy[str]:
    alphabet = CHARACTERS
    if kind == "imagefolder-csv":  # | is between labels, and a list in brackets is JSON
        alphabet = st.characters(exclude_categories=["Cs", "Cc", "Cn"], exclude_characters="|[;,\ufffe\uffff")
    text = st.text(alphabet, min_size=1, max_size=12).map(str.strip).filter(bool)
    return st.sampled_from(["sea", "Sea", "sand", "1", "a b", '"<&>', "été"]) | text


@st.composite
def tables(draw: st.DrawFn, kind: str) -> Table:
    names = draw(st.lists(st.sampled_from(["a.jpg", "b.jpg", "d/c.png", "é.jpg"]), min_size=1, unique=True))
    return {name: draw(st.lists(labels_for(kind), max_size=3, unique=True)) for name in names}


def opened(path: Path) -> WritableCollection:
    collection = open_collection(path)
    assert isinstance(collection, WritableCollection)
    return collection


def content(path: Path) -> dict[str, list[str]]:
    items = [(item.image, sorted(item.labels)) for item in open_collection(path).items()]
    assert len(dict(items)) == len(items), "an image occurs twice"
    return dict(items)


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def apply(collection: WritableCollection, edits: dict[str, LabelEdit]) -> dict[Path, bytes]:
    """Write the changes and return the previous content of the files."""
    before = {}
    for change in list(collection.changes(edits)):
        assert change.path.read_bytes() == change.before
        before[change.path] = change.path.read_bytes()
        change.path.write_bytes(change.after)
    return before


@pytest.mark.unhurried
@pytest.mark.parametrize("kind", WRITABLE)
@given(data=st.data())
def test_labels_are_added_once_and_removed_again(kind: str, data: st.DataObject) -> None:
    table = data.draw(tables(kind))
    style = data.draw(STYLES)
    new = {image: data.draw(st.lists(labels_for(kind), max_size=3)) for image in table}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = WRITABLE[kind](folder, table, style)
        original = files(folder)
        assert content(path) == {image: sorted(labels) for image, labels in table.items()}
        assert list(opened(path).changes({})) == []
        assert list(opened(path).changes({image: LabelEdit(tuple(labels)) for image, labels in table.items()})) == []

        add = {image: LabelEdit(tuple(labels)) for image, labels in new.items()}
        before = apply(opened(path), add)
        assert content(path) == {image: sorted({*table[image], *new[image]}) for image in table}
        assert list(opened(path).changes(add)) == [], "the same labels are added again"
        written = files(folder)

        extra = {image: tuple(set(new[image]) - set(table[image])) for image in table}
        apply(opened(path), {image: LabelEdit(remove=labels) for image, labels in extra.items()})
        assert content(path) == {image: sorted(labels) for image, labels in table.items()}

        for place, old in before.items():
            place.write_bytes(old)
        assert files(folder) == original
        apply(opened(path), add)
        assert files(folder) == written, "the same edits give other bytes"


@pytest.mark.parametrize("kind", WRITABLE)
def test_the_rest_of_a_file_is_kept(kind: str, tmp_path: Path) -> None:
    path = WRITABLE[kind](tmp_path, IMAGES if kind != "imagefolder-csv" else {"a.jpg": ["x"], "b.jpg": []}, Style("  "))
    (change,) = opened(path).changes({"a.jpg": LabelEdit(("brand new",))})
    old, new = (text.decode().splitlines() for text in (change.before or b"", change.after))
    kept = [line.rstrip(",") for line in new]
    changed = [line for line in old if line.rstrip(",") not in kept]
    assert len(changed) <= (1 if kind.startswith(("cvat", "imagefolder", "label-studio")) else 0), changed


@pytest.mark.parametrize("kind", WRITABLE)
def test_an_unknown_image_is_an_error_that_names_it(kind: str, tmp_path: Path) -> None:
    path = WRITABLE[kind](tmp_path, {"a.jpg": ["x"]}, Style())
    with pytest.raises(DataError, match=r"has no image 'z\.jpg'"):
        list(opened(path).changes({"z.jpg": LabelEdit(("sea",))}))


@pytest.mark.parametrize("kind", WRITABLE)
def test_a_format_can_be_forced(kind: str, tmp_path: Path) -> None:
    path = WRITABLE[kind](tmp_path, {"a.jpg": ["x"]}, Style())
    name = kind.removesuffix("-min").removesuffix("-csv")
    assert [tuple(item) for item in open_collection(path, name).items()] == [("a.jpg", ("x",), None)]
