from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.mutations import mutated
from vse_ens.data.collections import LabelEdit, txt_tags
from vse_ens.data.collections.txt_tags import TxtTagsFolder
from vse_ens.errors import DataError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "dataset"
    (folder / "10_alice").mkdir(parents=True)
    for name, text in (("10_alice/1.png", "1girl, long_hair, character:alice"), ("2.webp", "solo,smile\n")):
        (folder / name).touch()
        (folder / name).with_suffix(".txt").write_text(text)
    return folder


def labels(root: Path) -> dict[str, tuple[str, ...]]:
    return {item.image: item.labels for item in TxtTagsFolder(root).items()}


def edited(text: str, add: tuple[str, ...] = (), remove: tuple[str, ...] = ()) -> str:
    return txt_tags._edited(text.encode(), LabelEdit(add, remove)).decode()


def test_tags_are_read_as_they_are_written(root: Path) -> None:
    assert labels(root) == {
        "2.webp": ("solo", "smile"),
        "10_alice/1.png": ("1girl", "long_hair", "character:alice"),
    }


def test_tags_per_line_and_files_named_by_image_are_read(root: Path) -> None:
    (root / "3.jpg").touch()
    (root / "3.jpg.txt").write_bytes(b"\xef\xbb\xbfalice \\(wonderland\\)\r\nsolo\r\n\r\nsolo\r\n")
    assert labels(root)["3.jpg"] == (r"alice \(wonderland\)", "solo")


def test_image_without_a_file_has_no_tags(root: Path) -> None:
    (root / "4.jpg").touch()
    (root / "readme.txt").write_text("not, tags")
    assert labels(root)["4.jpg"] == ()
    assert len(labels(root)) == 3


def test_text_that_is_not_utf8_is_read_as_windows_text(root: Path) -> None:
    (root / "2.txt").write_bytes("café, solo".encode("cp1252"))
    assert labels(root)["2.webp"] == ("café", "solo")


def test_a_file_that_is_too_large_is_listed(root: Path) -> None:
    (root / "2.txt").write_bytes(b"a, " * 500_000)
    folder = TxtTagsFolder(root)
    assert {item.image: item.labels for item in folder.items()}["2.webp"] == ()
    assert folder.notes == ["1 file could not be read completely: 2.txt (is larger than 1 MiB)"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a, b", "a, b, c"),
        ("a,b\n", "a,b,c\n"),
        ("a\nb\n", "a\nb\nc\n"),
        ("a\r\nb", "a\r\nb\r\nc"),
        ("a, b, ", "a, b, c "),
        ("", "c"),
        ("\n", "c\n"),
        ("a", "a, c"),
        ("\ufeffa, b", "\ufeffa, b, c"),
    ],
)
def test_a_tag_is_added_in_the_style_of_the_file(before: str, after: str) -> None:
    assert edited(before, add=("c",)) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a, b, c", "a, b"),
        ("c, a, b\n", "a, b\n"),
        ("a, c, b", "a, b"),
        ("a\nc\nb\n", "a\nb\n"),
        ("a, b\nc, d\n", "a, b\nd\n"),
        ("c", ""),
        ("a, c\n", "a\n"),
    ],
)
def test_a_tag_is_removed_with_its_separator(before: str, after: str) -> None:
    assert edited(before, remove=("c",)) == after


tags = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters=",\r\n", exclude_categories=("Cc", "Z")), min_size=1),
    unique=True,
    max_size=6,
)


@given(old=tags, new=tags, separator=st.sampled_from([", ", ",", "\n"]), tail=st.sampled_from(["", "\n"]))
def test_added_tags_are_read_back_and_the_others_stay(
    old: list[str], new: list[str], separator: str, tail: str
) -> None:
    old = [tag for tag in old if tag.strip("\ufeff") == tag]
    before = (separator.join(old) + tail).encode()
    after = txt_tags._edited(before, LabelEdit(add=tuple(new)))
    assert txt_tags._split(after.decode()) == [*dict.fromkeys([*old, *new])]
    if set(new) <= set(old):
        assert after == before
    removed = txt_tags._edited(after, LabelEdit(remove=tuple(new)))
    assert txt_tags._split(removed.decode()) == [tag for tag in old if tag not in new]


@given(content=st.binary(max_size=60))
def test_an_edit_of_nothing_changes_no_byte(content: bytes) -> None:
    assert txt_tags._edited(content, LabelEdit(remove=("not there at all",))) == content


def test_an_image_without_a_file_gets_one(root: Path) -> None:
    (root / "4.jpg").touch()
    [change] = TxtTagsFolder(root).changes({"4.jpg": LabelEdit(add=("a", "b"))})
    assert (change.path, change.before, change.after) == (root / "4.txt", None, b"a, b")


def test_a_tag_with_a_comma_and_an_unknown_image_are_errors(root: Path) -> None:
    with pytest.raises(DataError, match="tag 'a, b' has a comma"):
        list(TxtTagsFolder(root).changes({"2.webp": LabelEdit(add=("a, b",))}))
    with pytest.raises(DataError, match="has no image 'gone'"):
        list(TxtTagsFolder(root).changes({"gone": LabelEdit(add=("a",))}))


def test_200_damaged_files_of_tags_are_read(root: Path) -> None:
    content = "1girl, long_hair, character:alice, Zürich\n".encode()
    for damaged in mutated(content, 200):
        (root / "2.txt").write_bytes(damaged)
        for tag in labels(root)["2.webp"]:
            tag.encode()  # valid text
