"""Tables that list labels in another way than one pair per row: recognized, with a note that names the way back."""

from __future__ import annotations

from pathlib import Path

import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.errors import DataError


def read(tmp_path: Path, text: str, **options: object) -> Annotations:
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    return Annotations.read(path, **options)  # type: ignore[arg-type]


def pairs(data: Annotations) -> set[tuple[str, str]]:
    return set(zip(data.images.ids(data.image_numbers()), data.labels.ids(data.indices), strict=True))


WANTED = {("a.jpg", "person"), ("a.jpg", "man"), ("b.jpg", "man"), ("b.jpg", "dog"), ("c.jpg", "dog")}


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        (('"person, man"', '"man, dog"', "dog"), "split labels such as 'person, man' at ','; --layout long"),
        (("person;man", "man;dog", "dog"), "split labels such as 'person;man' at ';'; --layout long"),
        (("person|man", "man|dog", "dog"), "split labels such as 'person|man' at '|'; --layout long"),
        (("\"['person', 'man']\"", "\"['man', 'dog']\"", "['dog']"), "read the labels as Python lists; --layout long"),
        (("['person' 'man']", "['man' 'dog']", "['dog']"), "read the labels as Python lists; --layout long"),
    ],
)
def test_lists_in_a_column_become_labels_with_a_note(tmp_path: Path, rows: tuple[str, ...], note: str) -> None:
    text = "image,labels\n" + "".join(f"{name}.jpg,{row}\n" for name, row in zip("abc", rows, strict=True))
    data = read(tmp_path, text)
    assert pairs(data) == WANTED
    assert [one for one in data.notes if one.startswith(note)]
    assert len(read(tmp_path, text, layout="long").labels) == 3


def test_a_column_of_one_label_is_split_if_labels_change_places(tmp_path: Path) -> None:
    words = ["cat", "dog", "tree", "sea", "sky"]
    lists = [f"{one}|{other}" for one in words for other in words if one != other]
    text = "image,label\n" + "".join(f"{number},{text}\n" for number, text in enumerate(lists))
    assert sorted(read(tmp_path, text).labels) == sorted(words)


@pytest.mark.parametrize("column", ["label", "labels"])
def test_hierarchies_stay_whole(tmp_path: Path, column: str) -> None:
    paths = [f"place|{city}|street {number}" for number in range(20) for city in ("Rome", "Ulm")]
    data = read(tmp_path, f"image,{column}\n" + "".join(f"{number},{path}\n" for number, path in enumerate(paths)))
    assert set(data.labels) == set(paths)
    assert data.notes == ()


def test_names_with_a_comma_stay_whole_and_a_note_says_so(tmp_path: Path) -> None:
    names = [f"City {number}, {land}" for number in range(20) for land in ("France", "Italy")]
    data = read(tmp_path, "image,label\n" + "".join(f'{number},"{name}"\n' for number, name in enumerate(names)))
    assert set(data.labels) == set(names)
    assert data.notes == (
        "read labels such as 'City 0, France' as they are; if they are lists, --label-separator ',' splits them",
    )


@pytest.mark.parametrize("header", ["image,cat,dog,sea", "picture name,cat,dog,sea"])
def test_columns_of_0_and_1_are_labels(tmp_path: Path, header: str) -> None:
    text = f"{header}\na.jpg,1,0,1\nb.jpg,0,0,0\nc.jpg,1.0,True,\n"
    data = read(tmp_path, text)
    assert pairs(data) == {("a.jpg", "cat"), ("a.jpg", "sea"), ("c.jpg", "cat"), ("c.jpg", "dog")}
    assert set(data.images) == {"a.jpg", "b.jpg", "c.jpg"}
    assert "read 3 columns of 0 and 1, such as 'cat', as labels; unless --layout long" in data.notes
    assert set(read(tmp_path, text, header=True, layout="long").labels) <= {"0", "1", "1.0"}
    assert set(read(tmp_path, text, header=True, label="cat").labels) == {"0", "1", "1.0"}


def test_another_value_in_a_column_of_0_and_1_is_an_error(tmp_path: Path) -> None:
    rows = "".join(f"{number},1,0\n" for number in range(20_000))
    with pytest.raises(
        DataError, match="has 'maybe' in column 'dog', where 0 or 1 should be; fix it, or give --label-"
    ):
        read(tmp_path, f"image,cat,dog\n{rows}x,1,maybe\n")


def test_a_header_of_other_words_is_not_an_image(tmp_path: Path) -> None:
    data = read(tmp_path, "foo,bar\n" + "".join(f"img_{number}.jpg,label {number}\n" for number in range(4)))
    assert "foo" not in data.images
    assert "read line 1, 'foo bar', as a header: the lines below look different" in data.notes
    data = read(tmp_path, "foo,bar\n" + "".join(f"img_{number}.jpg,label {number}\n" for number in range(40)))
    assert len(data.images) == 40


def test_swapped_columns_are_noticed(tmp_path: Path) -> None:
    rows = [(label, f"img_{number}") for number in range(60) for label in ("sea", "sky", f"tag{number % 9}")]
    for ending in (".jpg", ""):
        data = read(tmp_path, "image,label\n" + "".join(f"{label},{image}{ending}\n" for label, image in rows))
        [note] = data.notes
        assert note.startswith("the columns may be swapped: 60 labels, such as 'img_0")
        assert note.endswith("--image-column and --label-column name them")
    straight = read(tmp_path, "image,label\n" + "".join(f"{image}.jpg,{label}\n" for label, image in rows))
    assert straight.notes == ()


@pytest.mark.parametrize(
    ("name", "content", "advice"),
    [
        ("a.xlsx", b"PK\x03\x04", "save the sheet that has the pairs as CSV"),
        ("samples.json", b'{"samples": [{"_media_type": "image"}]}', "it looks like FiftyOne's: export it as COCO"),
        ("labels.json", b'{"classes": ["a"],\n "labels": {"x": 0}}', "it looks like FiftyOne's: export it as COCO"),
        ("other.json", b'{"x": 1}', "it is not the JSON of COCO or Label Studio"),
    ],
)
def test_files_of_other_programs_are_named_with_a_way_out(
    tmp_path: Path, name: str, content: bytes, advice: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as caught:
        Annotations.read(tmp_path / name)
    assert advice in str(caught.value)
